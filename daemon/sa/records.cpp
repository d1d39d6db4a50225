// The records of the fabric: for each attribute, what one port contributes.
#include <algorithm>

#include "daemon/sa/member_record.hpp"
#include "daemon/sa/reader.hpp"
#include "mad/codec.hpp"
#include "mad/multicast.hpp"
#include "mad/octets.hpp"

namespace ibf::sa {
namespace {

using fabric::kNoNode;
using fabric::Node;
using fabric::Port;

/// Collects the records of one query: those that match go on.
class Collector {
public:
    Collector(const Query& query, const RecordType& type, std::uint64_t mask, std::vector<std::uint8_t>& out)
        : query_(query), type_(type), mask_(mask), out_(out), record_(type.size()) {}

    /// An empty record, to be filled and kept.
    std::vector<std::uint8_t>& fresh() {
        std::fill(record_.begin(), record_.end(), std::uint8_t{0});
        return record_;
    }
    void keep() { keep_whatever(0); }
    /// The same, but these components may be as they are.
    void keep_whatever(std::uint64_t components) {
        if (!full() && type_.matches(mask_ & ~components, query_.request.data, record_)) {
            out_.insert(out_.end(), record_.begin(), record_.end());
        }
    }
    /// The same, but what is kept has zeros in place of some bytes that it was compared by.
    void keep_without(std::size_t at, std::size_t bytes) {
        const std::size_t before = out_.size();
        keep();
        if (out_.size() != before) {
            std::fill_n(out_.begin() + static_cast<long>(before + at), bytes, std::uint8_t{0});
        }
    }
    [[nodiscard]] bool full() const { return out_.size() > query_.config.answer_bytes; }
    [[nodiscard]] const Query& query() const { return query_; }
    [[nodiscard]] const RecordType& type() const { return type_; }
    [[nodiscard]] std::uint64_t bit(std::string_view field) const {
        return std::uint64_t{1} << type_.component(field);
    }
    /// The values below `count` that a field may have: the one asked for, or all.
    struct Range {
        std::size_t first = 0;
        std::size_t end = 0;
    };
    [[nodiscard]] Range asked(std::string_view field, std::size_t count) const {
        const std::uint64_t value = type_.get(query_.request.data, field);
        return (mask_ & bit(field)) == 0 ? Range{0, count} : Range{value, std::min(value + 1, count)};
    }
    void set(std::string_view field, std::uint64_t value) { type_.set(record_, field, value); }
    /// Puts an attribute's bytes in, as far as the record goes.
    template <class Data>
    void put(std::size_t at, const Data& data, std::size_t bytes) {
        std::copy_n(data.begin(), std::min(bytes, record_.size() - at),
                    record_.begin() + static_cast<long>(at));
    }

    std::uint32_t wanted_capabilities = 0;  ///< all of these bits, whatever the others are

private:
    const Query& query_;
    const RecordType& type_;
    std::uint64_t mask_;
    std::vector<std::uint8_t>& out_;
    std::vector<std::uint8_t> record_;
};

const Node& node_of(Collector& to, const End& end) {
    return to.query().view.fabric().nodes[end.at.node];
}

void node_record(Collector& to, const End& end) {
    const Node& node = node_of(to, end);
    to.fresh();
    to.set("LID", end.lids.base.value());
    mad::NodeInfo info = node.info;
    info.port_guid = end.guid;
    info.local_port = end.at.port;
    to.put(4, mad::encode(info), 40);
    to.put(44, mad::encode(mad::NodeDescription{node.description}), 64);
    to.keep();
}

void port_info_record(Collector& to, const End& end) {
    const Node& node = node_of(to, end);
    const std::size_t first = end.is_switch ? 0 : end.at.port.value();
    const std::size_t last = end.is_switch ? node.ports.size() - 1 : first;
    for (std::size_t p = first; p <= last; ++p) {
        const Port& port = node.ports[p];
        if (!port.known) {
            continue;
        }
        if ((port.info.capability_mask & to.wanted_capabilities) != to.wanted_capabilities) {
            continue;
        }
        to.fresh();
        to.set("EndportLID", end.lids.base.value());
        to.set("PortNum", p);
        to.put(4, mad::encode(port.info), 64);
        if (!trusted(to.query())) {
            to.set("M_Key", 0);
        }
        to.keep();
    }
}

void switch_info_record(Collector& to, const End& end) {
    const Node& node = node_of(to, end);
    if (end.is_switch && node.switch_info) {
        to.fresh();
        to.set("LID", end.lids.base.value());
        to.put(4, mad::encode(*node.switch_info), 20);
        to.keep();
    }
}

void lft_record(Collector& to, const End& end) {
    const Node& node = node_of(to, end);
    const routing::LftRow* row = end.is_switch && end.switch_index != routing::kNoIndex
                                     ? to.query().view.row(end.switch_index)
                                     : nullptr;
    if (row == nullptr || !node.switch_info) {
        return;
    }
    const std::size_t blocks = node.switch_info->linear_fdb_top / mad::kLftBlockEntries + 1U;
    for (std::size_t block = 0; block < blocks && !to.full(); ++block) {
        to.fresh();
        to.set("LID", end.lids.base.value());
        to.set("BlockNum", block);
        mad::LftBlock entries;
        entries.ports.fill(mad::kLftDrop);
        for (std::size_t i = 0; i < entries.ports.size() && block * 64 + i < row->size(); ++i) {
            entries.ports[i] = (*row)[block * 64 + i];
        }
        to.put(8, entries.ports, entries.ports.size());
        to.keep();
    }
}

void mft_record(Collector& to, const End& end) {
    const auto& tables = to.query().view.snapshot().multicast;
    const auto row =
        end.is_switch && tables ? tables->find(end.node_guid) : fabric::MulticastTables::const_iterator{};
    if (!end.is_switch || !tables || row == tables->end() || row->second.empty()) {
        return;
    }
    constexpr unsigned kEntries = 32;
    constexpr unsigned kPorts = 16;
    const unsigned blocks = (row->second.rbegin()->first - mad::kMlidFirst) / kEntries + 1;
    const unsigned positions = node_of(to, end).info.num_ports / kPorts + 1U;
    for (unsigned at = 0; at < blocks * positions && !to.full(); ++at) {
        mad::MftBlock block;
        const unsigned position = at % positions;
        for (const auto& [mlid, mask] : row->second) {
            if ((mlid - mad::kMlidFirst) / kEntries != at / positions) {
                continue;
            }
            for (unsigned p = 0; p < kPorts; ++p) {
                const unsigned bit = mask.test(position * kPorts + p) ? 1U << p : 0U;
                block.port_masks[(mlid - mad::kMlidFirst) % kEntries] |= static_cast<std::uint16_t>(bit);
            }
        }
        to.fresh();
        to.set("LID", end.lids.base.value());
        to.set("Position", position);
        to.set("BlockNum", at / positions);
        to.put(8, mad::encode(block), 64);
        to.keep();
    }
}

void pkey_record(Collector& to, const End& end) {
    const std::vector<mad::PKeyBlock>& blocks = to.query().view.fabric().port(end.at).pkeys;
    for (std::size_t block = 0; block < blocks.size(); ++block) {
        to.fresh();
        to.set("LID", end.lids.base.value());
        to.set("BlockNum", block);
        to.set("PortNum", end.at.port.value());
        to.put(8, mad::encode(blocks[block]), 64);
        to.keep();
    }
}

/// Null: not read.
const fabric::LaneTables* lanes_of(Collector& to, const End& end) {
    const auto& lanes = to.query().view.snapshot().lanes;
    const auto found = lanes ? lanes->tables.find(end.guid) : decltype(lanes->tables.begin()){};
    return !lanes || found == lanes->tables.end() ? nullptr : found->second.get();
}

void sl2vl_record(Collector& to, const End& end) {
    const fabric::LaneTables* lanes = lanes_of(to, end);
    if (lanes == nullptr) {
        return;
    }
    const Collector::Range every{0, lanes->ports};
    const auto exits = end.is_switch ? to.asked("OutputPortNum", lanes->ports) : every;
    const auto inputs = end.is_switch ? to.asked("InputPortNum", lanes->ports) : every;
    // Adapters have one table, whatever ports a query names (IBA 15.2.5.5: reserved).
    const std::uint64_t ports = end.is_switch ? 0 : to.bit("InputPortNum") | to.bit("OutputPortNum");
    for (std::size_t exit = exits.first; exit < exits.end && !to.full(); ++exit) {
        for (std::size_t input = inputs.first; input < inputs.end; ++input) {
            const mad::Sl2VlTable* table = lanes->map(input, exit);
            if (table == nullptr) {
                continue;
            }
            to.fresh();
            to.set("LID", end.lids.base.value());
            to.set("InputPortNum", input);
            to.set("OutputPortNum", end.is_switch ? exit : end.at.port.value());
            to.put(8, mad::encode(*table), 8);
            to.keep_whatever(ports);
        }
    }
}

void vl_arb_record(Collector& to, const End& end) {
    const fabric::LaneTables* lanes = lanes_of(to, end);
    if (lanes == nullptr) {
        return;
    }
    const auto ports =
        end.is_switch ? to.asked("OutputPortNum", lanes->ports) : Collector::Range{0, lanes->ports};
    for (std::size_t port = ports.first; port < ports.end && !to.full(); ++port) {
        for (std::size_t block = 1; block <= fabric::kArbitrationBlocks; ++block) {
            const mad::VlArbBlock* entries = lanes->arbitration_block(port, block);
            if (entries == nullptr) {
                continue;
            }
            to.fresh();
            to.set("LID", end.lids.base.value());
            to.set("OutputPortNum", end.is_switch ? port : end.at.port.value());
            to.set("BlockNum", block);
            to.put(8, mad::encode(*entries), 64);
            to.keep_whatever(end.is_switch ? 0 : to.bit("OutputPortNum"));
        }
    }
}

void guid_record(Collector& to, const End& end) {
    to.fresh();
    to.set("LID", end.lids.base.value());
    to.set("GUID0", end.guid.value());
    to.keep();
}

void link_record(Collector& to, const End& end) {
    const fabric::Fabric& fabric = to.query().view.fabric();
    const Node& node = fabric.nodes[end.at.node];
    const std::size_t first = end.is_switch ? 1 : end.at.port.value();
    const std::size_t last = end.is_switch ? node.ports.size() - 1 : first;
    for (std::size_t p = first; p <= last; ++p) {
        const fabric::PortRef peer = node.ports[p].peer;
        if (peer.node == kNoNode) {
            continue;
        }
        const mad::LidRange far = fabric::lids_of(fabric.nodes[peer.node], peer.port);
        if (far.base == mad::kLidNone) {
            continue;
        }
        to.fresh();
        to.set("FromLID", end.lids.base.value());
        to.set("FromPort", p);
        to.set("ToPort", peer.port.value());
        to.set("ToLID", far.base.value());
        to.keep();
    }
}

/// This SM and the others that were seen.
void sm_info_records(Collector& to) {
    const fabric::Snapshot& snapshot = to.query().view.snapshot();
    const auto record = [&](mad::Lid lid, const mad::SmInfo& info) {
        if (lid == mad::kLidNone) {
            return;
        }
        to.fresh();
        to.set("LID", lid.value());
        to.put(4, mad::encode(info), 21);
        to.keep();
    };
    mad::SmInfo own;
    own.guid = snapshot.sm_guid;
    own.act_count = static_cast<std::uint32_t>(snapshot.mads.sent);
    own.priority = snapshot.sm_priority;
    own.state = snapshot.mastership.state;
    record(snapshot.sm_lid, own);
    for (const fabric::OtherSm& sm : to.query().view.fabric().sms) {
        mad::SmInfo info;
        info.guid = sm.guid;
        info.act_count = sm.act_count;
        info.priority = sm.priority;
        info.state = sm.state;
        record(sm.lid, info);
    }
}

void member_records(Collector& to) {
    for (const auto& [mgid, group] : to.query().tables.groups) {
        std::vector<std::uint8_t>& record = to.fresh();
        put_group(record, *group);
        if (!trusted(to.query())) {
            to.set("JoinState", fabric::kFullMember);
            to.keep();  // the group, not who is in it
            continue;
        }
        for (const auto& [guid, member] : group->members) {
            put_member(record, member);
            to.keep();
        }
    }
}

void service_records(Collector& to) {
    for (const auto& [key, service] : to.query().tables.services) {
        to.fresh();
        to.put(0, service->record, service->record.size());
        trusted(to.query()) ? to.keep() : to.keep_without(32, 16);  // who knows the ServiceKey may ask by it
    }
}

void inform_records(Collector& to) {
    for (const auto& subscription : to.query().tables.subscriptions) {
        std::vector<std::uint8_t>& record = to.fresh();
        mad::store_gid(record, 0, subscription->subscriber);
        to.set("Enum", subscription->number);
        to.put(24, subscription->inform_info, subscription->inform_info.size());
        to.keep();
    }
}

using Maker = void (*)(Collector&, const End&);

Maker maker_of(mad::SaAttribute attribute) {
    using A = mad::SaAttribute;
    switch (attribute) {
        case A::node_record: return node_record;
        case A::port_info_record: return port_info_record;
        case A::switch_info_record: return switch_info_record;
        case A::lft_record: return lft_record;
        case A::mft_record: return mft_record;
        case A::pkey_table_record: return pkey_record;
        case A::sl_to_vl_table_record: return sl2vl_record;
        case A::vl_arb_record: return vl_arb_record;
        case A::guid_info_record: return guid_record;
        case A::link_record: return link_record;
        default: return nullptr;
    }
}

/// The ports that a query can mean, by whichever key it gives; empty optional: all.
std::optional<std::vector<std::uint32_t>> candidates(const Query& query, const RecordType& type,
                                                     std::uint64_t& mask) {
    const auto asks = [&](std::string_view field) { return ((mask >> type.component(field)) & 1U) != 0; };
    const std::string_view lid_field = type.attribute() == mad::SaAttribute::port_info_record ? "EndportLID"
                                       : type.attribute() == mad::SaAttribute::link_record    ? "FromLID"
                                                                                              : "LID";
    if (asks(lid_field)) {
        // Any LID of the port's range means the port (IBA 15.2.5.2).
        const auto lid = mad::Lid{static_cast<std::uint16_t>(type.get(query.request.data, lid_field))};
        const std::uint32_t end = query.view.by_lid(lid);
        mask &= ~(std::uint64_t{1} << type.component(lid_field));
        return end == kNoEnd ? std::vector<std::uint32_t>{} : std::vector<std::uint32_t>{end};
    }
    if (type.attribute() == mad::SaAttribute::node_record && asks("PortGUID")) {
        const std::uint32_t end = query.view.by_guid(mad::Guid{type.get(query.request.data, "PortGUID")});
        return end == kNoEnd ? std::vector<std::uint32_t>{} : std::vector<std::uint32_t>{end};
    }
    if (type.attribute() == mad::SaAttribute::node_record && asks("NodeGUID")) {
        return query.view.by_node_guid(mad::Guid{type.get(query.request.data, "NodeGUID")});
    }
    return std::nullopt;
}

}  // namespace

void collect_records(const Query& query, const RecordType& type, std::vector<std::uint8_t>& out) {
    using A = mad::SaAttribute;
    std::uint64_t mask = query.request.component_mask;
    const Maker make = maker_of(type.attribute());
    if (make == nullptr) {
        Collector to(query, type, mask, out);
        switch (type.attribute()) {
            case A::sm_info_record: return sm_info_records(to);
            case A::mc_member_record: return member_records(to);
            case A::service_record: return service_records(to);
            case A::inform_info_record: return inform_records(to);
            default: return;
        }
    }
    // PortInfoRecord with modifier bit 31: CapabilityMask names bits that must be set (IBA 15.2.5.3).
    constexpr std::uint32_t kCapabilitiesAsBits = 0x80000000U;
    std::uint32_t wanted_capabilities = 0;
    if (type.attribute() == A::port_info_record &&
        (query.request.header.modifier & kCapabilitiesAsBits) != 0) {
        const std::uint64_t bit = std::uint64_t{1} << type.component("CapabilityMask");
        wanted_capabilities = (mask & bit) != 0
                                  ? static_cast<std::uint32_t>(type.get(query.request.data, "CapabilityMask"))
                                  : 0U;
        mask &= ~bit;
    }
    const auto few = candidates(query, type, mask);
    Collector to(query, type, mask, out);
    to.wanted_capabilities = wanted_capabilities;
    if (few) {
        for (const std::uint32_t end : *few) {
            make(to, query.view.ends()[end]);
        }
        return;
    }
    for (const End& end : query.view.ends()) {
        make(to, end);
        if (to.full()) {
            return;
        }
    }
}

}  // namespace ibf::sa
