// PathRecord (IBA 15.2.5.16): who asks for what, and the walk along the tables in force.
#include <algorithm>

#include "daemon/sa/reader.hpp"
#include "daemon/sa/wish.hpp"
#include "mad/octets.hpp"

namespace ibf::sa {
namespace {

constexpr std::size_t kRecordBytes = 64;
constexpr unsigned kExactly = static_cast<unsigned>(Wish::How::exactly) << 6U;

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
    [[nodiscard]] mad::Octets data() const { return query_.request.data; }

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
        const mad::Gid gid = mad::load_gid(data(), gid_at);
        if (gid.prefix != query_.config.subnet_prefix && gid.prefix != kLinkLocalPrefix) {
            return mad::kSaInvalidGid;
        }
        end = query_.view.by_guid(gid.interface_id);
        if (*end == kNoEnd) {
            return mad::kSaNoRecords;
        }
    }
    if (has(lid_component)) {
        lid = mad::Lid{mad::load16(data(), lid_at)};
        const std::uint32_t owner = query_.view.by_lid(*lid);
        if (owner == kNoEnd || (end && *end != owner)) {
            return mad::kSaNoRecords;
        }
        end = owner;
    }
    return 0;
}

Wish PathQuery::wish(unsigned selector, unsigned component, std::size_t at) const {
    if (!has(component)) {
        return {};
    }
    // A value without a selector means exactly that one.
    const auto how = has(selector) ? static_cast<Wish::How>(data()[at] >> 6U) : Wish::How::exactly;
    return {how, static_cast<std::uint8_t>(data()[at] & 0x3FU)};
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
        asked_.pkey = mad::PKey{mad::load16(data(), 50)};
    }
    if (has(c.sl)) {
        asked_.sl = data()[53] & 0x0FU;
    }
    asked_.mtu = wish(c.mtu_selector, c.mtu, 54);
    asked_.rate = wish(c.rate_selector, c.rate, 55);
    asked_.life = wish(c.life_selector, c.life, 56);
    if (asked_.rate.how != Wish::How::largest) {
        asked_.rate.value = rank_of_code(asked_.rate.value);
        if (asked_.rate.value == 0) {
            return mad::kSaRequestInvalid;
        }
    }
    return 0;
}

void PathQuery::between(const End& source, const End& destination, std::vector<std::uint8_t>& out) const {
    const mad::PKey pkey = query_.view.shared_pkey(source, destination, asked_.pkey);
    const std::optional<std::uint8_t> life = asked_.life.choose({kLeastLife, query_.config.packet_life_time});
    if (pkey == mad::PKey{} || !life) {
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
        const auto mtu = path ? asked_.mtu.choose({kLeastMtu, path->mtu}) : std::nullopt;
        const auto rate = path ? asked_.rate.choose({kLeastRate, path->rate}) : std::nullopt;
        const std::uint8_t sl = query_.view.sl(source, dlid);
        if (!mtu || !rate || sl != asked_.sl.value_or(sl) || !query_.view.carries(source, dlid, sl) ||
            (asked_.reversible && !query_.view.carries(destination, slid, sl))) {
            continue;
        }
        ++found;
        const std::size_t at = out.size();
        out.resize(at + kRecordBytes);
        const mad::MutableOctets record = std::span(out).subspan(at);
        mad::store_gid(record, 8, {query_.config.subnet_prefix, destination.guid});
        mad::store_gid(record, 24, {query_.config.subnet_prefix, source.guid});
        mad::store16(record, 40, dlid.value());
        mad::store16(record, 42, slid.value());
        record[49] = 0x80U;  // every path of ours is: tables reach every LID from every port
        mad::store16(record, 50, pkey.value());
        record[53] = sl;
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
    const mad::MutableOctets record(answer.records);
    std::copy_n(query.request.data.begin() + 8, 32, record.begin() + 8);  // DGID, SGID as asked
    mad::store16(record, 40, group.mlid.value());
    std::copy_n(query.request.data.begin() + 42, 2, record.begin() + 42);
    type.set(answer.records, "FlowLabel", group.flow_label);
    type.set(answer.records, "HopLimit", group.hop_limit);
    type.set(answer.records, "TClass", group.tclass);
    mad::store16(record, 50, group.pkey.value());
    type.set(answer.records, "SL", group.sl);
    record[54] = static_cast<std::uint8_t>(kExactly | group.mtu);
    record[55] = static_cast<std::uint8_t>(kExactly | group.rate);
    record[56] = static_cast<std::uint8_t>(kExactly | group.packet_life_time);
    return answer;
}

}  // namespace

Answer read_paths(const Query& query) {
    constexpr std::uint8_t kMulticast = 0xFF;
    const mad::Octets data(query.request.data);
    const bool to_group =
        ((query.request.component_mask >> components().dgid) & 1U) != 0 && data[8] == kMulticast;
    if (to_group) {
        return group_path(query, mad::load_gid(data, 8));
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
