#include "sim/agent.hpp"

#include <algorithm>

#include "mad/codec.hpp"

namespace ibf::sim {
namespace {

using mad::Attribute;
using mad::Method;
using mad::PortNum;

constexpr std::uint32_t kAllOutputPorts = 1U << 16U;
constexpr std::uint32_t kAllInputPorts = 1U << 17U;
constexpr std::uint32_t kMellanoxVendor = 0x0002C9;
constexpr unsigned kGuidsPerBlock = 8;

PortNum low_port(std::uint32_t modifier) {
    return PortNum{static_cast<std::uint8_t>(modifier & 0xFFU)};
}

/// The port that a table modifier means: adapters have one table per port and take that of the receiving
/// port.
std::optional<PortNum> table_port(const Device& device, PortRef at, std::uint32_t modifier_port) {
    if (!device.is_switch()) {
        return at.port;
    }
    return device.has_port(modifier_port) ? std::optional{PortNum{static_cast<std::uint8_t>(modifier_port)}}
                                          : std::nullopt;
}

struct PKeySelector {
    std::optional<PortNum> port;
    std::uint32_t block = 0;
};
PKeySelector pkey_selector(const Device& device, PortRef at, std::uint32_t modifier) {
    return {.port = table_port(device, at, modifier >> 16U), .block = modifier & 0xFFFFU};
}

struct MftSelector {
    std::uint32_t block = 0;
    std::uint32_t position = 0;
};
MftSelector mft_selector(std::uint32_t modifier) {
    return {.block = modifier & 0x1FFU, .position = modifier >> 28U};
}

bool switch_only(Attribute attribute) {
    return attribute == Attribute::switch_info || attribute == Attribute::linear_forwarding_table ||
           attribute == Attribute::multicast_forwarding_table;
}

}  // namespace

bool is_optimised_sl2vl(const mad::MadHeader& header) {
    return header.attribute == Attribute::sl2vl_table &&
           header.method == static_cast<std::uint8_t>(Method::set) &&
           (header.modifier & (kAllOutputPorts | kAllInputPorts)) != 0;
}

Answer Agent::serve(PortRef at, const mad::Smp& request, base::Instant now) {
    const auto method = static_cast<Method>(request.header.method);
    if (request.header.class_version != 1) {
        return Answer::failed(kStatusBadVersion, request.data);
    }
    if (method != Method::get && method != Method::set) {
        return Answer::failed(kStatusBadMethod, request.data);
    }
    if (switch_only(request.header.attribute) && !world_.device(at.node).is_switch()) {
        return Answer::failed(kStatusBadAttribute, request.data);
    }
    const KeyCheck key = check_mkey(at, request, now);
    if (key == KeyCheck::reject) {
        return Answer{.silent = true};
    }
    return method == Method::get ? get(at, request, key) : set(at, request, now);
}

Agent::KeyCheck Agent::check_mkey(PortRef at, const mad::Smp& request, base::Instant now) {
    Port& port = world_.device(at.node).address_port(at.port);
    if (port.info.mkey == mad::MKey{}) {
        return KeyCheck::open;
    }
    const bool lease_runs = port.extra && port.extra->mkey_lease_end != base::Instant{};
    if (port.info.mkey == request.mkey) {
        if (lease_runs) {
            port.extra->mkey_lease_end = base::Instant{};
        }
        return KeyCheck::open;
    }
    if (lease_runs && now >= port.extra->mkey_lease_end) {
        mad::PortInfo info = port.info;
        info.mkey_protect = 0;  // an expired lease opens the port for reading, IBA 14.2.4.2
        port.store(info);
    }
    const bool is_get = request.header.method == static_cast<std::uint8_t>(Method::get);
    if (is_get && port.info.mkey_protect <= 1) {
        return port.info.mkey_protect == 0 ? KeyCheck::open : KeyCheck::hide_key;
    }
    mad::PortInfo info = port.info;
    info.mkey_violations = static_cast<std::uint16_t>(std::min(info.mkey_violations + 1, 0xFFFF));
    port.store(info);
    if (!lease_runs && info.mkey_lease_period != 0) {
        port.tables().mkey_lease_end = now + std::chrono::seconds{info.mkey_lease_period};
    }
    return KeyCheck::reject;
}

Answer Agent::get(PortRef at, const mad::Smp& request, KeyCheck key) {
    const Device& device = world_.device(at.node);
    switch (request.header.attribute) {
        case Attribute::node_info: return get_node_info(at);
        case Attribute::node_description:
            return Answer::with(mad::encode(mad::NodeDescription{.text = device.description}));
        case Attribute::switch_info: return Answer::with(mad::encode(device.switch_info));
        case Attribute::port_info: return get_port_info(at, request, key);
        case Attribute::pkey_table: return get_pkeys(at, request);
        case Attribute::guid_info: return get_guids(at, request);
        case Attribute::sl2vl_table: return get_sl2vl(at, request);
        case Attribute::vl_arbitration: return get_vl_arb(at, request);
        case Attribute::linear_forwarding_table: return get_lft(at, request);
        case Attribute::multicast_forwarding_table: return get_mft(at, request);
        case Attribute::mlnx_extended_port_info: return get_extended_port_info(at, request);
        case Attribute::mlnx_adaptive_routing_info: return get_adaptive_routing(at, request);
        default: return Answer::failed(kStatusBadAttribute, request.data);
    }
}

Answer Agent::set(PortRef at, const mad::Smp& request, base::Instant now) {
    switch (request.header.attribute) {
        case Attribute::switch_info: return set_switch_info(at, request);
        case Attribute::port_info: return set_port_info(at, request, now);
        case Attribute::pkey_table: return set_pkeys(at, request);
        case Attribute::guid_info: return set_guids(at, request);
        case Attribute::sl2vl_table: return set_sl2vl(at, request);
        case Attribute::vl_arbitration: return set_vl_arb(at, request);
        case Attribute::linear_forwarding_table: return set_lft(at, request);
        case Attribute::multicast_forwarding_table: return set_mft(at, request);
        default: return Answer::failed(kStatusBadAttribute, request.data);
    }
}

Answer Agent::get_node_info(PortRef at) const {
    const Device& device = world_.device(at.node);
    mad::NodeInfo info = device.info;
    info.local_port = at.port;
    info.port_guid = device.address_port(at.port).guid;
    if (device.bad_node_info) {
        info.local_port = PortNum{static_cast<std::uint8_t>(info.num_ports + 1)};
    }
    return Answer::with(mad::encode(info));
}

Answer Agent::get_adaptive_routing(PortRef at, const mad::Smp& request) const {
    constexpr std::size_t kEnabledAt = 3;  // bit 0 of the first 32
    const Device& device = world_.device(at.node);
    if (device.info.vendor_id != kMellanoxVendor || !device.is_switch()) {
        return Answer::failed(kStatusBadAttribute, request.data);
    }
    mad::AttributeData data{};
    data[kEnabledAt] = device.adaptive_routing ? 1 : 0;
    return Answer::with(data);
}

Answer Agent::get_extended_port_info(PortRef at, const mad::Smp& request) const {
    // The vendor's layout (ib_mlnx_ext_port_info_t): one octet each at 7, 11 and 15; value 1 is FDR10.
    constexpr std::size_t kSupported = 7;
    constexpr std::size_t kEnabled = 11;
    constexpr std::size_t kActive = 15;
    const Device& device = world_.device(at.node);
    const std::uint32_t number = request.header.modifier & 0xFFU;
    if (device.info.vendor_id != kMellanoxVendor) {
        return Answer::failed(kStatusBadAttribute, request.data);
    }
    if (!device.has_port(number)) {
        return Answer::failed(kStatusBadValue, request.data);
    }
    const std::size_t port = !device.is_switch() && number == 0 ? at.port.value() : number;
    mad::AttributeData data{};
    data[kSupported] = data[kEnabled] = device.ports[port].cable_speed >= mad::LinkSpeed::fdr10 ? 1 : 0;
    data[kActive] = device.ports[port].info.fdr10_active ? 1 : 0;
    return Answer::with(data);
}

Answer Agent::get_pkeys(PortRef at, const mad::Smp& request) const {
    const Device& device = world_.device(at.node);
    const auto [port, block] = pkey_selector(device, at, request.header.modifier);
    if (!port || std::size_t{block} * kPKeysPerBlock >= device.pkey_capacity(*port)) {
        return Answer::failed(kStatusBadValue, request.data);
    }
    mad::PKeyBlock keys;
    for (std::size_t i = 0; i < keys.keys.size(); ++i) {
        keys.keys[i] = device.ports[port->value()].pkey(block * kPKeysPerBlock + i);
    }
    return Answer::with(mad::encode(keys));
}

Answer Agent::set_pkeys(PortRef at, const mad::Smp& request) {
    Device& device = world_.device(at.node);
    const auto [number, block] = pkey_selector(device, at, request.header.modifier);
    if (!number) {
        return Answer::refused(Rule::port_range, request.data);
    }
    const std::size_t capacity = device.pkey_capacity(*number);
    if (std::size_t{block} * kPKeysPerBlock >= capacity) {
        return Answer::refused(Rule::pkey_block_range, request.data);
    }
    Port& port = device.ports[number->value()];
    if (port.pkeys.empty()) {
        port.pkeys.resize(capacity);
        port.pkeys[0] = mad::kPKeyDefaultFull;
    }
    const mad::PKeyBlock keys = mad::decode_pkey_block(request.data);
    const std::size_t first = block * kPKeysPerBlock;
    const std::size_t count = std::min<std::size_t>(kPKeysPerBlock, port.pkeys.size() - first);
    const auto held = port.pkeys.begin() + static_cast<std::ptrdiff_t>(first);
    port.events.pkey_change +=
        std::equal(held, held + static_cast<std::ptrdiff_t>(count), keys.keys.begin()) ? 0U : 1U;
    std::copy_n(keys.keys.begin(), count, held);
    return get_pkeys(at, request);
}

Answer Agent::get_guids(PortRef at, const mad::Smp& request) {
    Port& port = world_.device(at.node).address_port(at.port);
    const std::uint32_t block = request.header.modifier;
    if (block != 0 || port.info.guid_cap == 0) {
        return Answer::failed(kStatusBadValue, request.data);
    }
    mad::GuidInfo guids;
    guids.guids[0] = port.guid;
    return Answer::with(mad::encode(port.extra ? port.extra->guids : guids));
}

Answer Agent::set_guids(PortRef at, const mad::Smp& request) {
    Port& port = world_.device(at.node).address_port(at.port);
    if (request.header.modifier != 0 || port.info.guid_cap == 0) {
        return Answer::refused(Rule::guid_block_range, request.data);
    }
    mad::GuidInfo guids = mad::decode_guid_info(request.data);
    guids.guids[0] = port.guid;  // burnt in
    for (unsigned i = port.info.guid_cap; i < kGuidsPerBlock; ++i) {
        guids.guids[i] = mad::Guid{};
    }
    port.tables().guids = guids;
    return Answer::with(mad::encode(guids));
}

Answer Agent::get_sl2vl(PortRef at, const mad::Smp& request) const {
    const Device& device = world_.device(at.node);
    const std::uint32_t modifier = request.header.modifier;
    const std::optional<PortNum> out = table_port(device, at, modifier & 0xFFU);
    const std::optional<PortNum> in = table_port(device, at, (modifier >> 8U) & 0xFFU);
    if (!out || !in || modifier > 0xFFFFU) {
        return Answer::failed(kStatusBadValue, request.data);
    }
    return Answer::with(mad::encode(device.sl2vl_table(*in, *out)));
}

Answer Agent::set_sl2vl(PortRef at, const mad::Smp& request) {
    Device& device = world_.device(at.node);
    const std::uint32_t modifier = request.header.modifier;
    const bool optimised = is_optimised_sl2vl(request.header);
    if (optimised && (!device.is_switch() || !device.switch_info.optimized_sl2vl)) {
        return Answer::refused(Rule::sl2vl_unsupported, request.data);
    }
    const std::optional<PortNum> out = table_port(device, at, modifier & 0xFFU);
    const std::optional<PortNum> in = table_port(device, at, (modifier >> 8U) & 0xFFU);
    if (!out || !in) {
        return Answer::refused(Rule::port_range, request.data);
    }
    const std::size_t ports = device.ports.size();
    const auto chosen = [&](std::uint32_t all, PortNum one, std::size_t port) {
        return (modifier & all) != 0 ? port != 0 : port == one.value();
    };
    const mad::Sl2VlTable table = mad::decode_sl2vl(request.data);
    for (std::size_t port = 0; port < ports; ++port) {
        // Down ports have no operational VLs to judge by; they take the table as it is.
        const bool judged = device.ports[port].info.state != mad::PortState::down || !optimised;
        if (chosen(kAllOutputPorts, *out, port) && judged) {
            if (const std::optional<Rule> broken = check_sl2vl(device.ports[port], table)) {
                return Answer::refused(*broken, request.data);
            }
        }
    }
    if (!device.is_switch()) {
        device.sl2vl_entry(at.port, at.port) = table;
        return Answer::with(mad::encode(table));
    }
    device.write_out_sl2vl();
    for (std::size_t i = 0; i < device.sl2vl.size(); ++i) {
        if (chosen(kAllInputPorts, *in, i / ports) && chosen(kAllOutputPorts, *out, i % ports)) {
            device.sl2vl[i] = table;
        }
    }
    return Answer::with(mad::encode(table));
}

Answer Agent::get_vl_arb(PortRef at, const mad::Smp& request) const {
    const Device& device = world_.device(at.node);
    const std::optional<PortNum> number = table_port(device, at, low_port(request.header.modifier).value());
    const std::uint32_t block = request.header.modifier >> 16U;
    if (!number || check_vl_arb(device.ports[number->value()], block, mad::VlArbBlock{})) {
        return Answer::failed(kStatusBadValue, request.data);
    }
    return Answer::with(mad::encode(device.ports[number->value()].vl_arb_block(block)));
}

Answer Agent::set_vl_arb(PortRef at, const mad::Smp& request) {
    Device& device = world_.device(at.node);
    const std::optional<PortNum> number = table_port(device, at, low_port(request.header.modifier).value());
    if (!number) {
        return Answer::refused(Rule::port_range, request.data);
    }
    Port& port = device.ports[number->value()];
    const std::uint32_t block = request.header.modifier >> 16U;
    const mad::VlArbBlock entries = mad::decode_vl_arb(request.data);
    if (const std::optional<Rule> broken = check_vl_arb(port, block, entries)) {
        return Answer::refused(*broken, request.data);
    }
    port.tables().vl_arb[block - 1] = entries;
    return Answer::with(mad::encode(entries));
}

Answer Agent::get_lft(PortRef at, const mad::Smp& request) const {
    const Device& device = world_.device(at.node);
    const std::uint64_t first = std::uint64_t{request.header.modifier} * mad::kLftBlockEntries;
    if (first >= device.switch_info.linear_fdb_cap) {
        return Answer::failed(kStatusBadValue, request.data);
    }
    mad::LftBlock block;
    for (std::size_t i = 0; i < block.ports.size(); ++i) {
        block.ports[i] = device.lft_entry(mad::Lid{static_cast<std::uint16_t>(first + i)});
    }
    return Answer::with(mad::encode(block));
}

Answer Agent::set_lft(PortRef at, const mad::Smp& request) {
    Device& device = world_.device(at.node);
    const mad::LftBlock block = mad::decode_lft(request.data);
    if (const std::optional<Rule> broken = check_lft(device, request.header.modifier, block)) {
        return Answer::refused(*broken, request.data);
    }
    const std::size_t first = std::size_t{request.header.modifier} * mad::kLftBlockEntries;
    const std::size_t end = first + mad::kLftBlockEntries;
    if (device.lft.size() < end) {
        // The final size is known from LinearFDBTop: reserve it, so that a full table is not grown by
        // doubling.
        const std::size_t blocks = device.switch_info.linear_fdb_top / mad::kLftBlockEntries + std::size_t{1};
        device.lft.reserve(std::max(end, blocks * mad::kLftBlockEntries));
        device.lft.resize(end, mad::kLftDrop);
    }
    std::copy(block.ports.begin(), block.ports.end(),
              device.lft.begin() + static_cast<std::ptrdiff_t>(first));
    return Answer::with(request.data);
}

Answer Agent::get_mft(PortRef at, const mad::Smp& request) const {
    const Device& device = world_.device(at.node);
    const auto [block, position] = mft_selector(request.header.modifier);
    if (check_mft(device, block, position)) {
        return Answer::failed(kStatusBadValue, request.data);
    }
    mad::MftBlock masks;
    if (position < device.mft.size() && !device.mft[position].empty()) {
        const std::size_t first = std::size_t{block} * masks.port_masks.size();
        const std::size_t count = std::min(masks.port_masks.size(), device.mft[position].size() - first);
        std::copy_n(device.mft[position].begin() + static_cast<std::ptrdiff_t>(first), count,
                    masks.port_masks.begin());
    }
    return Answer::with(mad::encode(masks));
}

Answer Agent::set_mft(PortRef at, const mad::Smp& request) {
    Device& device = world_.device(at.node);
    const auto [block, position] = mft_selector(request.header.modifier);
    if (const std::optional<Rule> broken = check_mft(device, block, position)) {
        return Answer::refused(*broken, request.data);
    }
    if (device.mft.size() <= position) {
        device.mft.resize(position + 1);
    }
    std::vector<std::uint16_t>& row = device.mft[position];
    row.resize(device.switch_info.multicast_fdb_cap);
    const mad::MftBlock masks = mad::decode_mft(request.data);
    const std::size_t first = std::size_t{block} * masks.port_masks.size();
    const std::size_t count = std::min(masks.port_masks.size(), row.size() - first);
    std::copy_n(masks.port_masks.begin(), count, row.begin() + static_cast<std::ptrdiff_t>(first));
    return Answer::with(request.data);
}

Answer Agent::set_switch_info(PortRef at, const mad::Smp& request) {
    Device& device = world_.device(at.node);
    const mad::SwitchInfo wanted = mad::decode_switch_info(request.data);
    if (const std::optional<Rule> broken = check_switch_info(device, wanted)) {
        return Answer::refused(*broken, request.data);
    }
    mad::SwitchInfo& info = device.switch_info;
    info.linear_fdb_top = wanted.linear_fdb_top;
    info.default_port = wanted.default_port;
    info.default_mcast_primary = wanted.default_mcast_primary;
    info.default_mcast_not_primary = wanted.default_mcast_not_primary;
    info.life_time = wanted.life_time;
    info.multicast_fdb_top = wanted.multicast_fdb_top;
    if (wanted.port_state_change) {
        info.port_state_change = false;
    }
    return Answer::with(mad::encode(info));
}

}  // namespace ibf::sim
