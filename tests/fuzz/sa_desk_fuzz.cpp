// Subnet administration as strangers meet it: a fabric of four hosts, and requests of any content in any
// order, composed or raw, repeated, acknowledged or not, with traps and other fabrics in between. Whatever
// comes, every answer goes to who asked and repeats his question's transaction id, tables hold exactly the
// records that a judge of single bits would pick, and what clients leave stays within its limits and is read
// back as it was written.
//
// The input is a run of steps: an octet that says what to do, and the octets that the step asks for (0 at the
// end).

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "daemon/fabric/planned.hpp"
#include "daemon/sa/desk.hpp"
#include "daemon/sa/registry.hpp"
#include "daemon/sa/registry_state.hpp"
#include "routing/netlist.hpp"
#include "routing/routes.hpp"
#include "tests/fuzz/input.hpp"

namespace {

using namespace ibf;
using ibf::fuzz::Input;
using ibf::fuzz::require;
using mad::SaAttribute;
using mad::SaMethod;
using Records = std::vector<std::vector<std::uint8_t>>;

constexpr std::size_t kStepsMax = 200;
constexpr base::WallTime kWall{std::chrono::milliseconds{1'800'000'000'000}};
constexpr sa::RegistryLimits kLimits{.groups_per_port = 6,
                                     .services_per_port = 4,
                                     .subscriptions_per_port = 4,
                                     .proxies_per_port = 8,
                                     .groups = 12,
                                     .members = 20,
                                     .services = 8,
                                     .subscriptions = 8,
                                     .gone_kept = std::chrono::minutes{1}};
constexpr mad::RmppLimits kRmpp{.window = 4,
                                .transfers = 8,
                                .per_peer = 4,
                                .message_bytes = 20'000,
                                .receive_bytes = 9000,
                                .retries = 2,
                                .timeout = std::chrono::milliseconds{10}};
constexpr std::array kAttributes{
    SaAttribute::class_port_info,      SaAttribute::inform_info,        SaAttribute::node_record,
    SaAttribute::port_info_record,     SaAttribute::switch_info_record, SaAttribute::lft_record,
    SaAttribute::mft_record,           SaAttribute::sm_info_record,     SaAttribute::link_record,
    SaAttribute::guid_info_record,     SaAttribute::service_record,     SaAttribute::pkey_table_record,
    SaAttribute::path_record,          SaAttribute::vl_arb_record,      SaAttribute::mc_member_record,
    SaAttribute::trace_record,         SaAttribute::multi_path_record,  SaAttribute::inform_info_record,
    SaAttribute::sl_to_vl_table_record};
constexpr std::array kMethods{SaMethod::get,    SaMethod::get_table, SaMethod::set,
                              SaMethod::remove, SaMethod::get_multi, SaMethod::get_trace_table};

std::shared_ptr<const sa::View> view_of(const char* spec, mad::SmState state) {
    auto netlist = routing::netlist_from_spec(spec);
    require(netlist.has_value());
    auto topology = routing::topology_of(*netlist, 0);
    require(topology.has_value());
    auto outcome = routing::route(*topology, nullptr, routing::RouteOptions{});
    require(outcome.has_value());
    auto snapshot =
        std::make_shared<fabric::Snapshot>(fabric::planned_snapshot(*netlist, *topology, &*outcome));
    snapshot->mastership.state = state;
    return std::make_shared<const sa::View>(std::move(snapshot));
}

/// The whole fabric, a part of it, and the whole where another SM is master.
const std::array<std::shared_ptr<const sa::View>, 3>& views() {
    static const std::array made{view_of("fat-tree:radix=4,levels=2", mad::SmState::master),
                                 view_of("star:leaves=2,hosts=2", mad::SmState::master),
                                 view_of("fat-tree:radix=4,levels=2", mad::SmState::standby)};
    return made;
}

// ---- the judge of tables ----------------------------------------------------------------------------------

bool bit_of(std::span<const std::uint8_t> bytes, std::size_t bit) {
    return bit / 8 < bytes.size() && ((bytes[bit / 8] >> (7 - bit % 8)) & 1) != 0;
}

/// Component by component, bit by bit, from the list of fields alone.
bool agrees(const sa::RecordType& type, std::uint64_t mask, std::span<const std::uint8_t> asked,
            std::span<const std::uint8_t> record) {
    std::size_t bit = 0;
    for (std::size_t component = 0; component < std::min<std::size_t>(type.fields().size(), 64);
         ++component) {
        const std::size_t end = bit + type.fields()[component].bits;
        for (; bit < end; ++bit) {
            if (((mask >> component) & 1U) != 0 && bit_of(asked, bit) != bit_of(record, bit)) {
                return false;
            }
        }
    }
    return true;
}

Records rows(const sa::Answer& answer) {
    Records all;
    for (std::size_t i = 0; i < answer.count(); ++i) {
        const auto first = answer.records.begin() + static_cast<long>(i * answer.type->size());
        all.emplace_back(first, first + static_cast<long>(answer.type->size()));
    }
    std::sort(all.begin(), all.end());
    return all;
}

/// Attributes whose tables are their records that agree with the question, and nothing else.
bool plain_table(const mad::SaMad& request) {
    switch (request.attribute()) {
        case SaAttribute::node_record:
        case SaAttribute::switch_info_record:
        case SaAttribute::lft_record:
        case SaAttribute::mft_record:
        case SaAttribute::sm_info_record:
        case SaAttribute::link_record:
        case SaAttribute::guid_info_record:
        case SaAttribute::pkey_table_record:
        case SaAttribute::mc_member_record:
        case SaAttribute::inform_info_record: return true;
        case SaAttribute::port_info_record: return request.header.modifier == 0;
        default: return false;
    }
}

void judge_table(const mad::SaMad& request, const sa::View& view, const fabric::SaTables& tables,
                 const sa::SaConfig& config) {
    if (request.method() != SaMethod::get_table || !plain_table(request)) {
        return;
    }
    const sa::Answer answer = sa::read({request, view, tables, config, sa::kNoEnd}, request.data);
    mad::SaMad everything = request;
    everything.component_mask = 0;
    const sa::Answer all = sa::read({everything, view, tables, config, sa::kNoEnd}, everything.data);
    if (all.status != 0) {
        require(answer.status != 0);  // what nobody may have, nobody gets in part
        return;
    }
    const sa::RecordType& type = sa::record_type_of(request.attribute());
    Records expected;
    for (std::vector<std::uint8_t>& record : rows(all)) {
        if (agrees(type, request.component_mask, request.data, record)) {
            expected.push_back(std::move(record));
        }
    }
    require(answer.status == 0 ? rows(answer) == expected : expected.empty());
}

/// One for all inputs: its statistics hold a row for every LID, and making them would be all that is tested.
/// In the end of each input it is quiet, and time goes on.
struct Standing {
    sa::Desk desk{sa::SaConfig{}, sa::DeskLimits{.per_asker = 8, .waiting = 20}, kRmpp};
    base::Instant now{std::chrono::seconds{1}};
};

Standing& standing() {
    static Standing made;
    return made;
}

// ---- the field --------------------------------------------------------------------------------------------

class Field {
public:
    Field() : registry_(config_, kLimits) { show(0); }

    void step(Input& input) {
        switch (input.octet() % 10) {
            case 0:
            case 1:
            case 2:
            case 3: send(composed(input), input); break;
            case 4: send(raw(input), input); break;
            case 5: send(last_, input); break;
            case 6: now_ += std::chrono::milliseconds{input.word()}; break;
            case 7: acknowledge(input); break;
            case 8: show(input.octet() % views().size()); break;
            default: trap(input); break;
        }
        work();
        check_tables();
    }

    void end() {
        check_written();
        for (int i = 0; i < 100; ++i) {
            now_ += std::chrono::seconds{1};
            work();
        }
        const auto deadline = desk_.next_deadline();
        require(!deadline || *deadline > now_);
    }

private:
    mad::WireMad composed(Input& input) {
        mad::SaMad mad;
        mad.header.method = static_cast<std::uint8_t>(kMethods[input.octet() % kMethods.size()]);
        mad.header.attribute = static_cast<mad::Attribute>(kAttributes[input.octet() % kAttributes.size()]);
        mad.header.tid = input.octet();
        mad.header.modifier = input.octet() % 8 == 7 ? 0x80000000U : 0;
        mad.sm_key = input.octet() % 3;
        const sa::RecordType* type = sa::record_type(mad.attribute());
        for (unsigned left = input.octet() % 16; type != nullptr && left > 0; --left) {
            const unsigned component = input.octet() % static_cast<unsigned>(type->fields().size());
            fill(*type, component, input, mad);
            if (input.octet() % 8 != 7) {
                mad.component_mask |= std::uint64_t{1} << (component % 64U);
            }
        }
        return {mad::encode_sa_mad(mad), {}, {}};
    }

    /// What a client would ask for: something that exists, or anything.
    void fill(const sa::RecordType& type, unsigned component, Input& input, mad::SaMad& mad) {
        const sa::View& view = *views()[shown_];
        const sa::End& end = view.ends()[input.octet() % view.ends().size()];
        const std::uint16_t bits = type.fields()[component].bits;
        const std::uint8_t kind = input.octet();
        if (bits == 128) {
            const std::size_t at = type.first_bit(component) / 8;
            if (kind % 2 == 0 && at + 16 <= mad.data.size()) {
                for (unsigned i = 0; i < 8; ++i) {
                    mad.data[at + i] = static_cast<std::uint8_t>(sa::kLinkLocalPrefix >> (56U - 8U * i));
                    mad.data[at + 8 + i] = static_cast<std::uint8_t>(end.guid.value() >> (56U - 8U * i));
                }
            } else if (at + 16 <= mad.data.size()) {
                const std::array<std::uint8_t, 16> group{0xFF, 0x12, 0x40, 0x1B, 0xFF, 0xFF};
                std::copy(group.begin(), group.end(), mad.data.begin() + static_cast<long>(at));
                mad.data[at + 15] = kind % 4 == 1 ? std::uint8_t{0xFF} : input.octet();
            }
            return;
        }
        const std::uint64_t value = kind % 4 == 0   ? end.lids.base.value()
                                    : kind % 4 == 1 ? end.guid.value()
                                    : kind % 4 == 2 ? input.octet()
                                                    : 0xFFFFFFFF0000FFFFULL >> (input.octet() % 64U);
        if (type.first_bit(component) / 8 + bits / 8U < mad.data.size()) {
            type.set(mad.data, component, value);
        }
    }

    static mad::WireMad raw(Input& input) {
        mad::WireMad wire;
        for (std::uint8_t& octet : wire.bytes) {
            octet = input.octet();
        }
        wire.bytes[0] = 1;
        wire.bytes[1] = static_cast<std::uint8_t>(mad::MgmtClass::subn_adm);
        return wire;
    }

    void send(mad::WireMad wire, Input& input) {
        const sa::View& view = *views()[shown_];
        wire.address = {};
        wire.address.lid = view.ends()[input.octet() % view.ends().size()].lids.base;
        wire.address.qp = 1;
        last_ = wire;
        if (const auto mad = mad::parse_sa_mad(wire.bytes)) {
            judge_table(*mad, view, *registry_.tables(), config_);
            asked_.insert({wire.address.lid, mad->header.tid});
        }
        desk_.on_mad(wire, now_, out_);
    }

    /// To a packet of a table under way, or to nothing.
    void acknowledge(Input& input) {
        mad::WireMad wire = packet_;
        auto mad = mad::parse_sa_mad(wire.bytes);
        if (!mad) {
            return;
        }
        constexpr std::uint8_t kResponse = 0x80;
        mad->header.method = static_cast<std::uint8_t>(mad->header.method ^ kResponse);
        mad->rmpp.type = static_cast<mad::RmppType>(input.octet() % 6);
        mad->rmpp.version = 1;
        mad->rmpp.active = true;
        mad->rmpp.status = input.octet() % 4 == 3 ? input.octet() : std::uint8_t{0};
        mad->rmpp.segment = input.octet() % 8 == 7 ? 0xFFFFFFFFU : input.octet();
        mad->rmpp.payload_length = mad->rmpp.segment + input.octet();
        wire.bytes = mad::encode_sa_mad(*mad);
        desk_.on_mad(wire, now_, out_);
    }

    void show(std::size_t which) {
        shown_ = which;
        if (views()[which]->snapshot().mastership.state == mad::SmState::master) {
            sa::RegistryOutputs outputs;
            registry_.on_fabric(views()[which], now_, outputs);
            take(outputs);
        }
        desk_.show(views()[which], registry_.tables());
    }

    void trap(Input& input) {
        mad::Notice notice;
        notice.generic = input.octet() % 2 == 0;
        notice.type = input.octet() % 0x80;
        notice.producer = input.octet();
        notice.trap_number = input.word() & 0xFFFFU;
        notice.issuer_lid = mad::Lid{static_cast<std::uint16_t>(input.octet())};
        for (std::uint8_t& octet : notice.details) {
            octet = input.octet();
        }
        sa::RegistryOutputs outputs;
        registry_.on_trap(notice, now_, outputs);
        take(outputs);
    }

    void work() {
        while (desk_.serve(now_, out_)) {
        }
        desk_.on_time(now_, out_);
        sa::RegistryOutputs outputs;
        for (const mad::WireMad& wire : std::exchange(out_.for_registry, {})) {
            registry_.on_request(wire, *views()[shown_], now_, outputs);
        }
        registry_.on_time(now_, outputs);
        take(outputs);
        for (const mad::WireMad& wire : std::exchange(out_.wire, {})) {
            const auto mad = mad::parse_sa_mad(wire.bytes);
            require(mad.has_value());
            require(asked_.contains({wire.address.lid, mad->header.tid}));
            if (mad->rmpp.type != mad::RmppType::none) {
                packet_ = wire;
            }
        }
        desk_.show(views()[shown_], registry_.tables());
    }

    /// Answers and reports. Only reports come unasked.
    void take(const sa::RegistryOutputs& outputs) {
        for (const mad::WireMad& wire : outputs.wire) {
            const auto mad = mad::parse_sa_mad(wire.bytes);
            require(mad.has_value());
            require(mad->method() == SaMethod::report ||
                    asked_.contains({wire.address.lid, mad->header.tid}));
        }
    }

    void check_tables() {
        const fabric::SaTables& tables = *registry_.tables();
        require(tables.services.size() <= kLimits.services);
        require(tables.subscriptions.size() <= kLimits.subscriptions);
        std::size_t members = 0;
        for (const auto& [mgid, group] : tables.groups) {
            require(group->mgid == mgid);
            require(group->mlid.value() >= 0xC000 && group->mlid.value() < 0xFFFF);
            require(group->well_known || !group->members.empty());
            for (const auto& [guid, member] : group->members) {
                require(member.join_state != 0 && member.join_state < 16 && member.port.interface_id == guid);
            }
            members += group->members.size();
        }
        require(members <= kLimits.members);
    }

    void check_written() {
        const fabric::SaTables& tables = *registry_.tables();
        const std::string text = sa::state_text(tables, 7, now_, kWall);
        const sa::StoredState again = sa::state_of(text, now_, kWall);
        require(again.edition == 7);
        require(sa::state_text(again.tables, 7, now_, kWall) == text);
        require(again.tables.groups.size() == tables.groups.size());
        require(again.tables.subscriptions.size() == tables.subscriptions.size());
    }

    sa::SaConfig config_;
    sa::Desk& desk_ = standing().desk;
    sa::Registry registry_;
    sa::DeskOutputs out_;
    std::size_t shown_ = 0;
    base::Instant& now_ = standing().now;
    mad::WireMad last_{};
    mad::WireMad packet_{};
    std::set<std::pair<mad::Lid, std::uint64_t>> asked_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    ibf::fuzz::run_steps<Field>(data, size, kStepsMax);
    return 0;
}
