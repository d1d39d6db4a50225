#include "mad/sa_path.hpp"

#include <endian.h>

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <iba/ib_types.h>

#include "mad/sa_rates.hpp"

namespace ibf::mad {
namespace {

static_assert(sizeof(ib_path_rec_t) <= sizeof(SaMad::data));

/// Without bit 15: a partition has members of two kinds.
constexpr std::uint16_t kPartition = 0x7FFF;
constexpr std::uint8_t kOneReversiblePath = 0x80 | 1;

Gid path_gid(const ib_gid_t& wire) {
    return {be64toh(wire.unicast.prefix), Guid{be64toh(wire.unicast.interface_id)}};
}

}  // namespace

base::Duration PathRecord::packet_lifetime() const {
    constexpr std::int64_t kUnitNs = 4096;
    constexpr std::uint8_t kLifeMost = 50;
    return base::Duration{kUnitNs << std::min(packet_life, kLifeMost)};
}

SaMad path_question(const PathQuestion& question) {
    ib_path_rec_t wire{};
    std::uint64_t mask = IB_PR_COMPMASK_SLID | IB_PR_COMPMASK_REVERSIBLE | IB_PR_COMPMASK_NUMBPATH;
    wire.slid = htobe16(question.slid.value());
    wire.num_path = kOneReversiblePath;
    if (question.dgid) {
        mask |= IB_PR_COMPMASK_DGID;
        wire.dgid.unicast.prefix = htobe64(question.dgid->prefix);
        wire.dgid.unicast.interface_id = htobe64(question.dgid->interface_id.value());
    } else {
        mask |= IB_PR_COMPMASK_DLID;
        wire.dlid = htobe16(question.dlid.value());
    }
    if (question.pkey) {
        mask |= IB_PR_COMPMASK_PKEY;
        wire.pkey = htobe16(question.pkey->value());
    }
    SaMad mad;
    mad.header.method = static_cast<std::uint8_t>(SaMethod::get);
    mad.header.attribute = static_cast<Attribute>(SaAttribute::path_record);
    mad.component_mask = be64toh(mask);
    std::memcpy(mad.data.data(), &wire, sizeof wire);
    return mad;
}

base::Result<PathRecord> parse_path_record(std::span<const std::uint8_t> bytes) {
    ib_path_rec_t wire{};
    if (bytes.size() < sizeof wire) {
        return base::fail(base::ErrorKind::parse, fmt::format("a path record of {} octets: {} are wanted",
                                                              bytes.size(), sizeof wire));
    }
    std::memcpy(&wire, bytes.data(), sizeof wire);
    PathRecord record{.dgid = path_gid(wire.dgid),
                      .sgid = path_gid(wire.sgid),
                      .dlid = Lid{be16toh(wire.dlid)},
                      .slid = Lid{be16toh(wire.slid)},
                      .is_reversible = (wire.num_path & 0x80U) != 0,
                      .pkey = PKey{be16toh(wire.pkey)},
                      .sl = Sl{ib_path_rec_sl(&wire)},
                      .mtu = static_cast<Mtu>(ib_path_rec_mtu(&wire)),
                      .rate = ib_path_rec_rate(&wire),
                      .packet_life = ib_path_rec_pkt_life(&wire)};
    record.bits_per_second = static_cast<std::uint64_t>(gbps_of_code(record.rate) * 1e9);
    if (mtu_bytes(record.mtu) == 0 || record.bits_per_second == 0) {
        return base::fail(base::ErrorKind::parse,
                          fmt::format("a path record with MTU code {} and rate code {}: there are none such",
                                      static_cast<unsigned>(record.mtu), record.rate));
    }
    return record;
}

base::Result<PathRecord> parse_path_answer(std::span<const std::uint8_t> bytes,
                                           const PathQuestion& question) {
    const auto record = parse_path_record(bytes);
    if (!record) {
        return record;
    }
    // By the interface alone: the prefix may be asked for as fe80::, whatever the subnet's is.
    const bool is_there = question.dgid ? record->dgid.interface_id == question.dgid->interface_id
                                        : record->dlid == question.dlid;
    if (record->slid != question.slid || !is_there) {
        const std::string to =
            question.dgid ? to_string(*question.dgid) : fmt::format("LID {}", question.dlid);
        return base::fail(
            base::ErrorKind::parse,
            fmt::format("the SA was asked for a path from LID {} to {}, and answers with one from "
                        "LID {} to LID {}, {}",
                        question.slid, to, record->slid, record->dlid, to_string(record->dgid)));
    }
    if (question.pkey && ((record->pkey.value() ^ question.pkey->value()) & kPartition) != 0) {
        return base::fail(
            base::ErrorKind::parse,
            fmt::format("the SA was asked for a path in partition 0x{:04x}, and answers with one "
                        "in 0x{:04x}",
                        question.pkey->value(), record->pkey.value()));
    }
    if (!record->is_reversible) {
        return base::fail(base::ErrorKind::parse,
                          "the SA was asked for a path of both directions, and answers with one of one");
    }
    return record;
}

}  // namespace ibf::mad
