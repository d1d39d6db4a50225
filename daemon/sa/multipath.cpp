// MultiPathRecord (IBA 15.2.5.20): several sources, several destinations, one question. It is answered by
// PathRecords, each pair asked for as a PathRecord query of its own.
#include <algorithm>

#include "daemon/sa/reader.hpp"
#include "mad/octets.hpp"

namespace ibf::sa {
namespace {

// Octets of the record up to its GIDs, and its components (IBA table 216; ib_types.h, ib_multipath_rec_t).
constexpr std::size_t kGidsAt = 24;
constexpr std::size_t kGidBytes = 16;
constexpr unsigned kMtuSelector = 10;
constexpr unsigned kPacketLifeTime = 15;
constexpr unsigned kSgidCount = 19;
constexpr unsigned kDgidCount = 20;

bool has(std::uint64_t mask, unsigned component) {
    return ((mask >> component) & 1U) != 0;
}

bool known(const Query& query, std::span<const std::uint8_t> gid) {
    return query.view.by_guid(mad::load_gid(gid, 0).interface_id) != kNoEnd;
}

/// The same wishes, as a query for one path.
mad::SaMad path_query(const mad::SaMad& request, std::span<const std::uint8_t> data) {
    const RecordType& type = record_type_of(mad::SaAttribute::path_record);
    mad::SaMad query = request;
    query.data.fill(0);
    query.header.attribute = static_cast<mad::Attribute>(mad::SaAttribute::path_record);
    query.header.method = static_cast<std::uint8_t>(mad::SaMethod::get_table);
    std::copy_n(data.begin() + 5, 1, query.data.begin() + 49);   // Reversible, NumbPath
    std::copy_n(data.begin() + 6, 4, query.data.begin() + 50);   // P_Key, QoSClass, SL
    std::copy_n(data.begin() + 10, 3, query.data.begin() + 54);  // MTU, rate, packet life time
    const std::uint64_t mask = request.component_mask;
    query.component_mask = 0;
    const auto carry = [&](unsigned from, std::string_view to) {
        query.component_mask |= has(mask, from) ? std::uint64_t{1} << type.component(to) : 0U;
    };
    carry(5, "Reversible");
    carry(7, "P_Key");
    carry(9, "SL");
    const unsigned first = type.component("MtuSelector");
    for (unsigned i = kMtuSelector; i <= kPacketLifeTime; ++i) {  // six in the same order
        query.component_mask |= has(mask, i) ? std::uint64_t{1} << (first + i - kMtuSelector) : 0U;
    }
    query.component_mask |= std::uint64_t{1} << type.component("SGID");
    query.component_mask |= std::uint64_t{1} << type.component("DGID");
    return query;
}

}  // namespace

Answer read_multipath(const Query& query, std::span<const std::uint8_t> data) {
    Answer answer{0, &record_type_of(mad::SaAttribute::path_record), {}};
    const std::uint64_t mask = query.request.component_mask;
    if (!has(mask, kSgidCount) || !has(mask, kDgidCount)) {
        answer.status = mad::kSaInsufficientComponents;
        return answer;
    }
    const std::size_t sources = data.size() >= kGidsAt ? data[15] : 0U;
    const std::size_t destinations = data.size() >= kGidsAt ? data[16] : 0U;
    if (sources == 0 || destinations == 0 || kGidsAt + (sources + destinations) * kGidBytes > data.size()) {
        answer.status = mad::kSaRequestInvalid;
        return answer;
    }
    for (std::size_t gid = 0; gid < sources + destinations; ++gid) {
        if (!known(query, data.subspan(kGidsAt + gid * kGidBytes, kGidBytes))) {
            answer.status = mad::kSaInvalidGid;
            return answer;
        }
    }
    constexpr unsigned kNumbPath = 6;
    const std::size_t wanted = has(mask, kNumbPath) ? data[5] & 0x7FU : kPathsMost;
    mad::SaMad one = path_query(query.request, data);
    for (std::size_t s = 0; s < sources; ++s) {
        for (std::size_t d = 0; d < destinations && answer.count() < wanted; ++d) {
            std::copy_n(data.begin() + static_cast<long>(kGidsAt + (sources + d) * kGidBytes), kGidBytes,
                        one.data.begin() + 8);
            std::copy_n(data.begin() + static_cast<long>(kGidsAt + s * kGidBytes), kGidBytes,
                        one.data.begin() + 24);
            Answer paths = read_paths({one, query.view, query.tables, query.config, query.asker});
            if (paths.status != 0 && paths.status != mad::kSaNoRecords) {
                paths.records.clear();
                return paths;
            }
            answer.records.insert(answer.records.end(), paths.records.begin(), paths.records.end());
        }
    }
    if (answer.count() > wanted) {
        answer.records.resize(wanted * answer.type->size());
    }
    return answer;
}

}  // namespace ibf::sa
