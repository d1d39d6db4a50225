// PathRecord (IBA 15.2.5.16): who asks for what, and the walk along the tables in force.
#include <algorithm>

#include "daemon/sa/reader.hpp"

namespace ibf::sa {
namespace {

constexpr std::size_t kRecordBytes = 64;
constexpr std::uint64_t kLinkLocalPrefix = 0xfe80000000000000ULL;
constexpr unsigned kPathsMost = 127;  ///< NumbPath is 7 bits wide

/// Components of PathRecord, as numbered by its table.
struct Components {
    const RecordType& type = record_type_of(mad::SaAttribute::path_record);
    unsigned dgid = type.component("DGID"), sgid = type.component("SGID"), dlid = type.component("DLID"),
             slid = type.component("SLID"), reversible = type.component("Reversible"),
             numb_path = type.component("NumbPath"), pkey = type.component("P_Key"),
             sl = type.component("SL"), mtu_selector = type.component("MtuSelector"),
             mtu = type.component("Mtu"), rate_selector = type.component("RateSelector"),
             rate = type.component("Rate"), life_selector = type.component("PacketLifeTimeSelector"),
             life = type.component("PacketLifeTime");
};

const Components& components() {
    static const Components all;
    return all;
}

std::uint64_t load64(const std::uint8_t* at) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < 8; ++i) {
        value = value << 8U | at[i];
    }
    return value;
}

void store16(std::uint8_t* at, std::uint16_t value) {
    at[0] = static_cast<std::uint8_t>(value >> 8U);
    at[1] = static_cast<std::uint8_t>(value);
}

void store64(std::uint8_t* at, std::uint64_t value) {
    for (unsigned i = 0; i < 8; ++i) {
        at[i] = static_cast<std::uint8_t>(value >> (56U - 8U * i));
    }
}

/// A wish about an ordered quantity: greater, less, exactly, or the largest there is (IBA table 205).
struct Wish {
    enum class How : std::uint8_t { greater = 0, less = 1, exactly = 2, largest = 3 };
    bool given = false;
    How how = How::largest;
    std::uint8_t value = 0;

    /// What to answer with, given the most that can be offered: a path may be used below what it can do.
    /// Empty: the wish cannot be met.
    [[nodiscard]] std::optional<std::uint8_t> apply(std::uint8_t most) const {
        if (!given || how == How::largest) {
            return most;
        }
        if (how == How::less) {
            const auto below =
                static_cast<std::uint8_t>(std::min<unsigned>(most, value - (value > 0 ? 1U : 0U)));
            return below > 0 ? std::optional(below) : std::nullopt;
        }
        if (how == How::exactly) {
            return most >= value ? std::optional(value) : std::nullopt;
        }
        return most > value ? std::optional(most) : std::nullopt;
    }
};

struct Asked {
    std::optional<std::uint32_t> source;  ///< an end; empty: all
    std::optional<std::uint32_t> destination;
    std::optional<mad::Lid> source_lid;  ///< as given
    std::optional<mad::Lid> destination_lid;
    bool reversible = false;
    unsigned paths = kPathsMost;
    std::optional<mad::PKey> pkey;
    std::optional<std::uint8_t> sl;
    Wish mtu, rate, life;  ///< rate as a rank
};

class PathQuery {
public:
    explicit PathQuery(const Query& query) : query_(query), mask_(query.request.component_mask) {}

    [[nodiscard]] bool has(unsigned component) const { return ((mask_ >> component) & 1U) != 0; }
    [[nodiscard]] const std::uint8_t* data() const { return query_.request.data.data(); }

    /// Status 0, or why the request cannot be met.
    [[nodiscard]] mad::MadStatus parse();
    void answer(std::vector<std::uint8_t>& out) const;

private:
    [[nodiscard]] mad::MadStatus find(unsigned gid_component, std::size_t gid_at, unsigned lid_component,
                                      std::size_t lid_at, std::optional<std::uint32_t>& end,
                                      std::optional<mad::Lid>& lid) const;
    [[nodiscard]] Wish wish(unsigned selector, unsigned component, std::size_t at) const;
    void from_source(const End& source, std::vector<std::uint8_t>& out) const;
    void between(const End& source, const End& destination, std::vector<std::uint8_t>& out) const;

    const Query& query_;
    std::uint64_t mask_;
    Asked asked_;
};

mad::MadStatus PathQuery::find(unsigned gid_component, std::size_t gid_at, unsigned lid_component,
                               std::size_t lid_at, std::optional<std::uint32_t>& end,
                               std::optional<mad::Lid>& lid) const {
    if (has(gid_component)) {
        const std::uint64_t prefix = load64(data() + gid_at);
        if (prefix != query_.config.subnet_prefix && prefix != kLinkLocalPrefix) {
            return mad::kSaInvalidGid;
        }
        end = query_.view.by_guid(mad::Guid{load64(data() + gid_at + 8)});
        if (*end == kNoEnd) {
            return mad::kSaNoRecords;
        }
    }
    if (has(lid_component)) {
        lid = mad::Lid{static_cast<std::uint16_t>(data()[lid_at] << 8U | data()[lid_at + 1])};
        const std::uint32_t owner = query_.view.by_lid(*lid);
        if (owner == kNoEnd || (end && *end != owner)) {
            return mad::kSaNoRecords;
        }
        end = owner;
    }
    return 0;
}

Wish PathQuery::wish(unsigned selector, unsigned component, std::size_t at) const {
    Wish wish;
    wish.given = has(component);
    wish.value = data()[at] & 0x3FU;
    // A value without a selector means exactly that one.
    wish.how = has(selector) ? static_cast<Wish::How>(data()[at] >> 6U) : Wish::How::exactly;
    return wish;
}

mad::MadStatus PathQuery::parse() {
    const Components& c = components();
    if (auto status = find(c.sgid, 24, c.slid, 42, asked_.source, asked_.source_lid); status != 0) {
        return status;
    }
    if (auto status = find(c.dgid, 8, c.dlid, 40, asked_.destination, asked_.destination_lid); status != 0) {
        return status;
    }
    asked_.reversible = has(c.reversible) && (data()[49] & 0x80U) != 0;
    if (has(c.numb_path)) {
        asked_.paths = data()[49] & 0x7FU;
        if (asked_.paths == 0) {
            return mad::kSaRequestInvalid;
        }
    }
    if (query_.request.method() == mad::SaMethod::get) {
        asked_.paths = 1;
    }
    if (has(c.pkey)) {
        asked_.pkey = mad::PKey{static_cast<std::uint16_t>(data()[50] << 8U | data()[51])};
    }
    if (has(c.sl)) {
        asked_.sl = data()[53] & 0x0FU;
    }
    asked_.mtu = wish(c.mtu_selector, c.mtu, 54);
    asked_.rate = wish(c.rate_selector, c.rate, 55);
    asked_.life = wish(c.life_selector, c.life, 56);
    if (asked_.rate.given && asked_.rate.how != Wish::How::largest) {
        asked_.rate.value = rank_of_code(asked_.rate.value);
        if (asked_.rate.value == 0) {
            return mad::kSaRequestInvalid;
        }
    }
    return 0;
}

void PathQuery::between(const End& source, const End& destination, std::vector<std::uint8_t>& out) const {
    const mad::PKey pkey = query_.view.shared_pkey(source, destination, asked_.pkey);
    const std::optional<std::uint8_t> life = asked_.life.apply(query_.config.packet_life_time);
    if (pkey == mad::PKey{} || !life || asked_.sl.value_or(0) != 0) {
        return;
    }
    unsigned found = 0;
    const std::uint32_t most = std::max(source.lids.count(), destination.lids.count());
    for (std::uint32_t i = 0; i < most && found < asked_.paths; ++i) {
        const mad::Lid slid = asked_.source_lid.value_or(
            mad::Lid{static_cast<std::uint16_t>(source.lids.base.value() + i % source.lids.count())});
        const mad::Lid dlid = asked_.destination_lid.value_or(mad::Lid{
            static_cast<std::uint16_t>(destination.lids.base.value() + i % destination.lids.count())});
        if (i > 0 && asked_.source_lid && asked_.destination_lid) {
            return;  // the one pair of LIDs is done
        }
        const std::optional<PathLimits> path = query_.view.limits(
            source, slid, destination, dlid, asked_.reversible ? Ways::there_and_back : Ways::there);
        const auto mtu = path ? asked_.mtu.apply(path->mtu) : std::nullopt;
        const auto rate = path ? asked_.rate.apply(path->rate) : std::nullopt;
        if (!mtu || !rate) {
            continue;
        }
        ++found;
        const std::size_t at = out.size();
        out.resize(at + kRecordBytes);
        std::uint8_t* record = out.data() + at;
        store64(record + 8, query_.config.subnet_prefix);
        store64(record + 16, destination.guid.value());
        store64(record + 24, query_.config.subnet_prefix);
        store64(record + 32, source.guid.value());
        store16(record + 40, dlid.value());
        store16(record + 42, slid.value());
        record[49] = 0x80U;  // every path of ours is: tables reach every LID from every port, on one SL
        store16(record + 50, pkey.value());
        constexpr unsigned kExactly = 2U << 6U;
        record[54] = static_cast<std::uint8_t>(kExactly | *mtu);
        record[55] = static_cast<std::uint8_t>(kExactly | rate_code(*rate));
        record[56] = static_cast<std::uint8_t>(
            kExactly | (&source == &destination ? 0U : *life));  // within one port: none
        record[57] = static_cast<std::uint8_t>(found - 1);       // preference: best first
    }
}

void PathQuery::from_source(const End& source, std::vector<std::uint8_t>& out) const {
    const std::vector<End>& ends = query_.view.ends();
    if (asked_.destination) {
        return between(source, ends[*asked_.destination], out);
    }
    for (const End& destination : ends) {
        between(source, destination, out);
        if (out.size() > query_.config.answer_bytes) {
            return;
        }
    }
}

void PathQuery::answer(std::vector<std::uint8_t>& out) const {
    const std::vector<End>& ends = query_.view.ends();
    const bool many = !asked_.destination || !asked_.source;
    out.reserve(many ? std::min(ends.size() * kRecordBytes, query_.config.answer_bytes) : kRecordBytes);
    if (asked_.source) {
        return from_source(ends[*asked_.source], out);
    }
    for (const End& source : ends) {
        from_source(source, out);
        if (out.size() > query_.config.answer_bytes) {
            return;
        }
    }
}

/// The way to a multicast group: its own record tells it (IBA 15.2.5.16, DGID multicast).
Answer group_path(const Query& query, mad::Gid mgid) {
    const RecordType& type = record_type_of(mad::SaAttribute::path_record);
    Answer answer{0, &type, {}};
    const auto found = query.tables.groups.find(mgid);
    if (found == query.tables.groups.end()) {
        answer.status = mad::kSaNoRecords;
        return answer;
    }
    const fabric::Group& group = *found->second;
    answer.records.resize(kRecordBytes);
    std::uint8_t* record = answer.records.data();
    std::copy_n(query.request.data.data() + 8, 32, record + 8);  // DGID, SGID as asked
    store16(record + 40, group.mlid.value());
    std::copy_n(query.request.data.data() + 42, 2, record + 42);
    type.set(answer.records, "FlowLabel", group.flow_label);
    type.set(answer.records, "HopLimit", group.hop_limit);
    type.set(answer.records, "TClass", group.tclass);
    store16(record + 50, group.pkey.value());
    type.set(answer.records, "SL", group.sl);
    constexpr unsigned kExactly = 2U << 6U;
    record[54] = static_cast<std::uint8_t>(kExactly | group.mtu);
    record[55] = static_cast<std::uint8_t>(kExactly | group.rate);
    record[56] = static_cast<std::uint8_t>(kExactly | group.packet_life_time);
    return answer;
}

}  // namespace

Answer read_paths(const Query& query) {
    constexpr std::uint8_t kMulticast = 0xFF;
    const std::uint8_t* data = query.request.data.data();
    const bool to_group =
        ((query.request.component_mask >> components().dgid) & 1U) != 0 && data[8] == kMulticast;
    if (to_group) {
        return group_path(query, {load64(data + 8), mad::Guid{load64(data + 16)}});
    }
    Answer answer{0, &record_type_of(mad::SaAttribute::path_record), {}};
    PathQuery paths(query);
    answer.status = paths.parse();
    if (answer.status == 0) {
        paths.answer(answer.records);
    }
    return answer;
}

}  // namespace ibf::sa
