#include "routing/generate_draft.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"

namespace ibf::routing {
namespace {

constexpr std::uint64_t kSwitchGuids = 0xe09d730300000000;
constexpr std::uint64_t kHostGuids = 0x5c25730300000000;
constexpr std::uint64_t kSwitchStep = 256;
constexpr std::uint64_t kHostStep = 16;
constexpr std::uint32_t kVendorId = 0x2c9;

struct DeviceIds {
    std::uint16_t switch_id;
    std::uint16_t adapter_id;
};

/// A device generation of the speed, so that listings look like a fabric one meets.
DeviceIds device_ids(mad::LinkSpeed speed) {
    switch (speed) {
        case mad::LinkSpeed::none:
        case mad::LinkSpeed::sdr:
        case mad::LinkSpeed::ddr: return {0xb924, 0x6274};
        case mad::LinkSpeed::qdr: return {0xbd36, 0x673c};
        case mad::LinkSpeed::fdr10:
        case mad::LinkSpeed::fdr: return {0xc738, 0x1003};
        case mad::LinkSpeed::edr: return {0xcf08, 0x1013};
        case mad::LinkSpeed::hdr: return {0xd2f0, 0x101b};
        case mad::LinkSpeed::ndr: return {0xd2f2, 0x1021};
        case mad::LinkSpeed::xdr: return {0xd2f4, 0x1023};
    }
    return {0, 0};
}

}  // namespace

base::Result<void> check_size(std::string_view family, std::uint64_t switches, std::uint64_t hosts,
                              std::uint64_t ports_of_switch) {
    if (ports_of_switch > kSwitchPortsMax) {
        return base::fail(base::ErrorKind::unsupported,
                          fmt::format("{}: a switch would need {} ports; a switch has at most {}", family,
                                      ports_of_switch, kSwitchPortsMax));
    }
    if (switches > kGeneratedNodesMax || hosts > kGeneratedNodesMax ||
        switches + hosts > kGeneratedNodesMax) {
        return base::fail(
            base::ErrorKind::unsupported,
            fmt::format("{}: {} switches and {} hosts are more than the {} nodes a generator draws", family,
                        switches, hosts, kGeneratedNodesMax));
    }
    return {};
}

FabricDraft::FabricDraft(const Parameters& parameters)
    : speed_(parameters.speed("speed")), width_(parameters.width("width")) {}

std::uint32_t FabricDraft::add_switch(std::string name, std::uint32_t ports) {
    NetlistNode node;
    node.type = mad::NodeType::switch_;
    node.guid = mad::Guid{kSwitchGuids + kSwitchStep * ++switches_};
    node.system_guid = node.guid;
    node.id = fmt::format("S-{:016x}", node.guid.value());
    node.description = std::move(name);
    node.vendor_id = kVendorId;
    node.device_id = device_ids(speed_).switch_id;
    node.ports.resize(ports + std::size_t{1});
    netlist_.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(netlist_.nodes.size() - 1);
}

std::uint32_t FabricDraft::add_host() {
    NetlistNode node;
    node.type = mad::NodeType::ca;
    node.guid = mad::Guid{kHostGuids + kHostStep * ++hosts_};
    node.system_guid = node.guid;
    node.id = fmt::format("H-{:016x}", node.guid.value());
    node.description = fmt::format("host-{:04}", hosts_);
    node.vendor_id = kVendorId;
    node.device_id = device_ids(speed_).adapter_id;
    node.ports.resize(2);
    node.ports[1].guid = mad::Guid{node.guid.value() + 1};
    netlist_.nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(netlist_.nodes.size() - 1);
}

void FabricDraft::connect(std::uint32_t a, std::uint32_t a_port, std::uint32_t b, std::uint32_t b_port) {
    const auto plug = [this](std::uint32_t node, std::uint32_t port, std::uint32_t peer,
                             std::uint32_t peer_port) {
        IBF_CHECK(port >= 1 && port < netlist_.nodes[node].ports.size(), "a cable into port {} of {}", port,
                  netlist_.nodes[node].description);
        NetlistPort& item = netlist_.nodes[node].ports[port];
        IBF_CHECK(!item.peer_node, "two cables into port {} of {}", port, netlist_.nodes[node].description);
        item.peer_node = peer;
        item.peer_port = mad::PortNum{static_cast<std::uint8_t>(peer_port)};
        item.speed = speed_;
        item.width = width_;
    };
    plug(a, a_port, b, b_port);
    plug(b, b_port, a, a_port);
}

void FabricDraft::add_hosts_to(std::uint32_t switch_node, std::uint32_t first_port, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t host = add_host();
        connect(host, 1, switch_node, first_port + i);
    }
}

}  // namespace ibf::routing
