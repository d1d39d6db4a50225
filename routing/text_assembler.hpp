// DOC: from what a text states to a Netlist that is consistent.
//
// A dialect's reader hands over nodes and cable statements; the assembler refuses what contradicts itself,
// makes both ends of every cable agree, and keeps the warnings. A statement is one end's view of a cable ("my
// port 3 leads to port 7 of that node"). Guarantees of a finished Netlist: GUIDs and ids are unique, every
// peer_node and peer_port is in range, and peers point at each other. Sizes are bounded, so hostile text
// cannot use up memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "routing/netlist.hpp"

namespace ibf::routing {

inline constexpr std::size_t kTextNodesMax = 100'000;  ///< a subnet has at most 49,151 LIDs
inline constexpr std::size_t kTextPortsMax = 2'000'000;
inline constexpr std::uint32_t kNodePortsMax = 254;  ///< 255 means "no port" in a forwarding table
inline constexpr std::size_t kDescriptionMax = 64;   ///< NodeDescription, IBA 14.2.5.2

/// One end's view of a cable.
struct CableStatement {
    std::uint32_t node = 0;
    std::uint32_t port = 0;
    std::uint32_t peer_node = 0;
    std::uint32_t peer_port = 0;
    std::uint32_t line = 0;
    mad::LinkWidth width = mad::LinkWidth::none;  ///< none: not stated
    mad::LinkSpeed speed = mad::LinkSpeed::none;  ///< none: not stated

    /// The same cable as its other end sees it.
    [[nodiscard]] CableStatement reversed() const {
        return {peer_node, peer_port, node, port, line, width, speed};
    }
};

class TextAssembler {
public:
    explicit TextAssembler(std::string origin);

    /// "origin:line: text" as an error of kind parse.
    [[nodiscard]] tl::unexpected<base::Error> error(std::uint32_t line, std::string_view text) const;
    void warn(std::uint32_t line, std::string_view text);

    /// Adds a node and gives its index. Errors: a GUID or id that is there already, too many ports, size
    /// bounds.
    [[nodiscard]] base::Result<std::uint32_t> add_node(NetlistNode node, std::uint32_t ports,
                                                       std::uint32_t line);
    [[nodiscard]] NetlistNode& node(std::uint32_t index) { return netlist_.nodes[index]; }
    [[nodiscard]] std::optional<std::uint32_t> find(std::string_view id) const;
    [[nodiscard]] std::optional<std::uint32_t> find(mad::Guid guid) const;

    /// Errors: a port that the node does not have, or one that is said to lead elsewhere.
    [[nodiscard]] base::Result<void> state(const CableStatement& statement);

    /// For dialects that state a cable once: both ends at a time, and nothing if that is known already.
    [[nodiscard]] base::Result<void> state_both(const CableStatement& statement);

    /// Stated valid: that range. Otherwise a warning and no LID.
    [[nodiscard]] mad::LidRange checked_lids(std::uint64_t base, std::uint64_t lmc, std::uint32_t line,
                                             std::string_view whose);

    /// Plugs all cables. Errors: no nodes; the two ends of a cable contradict each other.
    [[nodiscard]] base::Result<Netlist> finish();

private:
    [[nodiscard]] std::size_t slot(std::uint32_t node, std::uint32_t port) const {
        return first_slot_[node] + port;
    }
    [[nodiscard]] base::Result<void> check_ports(const CableStatement& statement) const;
    [[nodiscard]] std::string place(std::uint32_t node, std::uint32_t port) const;
    [[nodiscard]] base::Result<void> mirror(std::size_t index);
    void plug(const CableStatement& near, const CableStatement& far);

    Netlist netlist_;
    std::vector<std::uint32_t> node_lines_;
    std::vector<std::size_t> first_slot_;  ///< per node: where its ports start in stated_
    std::vector<std::uint32_t> stated_;    ///< per port: 1 + index into statements_; 0: nothing said
    std::vector<CableStatement> statements_;
    // Keys of by_id_ are copies: node ids move with the vector that holds them.
    std::unordered_map<std::string, std::uint32_t> by_id_;
    std::unordered_map<mad::Guid, std::uint32_t> by_guid_;
    std::size_t warnings_dropped_ = 0;
};

}  // namespace ibf::routing
