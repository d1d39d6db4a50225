#include "cli/record_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/words.hpp"
#include "cli/table.hpp"
#include "mad/sa_rates.hpp"

namespace ibf::cli {
namespace {

enum class Look : std::uint8_t {
    number,
    hex,
    guid,
    gid,
    text,    ///< octets up to the first NUL
    octets,  ///< hex digits
    bytes,   ///< a table of octets
    words,   ///< a table of 16-bit numbers
    node_type,
    port_state,
    phys_state,
    sm_state,
    width,
    mtu,
    rate,
};

struct NamedLook {
    std::string_view field;
    Look look;
};

constexpr std::array kLooks{
    NamedLook{"CapabilityMask", Look::hex},
    NamedLook{"CapabilityMask2", Look::hex},
    NamedLook{"RedirectFL", Look::hex},
    NamedLook{"RedirectP_Key", Look::hex},
    NamedLook{"RedirectQP", Look::hex},
    NamedLook{"RedirectQ_Key", Look::hex},
    NamedLook{"TrapFL", Look::hex},
    NamedLook{"TrapP_Key", Look::hex},
    NamedLook{"TrapQP", Look::hex},
    NamedLook{"TrapQ_Key", Look::hex},
    NamedLook{"NodeType", Look::node_type},
    NamedLook{"DeviceID", Look::hex},
    NamedLook{"Revision", Look::hex},
    NamedLook{"VendorID", Look::hex},
    NamedLook{"NodeDescription", Look::text},
    NamedLook{"DiagCode", Look::hex},
    NamedLook{"LinkWidthEnabled", Look::hex},
    NamedLook{"LinkWidthSupported", Look::hex},
    NamedLook{"LinkWidthActive", Look::width},
    NamedLook{"LinkSpeedEnabled", Look::hex},
    NamedLook{"LinkSpeedSupported", Look::hex},
    NamedLook{"LinkSpeedExtEnabled", Look::hex},
    NamedLook{"LinkSpeedExtSupported", Look::hex},
    NamedLook{"PortState", Look::port_state},
    NamedLook{"PortPhysicalState", Look::phys_state},
    NamedLook{"LinkDownDefaultState", Look::phys_state},
    NamedLook{"NeighborMTU", Look::mtu},
    NamedLook{"MTUCap", Look::mtu},
    NamedLook{"LinearForwardingTable", Look::bytes},
    NamedLook{"MulticastForwardingTable", Look::words},
    NamedLook{"P_KeyTable", Look::words},
    NamedLook{"SMState", Look::sm_state},
    NamedLook{"ServiceIDMSB", Look::hex},
    NamedLook{"ServiceIDLSB", Look::hex},
    NamedLook{"FlowLabel", Look::hex},
    NamedLook{"TClass", Look::hex},
    NamedLook{"P_Key", Look::hex},
    NamedLook{"Q_Key", Look::hex},
    NamedLook{"Mtu", Look::mtu},
    NamedLook{"Rate", Look::rate},
    NamedLook{"MLID", Look::hex},
    NamedLook{"JoinState", Look::hex},
    NamedLook{"ServiceP_Key", Look::hex},
    NamedLook{"ServiceKey", Look::octets},
    NamedLook{"ServiceName", Look::text},
    NamedLook{"Type", Look::hex},
    NamedLook{"QPN", Look::hex},
    NamedLook{"ProducerType", Look::hex},
};

constexpr unsigned kGidBits = 128;
constexpr unsigned kNumberBits = 64;

Look look_of(const sa::Field& field) {
    const auto named = std::find_if(kLooks.begin(), kLooks.end(),
                                    [&](const NamedLook& look) { return look.field == field.name; });
    if (named != kLooks.end()) {
        return named->look;
    }
    const bool guid = field.bits == kNumberBits && field.name.find("GUID") != std::string_view::npos;
    return guid                        ? Look::guid
           : field.bits == kGidBits    ? Look::gid
           : field.bits > kNumberBits  ? Look::octets
           : field.bits == kNumberBits ? Look::hex
                                       : Look::number;
}

/// The octets of a field that has whole ones; what the SA did not send is 0.
std::vector<std::uint8_t> octets_of(const sa::RecordType& type, unsigned component, RecordBytes record) {
    std::vector<std::uint8_t> octets(type.fields()[component].bits / 8U);
    const std::size_t first = type.first_bit(component) / 8U;
    for (std::size_t i = 0; i < octets.size() && first + i < record.size(); ++i) {
        octets[i] = record[first + i];
    }
    return octets;
}

std::vector<std::uint16_t> words_of(const std::vector<std::uint8_t>& octets) {
    std::vector<std::uint16_t> words;
    for (std::size_t i = 0; i + 1 < octets.size(); i += 2) {
        words.push_back(static_cast<std::uint16_t>(octets[i] << 8U | octets[i + 1]));
    }
    return words;
}

mad::Gid gid_of(const std::vector<std::uint8_t>& octets) {
    std::array<std::uint64_t, 2> halves{};
    for (std::size_t i = 0; i < octets.size(); ++i) {
        halves[i / 8] = halves[i / 8] << 8U | octets[i];
    }
    return {halves[0], mad::Guid{halves[1]}};
}

std::string hex_text(std::uint64_t value, unsigned bits) {
    return fmt::format("0x{:0{}x}", value, (bits + 3) / 4);
}

/// The word for a value that has one.
std::string_view word_of(Look look, std::uint64_t value) {
    const auto code = static_cast<std::uint8_t>(value);
    switch (look) {
        case Look::node_type: return mad::to_string(static_cast<mad::NodeType>(code));
        case Look::port_state: return mad::to_string(static_cast<mad::PortState>(code));
        case Look::phys_state: return mad::to_string(static_cast<mad::PhysState>(code));
        case Look::sm_state: return mad::to_string(static_cast<mad::SmState>(code));
        case Look::width: return mad::to_string(static_cast<mad::LinkWidth>(code));
        default: return {};
    }
}

bool has_words(Look look) {
    return look >= Look::node_type && look <= Look::width;
}

/// Of words only those that name one value: "?" and the like are for strangers' numbers.
bool names_one(Look look, std::uint64_t value) {
    constexpr std::uint64_t kNoValue = 0xFF;
    const std::string_view word = word_of(look, value);
    return !word.empty() && word != word_of(look, kNoValue);
}

std::string coded_text(Look look, std::uint64_t code) {
    const std::string meaning =
        look == Look::mtu ? fmt::format("{} bytes", mad::mtu_bytes(static_cast<mad::Mtu>(code)))
                          : fmt::format("{:g} Gb/s", mad::gbps_of_code(static_cast<std::uint8_t>(code)));
    return meaning.starts_with("0 ") ? fmt::format("{}", code) : fmt::format("{} ({})", code, meaning);
}

bool alike(std::string_view a, std::string_view b) {
    return a.size() == b.size() && base::edit_distance(a, b) == 0;
}

std::optional<std::uint64_t> number_of(std::string_view word) {
    const bool hex = word.starts_with("0x") || word.starts_with("0X");
    word.remove_prefix(hex ? 2 : 0);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, hex ? 16 : 10);
    return error == std::errc{} && end == word.data() + word.size() ? std::optional(value) : std::nullopt;
}

tl::unexpected<base::Error> bad_value(const sa::Field& field, std::string_view word, std::string_view taken) {
    return base::fail(base::ErrorKind::usage,
                      fmt::format("{}={}: {} is {}", field.name, printable(word), field.name, taken));
}

/// "CA, Switch, Router or a number below 256".
std::string taken_number(Look look, const sa::Field& field) {
    std::string words;
    for (std::uint64_t value = 0; has_words(look) && value < 32; ++value) {
        if (names_one(look, value)) {
            words += fmt::format("{}{}", words.empty() ? "" : ", ", word_of(look, value));
        }
    }
    if (look == Look::guid) {
        return "a GUID, such as 0x0002c90300a1b2c3";
    }
    const std::string range = field.bits >= kNumberBits
                                  ? std::string("a number of 64 bits")
                                  : fmt::format("a number below {}", std::uint64_t{1} << field.bits);
    return words.empty() ? range : words + " or " + range;
}

base::Result<void> set_number(const sa::RecordType& type, unsigned component, std::string_view word,
                              std::span<std::uint8_t> record) {
    const sa::Field& field = type.fields()[component];
    const Look look = look_of(field);
    std::optional<std::uint64_t> value;
    if (look != Look::guid) {
        value = number_of(word);
    } else if (const auto guid = mad::parse_guid(word)) {
        value = guid->value();
    }
    for (std::uint64_t code = 0; has_words(look) && !value && code < 32; ++code) {
        if (names_one(look, code) && alike(word_of(look, code), word)) {
            value = code;
        }
    }
    if (!value || (field.bits < kNumberBits && *value >> field.bits != 0)) {
        return bad_value(field, word, taken_number(look, field));
    }
    type.set(record, component, *value);
    return {};
}

base::Result<std::vector<std::uint8_t>> octets_from(Look look, const sa::Field& field,
                                                    std::string_view word) {
    const std::size_t size = field.bits / 8U;
    std::vector<std::uint8_t> octets;
    if (look == Look::gid) {
        const auto gid = mad::parse_gid(word);
        if (!gid) {
            return bad_value(field, word, "a GID, such as fe80::2:c903:a1:b2c3");
        }
        for (const std::uint64_t half : {gid->prefix, gid->interface_id.value()}) {
            for (unsigned shift = 64; shift > 0; shift -= 8) {
                octets.push_back(static_cast<std::uint8_t>(half >> (shift - 8)));
            }
        }
        return octets;
    }
    if (look == Look::text) {
        if (word.size() > size) {
            return bad_value(field, word, fmt::format("a text of at most {} octets", size));
        }
        octets.assign(word.begin(), word.end());
        octets.resize(size);
        return octets;
    }
    const std::string_view digits = word.starts_with("0x") ? word.substr(2) : word;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
        const auto octet = number_of(fmt::format("0x{}", digits.substr(i, 2)));
        octets.push_back(octet ? static_cast<std::uint8_t>(*octet) : std::uint8_t{0});
    }
    const bool hex = std::all_of(digits.begin(), digits.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    });
    if (!hex || digits.size() != 2 * size) {
        return bad_value(field, word, fmt::format("{} hex digits", 2 * size));
    }
    return octets;
}

}  // namespace

base::Result<std::uint64_t> parse_key(std::string_view word) {
    const auto key = word.empty() ? std::optional<std::uint64_t>{0} : number_of(word);
    return key ? base::Result<std::uint64_t>(*key)
               : base::fail(base::ErrorKind::usage, "the SA key is a number of 64 bits, such as 0x1");
}

base::Result<unsigned> find_field(const sa::RecordType& type, std::string_view name) {
    std::vector<std::string_view> names;
    for (unsigned i = 0; i < type.fields().size(); ++i) {
        const std::string_view known = type.fields()[i].name;
        if (!known.empty() && alike(known, name)) {
            return i;
        }
        if (!known.empty()) {
            names.push_back(known);
        }
    }
    return base::fail(
        base::ErrorKind::usage,
        fmt::format("{} has no field '{}': did you mean '{}'? --list-fields lists them", type.name(),
                    printable(name.substr(0, 64)), base::nearest_word(name, names)));
}

std::string value_text(const sa::RecordType& type, unsigned component, RecordBytes record) {
    const sa::Field& field = type.fields()[component];
    const Look look = look_of(field);
    switch (look) {
        case Look::gid: return mad::to_string(gid_of(octets_of(type, component, record)));
        case Look::text: {
            const auto octets = octets_of(type, component, record);
            return printable(std::string(octets.begin(), std::find(octets.begin(), octets.end(), 0)));
        }
        case Look::octets: return fmt::format("0x{:02x}", fmt::join(octets_of(type, component, record), ""));
        case Look::bytes: return fmt::format("{}", fmt::join(octets_of(type, component, record), " "));
        case Look::words:
            return fmt::format("{:#06x}", fmt::join(words_of(octets_of(type, component, record)), " "));
        default: break;
    }
    const std::uint64_t value = type.get(record, component);
    if (look == Look::hex || look == Look::guid) {
        return hex_text(value, field.bits);
    }
    if (look == Look::mtu || look == Look::rate) {
        return coded_text(look, value);
    }
    return names_one(look, value) ? std::string(word_of(look, value)) : fmt::format("{}", value);
}

Json value_json(const sa::RecordType& type, unsigned component, RecordBytes record) {
    const Look look = look_of(type.fields()[component]);
    switch (look) {
        case Look::bytes: return octets_of(type, component, record);
        case Look::words: return words_of(octets_of(type, component, record));
        case Look::number:
        case Look::mtu:
        case Look::rate: return type.get(record, component);
        default: return value_text(type, component, record);
    }
}

base::Result<void> set_value(const sa::RecordType& type, unsigned component, std::string_view word,
                             std::span<std::uint8_t> record) {
    const sa::Field& field = type.fields()[component];
    const Look look = look_of(field);
    if (field.bits <= kNumberBits && look != Look::text) {
        return set_number(type, component, word, record);
    }
    const auto octets = octets_from(look, field, word);
    if (!octets) {
        return tl::unexpected(octets.error());
    }
    std::copy(octets->begin(), octets->end(), record.begin() + type.first_bit(component) / 8);
    return {};
}

std::string record_text(const sa::RecordType& type, RecordBytes record) {
    std::size_t width = 0;
    for (const sa::Field& field : type.fields()) {
        width = std::max(width, field.name.size());
    }
    std::string out = fmt::format("{}\n", type.name());
    for (unsigned i = 0; i < type.fields().size(); ++i) {
        if (!type.fields()[i].name.empty()) {
            fmt::format_to(std::back_inserter(out), "  {:<{}}  {}\n", type.fields()[i].name, width,
                           value_text(type, i, record));
        }
    }
    return out;
}

bool fits_a_line(const sa::RecordType& type) {
    constexpr std::ptrdiff_t kColumnsMost = 8;
    const auto is_shown = [](const sa::Field& field) { return !field.name.empty(); };
    const auto is_long = [](const sa::Field& field) { return field.bits > kGidBits; };
    return std::count_if(type.fields().begin(), type.fields().end(), is_shown) <= kColumnsMost &&
           std::none_of(type.fields().begin(), type.fields().end(), is_long);
}

}  // namespace ibf::cli
