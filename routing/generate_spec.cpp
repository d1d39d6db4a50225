#include "routing/generate_spec.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/check.hpp"
#include "base/words.hpp"

namespace ibf::routing {
namespace {

constexpr std::array kCommonKeys{
    Key{"speed", KeyKind::speed, 0, 0, "HDR",
        "lane speed of every cable: SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR, XDR"},
    Key{"width", KeyKind::width, 0, 0, "4", "lanes of every cable: 1, 2, 4, 8 or 12"},
    Key{"missing-links", KeyKind::fraction, 0, 0.95, "0",
        "share of the switch-to-switch cables taken away at random"},
    Key{"missing-switches", KeyKind::fraction, 0, 0.95, "0",
        "share of the switches taken away at random, with their cables and hosts"},
    Key{"seed", KeyKind::number, 0, 4294967295.0, "1", "what the random choices follow from"},
};

std::vector<Key> all_keys(const Family& family) {
    std::vector<Key> keys = family.keys;
    keys.insert(keys.end(), kCommonKeys.begin(), kCommonKeys.end());
    return keys;
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::optional<double> parse_real(std::string_view text) {
    double real = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), real);
    const bool whole = error == std::errc{} && end == text.data() + text.size();
    return whole && std::isfinite(real) ? std::optional(real) : std::nullopt;
}

std::optional<std::vector<std::uint32_t>> parse_sizes(const Key& key, std::string_view text) {
    std::vector<std::uint32_t> sizes;
    while (sizes.size() < kSizesMax) {
        const auto cross = text.find('x');
        const auto size = parse_number(text.substr(0, cross));
        if (!size || static_cast<double>(*size) < key.least || static_cast<double>(*size) > key.most) {
            return std::nullopt;
        }
        sizes.push_back(static_cast<std::uint32_t>(*size));
        if (cross == std::string_view::npos) {
            return sizes;
        }
        text.remove_prefix(cross + 1);
    }
    return std::nullopt;
}

mad::LinkSpeed parse_speed(std::string_view text) {
    std::string upper(text);
    std::ranges::transform(upper, upper.begin(),
                           [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
    return mad::speed_from_string(upper);
}

std::string range_of(const Key& key) {
    switch (key.kind) {
        case KeyKind::number: return fmt::format("a whole number from {} to {}", key.least, key.most);
        case KeyKind::fraction: return fmt::format("a number from {} to {}", key.least, key.most);
        case KeyKind::sizes:
            return fmt::format("1 to {} sizes from {} to {} like 8x8x8", kSizesMax, key.least, key.most);
        case KeyKind::speed: return "one of SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR, XDR";
        case KeyKind::width: return "1, 2, 4, 8 or 12";
    }
    return {};
}

}  // namespace

std::span<const Key> common_keys() {
    return kCommonKeys;
}

const Parameters::Value& Parameters::value(std::string_view key) const {
    const auto found = std::ranges::find(values_, key, &Value::key);
    IBF_CHECK(found != values_.end(), "a family asks for its key {}, which it does not list", key);
    return *found;
}

bool Parameters::given(std::string_view key) const {
    return value(key).given;
}
std::uint32_t Parameters::number(std::string_view key) const {
    return static_cast<std::uint32_t>(value(key).real);
}
double Parameters::fraction(std::string_view key) const {
    return value(key).real;
}
const std::vector<std::uint32_t>& Parameters::sizes(std::string_view key) const {
    return value(key).sizes;
}
mad::LinkSpeed Parameters::speed(std::string_view key) const {
    return static_cast<mad::LinkSpeed>(number(key));
}
mad::LinkWidth Parameters::width(std::string_view key) const {
    return static_cast<mad::LinkWidth>(number(key));
}

/// Walks one spec; the only writer of Parameters.
class ParameterParser {
public:
    explicit ParameterParser(const Family& family) : family_(family), keys_(all_keys(family)) {}

    base::Result<Parameters> run(std::string_view text) {
        for (const Key& key : keys_) {
            parameters_.values_.push_back({key.name, false, 0, {}});
            if (!key.fallback.empty()) {
                const bool stored = store(key, key.fallback);
                IBF_CHECK(stored, "default of {} in family {} is out of range", key.name, family_.name);
            }
        }
        bool first = true;
        while (!text.empty()) {
            const auto comma = text.find(',');
            if (auto done = take(text.substr(0, comma), first); !done) {
                return tl::unexpected(done.error());
            }
            text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
            first = false;
        }
        return std::move(parameters_);
    }

private:
    base::Result<void> take(std::string_view item, bool first) {
        const auto equals = item.find('=');
        std::string_view name = item.substr(0, equals);
        std::string_view text = item;
        if (equals != std::string_view::npos) {
            text.remove_prefix(equals + 1);
        } else if (first && !family_.bare_key.empty()) {
            name = family_.bare_key;
        }
        const auto key = std::ranges::find(keys_, name, &Key::name);
        if (key == keys_.end()) {
            return unknown(name);
        }
        if (equals == std::string_view::npos && name != family_.bare_key) {
            return base::fail(base::ErrorKind::usage,
                              fmt::format("{}: {} needs a value: {}=...", family_.name, name, name));
        }
        auto& value = values(*key);
        if (value.given) {
            return base::fail(base::ErrorKind::usage,
                              fmt::format("{}: {} is given twice", family_.name, name));
        }
        if (!store(*key, text)) {
            return base::fail(base::ErrorKind::usage, fmt::format("{}: {}={}: {} is {}", family_.name, name,
                                                                  text, name, range_of(*key)));
        }
        value.given = true;
        return {};
    }

    [[nodiscard]] base::Result<void> unknown(std::string_view name) const {
        std::vector<std::string_view> names;
        for (const Key& key : keys_) {
            names.push_back(key.name);
        }
        return base::fail(base::ErrorKind::usage,
                          fmt::format("{}: there is no key \"{}\"; did you mean {}? Keys: {}", family_.name,
                                      name, base::nearest_word(name, names), fmt::join(names, ", ")));
    }

    Parameters::Value& values(const Key& key) {
        return parameters_.values_[static_cast<std::size_t>(&key - keys_.data())];
    }

    /// False if the text is no value of that key.
    [[nodiscard]] bool store(const Key& key, std::string_view text) {
        auto& value = values(key);
        switch (key.kind) {
            case KeyKind::number: {
                const auto number = parse_number(text);
                value.real = static_cast<double>(number.value_or(0));
                return number && value.real >= key.least && value.real <= key.most;
            }
            case KeyKind::fraction: {
                const auto real = parse_real(text);
                value.real = real.value_or(0);
                return real && value.real >= key.least && value.real <= key.most;
            }
            case KeyKind::sizes: {
                auto sizes = parse_sizes(key, text);
                value.sizes = std::move(sizes).value_or(std::vector<std::uint32_t>{});
                return !value.sizes.empty();
            }
            case KeyKind::speed: {
                const auto speed = parse_speed(text);
                value.real = static_cast<double>(speed);
                return speed != mad::LinkSpeed::none;
            }
            case KeyKind::width: {
                const auto lanes = parse_number(text);
                const auto width = lanes && *lanes <= 12
                                       ? mad::width_from_lanes(static_cast<unsigned>(*lanes))
                                       : mad::LinkWidth::none;
                value.real = static_cast<double>(width);
                return width != mad::LinkWidth::none;
            }
        }
        return false;
    }

    const Family& family_;
    std::vector<Key> keys_;
    Parameters parameters_;
};

base::Result<Parameters> parse_parameters(const Family& family, std::string_view text) {
    return ParameterParser(family).run(text);
}

}  // namespace ibf::routing
