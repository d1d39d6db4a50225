#include "daemon/shell/config_health.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace ibf::shell {
namespace {

using fabric::HealthAction;
using fabric::HealthRule;

constexpr std::array<HealthAction, 3> kActions{HealthAction::report, HealthAction::isolate,
                                               HealthAction::disable};

struct Row {
    HealthRule rule;
    std::string_view help;
};
/// A storm is of a whole switch, which is never left out: it has no option.
constexpr std::array<Row, 8> kRows{{
    {HealthRule::babbling,
     "A port of which 10 traps 129-131 came within 5 minutes; it is disabled, if that is asked for, at 250."},
    {HealthRule::flapping, "A link that changed its state 10 times within 15 minutes."},
    {HealthRule::rebooting, "A port that came without its addresses more than 10 times within 15 minutes."},
    {HealthRule::init, "A port that 5 of 10 sweeps left in Init."},
    {HealthRule::silent, "A port behind which nobody answered in 5 of 7 sweeps."},
    {HealthRule::set_errors, "A port that 5 of 10 sweeps could not set up."},
    {HealthRule::illegal, "A port behind which somebody said what cannot be in 3 of 10 sweeps."},
    {HealthRule::manual, "A port that an operator named: 'ibfabric health --set'."},
}};

std::size_t index(HealthRule rule) {
    return static_cast<std::size_t>(rule);
}

ConfigOption option_of(const Row& row) {
    OptionInfo info;
    info.section = "health";
    info.key = std::string(fabric::to_string(row.rule));
    std::replace(info.key.begin(), info.key.end(), '-', '_');
    info.type = "a string";
    info.range = "report or isolate or disable";
    info.help = std::string(row.help);
    return {std::move(info),
            [rule = row.rule](const OptionInfo& option, const ConfigValue& given, DaemonConfig& config,
                              ConfigProblems& problems) {
                const auto* text = given.as<std::string>();
                if (text == nullptr) {
                    return problems.add(given.at, fmt::format("{} is {}: expected {}, {}", option.key,
                                                              type_name(given), option.type, option.range));
                }
                std::vector<std::string> words;
                for (const HealthAction action : kActions) {
                    words.emplace_back(fabric::to_string(action));
                    if (words.back() == *text) {
                        config.sm.health.actions[index(rule)] = action;
                        return;
                    }
                }
                problems.add(given.at, fmt::format("{} = {} is unknown; {}", option.key, quote(*text),
                                                   suggestion(*text, words, "there are")));
            },
            [rule = row.rule](const DaemonConfig& config) {
                return fmt::format("\"{}\"", fabric::to_string(config.sm.health.actions[index(rule)]));
            }};
}

}  // namespace

std::vector<ConfigOption> health_action_options() {
    std::vector<ConfigOption> options;
    std::transform(kRows.begin(), kRows.end(), std::back_inserter(options), option_of);
    return options;
}

}  // namespace ibf::shell
