#include "routing/host_list.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/words.hpp"
#include "routing/text_file.hpp"
#include "routing/text_lines.hpp"

namespace ibf::routing {

namespace {

/// A list of all hosts of the largest subnet, at 64 bytes a name, takes 3 MB.
constexpr std::size_t kListBytesMax = std::size_t{16} << 20U;

std::string_view first_word(std::string_view name) {
    return name.substr(0, name.find_first_of(" \t"));
}

/// End ports by all that may stand in a line. A place is an index into `among`.
class Register {
public:
    using Places = std::vector<std::size_t>;

    Register(const Topology& topology, std::span<const EndPortIndex> among) {
        for (std::size_t place = 0; place < among.size(); ++place) {
            const TopologyEndPort& end = topology.end_ports[among[place].value()];
            const std::string_view name = trim(end.name);
            by_name_[name].push_back(place);
            if (const std::string_view word = first_word(name); word != name) {
                by_word_[word].push_back(place);
            }
            by_guid_[end.node_guid].push_back(place);
            if (end.port_guid != end.node_guid) {
                by_guid_[end.port_guid].push_back(place);
            }
            for (std::uint32_t lid = end.lids.base.value(); lid < end.lids.end(); ++lid) {
                by_lid_[lid].push_back(place);
            }
        }
    }

    /// A name goes before a number: hosts may be called "17".
    [[nodiscard]] const Places* find(std::string_view line) const {
        for (const auto* names : {&by_name_, &by_word_}) {
            if (const auto found = names->find(line); found != names->end()) {
                return &found->second;
            }
        }
        if (const auto lid = to_number(line.starts_with("lid:") ? line.substr(4) : line); lid) {
            if (const auto found = by_lid_.find(*lid); found != by_lid_.end()) {
                return &found->second;
            }
        }
        if (const auto guid = to_hex(line); guid) {
            if (const auto found = by_guid_.find(mad::Guid{*guid}); found != by_guid_.end()) {
                return &found->second;
            }
        }
        return nullptr;
    }

    [[nodiscard]] std::string unknown(std::string_view line) const {
        constexpr std::size_t kShown = 96;  // a description has at most 64 bytes
        const std::string_view nearest = nearest_name(line);
        return fmt::format(
            "no host here is called '{}'{}; a line is a description or its first word, a GUID, or a LID like "
            "lid:12",
            line.substr(0, kShown), nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest));
    }

private:
    [[nodiscard]] std::string_view nearest_name(std::string_view line) const {
        std::vector<std::string_view> names;
        for (const auto* known : {&by_name_, &by_word_}) {
            for (const auto& [name, places] : *known) {
                names.push_back(name);
            }
        }
        return base::nearest_word(line, names);
    }

    std::map<std::string_view, Places> by_name_;
    std::map<std::string_view, Places> by_word_;
    std::map<mad::Guid, Places> by_guid_;
    std::map<std::uint64_t, Places> by_lid_;
};

}  // namespace

base::Result<std::vector<EndPortIndex>> parse_host_list(std::string_view text, const std::string& origin,
                                                        const Topology& topology,
                                                        std::span<const EndPortIndex> among) {
    const Register known(topology, among);
    std::vector<char> named(among.size(), 0);
    LineScanner lines(text);
    while (lines.next()) {
        const std::string_view line = lines.line();
        if (line.empty() || line.front() == '#') {
            continue;
        }
        const Register::Places* places = known.find(line);
        if (places == nullptr) {
            return base::fail(base::ErrorKind::not_found,
                              fmt::format("{}:{}: {}", origin, lines.number(), known.unknown(line)));
        }
        for (const std::size_t place : *places) {
            named[place] = 1;
        }
    }
    std::vector<EndPortIndex> hosts;
    for (std::size_t place = 0; place < among.size(); ++place) {
        if (named[place] != 0) {
            hosts.push_back(among[place]);
        }
    }
    return hosts;
}

base::Result<std::vector<EndPortIndex>> load_host_list(const std::string& path, const Topology& topology,
                                                       std::span<const EndPortIndex> among) {
    return read_text_file(path, kListBytesMax).and_then([&](const std::string& text) {
        return parse_host_list(text, path, topology, among);
    });
}

}  // namespace ibf::routing
