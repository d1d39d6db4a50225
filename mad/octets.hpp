// DOC: numbers and GIDs among octets, in network order.
//
// For records whose fields are met at known offsets. The caller has checked that the octets are there.
// Attributes and MADs have codecs of their own (codec.hpp, sa_mad.hpp).
#pragma once

#include <endian.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "mad/ids.hpp"

namespace ibf::mad {

using Octets = std::span<const std::uint8_t>;
using MutableOctets = std::span<std::uint8_t>;

[[nodiscard]] inline std::uint16_t load16(Octets octets, std::size_t at) {
    return static_cast<std::uint16_t>(octets[at] << 8U | octets[at + 1]);
}

[[nodiscard]] inline std::uint64_t load64(Octets octets, std::size_t at) {
    std::uint64_t value = 0;
    std::memcpy(&value, octets.data() + at, sizeof value);
    return be64toh(value);
}

[[nodiscard]] inline Gid load_gid(Octets octets, std::size_t at) {
    return {load64(octets, at), Guid{load64(octets, at + 8)}};
}

inline void store16(MutableOctets octets, std::size_t at, std::uint16_t value) {
    octets[at] = static_cast<std::uint8_t>(value >> 8U);
    octets[at + 1] = static_cast<std::uint8_t>(value);
}

inline void store64(MutableOctets octets, std::size_t at, std::uint64_t value) {
    const std::uint64_t wire = htobe64(value);
    std::memcpy(octets.data() + at, &wire, sizeof wire);
}

inline void store_gid(MutableOctets octets, std::size_t at, Gid gid) {
    store64(octets, at, gid.prefix);
    store64(octets, at + 8, gid.interface_id.value());
}

}  // namespace ibf::mad
