// DOC: discovery: from directed-route answers to a Fabric.
//
// One Discovery is one look at the whole subnet. It hands out requests (next), takes completions (on), and
// ends with a Fabric in which everything that could not be believed is isolated and named; nothing on the
// wire is fatal to it. It reads; the one thing it writes, and only with WriteLeave::granted, is the
// PortStateChange bit, cleared before the port states of that switch are read, so that a later change is seen
// (IBA 14.2.5.4).
//
// Order per switch: NodeInfo, SwitchInfo, port 0, the other ports. A cable is explored from one end only: the
// answer's LocalPortNum names the other end. A claim that contradicts an earlier one is settled by asking
// through the known switch's own port who is there.
//
// A device that does not answer costs at most as long as the rest of discovery took (grace), not its
// time-outs: first contacts are repeated by the pace at which the others answer, for half a second or so. An answer
// that comes after the grace starts the next sweep. No grace, but all the repeats, for places where somebody was in
// the last sweep, and everywhere while nothing may be written yet.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "daemon/fabric/fabric.hpp"
#include "daemon/sm/tag.hpp"
#include "mad/transactions.hpp"

namespace ibf::sm {

enum class WriteLeave : std::uint8_t { reading_only, granted };

/// A place where something is linked but does not answer: (node GUID, port) of our side.
using SilentPlaces = std::set<std::pair<mad::Guid, mad::PortNum>>;

struct DiscoveryInput {
    std::shared_ptr<const fabric::Fabric> previous;  ///< may be null
    SilentPlaces silent;          ///< not asked again here, unless the switch tells of a change
    std::set<mad::Guid> renamed;  ///< nodes whose description must be read again
    WriteLeave leave = WriteLeave::reading_only;
    std::uint16_t epoch = 0;
    base::Duration timeout{};   ///< of a first contact before the pace of answers is known
    mad::Guid own_port_guid{};  ///< not asked for SMInfo
    mad::SmKey sm_key{};        ///< ours: who shows another is not trusted
    mad::SmInfo shown;          ///< of ourselves, with each question for SMInfo
    mad::Guid dead_sm{};        ///< port of an SM whose silence is known: it is asked once more, in haste
    base::Duration dead_sm_timeout{};
};

class Discovery {
public:
    Discovery(DiscoveryInput input, base::Instant now);

    /// The next request that may be submitted now; nullopt: nothing until an answer comes.
    [[nodiscard]] std::optional<mad::Request> next();
    /// A completion with this discovery's epoch.
    void on(const mad::Completion& completion, base::Instant now);
    [[nodiscard]] bool done(base::Instant now) const;
    /// When done() may turn true without a completion.
    [[nodiscard]] std::optional<base::Instant> deadline() const;

    struct Result {
        fabric::Fabric fabric;
        std::vector<std::uint32_t> change_unread;  ///< switches whose PortStateChange was set and not cleared
        /// By lid_owner: switches and ports that are new, or lost what had been set up in them.
        std::vector<mad::Guid> reset;
        bool incomplete = false;  ///< something timed out that should be asked again soon
    };
    /// Ends it. Call once, when done().
    [[nodiscard]] Result take();

    [[nodiscard]] std::size_t nodes_seen() const { return fabric_.nodes.size(); }

private:
    struct Probe {
        fabric::PortRef from;  ///< our side; kNoNode for the first
        mad::DrPath path;
        bool open = true;
        bool verifying = false;  ///< asked through the incumbent to settle `claim`
        fabric::PortRef claim;   ///< the port that claims to be linked to `from`
        bool dear = false;       ///< waited for to the last repeat (is_dear)
    };

    void ask(Ask what, std::uint32_t index, mad::PortNum port, const mad::DrPath& path,
             mad::Attribute attribute, std::uint32_t modifier);
    void ask_port_info(std::uint32_t node, mad::PortNum port);
    void ask_ports(std::uint32_t node);
    void ask_pkeys(std::uint32_t node, mad::PortNum port);
    void ask_pkey_block(std::uint32_t node, mad::PortNum port, std::uint32_t block);
    void ask_sm(std::uint32_t node, mad::PortNum port);
    void ask_vendor_speed(std::uint32_t node, mad::PortNum port);
    void explore(fabric::PortRef from);
    [[nodiscard]] bool is_dear(fabric::PortRef from) const;
    void close(Probe& probe);
    void read_switch(std::uint32_t node);

    void on_probe(const Probe& probe, const mad::Completion& completion);
    void on_new_node(const Probe& probe, const mad::NodeInfo& info);
    void on_known_node(const Probe& probe, const mad::NodeInfo& info, std::uint32_t node);
    void on_known_switch(const Probe& probe, const mad::NodeInfo& info, std::uint32_t node);
    void on_known_ca(const Probe& probe, const mad::NodeInfo& info, std::uint32_t node);
    void on_verify(const Probe& probe, const mad::Completion& completion);
    void on_switch_info(std::uint32_t node, const mad::Completion& completion);
    void on_change_cleared(std::uint32_t node);
    void on_port_info(fabric::PortRef ref, const mad::Completion& completion);
    void on_switch_port(fabric::PortRef ref);
    void on_end_port(fabric::PortRef ref);
    void on_pkeys(fabric::PortRef ref, const mad::Completion& completion);
    void on_sm_info(fabric::PortRef ref, const mad::Completion& completion);
    void on_other(const Tag& tag, const mad::Completion& completion);

    void attach_end_port(std::uint32_t node, const Probe& probe, const mad::NodeInfo& info);
    void link(fabric::PortRef a, fabric::PortRef b);
    void unlink(fabric::PortRef a);
    void isolate(fabric::IsolationReason reason, const Probe& probe, mad::Guid guid, std::string text);
    void isolate_duplicate(const Probe& probe, const mad::NodeInfo& info, std::uint32_t incumbent);
    void close_open_probes();
    void check_links();
    [[nodiscard]] std::uint32_t capability_mask(const fabric::Node& node, const fabric::Port& port) const;
    [[nodiscard]] const fabric::Node* previous_node(mad::Guid guid) const;
    [[nodiscard]] bool kept_state(fabric::PortRef ref) const;
    [[nodiscard]] bool was_attached_here(const Probe& probe, mad::Guid guid, mad::PortNum port) const;
    [[nodiscard]] std::string place(fabric::PortRef ref) const;
    [[nodiscard]] base::Duration contact_timeout() const;

    DiscoveryInput input_;
    fabric::Fabric fabric_;
    std::vector<Probe> probes_;
    std::deque<mad::Request> waiting_;
    std::unordered_map<std::uint64_t, std::uint32_t> node_by_guid_;
    std::unordered_map<std::uint64_t, std::uint32_t> previous_by_guid_;
    std::unordered_map<std::uint64_t, fabric::PortRef> port_by_guid_;
    std::set<std::uint32_t> changed_;  ///< switches that told of a change: who was silent there may be awake
    std::set<std::uint16_t> no_vendor_speed_;  ///< device ids that do not know the vendor attribute
    std::vector<std::uint32_t> change_unread_;
    std::vector<mad::Guid> reset_;
    std::size_t open_probes_ = 0;  ///< first-contact questions without an answer yet
    std::size_t open_dear_ = 0;    ///< of them those that no grace cuts short
    std::size_t open_others_ = 0;  ///< everything else asked and unanswered
    bool incomplete_ = false;
    std::uint32_t answers_ = 0;
    base::Duration slowest_{};  ///< round trip of the answers so far
    base::Instant begun_;
    base::Instant last_progress_;
};

}  // namespace ibf::sm
