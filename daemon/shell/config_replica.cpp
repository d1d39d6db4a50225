#include "daemon/shell/config_replica.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace ibf::shell {
namespace {

constexpr std::size_t kListed = 64;

ConfigOption list_of(OptionInfo described, std::vector<std::string> ReplicaConfig::*member,
                     bool (*accepts)(std::string_view)) {
    described.section = "replica";
    described.type = "a list of strings";
    described.at_start_only = true;
    return {std::move(described),
            [=](const OptionInfo& info, const ConfigValue& given, DaemonConfig& config,
                ConfigProblems& problems) {
                std::vector<std::string> taken;
                read_strings(info, given, problems, [&](const ConfigValue& element, const std::string& word) {
                    if (!accepts(word) || taken.size() == kListed) {
                        problems.add(element.at,
                                     fmt::format("{}: {} cannot be used: expected at most {} of {}", info.key,
                                                 quote(word), kListed, info.range));
                    } else {
                        taken.push_back(word);
                    }
                });
                config.replica.*member = std::move(taken);
            },
            [=](const DaemonConfig& config) { return toml_list(config.replica.*member); }};
}

bool not_empty(std::string_view text) {
    return !text.empty();
}

}  // namespace

bool host_and_port(std::string_view text) {
    const std::size_t colon = std::min(text.rfind(':'), text.size());
    const std::string_view host = text.substr(0, colon);
    const std::string_view port = text.substr(std::min(colon + 1, text.size()));
    const bool bracketed = host.starts_with('[') && host.ends_with(']');
    constexpr int kPortMost = 65'535;
    constexpr std::size_t kDigitsMost = 5;
    return !host.empty() && (bracketed || host.find(':') == host.npos) && !port.empty() &&
           port.size() <= kDigitsMost && port.find_first_not_of("0123456789") == port.npos &&
           std::stoi(std::string(port)) <= kPortMost && text.find_first_of(" \t") == text.npos;
}

bool host_and_port_or_empty(std::string_view text) {
    return text.empty() || host_and_port(text);
}

ConfigOption peers_option() {
    OptionInfo info;
    info.key = "peers";
    info.range = "HOST:PORT, [IPv6]:PORT";
    info.help = "Where the other SMs listen; whichever is master is copied. This SM's own may be among them.";
    return list_of(std::move(info), &ReplicaConfig::peers, host_and_port);
}

ConfigOption peer_names_option() {
    OptionInfo info;
    info.key = "names";
    info.range = "names of certificates (DNS name, address or common name)";
    info.help = "A peer's certificate must bear one of them; empty: whatever the CA certified is a peer.";
    return list_of(std::move(info), &ReplicaConfig::names, not_empty);
}

}  // namespace ibf::shell
