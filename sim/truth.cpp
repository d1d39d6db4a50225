#include "sim/truth.hpp"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "mad/codec.hpp"
#include "sim/rules.hpp"
#include "sim/world.hpp"

namespace ibf::sim {
namespace {

using Json = nlohmann::ordered_json;

std::string guid_text(mad::Guid guid) {
    return fmt::format("0x{:016x}", guid.value());
}

Json pkeys_of(const Device& device, mad::PortNum number) {
    Json keys = Json::array();
    const Port& port = device.ports[number.value()];
    for (std::size_t i = 0; i < std::max<std::size_t>(port.pkeys.size(), 1); ++i) {
        keys.push_back(fmt::format("0x{:04x}", port.pkey(i).value()));
    }
    return keys;
}

/// An external switch port has no capability bits of its own: port 0 speaks for it (IBA 14.2.5.6), and
/// without them extended speeds mean nothing.
mad::LinkSpeed speed_of(const Device& device, mad::PortNum number) {
    mad::PortInfo info = device.ports[number.value()].info;
    info.capability_mask = device.address_port(number).info.capability_mask;
    info.capability_mask2 = device.address_port(number).info.capability_mask2;
    return info.speed();
}

Json port_of(const Device& device, mad::PortNum number) {
    const Port& port = device.ports[number.value()];
    const mad::PortInfo& info = port.info;
    Json json{{"port", number.value()},
              {"lid", info.lid.value()},
              {"lmc", info.lmc},
              {"sm_lid", info.sm_lid.value()},
              {"state", mad::to_string(info.state)},
              {"phys_state", mad::to_string(info.phys_state)},
              {"mtu", static_cast<unsigned>(info.neighbor_mtu)},
              {"mtu_cap", static_cast<unsigned>(info.mtu_cap)},
              {"width", mad::to_string(info.width_active)},
              {"speed", mad::to_string(speed_of(device, number))}};
    if (!device.is_switch() || number.value() == 0) {
        json["guid"] = guid_text(port.guid);
        json["gid_prefix"] = fmt::format("0x{:016x}", info.gid_prefix);
        json["is_sm"] = (info.capability_mask & kCapIsSm) != 0;
        json["capability_mask"] = info.capability_mask;
        json["pkeys"] = pkeys_of(device, number);
    }
    return json;
}

std::string hex(std::span<const std::uint8_t> bytes) {
    return fmt::format("{:02x}", fmt::join(bytes, ""));
}

/// SL2VL as 16 digits by exit, by input port: of a switch all, of an adapter each port's own. VL arbitration
/// by port: the blocks that it can hold, 64 bytes each.
void add_lanes(Json& json, const Device& device) {
    constexpr std::size_t kMapBytes = 8;
    Json maps = Json::object();
    Json arbitration = Json::object();
    const std::size_t first = device.is_switch() ? 0 : 1;
    for (std::size_t out = first; out < device.ports.size(); ++out) {
        const mad::PortNum exit{static_cast<std::uint8_t>(out)};
        Json row = Json::array();
        for (std::size_t in = 0; in < (device.is_switch() ? device.ports.size() : 1); ++in) {
            const auto map =
                mad::encode(device.sl2vl_table(mad::PortNum{static_cast<std::uint8_t>(in)}, exit));
            row.push_back(hex(std::span(map).first(kMapBytes)));
        }
        maps[fmt::to_string(out)] = std::move(row);
        Json blocks = Json::object();
        for (std::uint32_t block = 1; block <= 4; ++block) {
            const mad::VlArbBlock held = device.ports[out].vl_arb_block(block);
            if (!check_vl_arb(device.ports[out], block, held)) {
                blocks[fmt::to_string(block)] = hex(mad::encode(held));
            }
        }
        arbitration[fmt::to_string(out)] = std::move(blocks);
    }
    json["sl2vl"] = std::move(maps);
    json["vl_arbitration"] = std::move(arbitration);
}

void add_tables(Json& json, const Device& device) {
    std::string lft;
    const std::size_t top = std::min<std::size_t>(device.switch_info.linear_fdb_top, mad::kLidUnicastMax);
    for (std::size_t lid = 0; lid <= top; ++lid) {
        lft += fmt::format("{:02x}", device.lft_entry(mad::Lid{static_cast<std::uint16_t>(lid)}));
    }
    json["linear_top"] = device.switch_info.linear_fdb_top;
    json["lft"] = lft;
    constexpr unsigned kPortsPerPosition = 16;
    std::map<std::uint16_t, Json> groups;
    for (std::size_t position = 0; position < device.mft.size(); ++position) {
        for (std::size_t offset = 0; offset < device.mft[position].size(); ++offset) {
            for (unsigned bit = 0; bit < kPortsPerPosition; ++bit) {
                if ((device.mft[position][offset] >> bit & 1U) != 0) {
                    groups[static_cast<std::uint16_t>(kMlidBase + offset)].push_back(
                        position * kPortsPerPosition + bit);
                }
            }
        }
    }
    json["mft"] = Json::object();
    for (auto& [mlid, ports] : groups) {
        json["mft"][fmt::format("0x{:04x}", mlid)] = std::move(ports);
    }
}

Json node_of(const Device& device, TruthTables tables) {
    Json ports = Json::array();
    for (std::size_t number = device.is_switch() ? 0 : 1; number < device.ports.size(); ++number) {
        ports.push_back(port_of(device, mad::PortNum{static_cast<std::uint8_t>(number)}));
    }
    Json json{{"guid", guid_text(device.info.node_guid)},
              {"system_guid", guid_text(device.info.system_guid)},
              {"type", mad::to_string(device.info.type)},
              {"description", device.description},
              {"present", device.present},
              {"num_ports", device.info.num_ports},
              {"ports", std::move(ports)}};
    if (device.is_switch() && tables == TruthTables::included) {
        add_tables(json, device);
    }
    if (tables == TruthTables::lanes) {
        add_lanes(json, device);
    }
    return json;
}

}  // namespace

std::string truth_json(const Simulator& simulator, TruthTables tables) {
    const World& world = simulator.world();
    Json json{{"nodes", Json::array()}, {"links", Json::array()}};
    for (std::uint32_t node = 0; node < world.size(); ++node) {
        const Device& device = world.device(node);
        json["nodes"].push_back(node_of(device, tables));
        for (std::size_t number = 1; number < device.ports.size(); ++number) {
            const PortRef here{node, mad::PortNum{static_cast<std::uint8_t>(number)}};
            const std::optional<PortRef> there = world.linked_peer(here);
            if (there && here < *there) {
                json["links"].push_back({{"a", guid_text(device.info.node_guid)},
                                         {"a_port", here.port.value()},
                                         {"b", guid_text(world.device(there->node).info.node_guid)},
                                         {"b_port", there->port.value()}});
            }
        }
    }
    // Bytes that are no UTF-8 may come in a description; they are replaced.
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ibf::sim
