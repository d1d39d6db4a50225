#include "daemon/shell/config_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

// toml++ 3.3 asserts (with NDEBUG: tells the compiler to assume) that a key follows '[', which "[#x]"
// disproves, and reports the same as an error right after. So neither assert nor assume: a typo must not end
// the daemon.
#undef NDEBUG
#define TOML_ASSERT(expression) static_assert(true)
#define TOML_EXCEPTIONS 0
#define TOML_MAX_NESTED_VALUES 16
#include <toml++/toml.h>

#include "base/toml_guard.hpp"
#include "daemon/shell/config_options.hpp"
#include "routing/lft_dump.hpp"
#include "routing/preference_files.hpp"

namespace ibf::shell {
namespace {

using base::ErrorKind;
using base::Result;

// ---- TOML to values
// ----------------------------------------------------------------------------------------

ConfigPosition position(const toml::source_region& source) {
    return {source.begin.line, source.begin.column};
}

ConfigValue table_of(const toml::table& table);

/// Recursion is bounded: by TOML_MAX_NESTED_VALUES, and a table, which could be deeper, is entered in lists
/// only.
ConfigValue value_of(const toml::node& node) {
    ConfigValue out{ConfigValue::Other{"a date or time"}, position(node.source())};
    if (const auto* integer = node.as_integer()) {
        out.value = integer->get();
    } else if (const auto* number = node.as_floating_point()) {
        out.value = number->get();
    } else if (const auto* boolean = node.as_boolean()) {
        out.value = boolean->get();
    } else if (const auto* text = node.as_string()) {
        out.value = text->get();
    } else if (node.is_table()) {
        out.value = ConfigValue::Other{"a table"};
    } else if (const auto* array = node.as_array()) {
        ConfigValue::List list;
        for (const toml::node& element : *array) {
            const auto* table = element.as_table();
            list.push_back(table != nullptr ? table_of(*table) : value_of(element));
        }
        out.value = std::move(list);
    }
    return out;
}

ConfigValue table_of(const toml::table& table) {
    ConfigValue::Table entries;
    for (const auto& [key, node] : table) {
        entries.push_back({std::string(key.str()), position(key.source()), value_of(node)});
    }
    return {std::move(entries), position(table.source())};
}

// ---- reading
// -----------------------------------------------------------------------------------------------

std::vector<std::string> section_names() {
    std::vector<std::string> names;
    for (const ConfigOption& option : config_option_table()) {
        if (names.empty() || names.back() != option.info.section) {
            names.push_back(option.info.section);
        }
    }
    return names;
}

std::vector<std::string> key_names(std::string_view section) {
    std::vector<std::string> names;
    for (const ConfigOption& option : config_option_table()) {
        if (option.info.section == section) {
            names.push_back(option.info.key);
        }
    }
    return names;
}

/// The section a key stands in, for who wrote it elsewhere; empty if there is no such key.
std::string section_of(std::string_view key) {
    const auto& all = config_option_table();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const ConfigOption& one) { return one.info.key == key; });
    return found == all.end() ? std::string{} : found->info.section;
}

std::string unknown_key(std::string_view section, std::string_view key) {
    if (const std::string home = section_of(key); !home.empty()) {
        return fmt::format("{} does not belong in [{}]: it is a key of [{}]", key, section, home);
    }
    return fmt::format("unknown key {} in [{}]; {}", quote(key), section,
                       suggestion(key, key_names(section), "its keys are"));
}

std::string unknown_section(std::string_view name, const toml::node& node) {
    if (const std::string home = section_of(name); !node.is_table() && !home.empty()) {
        return fmt::format("{} stands in no section: it is a key of [{}]", name, home);
    }
    return fmt::format("unknown {} {}; {}", node.is_table() ? "section" : "key outside of a section",
                       quote(name), suggestion(name, section_names(), "the sections are"));
}

void read_section(std::string_view section, const toml::table& table, DaemonConfig& config,
                  ConfigProblems& problems) {
    for (const auto& [key, node] : table) {
        const auto& all = config_option_table();
        const auto option =
            std::find_if(all.begin(), all.end(), [&, name = key.str()](const ConfigOption& one) {
                return one.info.section == section && one.info.key == name;
            });
        if (option == all.end()) {
            problems.add(position(key.source()), unknown_key(section, key.str()));
        } else {
            option->read(option->info, value_of(node), config, problems);
        }
    }
}

/// What no single value shows; asked once each of them is right.
void check_together(const toml::table& root, const DaemonConfig& config, ConfigProblems& problems) {
    const auto complain = [&](std::string_view section, std::string_view key, std::string what) {
        const auto node = root[section][key];
        problems.add(position((node ? node : root[section]).node()->source()), std::move(what));
    };
    const mad::TransactionLimits& mads = config.sm.mads;
    if (mads.window_min > mads.window_total) {
        complain(
            "mads", "window_min",
            fmt::format("window_min = {} is above window_total = {}", mads.window_min, mads.window_total));
    }
    if (mads.timeout > mads.timeout_max) {
        complain("mads", "timeout",
                 fmt::format("timeout = \"{}\" is above timeout_max = \"{}\"", duration_text(mads.timeout),
                             duration_text(mads.timeout_max)));
    }
    if (!config.sm.root_guid_file.empty() && !config.sm.routing.root_guids.empty()) {
        complain("routing", "root_guid_file", "roots and root_guid_file are both given: keep one of them");
    }
    const ReplicaConfig& replica = config.replica;
    if (replica.used() && (replica.certificate.empty() || replica.key.empty() || replica.ca.empty())) {
        complain("replica", replica.listen.empty() ? "peers" : "listen",
                 "copies go over TLS alone: give certificate, key and ca, too");
    }
}

Result<std::string> read_file(const std::string& path, std::size_t bytes_max, std::string_view what) {
    std::ifstream file(path, std::ios::binary);
    std::error_code no_size;  // a pipe has none
    const std::uintmax_t size = std::filesystem::file_size(path, no_size);
    const std::size_t room = no_size || size > bytes_max ? bytes_max : static_cast<std::size_t>(size);
    std::string content(room + 1, '\0');
    if (!file) {
        return base::fail(ErrorKind::io,
                          fmt::format("{} {} cannot be opened: {}", what, path, std::strerror(errno)));
    }
    file.read(content.data(), static_cast<std::streamsize>(content.size()));
    if (file.bad() || (file.fail() && !file.eof())) {
        return base::fail(ErrorKind::io,
                          fmt::format("{} {} cannot be read: {}", what, path, std::strerror(errno)));
    }
    content.resize(static_cast<std::size_t>(file.gcount()));
    if (content.size() > bytes_max) {
        return base::fail(ErrorKind::io, fmt::format("{} {} is larger than {} bytes", what, path, bytes_max));
    }
    return content;
}

std::string documentation(const OptionInfo& info) {
    return fmt::format("# {}\n# {}: {}{}\n", info.help, info.type, info.range,
                       info.at_start_only ? "; read at start only" : "");
}

}  // namespace

std::vector<OptionInfo> config_options() {
    std::vector<OptionInfo> infos;
    std::transform(config_option_table().begin(), config_option_table().end(), std::back_inserter(infos),
                   [](const ConfigOption& option) { return option.info; });
    return infos;
}

Result<DaemonConfig> parse_config(std::string_view text, const std::string& origin) {
    if (text.size() > kConfigBytesMax) {
        return base::fail(ErrorKind::parse,
                          fmt::format("{}:1:1: larger than {} bytes", origin, kConfigBytesMax));
    }
    if (std::string hostile = base::hostile_toml(text, origin); !hostile.empty()) {
        return base::fail(ErrorKind::parse, std::move(hostile));
    }
    const toml::parse_result parsed = toml::parse(text, std::string_view{origin});
    if (!parsed) {
        const toml::source_position at = parsed.error().source().begin;
        return base::fail(ErrorKind::parse, fmt::format("{}:{}:{}: {}", origin, at.line, at.column,
                                                        parsed.error().description()));
    }
    DaemonConfig config;
    ConfigProblems problems;
    const std::vector<std::string> sections = section_names();
    for (const auto& [name, node] : parsed.table()) {
        const bool known = std::find(sections.begin(), sections.end(), name.str()) != sections.end();
        if (known && node.is_table()) {
            read_section(name.str(), *node.as_table(), config, problems);
        } else if (known) {
            problems.add(position(name.source()),
                         fmt::format("{} is {}: it is a section, write [{}] on a line of its own", name.str(),
                                     type_name(value_of(node)), name.str()));
        } else {
            problems.add(position(name.source()), unknown_section(name.str(), node));
        }
    }
    if (problems.empty()) {
        check_together(parsed.table(), config, problems);
    }
    if (!problems.empty()) {
        return base::fail(ErrorKind::parse, problems.to_string(origin));
    }
    return config;
}

namespace {

/// A file that the configuration names: relative to the folder of the configuration file `path`.
std::string beside(const std::string& path, const std::string& name) {
    return (std::filesystem::path(path).parent_path() / name).lexically_normal().string();
}

Result<void> load_roots(const std::string& path, DaemonConfig& config) {
    const std::string roots_path = beside(path, config.sm.root_guid_file);
    const auto list = read_file(roots_path, routing::kGuidFileBytesMax, "root_guid_file");
    if (!list) {
        return tl::unexpected(list.error());
    }
    auto roots = routing::parse_guid_list(*list, roots_path);
    if (!roots) {
        return tl::unexpected(roots.error());
    }
    if (roots->empty()) {
        return base::fail(ErrorKind::parse, fmt::format("{}:1:1: names no root switch: add a GUID, or remove "
                                                        "root_guid_file from {}",
                                                        roots_path, path));
    }
    std::sort(roots->begin(), roots->end());
    config.sm.routing.root_guids = std::move(*roots);
    return {};
}

Result<void> load_preferences(const std::string& path, DaemonConfig& config) {
    for (const routing::PreferenceFile& file : routing::preference_files()) {
        const std::string& name = config.sm.preference_files.*file.path;
        if (name.empty()) {
            continue;
        }
        const std::string file_path = beside(path, name);
        const auto text = read_file(file_path, routing::kGuidFileBytesMax, file.option);
        if (!text) {
            return tl::unexpected(text.error());
        }
        if (const auto read = file.read(*text, file_path, config.sm.routing.preferences); !read) {
            return tl::unexpected(read.error());
        }
    }
    return {};
}

Result<void> load_lfts(const std::string& path, DaemonConfig& config) {
    const std::string lfts_path = beside(path, config.sm.lfts_file);
    const auto text = read_file(lfts_path, kLftsFileBytesMax, "lfts_file");
    if (!text) {
        return tl::unexpected(text.error());
    }
    auto lfts = routing::parse_lft_dump(*text);
    if (!lfts) {
        return base::fail(lfts.error().kind,
                          fmt::format("lfts_file {}: {}", lfts_path, lfts.error().message));
    }
    config.sm.routing.lfts = std::make_shared<const routing::LftDump>(std::move(*lfts));
    return {};
}

}  // namespace

Result<DaemonConfig> load_config(const std::string& path) {
    const auto text = read_file(path, kConfigBytesMax, "configuration file");
    if (!text) {
        return tl::unexpected(text.error());
    }
    auto config = parse_config(*text, path);
    Result<void> loaded;
    if (config && !config->sm.root_guid_file.empty()) {
        loaded = load_roots(path, *config);
    }
    if (config && loaded && !config->sm.lfts_file.empty()) {
        loaded = load_lfts(path, *config);
    }
    if (config && loaded) {
        loaded = load_preferences(path, *config);
    }
    return loaded ? std::move(config) : Result<DaemonConfig>(tl::unexpected(loaded.error()));
}

std::string dump_config(const DaemonConfig& config) {
    std::string text;
    std::string section;
    for (const ConfigOption& option : config_option_table()) {
        if (section != option.info.section) {
            text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", option.info.section);
            section = option.info.section;
        }
        text += fmt::format("{} = {}\n", option.info.key, option.show(config));
    }
    return text;
}

std::string example_config() {
    std::string text = fmt::format(
        "# ibfabricd reads this file from {}; see ibfabricd.conf(5).\n"
        "# Every key is shown with its default. SIGHUP reads the file anew; with an error in "
        "it the\n# configuration in force stays.\n",
        kConfigPath);
    std::string section;
    for (const ConfigOption& option : config_option_table()) {
        if (section != option.info.section) {
            text += fmt::format("\n[{}]\n", option.info.section);
            section = option.info.section;
        }
        text +=
            fmt::format("\n{}#{} = {}\n", documentation(option.info), option.info.key, option.info.standard);
    }
    return text;
}

std::vector<std::string> changed_at_start_only(const DaemonConfig& running, const DaemonConfig& next) {
    std::vector<std::string> changed;
    for (const ConfigOption& option : config_option_table()) {
        if (option.info.at_start_only && option.show(running) != option.show(next)) {
            changed.push_back(fmt::format("{}.{}", option.info.section, option.info.key));
        }
    }
    return changed;
}

}  // namespace ibf::shell
