// DOC: discovery: from directed-route answers to a Fabric.
//
// One Discovery is one look at the subnet, at all of it or at what was touched. It hands out requests (next),
// takes completions (on), and ends with a Fabric in which everything that could not be believed is isolated
// and named; nothing on the wire is fatal to it. It reads; the one thing it writes, and only with
// WriteLeave::granted, is the PortStateChange bit, cleared before the port states of that switch are read, so
// that a later change is seen (IBA 14.2.5.4).
//
// Order per switch: NodeInfo, SwitchInfo, port 0, the other ports. A cable is explored from one end only: the
// answer's LocalPortNum names the other end. A claim that contradicts an earlier one is settled by asking
// through the known switch's own port who is there.
//
// A device that does not answer costs at most as long as the rest of discovery took (grace), not its
// time-outs: first contacts are repeated by the pace at which the others answer, for half a second or so. An
// answer that comes after the grace starts the next sweep. No grace, but all the repeats, for places where
// somebody was in the last sweep, and everywhere while nothing may be written yet.
//
// Scope (discovery_scope.cpp). With TouchedPlaces the look begins with the previous Fabric and reads again
// only the switches that told of a change: ports that went down lose their cable, ports that came up are
// explored as ever, new regions behind them included. It goes from the known to the unknown: only what has
// answered in this look, or had nothing to tell in the light sweep, is crossed on the way to those that have
// not, so no question travels over a dead cable. Who is there is asked after all that are gone are known.
// Nodes that no cable leads to any more are left out. What comes of it is the Fabric that a look at
// everything would have found, but for: the order of nodes; which of several shortest ways leads to one (and
// LocalPortNum, that tells of the way); PhysicalState of ports that stay down; and marks of failed set-ups
// (`usable`), which stay where no port was read. Whatever does not fit together (a
// switch that does not answer although the way is good, two claims on one cable, news of our own cable) ends
// the look: `contradiction` says why, and all of the subnet is to be looked at.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "daemon/fabric/fabric.hpp"
#include "daemon/fabric/guid_map.hpp"
#include "daemon/sm/tag.hpp"
#include "mad/transactions.hpp"

namespace ibf::sm {

enum class WriteLeave : std::uint8_t { reading_only, granted };

/// A place where something is linked but does not answer: (node GUID, port) of our side.
using SilentPlaces = std::set<std::pair<mad::Guid, mad::PortNum>>;

/// What a light sweep found, by nodes of the previous fabric.
struct TouchedPlaces {
    std::vector<std::uint32_t> changed;  ///< switches that told of a change
    std::set<std::uint32_t> unheard;     ///< those that did not answer
    std::vector<fabric::OtherSm> sms;    ///< as they answered
};

struct DiscoveryInput {
    std::shared_ptr<const fabric::Fabric> previous;  ///< may be null
    std::optional<TouchedPlaces> touched;            ///< nullopt: everything is looked at. Needs `previous`
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

    using NodesByGuid = fabric::GuidMap<std::uint32_t>;

    /// What a look at touched places read; all else is as it was in the previous fabric.
    struct Extent {
        std::vector<std::uint32_t>
            nodes;                    ///< with a port that was read, or whose cable is another; ascending
        std::vector<mad::Guid> gone;  ///< nodes of the previous fabric that are not in this one
        bool same_owners = true;      ///< the same ports have, or are to have, a LID
        bool all_usable = true;       ///< no port of the previous fabric had been left out
    };
    struct Result {
        fabric::Fabric fabric;
        std::optional<Extent> extent;              ///< nullopt: everything was looked at
        std::vector<std::uint32_t> change_unread;  ///< switches whose PortStateChange was set and not cleared
        /// By lid_owner: switches and ports that are new, or lost what had been set up in them.
        std::vector<mad::Guid> reset;
        NodesByGuid previous;       ///< where the nodes of the previous fabric are
        bool incomplete = false;    ///< something timed out that should be asked again soon
        std::string contradiction;  ///< not empty: why the fabric is not to be used and everything looked at
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

    // Scope.
    void begin_with_previous();
    [[nodiscard]] bool may_ask();
    void ask_owed();
    void read_again(std::uint32_t node);
    [[nodiscard]] bool has_nothing_to_tell(std::uint32_t node, const std::optional<mad::SwitchInfo>& before);
    [[nodiscard]] bool same_cable(fabric::PortRef ref) const;
    void part(fabric::PortRef ref);
    void owe(std::uint32_t node);
    void find_paths();
    void drop_unreached();
    void renumber(const std::vector<std::uint32_t>& to);
    void contradict(std::string why);

    DiscoveryInput input_;
    fabric::Fabric fabric_;
    std::vector<Probe> probes_;
    std::deque<mad::Request> waiting_;
    NodesByGuid node_by_guid_;
    NodesByGuid previous_by_guid_;
    fabric::GuidMap<fabric::PortRef> port_by_guid_;
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

    // Scope. Of the switches of the previous fabric:
    std::set<std::uint32_t> owed_;           ///< whose ports are to be read, once a good way to them is known
    std::set<std::uint32_t> unheard_;        ///< that are to say whether they have changed, likewise
    std::set<std::uint32_t> asked_;          ///< of those: that are being asked
    std::set<std::uint32_t> read_;           ///< whose ports are being, or were, read again
    std::set<fabric::PortRef> linked_;       ///< ends of cables found in this look
    std::vector<fabric::PortRef> sms_owed_;  ///< ports of SMs that did not answer the light sweep
    std::vector<char> reached_;              ///< by node: find_paths() found a way
    std::set<std::uint32_t> fresh_;          ///< nodes of the extent
    Extent extent_;
    bool ways_changed_ = false;  ///< since it was last called
    std::string contradiction_;
};

}  // namespace ibf::sm
