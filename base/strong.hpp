// DOC: strong integer types.
//
// A StrongInt is an integer of one meaning: a LID is not a port number. It is built explicitly, compared,
// hashed and formatted, and has no arithmetic: whoever computes says value() and builds a new one.
// Values are in host order; only the codecs in mad/ know the wire order.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>

#include <fmt/format.h>

namespace ibf::base {

/// How a strong type is printed.
enum class Radix : std::uint8_t { decimal, hexadecimal };

template <class Tag, class Rep, Radix kRadixOf = Radix::decimal>
class StrongInt {
public:
    using rep = Rep;
    static constexpr Radix kRadix = kRadixOf;

    constexpr StrongInt() = default;
    constexpr explicit StrongInt(Rep value) : value_(value) {}

    [[nodiscard]] constexpr Rep value() const { return value_; }
    constexpr auto operator<=>(const StrongInt&) const = default;

private:
    Rep value_{};
};

template <class T>
inline constexpr bool kIsStrongInt = false;
template <class Tag, class Rep, Radix kRadixOf>
inline constexpr bool kIsStrongInt<StrongInt<Tag, Rep, kRadixOf>> = true;

}  // namespace ibf::base

template <class Tag, class Rep, ibf::base::Radix kRadixOf>
struct std::hash<ibf::base::StrongInt<Tag, Rep, kRadixOf>> {
    std::size_t operator()(const ibf::base::StrongInt<Tag, Rep, kRadixOf>& id) const noexcept {
        return std::hash<Rep>{}(id.value());
    }
};

template <class Tag, class Rep, ibf::base::Radix kRadixOf>
struct fmt::formatter<ibf::base::StrongInt<Tag, Rep, kRadixOf>> {
    constexpr auto parse(format_parse_context& context) { return context.begin(); }
    template <class Context>
    auto format(const ibf::base::StrongInt<Tag, Rep, kRadixOf>& id, Context& context) const {
        if constexpr (kRadixOf == ibf::base::Radix::hexadecimal) {
            return fmt::format_to(context.out(), "0x{:0{}x}", id.value(), sizeof(Rep) * 2);
        } else {
            return fmt::format_to(context.out(), "{}", static_cast<std::uint64_t>(id.value()));
        }
    }
};
