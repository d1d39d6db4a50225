// The text form of fault scripts: "at 1.5s drop switch-01 attr=PortInfo method=Set count=3", one a line, '#'
// starts a comment. The time may be left out (0). A name with blanks or '#' is put in double quotes.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/words.hpp"
#include "sim/simulator.hpp"

namespace ibf::sim {
namespace {

using Kind = Fault::Kind;

template <class T>
struct Word {
    std::string_view name;
    T value;
};

constexpr std::array<Word<Kind>, 26> kKinds{{
    {"drop", Kind::drop},
    {"delay", Kind::delay},
    {"duplicate", Kind::duplicate},
    {"reorder", Kind::reorder},
    {"wrong-tid", Kind::wrong_tid},
    {"error-status", Kind::error_status},
    {"slow-set", Kind::slow_set},
    {"reboot", Kind::reboot},
    {"dead", Kind::dead},
    {"alive", Kind::alive},
    {"link-down", Kind::link_down},
    {"link-up", Kind::link_up},
    {"flap", Kind::flap},
    {"remove-node", Kind::remove_node},
    {"add-node", Kind::add_node},
    {"trap", Kind::trap},
    {"mute-traps", Kind::mute_traps},
    {"corrupt-node-info", Kind::corrupt_node_info},
    {"one-way", Kind::one_way},
    {"swap-cables", Kind::swap_cables},
    {"lossy", Kind::lossy},
    {"throttle", Kind::throttle},
    {"lft-entry", Kind::lft_entry},
    {"adaptive-routing", Kind::adaptive_routing},
    {"no-extended-counters", Kind::no_extended_counters},
    {"redirect-perf", Kind::redirect_perf},
}};

enum class Key : std::uint8_t { attribute, method, count, probability, delay, number, with, lid };
constexpr std::array<Word<Key>, 8> kKeys{{
    {"attr", Key::attribute},
    {"method", Key::method},
    {"count", Key::count},
    {"probability", Key::probability},
    {"delay", Key::delay},
    {"number", Key::number},
    {"with", Key::with},
    {"lid", Key::lid},
}};

constexpr std::array<Word<mad::Method>, 2> kMethods{{{"Get", mad::Method::get}, {"Set", mad::Method::set}}};

constexpr std::array kAttributes{
    mad::Attribute::node_description,
    mad::Attribute::node_info,
    mad::Attribute::switch_info,
    mad::Attribute::guid_info,
    mad::Attribute::port_info,
    mad::Attribute::pkey_table,
    mad::Attribute::sl2vl_table,
    mad::Attribute::vl_arbitration,
    mad::Attribute::sm_info,
    mad::Attribute::linear_forwarding_table,
    mad::Attribute::notice,
    mad::Attribute::multicast_forwarding_table,
    mad::Attribute::mlnx_extended_port_info,
};

struct Unit {
    std::string_view name;
    double nanoseconds;
};
constexpr std::array<Unit, 4> kUnits{{{"ns", 1.0}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
constexpr double kLongest = 1e9 * 86400 * 365;  // a year; what lies beyond is a slip of the pen

constexpr std::size_t kWordMax = 128;  // longer words are not worth a suggestion

/// One line being read; fails with its place.
struct Line {
    const std::string& origin;
    std::size_t number = 0;

    [[nodiscard]] tl::unexpected<base::Error> fail(const std::string& what) const {
        return base::fail(base::ErrorKind::parse, fmt::format("{}:{}: {}", origin, number, what));
    }
    [[nodiscard]] tl::unexpected<base::Error> unknown(std::string_view kind, std::string_view word,
                                                      const std::vector<std::string>& candidates) const {
        return fail(fmt::format("unknown {} '{}': did you mean '{}'?", kind, word.substr(0, kWordMax),
                                base::nearest_word(word, candidates)));
    }
};

template <class T, std::size_t kSize>
base::Result<T> look_up(const Line& line, std::string_view kind, std::string_view word,
                        const std::array<Word<T>, kSize>& words) {
    std::vector<std::string> names;
    for (const Word<T>& item : words) {
        if (item.name == word) {
            return item.value;
        }
        names.emplace_back(item.name);
    }
    return line.unknown(kind, word, names);
}

base::Result<mad::Attribute> read_attribute(const Line& line, std::string_view word) {
    std::vector<std::string> names;
    for (const mad::Attribute attribute : kAttributes) {
        names.push_back(mad::attribute_name(attribute));
        if (names.back() == word) {
            return attribute;
        }
    }
    return line.unknown("attribute", word, names);
}

/// The words of a line; a quoted part keeps its blanks.
base::Result<std::vector<std::string>> split(const Line& line, std::string_view text) {
    std::vector<std::string> words;
    bool quoted = false;
    bool open = false;
    for (const char c : text) {
        const bool blank = c == ' ' || c == '\t' || c == '\r';
        if (c == '#' && !quoted) {
            break;
        }
        if (c == '"') {
            quoted = !quoted;
        } else if (blank && !quoted) {
            open = false;
            continue;
        }
        if (!open) {
            words.emplace_back();
            open = true;
        }
        if (c != '"') {
            words.back() += c;
        }
    }
    if (quoted) {
        return line.fail("a double quote is not closed");
    }
    return words;
}

base::Result<double> read_number(const Line& line, std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value) || value < 0) {
        return line.fail(fmt::format("'{}' is not a number", text.substr(0, kWordMax)));
    }
    return value;
}

base::Result<base::Duration> read_duration(const Line& line, std::string_view text) {
    const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    const std::string_view unit = text.substr(digits);
    for (const Unit& item : kUnits) {
        if (item.name == unit) {
            const base::Result<double> value = read_number(line, text.substr(0, digits));
            if (!value) {
                return tl::unexpected<base::Error>(value.error());
            }
            if (*value * item.nanoseconds > kLongest) {
                return line.fail(fmt::format("'{}' is longer than a year", text.substr(0, kWordMax)));
            }
            return base::Duration{std::llround(*value * item.nanoseconds)};
        }
    }
    return line.fail(fmt::format("'{}' is no time: write a number and ns, us, ms or s, as in 1.5s",
                                 text.substr(0, kWordMax)));
}

base::Result<std::uint32_t> read_integer(const Line& line, std::string_view text, std::uint32_t max) {
    const bool hex = text.substr(0, 2) == "0x";
    const std::string_view digits = hex ? text.substr(2) : text;
    std::uint32_t value = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
    if (error != std::errc{} || end != digits.data() + digits.size() || value > max) {
        return line.fail(fmt::format("'{}' is not a number from 0 to {}", text.substr(0, kWordMax), max));
    }
    return value;
}

/// Stores a value that was read, or passes its error on.
template <class T, class Field>
base::Result<void> put(const base::Result<T>& value, Field& field) {
    if (!value) {
        return tl::unexpected<base::Error>(value.error());
    }
    field = static_cast<Field>(*value);
    return {};
}

base::Result<void> read_option(const Line& line, const std::string& word, Fault& fault) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) {
        return line.fail(fmt::format("'{}': options are written key=value", word.substr(0, kWordMax)));
    }
    const std::string_view value = std::string_view{word}.substr(equals + 1);
    const base::Result<Key> key = look_up(line, "option", std::string_view{word}.substr(0, equals), kKeys);
    if (!key) {
        return tl::unexpected<base::Error>(key.error());
    }
    switch (*key) {
        case Key::attribute: {
            const base::Result<mad::Attribute> attribute = read_attribute(line, value);
            return put(attribute, fault.attribute.emplace());
        }
        case Key::method: return put(look_up(line, "method", value, kMethods), fault.method.emplace());
        case Key::count: return put(read_integer(line, value, 0xFFFFFFFFU), fault.count);
        case Key::delay: return put(read_duration(line, value), fault.delay);
        case Key::with: fault.with = value; return {};
        case Key::lid: {
            const base::Result<std::uint32_t> lid = read_integer(line, value, mad::kLidUnicastMax);
            fault.lid = mad::Lid{static_cast<std::uint16_t>(lid.value_or(0))};
            std::uint32_t checked = 0;
            return put(lid, checked);
        }
        case Key::number: return put(read_integer(line, value, 0xFFFF), fault.number);
        case Key::probability: {
            const base::Result<double> probability = read_number(line, value);
            if (probability && *probability > 1.0) {
                return line.fail(fmt::format("probability {} is above 1", value));
            }
            return put(probability, fault.probability);
        }
    }
    return {};
}

base::Result<Fault> read_fault(const Line& line, const std::vector<std::string>& words) {
    Fault fault;
    std::size_t next = 0;
    if (words[0] == "at") {
        if (words.size() < 2) {
            return line.fail("'at' without a time");
        }
        const base::Result<void> at = put(read_duration(line, words[1]), fault.at);
        if (!at) {
            return tl::unexpected<base::Error>(at.error());
        }
        next = 2;
    }
    if (words.size() < next + 2) {
        return line.fail("a fault is written: [at TIME] KIND NODE[/PORT] [key=value ...]");
    }
    const base::Result<Kind> kind = look_up(line, "fault", words[next], kKinds);
    if (!kind) {
        return tl::unexpected<base::Error>(kind.error());
    }
    fault.kind = *kind;
    fault.where = words[next + 1];
    for (std::size_t i = next + 2; i < words.size(); ++i) {
        const base::Result<void> option = read_option(line, words[i], fault);
        if (!option) {
            return tl::unexpected<base::Error>(option.error());
        }
    }
    if ((fault.kind == Kind::swap_cables || fault.kind == Kind::redirect_perf) && fault.with.empty()) {
        return line.fail("this needs the second one, as in with=NODE/PORT");
    }
    if (fault.kind == Kind::redirect_perf && fault.number <= kGsiQp) {
        return line.fail("redirect-perf needs the queue pair, above 1, as in number=77");
    }
    if (fault.kind == Kind::lft_entry && (fault.lid == mad::kLidNone || fault.number > mad::kLftDrop)) {
        return line.fail("lft-entry needs the LID and the port, as in lid=12 number=3; 255 drops");
    }
    if (fault.kind == Kind::trap && fault.number == 0) {
        return line.fail("a trap needs its number, as in number=128");
    }
    return fault;
}

}  // namespace

base::Result<std::vector<Fault>> parse_faults(std::string_view text, const std::string& origin) {
    std::vector<Fault> faults;
    Line line{.origin = origin};
    while (!text.empty()) {
        ++line.number;
        const std::size_t end = std::min(text.find('\n'), text.size());
        const base::Result<std::vector<std::string>> words = split(line, text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        if (!words) {
            return tl::unexpected<base::Error>(words.error());
        }
        if (words->empty()) {
            continue;
        }
        const base::Result<Fault> fault = read_fault(line, *words);
        if (!fault) {
            return tl::unexpected<base::Error>(fault.error());
        }
        faults.push_back(*fault);
    }
    return faults;
}

}  // namespace ibf::sim
