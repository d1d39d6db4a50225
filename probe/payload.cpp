#include "probe/payload.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

#include "base/check.hpp"
#include "base/prng.hpp"

namespace ibf::probe {
namespace {

constexpr std::uint32_t kCastagnoli = 0x82f63b78;  ///< bits reversed

using CrcTable = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr CrcTable make_crc_table() {
    CrcTable table{};
    for (std::uint32_t octet = 0; octet < 256; ++octet) {
        std::uint32_t crc = octet;
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc & 1U) != 0 ? (crc >> 1U) ^ kCastagnoli : crc >> 1U;
        }
        table[0][octet] = crc;
    }
    for (std::uint32_t octet = 0; octet < 256; ++octet) {
        for (std::size_t i = 1; i < 8; ++i) {
            const std::uint32_t before = table[i - 1][octet];
            table[i][octet] = (before >> 8U) ^ table[0][before & 0xFFU];
        }
    }
    return table;
}

constexpr CrcTable kCrcTable = make_crc_table();

std::uint64_t little_endian(const std::uint8_t* from) {
    std::uint64_t value = 0;
    std::memcpy(&value, from, sizeof value);
    if constexpr (std::endian::native == std::endian::big) {
        value = __builtin_bswap64(value);
    }
    return value;
}

#if defined(__x86_64__)

/// Octets of each of three streams: the instruction takes three cycles, and one can begin in each.
constexpr std::size_t kCrcStream = 1024;

using ShiftTable = std::array<std::array<std::uint32_t, 256>, 4>;

/// What a CRC becomes when kCrcStream octets of zero follow: linear, so octet by octet of it.
constexpr ShiftTable make_shift_table() {
    std::array<std::uint32_t, 32> of_bit{};
    for (std::size_t bit = 0; bit < 32; ++bit) {
        std::uint32_t crc = 1U << bit;
        for (std::size_t i = 0; i < kCrcStream; ++i) {
            crc = (crc >> 8U) ^ kCrcTable[0][crc & 0xFFU];
        }
        of_bit[bit] = crc;
    }
    ShiftTable table{};
    for (std::size_t octet = 0; octet < 4; ++octet) {
        for (std::uint32_t value = 0; value < 256; ++value) {
            for (std::size_t bit = 0; bit < 8; ++bit) {
                table[octet][value] ^= (value >> bit & 1U) != 0 ? of_bit[octet * 8 + bit] : 0;
            }
        }
    }
    return table;
}

constexpr ShiftTable kShiftTable = make_shift_table();

std::uint64_t shifted(std::uint64_t crc) {
    return kShiftTable[0][crc & 0xFFU] ^ kShiftTable[1][crc >> 8U & 0xFFU] ^
           kShiftTable[2][crc >> 16U & 0xFFU] ^ kShiftTable[3][crc >> 24U & 0xFFU];
}

__attribute__((target("sse4.2"))) std::uint32_t crc_by_sse42(const std::uint8_t* at, std::size_t left,
                                                             std::uint32_t before) {
    std::uint64_t crc = before;
    for (; left >= 3 * kCrcStream; at += 3 * kCrcStream, left -= 3 * kCrcStream) {
        std::uint64_t second = 0;
        std::uint64_t third = 0;
        for (std::size_t i = 0; i < kCrcStream; i += 8) {
            crc = _mm_crc32_u64(crc, little_endian(at + i));
            second = _mm_crc32_u64(second, little_endian(at + kCrcStream + i));
            third = _mm_crc32_u64(third, little_endian(at + 2 * kCrcStream + i));
        }
        crc = shifted(shifted(crc) ^ second) ^ third;
    }
    for (; left >= 8; at += 8, left -= 8) {
        crc = _mm_crc32_u64(crc, little_endian(at));
    }
    auto low = static_cast<std::uint32_t>(crc);
    for (; left > 0; ++at, --left) {
        low = _mm_crc32_u8(low, *at);
    }
    return low;
}

#endif

}  // namespace

void fill_pattern(std::span<std::uint8_t> out, std::uint64_t seed, std::uint64_t number) {
    base::Prng start(seed);
    base::Prng numbers(start.next() ^ base::Prng(~number).next());
    std::size_t at = 0;
    for (; at + 8 <= out.size(); at += 8) {
        std::uint64_t value = numbers.next();
        value = little_endian(reinterpret_cast<const std::uint8_t*>(&value));
        std::memcpy(out.data() + at, &value, sizeof value);
    }
    for (std::uint64_t value = numbers.next(); at < out.size(); ++at, value >>= 8U) {
        out[at] = static_cast<std::uint8_t>(value);
    }
}

std::uint32_t crc32c_by_table(std::span<const std::uint8_t> data, std::uint32_t before) {
    std::uint32_t crc = ~before;
    std::size_t at = 0;
    for (; at + 8 <= data.size(); at += 8) {
        const std::uint64_t value = little_endian(data.data() + at) ^ crc;
        crc = 0;
        for (std::size_t i = 0; i < 8; ++i) {
            crc ^= kCrcTable[7 - i][value >> (8 * i) & 0xFFU];
        }
    }
    for (; at < data.size(); ++at) {
        crc = (crc >> 8U) ^ kCrcTable[0][(crc ^ data[at]) & 0xFFU];
    }
    return ~crc;
}

std::uint32_t crc32c_by_instruction(std::span<const std::uint8_t> data, std::uint32_t before) {
    IBF_CHECK(has_crc32c_instruction(), "this processor has no CRC32C instruction");
#if defined(__x86_64__)
    return ~crc_by_sse42(data.data(), data.size(), ~before);
#else
    return crc32c_by_table(data, before);
#endif
}

bool has_crc32c_instruction() {
#if defined(__x86_64__)
    static const bool has = __builtin_cpu_supports("sse4.2") != 0;
    return has;
#else
    return false;
#endif
}

std::uint32_t crc32c(std::span<const std::uint8_t> data, std::uint32_t before) {
    return has_crc32c_instruction() ? crc32c_by_instruction(data, before) : crc32c_by_table(data, before);
}

}  // namespace ibf::probe
