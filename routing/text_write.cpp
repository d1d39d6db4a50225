// Both writers print the same blocks. ibsim's differ in three ways: names are the netlist's own ids, adapters
// are called Hca, and the remark of a port line repeats the peer's id, since ibsim takes a '=' in a
// description there for an option.
#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "routing/netlist.hpp"
#include "routing/text_dialects.hpp"

namespace ibf::routing {
namespace {

enum class Style : std::uint8_t { ibsim, ibnetdiscover };

/// Descriptions and ids stand in quotes on one line.
std::string quotable(std::string_view text) {
    std::string out(text);
    for (char& letter : out) {
        if (letter == '"') {
            letter = '\'';
        } else if (static_cast<unsigned char>(letter) < 0x20 || letter == 0x7F) {
            letter = ' ';
        }
    }
    return out;
}

class BlockWriter {
public:
    BlockWriter(const Netlist& netlist, Style style) : netlist_(netlist), style_(style) {
        names_.reserve(netlist.nodes.size());
        for (const NetlistNode& node : netlist.nodes) {
            const bool own_id = style == Style::ibsim && !node.id.empty();
            names_.push_back(own_id ? quotable(node.id) : canonical_id(node.type, node.guid));
        }
    }

    void write(std::uint32_t index) {
        const NetlistNode& node = netlist_.nodes[index];
        const bool is_switch = node.type == mad::NodeType::switch_;
        print("\nvendid=0x{:x}\ndevid=0x{:x}\nsysimgguid=0x{:x}\n", node.vendor_id, node.device_id,
              node.system_guid.value());
        if (is_switch) {
            const mad::LidRange& lids = node.ports[0].lids;
            print("switchguid=0x{0:x}({0:x})\nSwitch\t{1} \"{2}\"\t\t# \"{3}\" {4} port 0 lid {5} lmc {6}\n",
                  node.guid.value(), node.num_ports(), names_[index], quotable(node.description),
                  node.enhanced_port0 ? "enhanced" : "base", lids.base, lids.lmc);
        } else {
            const bool is_ca = node.type == mad::NodeType::ca;
            print("{}guid=0x{:x}\n{}\t{} \"{}\"\t\t# \"{}\"\n", is_ca ? "ca" : "rt", node.guid.value(),
                  !is_ca                   ? "Rt"
                  : style_ == Style::ibsim ? "Hca"
                                           : "Ca",
                  node.num_ports(), names_[index], quotable(node.description));
        }
        for (std::size_t port = 1; port < node.ports.size(); ++port) {
            if (node.ports[port].peer_node) {
                write_port(node, port);
            }
        }
    }

    [[nodiscard]] std::string take() { return std::move(out_); }
    template <class... Args>
    void print(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    }

private:
    void write_port(const NetlistNode& node, std::size_t number) {
        const NetlistPort& port = node.ports[number];
        const NetlistNode& peer = netlist_.nodes[*port.peer_node];
        const NetlistPort& peer_port = peer.ports[port.peer_port.value()];
        const bool peer_is_switch = peer.type == mad::NodeType::switch_;
        print("[{}]", number);
        if (node.type != mad::NodeType::switch_ && port.guid.value() != 0) {
            print("({:x}) ", port.guid.value());
        }
        print("\t\"{}\"[{}]", names_[*port.peer_node], port.peer_port.value());
        if (!peer_is_switch && peer_port.guid.value() != 0) {
            print("({:x}) ", peer_port.guid.value());
        }
        print("\t\t# ");
        if (node.type != mad::NodeType::switch_) {
            print("lid {} lmc {} ", port.lids.base, port.lids.lmc);
        }
        const mad::LidRange& peer_lids = peer_is_switch ? peer.ports[0].lids : peer_port.lids;
        print("\"{}\" lid {} {}{}\n",
              style_ == Style::ibsim ? names_[*port.peer_node] : quotable(peer.description), peer_lids.base,
              mad::to_string(port.width), mad::to_string(port.speed));
    }

    const Netlist& netlist_;
    Style style_;
    std::vector<std::string> names_;
    std::string out_;
};

}  // namespace

std::string to_ibsim_text(const Netlist& netlist) {
    BlockWriter writer(netlist, Style::ibsim);
    writer.print("# netlist of {}\n", quotable(netlist.origin));
    for (std::uint32_t index = 0; index < netlist.nodes.size(); ++index) {
        writer.write(index);
    }
    return writer.take();
}

std::string to_ibnetdiscover_text(const Netlist& netlist) {
    BlockWriter writer(netlist, Style::ibnetdiscover);
    writer.print("#\n# Topology file: generated from {}\n#\n", quotable(netlist.origin));
    // ibnetdiscover lists switches first, then adapters, then routers.
    for (const auto type : {mad::NodeType::switch_, mad::NodeType::ca, mad::NodeType::router}) {
        for (std::uint32_t index = 0; index < netlist.nodes.size(); ++index) {
            if (netlist.nodes[index].type == type) {
                writer.write(index);
            }
        }
    }
    return writer.take();
}

}  // namespace ibf::routing
