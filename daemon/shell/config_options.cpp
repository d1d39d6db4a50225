#include "daemon/shell/config_options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/words.hpp"
#include "daemon/shell/config_groups.hpp"
#include "daemon/shell/config_health.hpp"
#include "daemon/shell/config_replica.hpp"
#include "daemon/shell/start_mark.hpp"
#include "routing/preference_files.hpp"

namespace ibf::shell {
namespace {

using base::Duration;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

struct Unit {
    std::string_view name;
    Duration length;
};
// From long to short, so that the first that divides a duration prints it.
constexpr std::array<Unit, 5> kUnits{{
    {"h", hours{1}},
    {"min", minutes{1}},
    {"s", seconds{1}},
    {"ms", milliseconds{1}},
    {"us", microseconds{1}},
}};

/// "10s", "1.5ms": a decimal number and a unit, rounded to microseconds. Nothing if it is not that.
std::optional<Duration> parse_duration(std::string_view text) {
    constexpr double kCountMax = 1e15;
    if (text.empty() || text.front() < '0' || text.front() > '9') {
        return std::nullopt;
    }
    double count = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), count, std::chars_format::fixed);
    std::string_view name = text.substr(static_cast<std::size_t>(end - text.data()));
    name.remove_prefix(std::min(name.find_first_not_of(' '), name.size()));
    for (const Unit& unit : kUnits) {
        if (error == std::errc{} && name == unit.name && count <= kCountMax) {
            const double in_microseconds = count * static_cast<double>(unit.length / microseconds{1});
            return microseconds{std::llround(std::min(in_microseconds, kCountMax))};
        }
    }
    return std::nullopt;
}

struct Name {
    std::string section;
    std::string key;
};

/// The part of the configuration that a member pointer's class names.
template <class Owner, class Config>
auto& part(Config& config) {
    if constexpr (std::is_same_v<Owner, DaemonConfig>) {
        return config;
    } else if constexpr (std::is_same_v<Owner, db::HistoryLimits>) {
        return config.history;
    } else if constexpr (std::is_same_v<Owner, sm::SmConfig>) {
        return config.sm;
    } else if constexpr (std::is_same_v<Owner, ReplicaConfig>) {
        return config.replica;
    } else if constexpr (std::is_same_v<Owner, routing::RouteOptions>) {
        return config.sm.routing;
    } else if constexpr (std::is_same_v<Owner, routing::Preferences>) {
        return config.sm.routing.preferences;
    } else if constexpr (std::is_same_v<Owner, routing::PreferencePaths>) {
        return config.sm.preference_files;
    } else if constexpr (std::is_same_v<Owner, sm::HealthPolicy>) {
        return config.sm.health;
    } else {
        static_assert(std::is_same_v<Owner, mad::TransactionLimits>);
        return config.sm.mads;
    }
}

OptionInfo describe(Name name, std::string type, std::string range, std::string help) {
    OptionInfo info;
    info.at_start_only = name.section == "daemon" ? name.key != "log_level"
                                                  : name.section == "database" || name.section == "replica";
    info.section = std::move(name.section);
    info.key = std::move(name.key);
    info.type = std::move(type);
    info.range = std::move(range);
    info.help = std::move(help);
    return info;
}

template <class Owner, class Member>
ConfigOption integer(Name name, std::int64_t min, std::int64_t max, std::string help, Member Owner::*member) {
    OptionInfo described =
        describe(std::move(name), "an integer", fmt::format("{}..{}", min, max), std::move(help));
    return {std::move(described),
            [=](const OptionInfo& info, const ConfigValue& given, DaemonConfig& config,
                ConfigProblems& problems) {
                const auto* value = given.as<std::int64_t>();
                if (value == nullptr) {
                    problems.add(given.at, wrong_type(info, given));
                } else if (*value < min || *value > max) {
                    problems.add(given.at,
                                 fmt::format("{} = {} is out of range: {}", info.key, *value, info.range));
                } else {
                    part<Owner>(config).*member = static_cast<Member>(*value);
                }
            },
            [=](const DaemonConfig& config) { return fmt::format("{}", part<Owner>(config).*member); }};
}

template <class Owner>
ConfigOption boolean(Name name, std::string help, bool Owner::*member) {
    OptionInfo described = describe(std::move(name), "a boolean", "true or false", std::move(help));
    return {std::move(described),
            [=](const OptionInfo& info, const ConfigValue& given, DaemonConfig& config,
                ConfigProblems& problems) {
                if (const auto* value = given.as<bool>()) {
                    part<Owner>(config).*member = *value;
                } else {
                    problems.add(given.at, wrong_type(info, given));
                }
            },
            [=](const DaemonConfig& config) { return part<Owner>(config).*member ? "true" : "false"; }};
}

template <class Owner>
ConfigOption duration(Name name, Duration min, Duration max, std::string help, Duration Owner::*member) {
    OptionInfo described =
        describe(std::move(name), "a duration",
                 fmt::format("\"{}\"..\"{}\"", duration_text(min), duration_text(max)), std::move(help));
    return {
        std::move(described),
        [=](const OptionInfo& info, const ConfigValue& given, DaemonConfig& config,
            ConfigProblems& problems) {
            const auto* text = given.as<std::string>();
            const auto value = text == nullptr ? std::nullopt : parse_duration(*text);
            if (given.as<std::int64_t>() != nullptr || given.as<double>() != nullptr) {
                problems.add(given.at, fmt::format("{} has no unit: write it as a string with us, ms, s, min "
                                                   "or h, like {} = {}",
                                                   info.key, info.key, info.standard));
            } else if (text == nullptr) {
                problems.add(given.at, wrong_type(info, given));
            } else if (!value) {
                problems.add(given.at,
                             fmt::format("{} = {} is not a duration: a number and one of us, ms, s, "
                                         "min, h is expected, {}",
                                         info.key, quote(*text), info.range));
            } else if (*value < min || *value > max) {
                problems.add(given.at,
                             fmt::format("{} = {} is out of range: {}", info.key, quote(*text), info.range));
            } else {
                part<Owner>(config).*member = *value;
            }
        },
        [=](const DaemonConfig& config) { return toml_string(duration_text(part<Owner>(config).*member)); }};
}

template <class Owner>
ConfigOption text(Name name, std::size_t length_max, std::string range, std::string help,
                  std::string Owner::*member, bool (*accepts)(std::string_view)) {
    OptionInfo described = describe(std::move(name), "a string", std::move(range), std::move(help));
    return {std::move(described),
            [=](const OptionInfo& info, const ConfigValue& given, DaemonConfig& config,
                ConfigProblems& problems) {
                const auto* value = given.as<std::string>();
                if (value == nullptr) {
                    problems.add(given.at, wrong_type(info, given));
                } else if (value->size() > length_max || value->find('\0') != std::string::npos ||
                           !accepts(*value)) {
                    problems.add(given.at, fmt::format("{} = {} cannot be used: expected {}", info.key,
                                                       quote(*value), info.range));
                } else {
                    part<Owner>(config).*member = *value;
                }
            },
            [=](const DaemonConfig& config) { return toml_string(part<Owner>(config).*member); }};
}

/// 64 bits, as a string of hex digits or (TOML integers end at 2^63) as an integer.
template <class Owner, class Member>
ConfigOption bits64(Name name, std::string help, Member Owner::*member) {
    OptionInfo described =
        describe(std::move(name), "64 bits", "\"0x0\"..\"0xffffffffffffffff\"", std::move(help));
    return {std::move(described),
            [=](const OptionInfo& info, const ConfigValue& given, DaemonConfig& config,
                ConfigProblems& problems) {
                if (const auto* number = given.as<std::int64_t>(); number != nullptr && *number >= 0) {
                    part<Owner>(config).*member = Member(static_cast<std::uint64_t>(*number));
                } else if (const auto* digits = given.as<std::string>()) {
                    if (const auto parsed = mad::parse_guid(*digits)) {
                        part<Owner>(config).*member = Member(parsed->value());
                    } else {
                        problems.add(given.at,
                                     fmt::format("{} = {} is not a number of 64 bits: expected up to 16 "
                                                 "hex digits, like {}",
                                                 info.key, quote(*digits), info.standard));
                    }
                } else {
                    problems.add(given.at, wrong_type(info, given));
                }
            },
            [=](const DaemonConfig& config) {
                if constexpr (base::kIsStrongInt<Member>) {
                    return fmt::format("\"0x{:016x}\"", (part<Owner>(config).*member).value());
                } else {
                    return fmt::format("\"0x{:016x}\"", part<Owner>(config).*member);
                }
            }};
}

struct Choice {
    std::int64_t written;  ///< as the operator says it
    std::uint8_t code;     ///< as the wire says it
};

/// One of a few numbers that stand for a code of the wire.
template <class Owner, class Member>
ConfigOption choice(Name name, std::vector<Choice> choices, std::string_view unit, std::string help,
                    Member Owner::*member) {
    std::vector<std::int64_t> numbers;
    std::transform(choices.begin(), choices.end(), std::back_inserter(numbers),
                   [](Choice c) { return c.written; });
    OptionInfo described =
        describe(std::move(name), "an integer", fmt::format("one of {} {}", fmt::join(numbers, ", "), unit),
                 std::move(help));
    return {std::move(described),
            [=](const OptionInfo& info, const ConfigValue& given, DaemonConfig& config,
                ConfigProblems& problems) {
                const auto* value = given.as<std::int64_t>();
                if (value == nullptr) {
                    return problems.add(given.at, wrong_type(info, given));
                }
                for (const Choice& one : choices) {
                    if (one.written == *value) {
                        part<Owner>(config).*member = static_cast<Member>(one.code);
                        return;
                    }
                }
                problems.add(given.at,
                             fmt::format("{} = {} is none of its values: {}", info.key, *value, info.range));
            },
            [=](const DaemonConfig& config) {
                const auto code = static_cast<std::uint8_t>(part<Owner>(config).*member);
                const auto found = std::find_if(choices.begin(), choices.end(),
                                                [&](const Choice& one) { return one.code == code; });
                return fmt::format("{}", found == choices.end() ? 0 : found->written);
            }};
}

template <class Enum>
struct Word {
    std::string name;
    Enum means;
};

/// One of a few words.
template <class Owner, class Enum>
ConfigOption word(Name name, std::vector<Word<Enum>> words, std::string help, Enum Owner::*member) {
    std::vector<std::string> names;
    std::transform(words.begin(), words.end(), std::back_inserter(names),
                   [](const Word<Enum>& one) { return one.name; });
    OptionInfo described =
        describe(std::move(name), "a string", fmt::format("{}", fmt::join(names, " or ")), std::move(help));
    return {std::move(described),
            [=](const OptionInfo& info, const ConfigValue& given, DaemonConfig& config,
                ConfigProblems& problems) {
                const auto* text = given.as<std::string>();
                if (text == nullptr) {
                    return problems.add(given.at, wrong_type(info, given));
                }
                const auto found = std::find_if(words.begin(), words.end(),
                                                [&](const Word<Enum>& one) { return one.name == *text; });
                if (found == words.end()) {
                    return problems.add(given.at,
                                        fmt::format("{} = {} is unknown; {}", info.key, quote(*text),
                                                    suggestion(*text, names, "there are")));
                }
                part<Owner>(config).*member = found->means;
            },
            [=](const DaemonConfig& config) {
                const auto found = std::find_if(words.begin(), words.end(), [&](const Word<Enum>& one) {
                    return one.means == part<Owner>(config).*member;
                });
                return toml_string(found == words.end() ? std::string_view{} : std::string_view(found->name));
            }};
}

struct Flag {
    std::string name;
    std::uint8_t bit;
};

/// A list of names that stand for bits; an empty list leaves the device's own setting alone.
ConfigOption flags(Name name, std::vector<Flag> all, std::string help, std::uint8_t sm::SmConfig::*member) {
    std::vector<std::string> names;
    std::transform(all.begin(), all.end(), std::back_inserter(names),
                   [](const Flag& flag) { return flag.name; });
    OptionInfo described =
        describe(std::move(name), "a list of strings",
                 fmt::format("any of {}; empty: left alone", fmt::join(names, ", ")), std::move(help));
    return {std::move(described),
            [=](const OptionInfo& info, const ConfigValue& given, DaemonConfig& config,
                ConfigProblems& problems) {
                std::uint8_t bits = 0;
                read_strings(info, given, problems, [&](const ConfigValue& element, const std::string& word) {
                    const auto flag = std::find_if(all.begin(), all.end(),
                                                   [&](const Flag& one) { return one.name == word; });
                    if (flag == all.end()) {
                        problems.add(element.at, fmt::format("{}: unknown {}; {}", info.key, quote(word),
                                                             suggestion(word, names, "there are")));
                    } else {
                        bits = static_cast<std::uint8_t>(bits | flag->bit);
                    }
                });
                config.sm.*member = bits;
            },
            [=](const DaemonConfig& config) {
                std::vector<std::string> set;
                for (const Flag& flag : all) {
                    if ((config.sm.*member & flag.bit) != 0) {
                        set.push_back(flag.name);
                    }
                }
                return toml_list(set);
            }};
}

ConfigOption engines_option() {
    OptionInfo described = describe(
        {"routing", "engines"}, "a list of strings", "at least one engine's name",
        "Engines in the order they are tried; the first whose routes pass the proof serves. \"auto\": the "
        "engine of the fabric's family, then those for any fabric.");
    return {std::move(described),
            [=](const OptionInfo& info, const ConfigValue& given, DaemonConfig& config,
                ConfigProblems& problems) {
                const std::vector<std::string> known = routing::chain_words();
                std::vector<std::string> chain;
                read_strings(info, given, problems, [&](const ConfigValue& element, const std::string& word) {
                    if (std::find(known.begin(), known.end(), word) == known.end()) {
                        problems.add(element.at, fmt::format("engines: unknown engine {}; {}", quote(word),
                                                             suggestion(word, known, "there are")));
                    } else if (std::find(chain.begin(), chain.end(), word) != chain.end()) {
                        problems.add(element.at, fmt::format("engines: '{}' is there twice", word));
                    } else {
                        chain.push_back(word);
                    }
                });
                if (const auto* list = given.as<ConfigValue::List>(); list != nullptr && list->empty()) {
                    problems.add(given.at, fmt::format("engines is empty: expected {}", info.range));
                }
                config.sm.routing.engines = std::move(chain);
            },
            [](const DaemonConfig& config) { return toml_list(config.sm.routing.engines); }};
}

ConfigOption roots_option() {
    OptionInfo described =
        describe({"routing", "roots"}, "a list of GUIDs", "empty: found from the hosts upward",
                 "Node GUIDs of the root switches of up/down, in place of root_guid_file.");
    return {std::move(described),
            [=](const OptionInfo& info, const ConfigValue& given, DaemonConfig& config,
                ConfigProblems& problems) {
                std::vector<mad::Guid> roots;
                read_strings(info, given, problems, [&](const ConfigValue& element, const std::string& word) {
                    const auto guid = mad::parse_guid(word);
                    if (!guid || guid->value() == 0) {
                        problems.add(element.at, fmt::format("roots: {}", routing::not_a_guid(word)));
                    } else if (std::find(roots.begin(), roots.end(), *guid) == roots.end()) {
                        roots.push_back(*guid);
                    }
                });
                config.sm.routing.root_guids = std::move(roots);
            },
            [](const DaemonConfig& config) {
                std::vector<std::string> words;
                if (config.sm.root_guid_file.empty()) {  // else they came from there
                    for (const mad::Guid guid : config.sm.routing.root_guids) {
                        words.push_back(fmt::format("{}", guid));
                    }
                }
                return toml_list(words);
            }};
}

ConfigOption log_level_option() {
    OptionInfo described =
        describe({"daemon", "log_level"}, "a string", "trace, debug, info, warning, error or off",
                 "The least severe line that is logged; --log-level overrides it.");
    return {std::move(described),
            [=](const OptionInfo& info, const ConfigValue& given, DaemonConfig& config,
                ConfigProblems& problems) {
                const auto* name = given.as<std::string>();
                if (name == nullptr) {
                    problems.add(given.at, wrong_type(info, given));
                } else if (const auto level = base::parse_log_level(*name)) {
                    config.log_level = *level;
                } else {
                    const std::vector<std::string> names{"trace", "debug", "info", "warning", "error", "off"};
                    problems.add(given.at, fmt::format("log_level = {} is unknown; {}", quote(*name),
                                                       suggestion(*name, names, "there are")));
                }
            },
            [](const DaemonConfig& config) { return toml_string(base::to_string(config.log_level)); }};
}

bool anything(std::string_view) {
    return true;
}
bool absolute_path(std::string_view path) {
    return path.starts_with('/');
}
bool absolute_path_or_empty(std::string_view path) {
    return path.empty() || absolute_path(path);
}
/// Empty, or DEVICE or DEVICE/PORT with a port number.
bool port_name(std::string_view name) {
    if (name.empty()) {
        return true;
    }
    const std::size_t slash = name.find('/');
    if (slash == std::string_view::npos) {
        return true;
    }
    const std::string_view port = name.substr(slash + 1);
    constexpr int kPortMax = 254;
    return slash > 0 && !port.empty() && port.size() <= 3 &&
           port.find_first_not_of("0123456789") == port.npos && std::stoi(std::string(port)) <= kPortMax;
}

constexpr std::size_t kPathMax = 4095;
constexpr std::size_t kSocketPathMax = 107;  // sockaddr_un holds 108 with the final zero
constexpr std::size_t kPortNameMax = 71;     // 63 of the kernel's device name, '/', port

std::vector<ConfigOption> daemon_options() {
    return {
        text({"daemon", "port"}, kPortNameMax, "DEVICE or DEVICE/PORT; empty: the first port that can serve",
             "The local port to run on, like \"mlx5_0/1\"; --port overrides it.", &DaemonConfig::port,
             port_name),
        bits64({"daemon", "port_guid"}, "The local port to run on, by port GUID; 0: not asked for.",
               &DaemonConfig::port_guid),
        text({"daemon", "state_dir"}, kPathMax, "an absolute path",
             "Folder of the database, ibfabric.db; --state-dir overrides it.", &DaemonConfig::state_dir,
             absolute_path),
        text({"daemon", "socket"}, kSocketPathMax, "an absolute path of at most 107 bytes",
             "The unix socket that answers ibfabric(1); --socket overrides it.", &DaemonConfig::socket,
             absolute_path),
        log_level_option(),
        integer(
            {"daemon", "hold_after_aborts"}, 0, StartMark::kAbortsKept,
            "After so many runs in a row that were killed or failed within ten minutes the daemon starts in "
            "hold mode: it looks and answers, and writes nothing until 'ibfabric resume'. 0: never.",
            &DaemonConfig::hold_after_aborts),
    };
}

std::vector<ConfigOption> database_options() {
    return {
        integer({"database", "queue_max"}, 16, 1'000'000,
                "Sweeps and events that may wait for the disk; past it the oldest are dropped and counted.",
                &DaemonConfig::database_queue_max),
        integer({"database", "sweeps_kept"}, 1, 1'000'000, "Sweeps whose record is kept.",
                &db::HistoryLimits::sweeps),
        integer({"database", "events_kept"}, 1, 10'000'000, "Events that are kept.",
                &db::HistoryLimits::events),
        integer({"database", "probe_runs_kept"}, 1, 10'000, "Runs of the traffic probe that are kept.",
                &db::HistoryLimits::probe_runs),
        integer({"database", "probe_flows_kept"}, 1, 100'000'000,
                "Flows that these may have together; past it the oldest runs go.",
                &db::HistoryLimits::probe_flows),
    };
}

std::vector<ConfigOption> sm_options() {
    using sm::SmConfig;
    return {
        bits64({"sm", "subnet_prefix"}, "The upper 64 bits of every GID.", &SmConfig::subnet_prefix),
        integer({"sm", "priority"}, 0, 15, "SMInfo priority; the higher becomes master.",
                &SmConfig::priority),
        bits64({"sm", "sm_key"}, "SM_Key; an SM that shows another one is not trusted.", &SmConfig::sm_key),
        duration({"sm", "poll_interval"}, milliseconds{100}, minutes{1},
                 "A standby asks the master so often whether it lives.", &SmConfig::poll_interval),
        integer({"sm", "poll_misses"}, 2, 100,
                "After so many questions in a row without an answer the master is taken for dead.",
                &SmConfig::poll_misses),
        word({"sm", "hand_over"}, {{"priority", sm::HandOver::priority}, {"never", sm::HandOver::never}},
             "When a master hands over to a standby: where that one's priority is higher, or not "
             "at all.",
             &SmConfig::hand_over),
        duration({"sm", "hand_over_hold"}, Duration::zero(), hours{24},
                 "An SM that has vanished must stay so long before it is handed over to, twice as long each "
                 "further time.",
                 &SmConfig::hand_over_hold),
        word({"sm", "reregister"}, {{"moved", sm::Reregister::moved}, {"lost", sm::Reregister::lost}},
             "Whom a take-over asks to register anew: everybody whose SM has another LID now, since few "
             "drivers tell their clients of that, or only those of whom a copy lacks something.",
             &SmConfig::reregister),
        bits64({"sm", "sa_key"},
               "SA_Key; a client that shows it is trusted, one that shows another gets no answer.",
               &SmConfig::sa_key),
        integer({"sm", "lmc"}, 0, 7, "Each CA and router port gets 2^lmc LIDs.", &SmConfig::lmc),
        boolean({"sm", "lmc_on_enhanced_port0"}, "Enhanced switch ports 0 get 2^lmc LIDs too.",
                &SmConfig::lmc_on_enhanced_port0),
        duration({"sm", "sweep_interval"}, Duration::zero(), hours{24},
                 "Time between light sweeps; \"0s\": none, traps alone start sweeps.",
                 &SmConfig::sweep_interval),
        duration({"sm", "trap_hold_down"}, Duration::zero(), minutes{5},
                 "The first change of a port is acted on at once, those within this time after it together; "
                 "the time grows, to half a minute, while the port keeps changing.",
                 &SmConfig::trap_hold_down),
        integer({"sm", "silent_probe_sweeps"}, 1, 10'000,
                "A device that does not answer is asked again every so many light sweeps.",
                &SmConfig::silent_probe_sweeps),
    };
}

/// Attributes of PortInfo and SwitchInfo (IBA 14.2.5.6, 14.2.5.4).
std::vector<ConfigOption> ports_options() {
    using sm::SmConfig;
    const std::string exponent = "; the time is 4.096 us * 2^n";
    return {
        choice({"ports", "operational_vls_max"}, {{1, 1}, {2, 2}, {4, 3}, {8, 4}, {15, 5}}, "data lanes",
               "Most virtual lanes that a link runs with.", &SmConfig::operational_vls_max),
        integer({"ports", "subnet_timeout"}, 0, 31, "SubnetTimeOut of end ports" + exponent + ".",
                &SmConfig::subnet_timeout),
        integer({"ports", "packet_life_time"}, 0, 31,
                "SwitchInfo LifeTimeValue" + exponent + ", above 19 there is no limit.",
                &SmConfig::packet_life_time),
        integer({"ports", "hoq_life"}, 0, 31,
                "Head of queue life time of switch ports toward switches" + exponent +
                    ", above 19 there is no limit.",
                &SmConfig::hoq_life),
        integer({"ports", "hoq_life_hosts"}, 0, 31,
                "The same of switch ports toward hosts, so that one slow host does not hold up a switch.",
                &SmConfig::hoq_life_hosts),
        integer({"ports", "vl_stall_count"}, 1, 7, "Packets in a row that a lane may drop before it stalls.",
                &SmConfig::vl_stall_count),
        integer({"ports", "error_threshold"}, 0, 15, "LocalPhyErrors and OverrunErrors thresholds.",
                &SmConfig::error_threshold),
        flags({"ports", "width_enabled"}, {{"1x", 1}, {"2x", 16}, {"4x", 2}, {"8x", 4}, {"12x", 8}},
              "LinkWidthEnabled.", &SmConfig::width_enabled),
        flags({"ports", "speed_enabled"}, {{"SDR", 1}, {"DDR", 2}, {"QDR", 4}}, "LinkSpeedEnabled.",
              &SmConfig::speed_enabled),
        flags({"ports", "speed_ext_enabled"}, {{"FDR", 1}, {"EDR", 2}, {"HDR", 4}, {"NDR", 8}},
              "LinkSpeedExtEnabled.", &SmConfig::speed_ext_enabled),
        flags({"ports", "speed_ext2_enabled"}, {{"XDR", 1}}, "LinkSpeedExt2Enabled.",
              &SmConfig::speed_ext2_enabled),
        boolean({"ports", "separate_arm"}, "Configure a port in one Set and arm it in another.",
                &SmConfig::separate_arm),
    };
}

std::vector<ConfigOption> health_options() {
    std::vector<ConfigOption> options = health_action_options();
    options.push_back(
        duration({"health", "quarantine"}, seconds{1}, hours{24},
                 "How long a port is ill at least; twice as long with each relapse, to 16 times.",
                 &sm::HealthPolicy::quarantine));
    return options;
}

std::vector<ConfigOption> routing_options() {
    using routing::RouteOptions;
    using routing::SlowLinks;
    const std::string path_range = "a path, relative to this file's folder; empty: none";
    std::vector<Word<SlowLinks>> slow_links;
    for (const routing::SlowLinksWord& one : routing::kSlowLinksWords) {
        slow_links.push_back({std::string(one.word), one.means});
    }
    std::vector<ConfigOption> options{
        engines_option(),
        roots_option(),
        text({"routing", "root_guid_file"}, kPathMax, path_range,
             "File with the node GUID of one root switch per line; '#' begins a comment.",
             &sm::SmConfig::root_guid_file, anything),
        text({"routing", "lfts_file"}, kPathMax, path_range,
             "Dump of forwarding tables that the engine \"file\" takes over.", &sm::SmConfig::lfts_file,
             anything),
        boolean({"routing", "connect_roots"}, "Route between the root switches too.",
                &RouteOptions::connect_roots),
        boolean({"routing", "allow_credit_loops"},
                "Write routes that can deadlock, rather than try the next engine.",
                &RouteOptions::allow_credit_loops),
        integer({"routing", "vls_max"}, 1, 15,
                "Data lanes that an engine may use at most; the links' own lanes and operational_vls_max are "
                "limits too.",
                &RouteOptions::vls_max),
        integer({"routing", "threads"}, 0, 1024, "Threads that compute routes; 0: one for each core.",
                &RouteOptions::threads),
        word({"routing", "slow_links"}, std::move(slow_links),
             "Links that run below what both ends can do: use them like "
             "others, share traffic out by the rates "
             "of links, or avoid them where there is another way.",
             &routing::Preferences::slow_links),
        integer({"routing", "drift_max"}, 1, 10'000,
                "Percent that the busiest link may carry beyond what it would with fresh tables. Above that "
                "tables are re-balanced.",
                &sm::SmConfig::drift_max),
        integer({"routing", "rebalance_blocks"}, 0, 65'536,
                "Table blocks that a step of re-balancing moves at most, once a second; 0: drift is measured "
                "and told, nothing is moved.",
                &sm::SmConfig::rebalance_blocks),
        duration({"routing", "rebalance_quiet"}, seconds{1}, hours{24},
                 "So long nothing must have been set up before drift is measured.",
                 &sm::SmConfig::rebalance_quiet),
    };
    for (const routing::PreferenceFile& file : routing::preference_files()) {
        options.push_back(text({"routing", std::string(file.option)}, kPathMax, path_range,
                               std::string(file.help), file.path, anything));
    }
    return options;
}

std::vector<ConfigOption> mads_options() {
    using mad::TransactionLimits;
    return {
        integer({"mads", "window_total"}, 1, 65'536, "Most requests in flight.",
                &TransactionLimits::window_total),
        integer({"mads", "window_min"}, 1, 65'536, "Loss does not shrink the window below this.",
                &TransactionLimits::window_min),
        integer({"mads", "window_target"}, 1, 64, "Most requests in flight to one device.",
                &TransactionLimits::window_target),
        integer({"mads", "retries"}, 0, 20, "Times an unanswered request is sent again.",
                &TransactionLimits::retries),
        duration({"mads", "timeout"}, milliseconds{1}, minutes{1},
                 "How long the first send waits for its answer; doubled at each retry.",
                 &TransactionLimits::timeout),
        duration({"mads", "timeout_max"}, milliseconds{1}, minutes{5}, "Where the doubling ends.",
                 &TransactionLimits::timeout_max),
        integer({"mads", "queue_max"}, 1'024, 16'777'216, "Most requests that wait to be sent.",
                &TransactionLimits::queue_max),
    };
}

std::vector<ConfigOption> sa_options() {
    return {
        word({"sa", "when_full"}, {{"silent", fabric::WhenFull::silent}, {"busy", fabric::WhenFull::busy}},
             "What a client gets whose queue of requests is full: nothing, or status BUSY, which Linux "
             "hands to the application as a failure.",
             &sm::SmConfig::sa_when_full),
    };
}

std::vector<ConfigOption> replica_options() {
    constexpr std::size_t kListenMax = 300;
    const std::string file = "an absolute path; empty: none";
    return {
        text({"replica", "listen"}, kListenMax, "HOST:PORT, [IPv6]:PORT; empty: nothing listens",
             "Where standbys fetch their copies, by TLS alone.", &ReplicaConfig::listen,
             host_and_port_or_empty),
        peers_option(),
        text({"replica", "certificate"}, kPathMax, file,
             "PEM; of this SM, with what leads to the CA. Good for both sides of a connection.",
             &ReplicaConfig::certificate, absolute_path_or_empty),
        text({"replica", "key"}, kPathMax, file, "PEM; its private key, which nobody else may read.",
             &ReplicaConfig::key, absolute_path_or_empty),
        text({"replica", "ca"}, kPathMax, file,
             "PEM; the CA that certified the SMs, best one that certifies nothing else.", &ReplicaConfig::ca,
             absolute_path_or_empty),
        peer_names_option(),
        word({"replica", "on_difference"}, {{"warn", OnDifference::warn}, {"refuse", OnDifference::refuse}},
             "What is done about a peer whose partitions, groups, keys, LMC, ports or routing are "
             "configured otherwise: both sides say so, or there is no copy either.",
             &ReplicaConfig::on_difference),
    };
}

std::vector<ConfigOption> multicast_options() {
    return {groups_option()};
}

std::vector<ConfigOption> build_options() {
    std::vector<ConfigOption> all;
    for (auto* options : {daemon_options, database_options, sm_options, replica_options, sa_options,
                          multicast_options, ports_options, health_options, routing_options, mads_options}) {
        std::vector<ConfigOption> section = options();
        std::move(section.begin(), section.end(), std::back_inserter(all));
    }
    for (ConfigOption& option : all) {
        option.info.standard = option.show(DaemonConfig{});
    }
    return all;
}

}  // namespace

void ConfigProblems::add(ConfigPosition at, std::string text) {
    found_.push_back({at, std::move(text)});
}

std::string ConfigProblems::to_string(const std::string& origin) const {
    constexpr std::size_t kShown = 50;
    std::vector<Problem> sorted = found_;
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const Problem& a, const Problem& b) { return a.at < b.at; });
    std::vector<std::string> lines;
    for (const Problem& problem : sorted) {
        if (lines.size() == kShown) {
            lines.push_back(fmt::format("... and {} more", sorted.size() - kShown));
            break;
        }
        lines.push_back(
            fmt::format("{}:{}:{}: {}", origin, problem.at.line, problem.at.column, problem.text));
    }
    return fmt::format("{}", fmt::join(lines, "\n"));
}

std::string toml_string(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (byte < 0x20 || byte == 0x7F) {
            out += fmt::format("\\u{:04x}", byte);
        } else {
            out += c;
        }
    }
    return out + '"';
}

std::string toml_list(const std::vector<std::string>& words) {
    std::vector<std::string> items;
    std::transform(words.begin(), words.end(), std::back_inserter(items), toml_string);
    return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string wrong_type(const OptionInfo& info, const ConfigValue& given) {
    return fmt::format("{} is {}: expected {}, {}", info.key, type_name(given), info.type, info.range);
}

void read_strings(const OptionInfo& info, const ConfigValue& given, ConfigProblems& problems,
                  const std::function<void(const ConfigValue&, const std::string&)>& each) {
    const auto* list = given.as<ConfigValue::List>();
    if (list == nullptr) {
        return problems.add(given.at, wrong_type(info, given));
    }
    for (const ConfigValue& element : *list) {
        if (const auto* word = element.as<std::string>()) {
            each(element, *word);
        } else {
            problems.add(element.at, fmt::format("{} has {} in its list: expected strings, {}", info.key,
                                                 type_name(element), info.range));
        }
    }
}

std::string_view type_name(const ConfigValue& value) {
    constexpr std::array<std::string_view, 6> kNames{
        "an integer", "a floating-point number", "true or false", "a string", "a list", "a table"};
    const auto* other = value.as<ConfigValue::Other>();
    return other != nullptr ? other->name : kNames[value.value.index()];
}

std::string suggestion(std::string_view word, const std::vector<std::string>& words, std::string_view what) {
    const std::string_view nearest = base::nearest_word(word, words);
    if (!nearest.empty() &&
        base::edit_distance(word, nearest) <= 1 + std::max(word.size(), nearest.size()) / 3) {
        return fmt::format("did you mean '{}'?", nearest);
    }
    return fmt::format("{}: {}", what, fmt::join(words, ", "));
}

std::string duration_text(Duration value) {
    for (const Unit& unit : kUnits) {
        if (value.count() != 0 && value % unit.length == Duration::zero()) {
            return fmt::format("{}{}", value / unit.length, unit.name);
        }
    }
    return "0s";
}

const std::vector<ConfigOption>& config_option_table() {
    static const std::vector<ConfigOption> all = build_options();
    return all;
}

}  // namespace ibf::shell
