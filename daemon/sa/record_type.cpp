#include "daemon/sa/record_type.hpp"

#include <algorithm>

#include "base/check.hpp"

namespace ibf::sa {
namespace {

constexpr unsigned kComponents = 64;  ///< of a mask

unsigned bit_at(std::span<const std::uint8_t> bytes, std::uint32_t bit) {
    const std::size_t byte = bit / 8;
    return byte < bytes.size() ? (bytes[byte] >> (7U - bit % 8U)) & 1U : 0U;
}

}  // namespace

RecordType::RecordType(mad::SaAttribute attribute, std::string_view name, std::span<const Field> fields)
    : attribute_(attribute), name_(name), fields_(fields) {
    std::uint32_t bit = 0;
    for (const Field& field : fields) {
        places_.push_back({bit, field.bits});
        bit += field.bits;
    }
    size_ = (bit + 63) / 64 * 8;
}

unsigned RecordType::component(std::string_view field) const {
    const auto found =
        std::find_if(fields_.begin(), fields_.end(), [&](const Field& f) { return f.name == field; });
    IBF_CHECK(found != fields_.end(), "{} has no field {}", name_, field);
    return static_cast<unsigned>(found - fields_.begin());
}

std::uint64_t RecordType::get(std::span<const std::uint8_t> record, std::string_view field) const {
    return get(record, component(field));
}

std::uint64_t RecordType::get(std::span<const std::uint8_t> record, unsigned component) const {
    const Place at = places_[component];
    std::uint64_t value = 0;
    for (std::uint32_t bit = at.first_bit; bit < at.first_bit + at.bits; ++bit) {
        value = value << 1U | bit_at(record, bit);
    }
    return value;
}

void RecordType::set(std::span<std::uint8_t> record, std::string_view field, std::uint64_t value) const {
    set(record, component(field), value);
}

void RecordType::set(std::span<std::uint8_t> record, unsigned component, std::uint64_t value) const {
    const Place at = places_[component];
    for (std::uint32_t i = 0; i < at.bits; ++i) {
        const std::uint32_t bit = at.first_bit + at.bits - 1 - i;
        const auto mask = static_cast<std::uint8_t>(0x80U >> (bit % 8U));
        const bool one = i < 64 && ((value >> i) & 1U) != 0;
        record[bit / 8] = static_cast<std::uint8_t>(one ? record[bit / 8] | mask : record[bit / 8] & ~mask);
    }
}

bool RecordType::matches(std::uint64_t mask, std::span<const std::uint8_t> query,
                         std::span<const std::uint8_t> record) const {
    const std::size_t components = std::min<std::size_t>(places_.size(), kComponents);
    for (std::size_t c = 0; c < components; ++c) {
        if (((mask >> c) & 1U) == 0) {
            continue;
        }
        const Place at = places_[c];
        if (at.first_bit % 8 == 0 && at.bits % 8 == 0) {
            for (std::size_t byte = at.first_bit / 8; byte < (at.first_bit + at.bits) / 8U; ++byte) {
                const std::uint8_t asked = byte < query.size() ? query[byte] : std::uint8_t{0};
                const std::uint8_t held = byte < record.size() ? record[byte] : std::uint8_t{0};
                if (asked != held) {
                    return false;
                }
            }
            continue;
        }
        for (std::uint32_t bit = at.first_bit; bit < at.first_bit + at.bits; ++bit) {
            if (bit_at(query, bit) != bit_at(record, bit)) {
                return false;
            }
        }
    }
    return true;
}

}  // namespace ibf::sa
