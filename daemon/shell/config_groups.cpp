#include "daemon/shell/config_groups.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mad/multicast.hpp"
#include "mad/sa_rates.hpp"

namespace ibf::shell {
namespace {

using fabric::ConfiguredGroup;

constexpr std::size_t kGroupsMost = 1024;
constexpr std::string_view kAuto = "auto";

struct Scope {
    std::string_view name;
    std::uint8_t code;
};
constexpr std::array<Scope, 4> kScopes{{{"link-local", mad::kScopeLinkLocal},
                                        {"site-local", mad::kScopeSiteLocal},
                                        {"organization-local", mad::kScopeOrganizationLocal},
                                        {"global", mad::kScopeGlobal}}};

/// A group as it is read: what is said, before it is known whether it fits together.
struct Draft {
    ConfiguredGroup group;
    bool named = false;  ///< mgid
    bool ipoib = false;
    std::optional<std::uint8_t> scope;
    ConfigPosition scope_at;
};

using Problem = std::optional<std::string>;  ///< what is wrong with a value, after "KEY = VALUE"

std::string shown(const ConfigValue& value) {
    if (const auto* text = value.as<std::string>()) {
        return quote(*text);
    }
    const auto* number = value.as<std::int64_t>();
    return number != nullptr ? fmt::format("{}", *number) : std::string(type_name(value));
}

/// An unsigned number, as an integer or as a string of hex digits.
std::optional<std::uint64_t> number_of(const ConfigValue& value, std::uint64_t most) {
    std::uint64_t number = 0;
    if (const auto* integer = value.as<std::int64_t>(); integer != nullptr && *integer >= 0) {
        number = static_cast<std::uint64_t>(*integer);
    } else if (const auto* digits = value.as<std::string>()) {
        const auto parsed = mad::parse_guid(*digits);
        if (!parsed) {
            return std::nullopt;
        }
        number = parsed->value();
    } else {
        return std::nullopt;
    }
    return number <= most ? std::optional(number) : std::nullopt;
}

Problem read_mgid(const ConfigValue& value, Draft& draft) {
    draft.named = true;
    const auto* text = value.as<std::string>();
    const auto mgid = text == nullptr ? tl::unexpected(base::Error{}) : mad::parse_gid(*text);
    if (!mgid || !mad::is_multicast(*mgid)) {
        return "a multicast GID, like \"ff12:401b:ffff::ffff:ffff\"";
    }
    draft.group.mgid = *mgid;
    return std::nullopt;
}

Problem read_ipoib(const ConfigValue& value, Draft& draft) {
    const auto* yes = value.as<bool>();
    if (yes == nullptr || !*yes) {
        return "true, or mgid in its place";
    }
    draft.ipoib = true;
    return std::nullopt;
}

Problem read_pkey(const ConfigValue& value, Draft& draft) {
    const auto pkey = number_of(value, 0xFFFF);
    if (!pkey || (*pkey & 0x7FFFU) == 0) {
        return "a P_Key, \"0x0001\"..\"0xffff\"";
    }
    draft.group.pkey = mad::PKey{static_cast<std::uint16_t>(*pkey | 0x8000U)};
    return std::nullopt;
}

Problem read_mtu(const ConfigValue& value, Draft& draft) {
    const auto* bytes = value.as<std::int64_t>();
    const auto* word = value.as<std::string>();
    const bool fits = bytes != nullptr && *bytes > 0 && *bytes <= 4096;
    const mad::Mtu mtu = fits ? mad::mtu_from_bytes(static_cast<unsigned>(*bytes)) : mad::Mtu::none;
    if (mtu == mad::Mtu::none && (word == nullptr || *word != kAuto)) {
        return "256, 512, 1024, 2048 or 4096 bytes, or \"auto\"";
    }
    draft.group.mtu = static_cast<std::uint8_t>(mtu);
    return std::nullopt;
}

Problem read_rate(const ConfigValue& value, Draft& draft) {
    const auto* text = value.as<std::string>();
    if (value.as<std::int64_t>() != nullptr || value.as<double>() != nullptr) {
        return "a string with a unit, like \"100 Gb/s\"";
    }
    if (text != nullptr && *text == kAuto) {
        draft.group.rate = 0;
        return std::nullopt;
    }
    double gbps = 0;
    bool right = false;
    if (text != nullptr && !text->empty() && text->front() >= '0' && text->front() <= '9') {
        const char* const last = text->data() + text->size();
        const auto [end, error] = std::from_chars(text->data(), last, gbps, std::chars_format::fixed);
        const std::string_view unit(end, static_cast<std::size_t>(last - end));
        right = error == std::errc{} && (unit == " Gb/s" || unit == "Gb/s");
    }
    const std::uint8_t code = mad::rate_code(mad::rate_rank(gbps));
    if (!right || code == 0 || std::abs(mad::gbps_of_code(code) - gbps) > 1e-9) {
        std::vector<double> rates;
        for (std::uint8_t rank = 1; rank <= mad::kRateRankMost; ++rank) {
            rates.push_back(mad::gbps_of_code(mad::rate_code(rank)));
        }
        return fmt::format("\"auto\", or one of {} with \"Gb/s\"", fmt::join(rates, ", "));
    }
    draft.group.rate = code;
    return std::nullopt;
}

Problem read_sl(const ConfigValue& value, Draft& draft) {
    const auto* sl = value.as<std::int64_t>();
    if (sl == nullptr || *sl < 0 || *sl > 15) {
        return "an integer, 0..15";
    }
    draft.group.sl = static_cast<std::uint8_t>(*sl);
    return std::nullopt;
}

Problem read_qkey(const ConfigValue& value, Draft& draft) {
    const auto qkey = number_of(value, std::numeric_limits<std::uint32_t>::max());
    if (!qkey) {
        return "32 bits, \"0x0\"..\"0xffffffff\"";
    }
    draft.group.qkey = static_cast<std::uint32_t>(*qkey);
    return std::nullopt;
}

Problem read_scope(const ConfigValue& value, Draft& draft) {
    const auto* word = value.as<std::string>();
    const auto found = std::find_if(kScopes.begin(), kScopes.end(), [&](const Scope& scope) {
        return word != nullptr && scope.name == *word;
    });
    if (found == kScopes.end()) {
        return "link-local, site-local, organization-local or global";
    }
    draft.scope = found->code;
    draft.scope_at = value.at;
    return std::nullopt;
}

struct GroupKey {
    std::string_view name;
    Problem (*read)(const ConfigValue&, Draft&);
};
constexpr std::array<GroupKey, 8> kKeys{{{"mgid", read_mgid},
                                         {"ipoib", read_ipoib},
                                         {"pkey", read_pkey},
                                         {"mtu", read_mtu},
                                         {"rate", read_rate},
                                         {"sl", read_sl},
                                         {"qkey", read_qkey},
                                         {"scope", read_scope}}};

std::string unknown_group_key(std::string_view key) {
    std::vector<std::string> names;
    std::transform(kKeys.begin(), kKeys.end(), std::back_inserter(names),
                   [](const GroupKey& one) { return std::string(one.name); });
    return fmt::format("unknown key {} of a group; {}", quote(key), suggestion(key, names, "its keys are"));
}

/// What no single value shows.
void complete(ConfigPosition at, Draft& draft, ConfigProblems& problems) {
    if (draft.named == draft.ipoib) {
        problems.add(at, draft.named ? "mgid and ipoib are both given: keep one of them"
                                     : "a group needs a name: mgid, or ipoib = true");
    } else if (mad::is_multicast(draft.group.mgid) && draft.scope &&
               *draft.scope != mad::scope_of(draft.group.mgid)) {
        problems.add(draft.scope_at, "scope differs from that of mgid: leave it out");
    } else if (draft.ipoib) {
        draft.group.mgid = mad::ipoib_broadcast(draft.group.pkey, draft.scope.value_or(mad::kScopeLinkLocal));
    }
}

ConfiguredGroup read_group(const ConfigValue& given, ConfigProblems& problems) {
    Draft draft;
    for (const ConfigValue::Entry& entry : *given.as<ConfigValue::Table>()) {
        const auto key = std::find_if(kKeys.begin(), kKeys.end(),
                                      [&](const GroupKey& one) { return one.name == entry.key; });
        if (key == kKeys.end()) {
            problems.add(entry.key_at, unknown_group_key(entry.key));
        } else if (const Problem wrong = key->read(entry.value, draft)) {
            problems.add(entry.value.at, fmt::format("{} = {} cannot be used: expected {}", key->name,
                                                     shown(entry.value), *wrong));
        }
    }
    complete(given.at, draft, problems);
    return draft.group;
}

std::string group_text(const ConfiguredGroup& group) {
    const std::string mtu =
        group.mtu == 0 ? "\"auto\"" : fmt::format("{}", mad::mtu_bytes(static_cast<mad::Mtu>(group.mtu)));
    const std::string rate =
        group.rate == 0 ? std::string(kAuto) : fmt::format("{} Gb/s", mad::gbps_of_code(group.rate));
    return fmt::format(
        "{{ mgid = \"{}\", pkey = \"{}\", mtu = {}, rate = \"{}\", sl = {}, qkey = \"0x{:08x}\" }}",
        mad::to_string(group.mgid), group.pkey, mtu, rate, group.sl, group.qkey);
}

void read_groups(const OptionInfo& info, const ConfigValue& given, DaemonConfig& config,
                 ConfigProblems& problems) {
    const auto* list = given.as<ConfigValue::List>();
    if (list == nullptr) {
        return problems.add(given.at, fmt::format("{} is {}: expected {}, each begun by [[multicast.groups]]",
                                                  info.key, type_name(given), info.type));
    }
    if (list->size() > kGroupsMost) {
        problems.add(given.at,
                     fmt::format("{} groups: at most {} can be configured", list->size(), kGroupsMost));
    }
    auto& groups = config.sm.multicast_groups;
    groups.clear();
    for (const ConfigValue& one : *list) {
        if (one.as<ConfigValue::Table>() == nullptr) {
            problems.add(one.at,
                         fmt::format("{} has {} in its list: expected tables", info.key, type_name(one)));
            continue;
        }
        const ConfiguredGroup group = read_group(one, problems);
        const bool twice = std::any_of(groups.begin(), groups.end(), [&](const ConfiguredGroup& other) {
            return group.mgid != mad::Gid{} && other.mgid == group.mgid;
        });
        if (twice) {
            problems.add(one.at, fmt::format("group {} is there twice", mad::to_string(group.mgid)));
        }
        groups.push_back(group);
    }
}

}  // namespace

ConfigOption groups_option() {
    OptionInfo described;
    described.section = "multicast";
    described.key = "groups";
    described.type = "a list of tables";
    described.range =
        "[[multicast.groups]] with mgid or ipoib = true, and any of pkey, mtu, rate, sl, qkey, scope";
    described.help =
        "Groups that exist whoever joins them; IPoIB's broadcast group of the default partition always does.";
    return {std::move(described), read_groups, [](const DaemonConfig& config) {
                std::vector<std::string> items;
                std::transform(config.sm.multicast_groups.begin(), config.sm.multicast_groups.end(),
                               std::back_inserter(items), group_text);
                return fmt::format("[{}]", fmt::join(items, ", "));
            }};
}

}  // namespace ibf::shell
