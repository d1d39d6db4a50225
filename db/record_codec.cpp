#include "db/record_codec.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/packing.hpp"

namespace ibf::db {
namespace {

using base::Packer;
using base::Unpacker;

enum class Kind : std::uint8_t {
    lids = 1,
    table = 2,
    forget = 3,
    sweep = 4,
    event = 5,
    sa_state = 6,
    drains = 7
};

constexpr std::size_t kLineMax = 64 * 1024;  ///< of a text for people
constexpr std::size_t kRowMax = 0xC000;      ///< entries of a forwarding table: one for each unicast LID
constexpr std::uint8_t kLmcMax = 7;
constexpr std::uint64_t kTimeMax = 253'402'300'799'999;  ///< ms: the end of the year 9999
constexpr std::size_t kPortsMost = 255;                  ///< of a node
constexpr std::uint8_t kSeverityMax = 2;                 ///< error

void put_time(Packer& out, std::int64_t count) {
    out.number(static_cast<std::uint64_t>(count));
}
/// What people would not read to its end must not keep a standby from its copy.
void put_line(Packer& out, std::string_view line) {
    out.text(line.substr(0, kLineMax));
}
base::WallTime wall_time(Unpacker& in) {
    const auto count = in.number<std::uint64_t>();
    if (count > kTimeMax) {
        in.spoil();
        return {};
    }
    return base::WallTime{base::WallTime::duration{static_cast<std::int64_t>(count)}};
}

struct Encode {
    Packer& out;

    void kind(Kind of) const { out.number(static_cast<std::uint8_t>(of)); }

    void operator()(const LidsRecord& record) const {
        kind(Kind::lids);
        out.number(static_cast<std::uint32_t>(record.lids.size()));
        for (const auto& [guid, range] : record.lids) {
            out.number(guid.value());
            out.number(range.base.value());
            out.number(range.lmc);
        }
    }
    void operator()(const TableRecord& record) const {
        kind(Kind::table);
        out.number(record.switch_guid.value());
        out.number(record.linear_fdb_top);
        put_line(out, record.engine);
        out.number(static_cast<std::uint32_t>(record.lft ? record.lft->size() : 0));
        if (record.lft) {
            out.raw({reinterpret_cast<const char*>(record.lft->data()), record.lft->size()});
        }
    }
    void operator()(const TableForgetRecord& record) const {
        kind(Kind::forget);
        out.number(record.switch_guid.value());
    }
    void operator()(const SweepRecord& record) const {
        kind(Kind::sweep);
        out.number(record.id);
        put_line(out, record.scope);
        put_line(out, record.reasons);
        put_time(out, record.started.time_since_epoch().count());
        put_time(out, record.time.count());
        put_line(out, record.phases_json);
        out.number(record.mads);
        put_line(out, record.outcome);
    }
    void operator()(const EventRow& record) const {
        kind(Kind::event);
        out.number(record.id);
        put_time(out, record.time.time_since_epoch().count());
        out.number(record.severity);
        put_line(out, record.kind);
        put_line(out, record.text);
        out.number(record.guid.value());
        out.number(record.port.value());
    }
    void operator()(const SaStateRecord& record) const {
        kind(Kind::sa_state);
        out.text(record.text);
    }
    void operator()(const DrainsRecord& record) const {
        kind(Kind::drains);
        out.number(static_cast<std::uint32_t>(record.drains.size()));
        for (const DrainRow& row : record.drains) {
            out.number(row.node.value());
            out.number(row.port.value());
            put_line(out, row.name);
            put_time(out, row.since_ms);
            out.number(row.forced);
        }
        out.number(static_cast<std::uint32_t>(record.cables.size()));
        for (const DrainCableRow& row : record.cables) {
            out.number(row.node.value());
            out.number(row.port.value());
            out.number(row.peer.value());
            out.number(row.peer_port.value());
        }
    }
    template <class Other>
    void operator()(const Other&) const {
        IBF_CHECK(false, "a record that is not copied has no octets");
    }
};

LidsRecord lids(Unpacker& in) {
    constexpr std::size_t kEach = 11;
    LidsRecord record;
    auto left = in.count(kEach);
    if (left > mad::kLidUnicastMax) {
        in.spoil();
    }
    for (; left > 0 && in.good(); --left) {
        const mad::Guid guid{in.number<std::uint64_t>()};
        const mad::LidRange range{mad::Lid{in.number<std::uint16_t>()}, in.number<std::uint8_t>()};
        const bool in_order = record.lids.empty() || record.lids.rbegin()->first < guid;
        if (!in_order || range.base == mad::kLidNone || range.lmc > kLmcMax ||
            range.end() - 1 > mad::kLidUnicastMax) {
            in.spoil();
        }
        record.lids.emplace_hint(record.lids.end(), guid, range);
    }
    return record;
}

TableRecord table(Unpacker& in) {
    TableRecord record;
    record.switch_guid = mad::Guid{in.number<std::uint64_t>()};
    record.linear_fdb_top = in.number<std::uint16_t>();
    record.engine = in.text(kLineMax);
    const std::string_view row = in.text(kRowMax);
    record.lft = std::make_shared<const std::vector<std::uint8_t>>(row.begin(), row.end());
    return record;
}

SweepRecord sweep(Unpacker& in) {
    SweepRecord record;
    record.id = in.number<std::uint64_t>();
    record.scope = in.text(kLineMax);
    record.reasons = in.text(kLineMax);
    record.started = wall_time(in);
    record.time = base::Duration{static_cast<std::int64_t>(in.number<std::uint64_t>())};
    record.phases_json = in.text(kLineMax);
    record.mads = in.number<std::uint64_t>();
    record.outcome = in.text(kLineMax);
    return record;
}

EventRow event(Unpacker& in) {
    EventRow record;
    record.id = in.number<std::uint64_t>();
    record.time = wall_time(in);
    record.severity = in.number<std::uint8_t>();
    if (record.severity > kSeverityMax) {
        in.spoil();
    }
    record.kind = in.text(kLineMax);
    record.text = in.text(kLineMax);
    record.guid = mad::Guid{in.number<std::uint64_t>()};
    record.port = mad::PortNum{in.number<std::uint8_t>()};
    return record;
}

DrainsRecord drains(Unpacker& in) {
    constexpr std::size_t kEachDrain = 22;  // its name may be empty
    constexpr std::size_t kEachCable = 18;
    DrainsRecord record;
    auto left = in.count(kEachDrain);
    if (left > kDrainsMost) {
        in.spoil();
    }
    for (; left > 0 && in.good(); --left) {
        DrainRow& row = record.drains.emplace_back();
        row.node = mad::Guid{in.number<std::uint64_t>()};
        row.port = mad::PortNum{in.number<std::uint8_t>()};
        row.name = in.text(kLineMax);
        row.since_ms = wall_time(in).time_since_epoch().count();
        row.forced = in.number<std::uint8_t>();
    }
    left = in.count(kEachCable);
    if (left > kDrainsMost * kPortsMost) {
        in.spoil();
    }
    for (; left > 0 && in.good(); --left) {
        DrainCableRow& row = record.cables.emplace_back();
        row.node = mad::Guid{in.number<std::uint64_t>()};
        row.port = mad::PortNum{in.number<std::uint8_t>()};
        row.peer = mad::Guid{in.number<std::uint64_t>()};
        row.peer_port = mad::PortNum{in.number<std::uint8_t>()};
    }
    return record;
}

Record read(Kind kind, Unpacker& in) {
    switch (kind) {
        case Kind::lids: return lids(in);
        case Kind::table: return table(in);
        case Kind::forget: return TableForgetRecord{mad::Guid{in.number<std::uint64_t>()}};
        case Kind::sweep: return sweep(in);
        case Kind::event: return event(in);
        case Kind::drains: return drains(in);
        case Kind::sa_state: return SaStateRecord{std::string(in.text(kRecordBytesMax))};
    }
    in.spoil();
    return EventRow{};
}

}  // namespace

bool is_copied(const Record& record) {
    return !std::holds_alternative<FabricRecord>(record) && !std::holds_alternative<LanesRecord>(record) &&
           !std::holds_alternative<CleanStopRecord>(record);
}

std::string encode(const Record& record) {
    Packer out;
    std::visit(Encode{out}, record);
    return out.take();
}

base::Result<Record> decode(std::string_view octets) {
    Unpacker in(octets);
    const auto kind = in.number<std::uint8_t>();
    Record record = read(static_cast<Kind>(kind), in);
    if (!in.done()) {
        return base::fail(
            base::ErrorKind::parse,
            fmt::format("a record of kind {} with {} octets is not what it should be", kind, octets.size()));
    }
    return record;
}

}  // namespace ibf::db
