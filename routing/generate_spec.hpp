// DOC: the little language of generator specs.
//
// A spec is a family name, then optionally ':' and a list of "key=value" parted by commas; one key of a
// family may be given as a bare first value ("torus:8x8x8,hosts=2"). A family states its keys as a table,
// with ranges and defaults; parsing, checking and the help text all follow from that table. Says nothing of
// how a fabric is drawn (generate_draft.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "routing/netlist.hpp"

namespace ibf::routing {

enum class KeyKind : std::uint8_t {
    number,    ///< whole number within [least, most]
    fraction,  ///< decimal number within [least, most]
    sizes,     ///< "8x8x8": 1 to kSizesMax numbers, each within [least, most]
    speed,     ///< lane speed: SDR .. XDR
    width,     ///< lanes: 1, 2, 4, 8, 12
};

inline constexpr std::size_t kSizesMax = 6;

struct Key {
    std::string_view name;
    KeyKind kind = KeyKind::number;
    double least = 0;
    double most = 0;
    std::string_view fallback;  ///< value when not given; empty: the family decides
    std::string_view meaning;
};

/// The checked values of one spec: every key of the family has one, given or default.
class Parameters {
public:
    [[nodiscard]] bool given(std::string_view key) const;
    [[nodiscard]] std::uint32_t number(std::string_view key) const;
    [[nodiscard]] double fraction(std::string_view key) const;
    [[nodiscard]] const std::vector<std::uint32_t>& sizes(std::string_view key) const;
    [[nodiscard]] mad::LinkSpeed speed(std::string_view key) const;
    [[nodiscard]] mad::LinkWidth width(std::string_view key) const;

private:
    friend class ParameterParser;
    struct Value {
        std::string_view key;
        bool given = false;
        double real = 0;
        std::vector<std::uint32_t> sizes;
    };
    [[nodiscard]] const Value& value(std::string_view key) const;

    std::vector<Value> values_;
};

struct Family {
    std::string_view name;
    std::string_view example;
    std::string_view meaning;
    std::string_view bare_key;  ///< the key that a first value without "key=" sets; empty: none
    std::vector<Key> keys;      ///< without the common keys
    base::Result<Netlist> (*draw)(const Parameters&) = nullptr;
};

/// Keys that every family understands: speed, width, missing-links, missing-switches, seed.
[[nodiscard]] std::span<const Key> common_keys();

/// `text` is what follows the ':'. Errors: usage, naming the nearest key or the range.
[[nodiscard]] base::Result<Parameters> parse_parameters(const Family& family, std::string_view text);

}  // namespace ibf::routing
