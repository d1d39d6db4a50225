// DOC: the drawing board of the generators.
//
// A FabricDraft collects switches, hosts and cables and hands out a Netlist. GUIDs follow from the order of
// the calls alone, so equal specs give equal fabrics: switches count up in steps of 256 and hosts in steps of
// 16 under two vendor prefixes, which leaves room for "node GUID + port number". Sizes are bounded here once,
// for every family: plan() must be asked before anything is drawn.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "routing/generate_spec.hpp"
#include "routing/netlist.hpp"

namespace ibf::routing {

inline constexpr std::uint64_t kGeneratedNodesMax = 60'000;
inline constexpr std::uint64_t kSwitchPortsMax = 254;  ///< 255 means "no port" in a forwarding table

/// Errors: unsupported if a fabric of that size is more than a generator draws.
[[nodiscard]] base::Result<void> check_size(std::string_view family, std::uint64_t switches,
                                            std::uint64_t hosts, std::uint64_t ports_of_switch);

class FabricDraft {
public:
    /// Takes link speed and width from the common keys.
    explicit FabricDraft(const Parameters& parameters);

    std::uint32_t add_switch(std::string name, std::uint32_t ports);
    /// A host "host-0001", "host-0002", ... with one port.
    std::uint32_t add_host();
    void connect(std::uint32_t a, std::uint32_t a_port, std::uint32_t b, std::uint32_t b_port);
    /// `count` new hosts on consecutive ports of a switch.
    void add_hosts_to(std::uint32_t switch_node, std::uint32_t first_port, std::uint32_t count);

    [[nodiscard]] Netlist take() { return std::move(netlist_); }

private:
    Netlist netlist_;
    mad::LinkSpeed speed_;
    mad::LinkWidth width_;
    std::uint32_t switches_ = 0;
    std::uint32_t hosts_ = 0;
};

}  // namespace ibf::routing
