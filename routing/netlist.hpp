// DOC: a fabric as text describes it.
//
// A Netlist is the parsed form of a topology file or a generator's output: nodes, ports, cables, with
// whatever the text said of speed, LID and name. It is what the simulator builds its devices from and what
// topology_of() turns into a Topology. It says nothing of routes. Node order is the file's (or the
// generator's) order.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "mad/ids.hpp"

namespace ibf::routing {

struct NetlistPort {
    std::optional<std::uint32_t> peer_node;  ///< index into Netlist::nodes; empty: no cable
    mad::PortNum peer_port{};
    mad::LinkWidth width = mad::LinkWidth::x4;
    mad::LinkSpeed speed = mad::LinkSpeed::sdr;
    mad::Guid guid{};      ///< CA and router ports; 0 if the text gave none (then node guid + port number)
    mad::LidRange lids{};  ///< CA/router port, or switch port 0; 0 if the text gave none or a bad one
    std::optional<std::array<std::uint8_t, 64>>
        port_info;  ///< wire bytes, where the source had them (db_csv)
};

struct NetlistNode {
    mad::NodeType type = mad::NodeType::ca;
    mad::Guid guid{};         ///< node GUID
    mad::Guid system_guid{};  ///< system image GUID; equals guid where the text gave none
    std::string id;           ///< the quoted name of the text: "S-0002c9...", "H-..." or a plain word
    std::string description;  ///< NodeDescription, blanks at the end kept, at most 64 bytes
    std::uint32_t vendor_id = 0;
    std::uint16_t device_id = 0;
    bool enhanced_port0 = false;
    std::vector<NetlistPort> ports;  ///< [0..num_ports]; [0] is switch port 0, unused in CAs and routers
    std::optional<std::array<std::uint8_t, 64>> switch_info;  ///< wire bytes, where the source had them

    [[nodiscard]] std::uint8_t num_ports() const { return static_cast<std::uint8_t>(ports.size() - 1); }
};

struct Netlist {
    std::vector<NetlistNode> nodes;
    std::string origin;                 ///< file name or generator spec
    std::vector<std::string> warnings;  ///< "file:line: text" of what was odd but survivable

    [[nodiscard]] std::size_t switch_count() const;
    [[nodiscard]] std::size_t link_count() const;  ///< cables, each once, self-cables included
};

/// Reads any topology file: ibnetdiscover output, ibsim netlist, ibdiagnet's ibnetdiscover dialect, ibdiagnet
/// db_csv, OpenSM subnet.lst, each plain or gzip; the dialect is recognised from the content. Console pastes
/// (BOM, CR LF, prompts, trailing blanks) are accepted. Errors: parse ("file:line: reason"), io.
[[nodiscard]] base::Result<Netlist> load_netlist(const std::string& path);

/// The same from memory; `origin` is used in messages.
[[nodiscard]] base::Result<Netlist> parse_netlist(std::string_view text, const std::string& origin);

/// A generator: "fat-tree:radix=36,levels=3", "torus:8x8x8,hosts=2", "ring:4", ... The grammar and every
/// family are listed by generator_help(). Errors: usage, naming the nearest right word.
[[nodiscard]] base::Result<Netlist> generate_netlist(std::string_view spec);
[[nodiscard]] std::string generator_help();

/// SPEC as the programs take it: a generator if it starts with a known family name and ':' (or is a bare
/// family name), else a file.
[[nodiscard]] base::Result<Netlist> netlist_from_spec(const std::string& spec);

/// Takes away a share of the switches, then a share of the switch-to-switch cables that are left. Hosts that
/// lose their last cable by it go too. The same netlist and seed lose the same.
void thin_out(Netlist& netlist, double missing_switches, double missing_links, std::uint64_t seed);

/// ibsim netlist text (Switch/Hca/Rt blocks) that ibsim and parse_netlist read back to the same Netlist.
[[nodiscard]] std::string to_ibsim_text(const Netlist& netlist);
/// ibnetdiscover text, as infiniband-diags prints and reads it.
[[nodiscard]] std::string to_ibnetdiscover_text(const Netlist& netlist);

}  // namespace ibf::routing
