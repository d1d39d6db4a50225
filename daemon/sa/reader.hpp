// DOC: queries that only read.
//
// Pure: a request, the View of a snapshot and the registry's tables in, status and records out. Trust is the
// SA key: who shows it sees keys and member lists, who does not sees the rest (IBA 15.4.1.1).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "daemon/sa/record_type.hpp"
#include "daemon/sa/view.hpp"
#include "mad/sa_mad.hpp"

namespace ibf::sa {

/// Every port answers to it beside its subnet's own prefix (IBA 4.1.1).
inline constexpr std::uint64_t kLinkLocalPrefix = 0xfe80000000000000ULL;
inline constexpr unsigned kPathsMost = 127;  ///< NumbPath is 7 bits wide

struct SaConfig {
    std::uint64_t sa_key = 1;
    std::uint64_t subnet_prefix = 0xfe80000000000000ULL;
    std::uint8_t packet_life_time = 0x12;
    std::uint8_t response_time = 0x10;                  ///< ClassPortInfo.RespTimeValue: 4.096 us * 2^n
    std::size_t answer_bytes = std::size_t{64} << 20U;  ///< longest table; a longer one is refused
    fabric::WhenFull when_full = fabric::WhenFull::silent;
    std::vector<fabric::ConfiguredGroup> groups;  ///< besides IPoIB's of the default partition
};

struct Query {
    const mad::SaMad& request;
    const View& view;
    const fabric::SaTables& tables;
    const SaConfig& config;
    std::uint32_t asker = kNoEnd;  ///< the end that owns the source LID
};

struct Answer {
    mad::MadStatus status = 0;
    const RecordType* type = nullptr;
    std::vector<std::uint8_t> records;  ///< whole records, one after the other

    [[nodiscard]] std::size_t count() const { return type == nullptr ? 0 : records.size() / type->size(); }
};

/// Whether the reader answers this method for this attribute.
[[nodiscard]] bool reads(mad::SaMethod method, mad::SaAttribute attribute);
/// `data`: the request's, which may be longer than a MAD.
[[nodiscard]] Answer read(const Query& query, std::span<const std::uint8_t> data);

/// The class's capabilities (IBA 15.2.1.2, table 193).
[[nodiscard]] std::vector<std::uint8_t> class_port_info(const SaConfig& config);

// Parts of it, each in a file of its own.
[[nodiscard]] Answer read_paths(const Query& query);
/// GetTraceTable: a PathRecord's question, answered by the devices on the way.
[[nodiscard]] Answer read_trace(const Query& query);
/// GetMulti of MultiPathRecord; its data come apart, as they may be longer than a MAD.
[[nodiscard]] Answer read_multipath(const Query& query, std::span<const std::uint8_t> data);
void collect_records(const Query& query, const RecordType& type, std::vector<std::uint8_t>& out);
[[nodiscard]] bool trusted(const Query& query);

}  // namespace ibf::sa
