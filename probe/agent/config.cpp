#include "probe/agent/config.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

// toml++ 3.3 asserts (with NDEBUG: tells the compiler to assume) that a key follows '[', which "[#x]"
// disproves, and reports the same as an error right after. So neither assert nor assume: a typo must not end
// the agent.
#undef NDEBUG
#define TOML_ASSERT(expression) static_assert(true)
#define TOML_EXCEPTIONS 0
#define TOML_MAX_NESTED_VALUES 16
#include <toml++/toml.h>

#include "base/toml_guard.hpp"
#include "base/words.hpp"
#include "probe/amounts.hpp"

namespace ibf::probe {
namespace {

using base::ErrorKind;
using base::Result;

constexpr std::size_t kConfigFileBytesMax = 64 * 1024;
constexpr std::size_t kConfigListMax = 256;

/// What is wrong with a value; empty: it is taken.
using Take = std::function<std::string(const toml::node&, AgentConfig&)>;

Take text_into(std::function<std::string(const std::string&, AgentConfig&)> set) {
    return [set = std::move(set)](const toml::node& node, AgentConfig& config) -> std::string {
        const auto* text = node.as_string();
        return text == nullptr ? "is no text in quotes" : set(text->get(), config);
    };
}

Take path_into(std::string AgentConfig::*member) {
    return text_into([member](const std::string& text, AgentConfig& config) -> std::string {
        config.*member = text;
        return {};
    });
}

Take each_into(std::function<std::string(const std::string&, AgentConfig&)> add) {
    return [add = std::move(add)](const toml::node& node, AgentConfig& config) -> std::string {
        const auto* list = node.as_array();
        if (list == nullptr || list->size() > kConfigListMax) {
            return fmt::format("is no list of at most {}", kConfigListMax);
        }
        for (const toml::node& one : *list) {
            const auto* text = one.as_string();
            if (std::string wrong =
                    text == nullptr ? "holds something that is no text in quotes" : add(text->get(), config);
                !wrong.empty()) {
                return wrong;
            }
        }
        return {};
    };
}

/// A whole number, or a text with a suffix.
Take number_into(std::uint64_t least, std::uint64_t most, Result<std::uint64_t> (*parse)(std::string_view),
                 std::function<void(std::uint64_t, AgentConfig&)> set) {
    return [=, set = std::move(set)](const toml::node& node, AgentConfig& config) -> std::string {
        Result<std::uint64_t> value = base::fail(ErrorKind::parse, "is no number");
        if (const auto* number = node.as_integer(); number != nullptr && number->get() >= 0) {
            value = static_cast<std::uint64_t>(number->get());
        } else if (const auto* text = node.as_string(); text != nullptr && parse != nullptr) {
            value = parse(text->get());
        }
        if (!value) {
            return value.error().message;
        }
        if (*value < least || *value > most) {
            return fmt::format("is not in {} to {}", least, most);
        }
        set(*value, config);
        return {};
    };
}

struct Key {
    std::string_view section;
    std::string_view name;
    Take take;
};

std::vector<Key> access_keys() {
    return {
        {"", "listen", text_into([](const std::string& text, AgentConfig& config) -> std::string {
             auto where = net::parse_host_port(text, kAgentPort);
             if (!where) {
                 return where.error().message;
             }
             config.terms.listen = std::move(*where);
             return {};
         })},
        {"", "key", path_into(&AgentConfig::key)},
        {"", "ca", path_into(&AgentConfig::ca)},
        {"", "certificate", path_into(&AgentConfig::certificate)},
        {"", "certificate_key", path_into(&AgentConfig::certificate_key)},
        {"", "networks", each_into([](const std::string& text, AgentConfig& config) -> std::string {
             const auto network = net::parse_network(text);
             if (!network) {
                 return network.error().message;
             }
             config.terms.networks.push_back(*network);
             return {};
         })},
        {"", "names", each_into([](const std::string& text, AgentConfig& config) -> std::string {
             config.terms.names.push_back(text);
             return {};
         })},
        {"", "connections",
         number_into(1, 1024, nullptr,
                     [](std::uint64_t value, AgentConfig& config) {
                         config.terms.connections = static_cast<unsigned>(value);
                     })},
    };
}

std::vector<Key> limit_keys() {
    constexpr std::uint64_t kRateMax = std::uint64_t{1} << 50U;
    return {
        {"limits", "seconds",
         number_into(1, 86400, nullptr,
                     [](std::uint64_t value, AgentConfig& config) {
                         config.terms.limits.seconds = static_cast<std::uint32_t>(value);
                     })},
        {"limits", "bits_per_second",
         number_into(
             0, kRateMax, parse_rate,
             [](std::uint64_t value, AgentConfig& config) { config.terms.limits.bits_per_second = value; })},
        {"limits", "message_bytes",
         number_into(
             0, kMessageBytesMax, parse_size,
             [](std::uint64_t value, AgentConfig& config) { config.terms.limits.message_bytes = value; })},
        {"limits", "queue_pairs",
         number_into(0, kQueuePairsMax, nullptr,
                     [](std::uint64_t value, AgentConfig& config) {
                         config.terms.limits.queue_pairs = static_cast<std::uint32_t>(value);
                     })},
        {"limits", "devices", each_into([](const std::string& text, AgentConfig& config) -> std::string {
             config.terms.devices.push_back(text);
             return {};
         })},
    };
}

const std::vector<Key>& agent_keys() {
    static const std::vector<Key> kKeys = [] {
        std::vector<Key> keys = access_keys();
        for (Key& key : limit_keys()) {
            keys.push_back(std::move(key));
        }
        return keys;
    }();
    return kKeys;
}

std::string at(const std::string& origin, const toml::source_position& where, std::string_view what) {
    return fmt::format("{}:{}:{}: {}", origin, where.line, where.column, what);
}

std::string unknown_key(std::string_view section, std::string_view name) {
    std::vector<std::string_view> known;
    for (const Key& one : agent_keys()) {
        if (one.section == section) {
            known.push_back(one.name);
        } else if (one.name == name) {
            return fmt::format("{} belongs {}", base::quote(name),
                               section.empty() ? "in [limits]" : "before the first section");
        }
    }
    return fmt::format("unknown key {}{}; did you mean {}?", base::quote(name),
                       section.empty() ? "" : " in [limits]", base::nearest_word(name, known));
}

/// The first thing that is wrong with a section; empty: nothing.
std::string take_section(std::string_view section, const toml::table& table, const std::string& origin,
                         AgentConfig& config) {
    for (const auto& [name, node] : table) {
        if (section.empty() && name.str() == "limits") {
            if (!node.is_table()) {
                return at(origin, name.source().begin,
                          "limits is a section: write [limits] on a line of its own");
            }
            if (std::string wrong = take_section("limits", *node.as_table(), origin, config);
                !wrong.empty()) {
                return wrong;
            }
            continue;
        }
        const auto& keys = agent_keys();
        const auto key = std::find_if(keys.begin(), keys.end(), [&, word = name.str()](const Key& one) {
            return one.section == section && one.name == word;
        });
        if (key == keys.end()) {
            return at(origin, name.source().begin, unknown_key(section, name.str()));
        }
        if (const std::string wrong = key->take(node, config); !wrong.empty()) {
            return at(origin, node.source().begin, fmt::format("{}: {}", key->name, wrong));
        }
    }
    return {};
}

}  // namespace

Result<AgentConfig> parse_agent_config(std::string_view text, const std::string& origin) {
    if (text.size() > kConfigFileBytesMax) {
        return base::fail(ErrorKind::parse,
                          fmt::format("{}:1:1: larger than {} bytes", origin, kConfigFileBytesMax));
    }
    if (std::string hostile = base::hostile_toml(text, origin); !hostile.empty()) {
        return base::fail(ErrorKind::parse, std::move(hostile));
    }
    const toml::parse_result parsed = toml::parse(text, std::string_view{origin});
    if (!parsed) {
        return base::fail(ErrorKind::parse,
                          at(origin, parsed.error().source().begin, parsed.error().description()));
    }
    AgentConfig config;
    if (std::string wrong = take_section("", parsed.table(), origin, config); !wrong.empty()) {
        return base::fail(ErrorKind::parse, std::move(wrong));
    }
    return config;
}

Result<AgentConfig> read_agent_config(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) {
        return base::fail(ErrorKind::io, fmt::format("configuration {}: {}", path, std::strerror(errno)));
    }
    std::string content(kConfigFileBytesMax + 1, '\0');
    file.read(content.data(), static_cast<std::streamsize>(content.size()));
    if (file.bad()) {
        return base::fail(ErrorKind::io, fmt::format("configuration {}: {}", path, std::strerror(errno)));
    }
    content.resize(static_cast<std::size_t>(file.gcount()));
    return parse_agent_config(content, path);
}

}  // namespace ibf::probe
