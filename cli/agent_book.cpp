#include "cli/agent_book.hpp"

#include <cctype>
#include <vector>

#include <fmt/format.h>

namespace ibf::cli {
namespace {

std::vector<std::string_view> words_of(std::string_view line) {
    line = line.substr(0, line.find('#'));
    std::vector<std::string_view> words;
    std::size_t at = 0;
    const auto is_blank = [&](std::size_t i) {
        return std::isspace(static_cast<unsigned char>(line[i])) != 0;
    };
    while (at < line.size()) {
        while (at < line.size() && is_blank(at)) {
            ++at;
        }
        const std::size_t begin = at;
        while (at < line.size() && !is_blank(at)) {
            ++at;
        }
        if (at > begin) {
            words.push_back(line.substr(begin, at - begin));
        }
    }
    return words;
}

}  // namespace

base::Result<void> AgentBook::add(std::string_view text, const std::string& origin) {
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = text.find('\n');
        const auto words = words_of(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        if (words.empty()) {
            continue;
        }
        const auto where =
            words.size() == 2
                ? net::parse_host_port(words[1], default_port_)
                : base::fail(base::ErrorKind::usage,
                             "NAME-or-GUID and HOST[:PORT] are wanted, e.g. host-01 10.1.0.7:18585");
        if (!where) {
            return base::fail(base::ErrorKind::usage,
                              fmt::format("{}:{}: {}", origin, number, where.error().message));
        }
        const bool is_guid = words[0].starts_with("0x");
        const auto guid = is_guid ? mad::parse_guid(words[0]) : mad::Guid{};
        if (!guid) {
            return base::fail(base::ErrorKind::usage,
                              fmt::format("{}:{}: {}", origin, number, guid.error().message));
        }
        if (is_guid) {
            by_guid_[*guid] = *where;
        } else {
            by_name_[std::string(words[0])] = *where;
        }
    }
    return {};
}

base::Result<net::HostPort> AgentBook::find(const routing::TopologyEndPort& end) const {
    for (const mad::Guid guid : {end.port_guid, end.node_guid}) {
        if (const auto found = by_guid_.find(guid); found != by_guid_.end()) {
            return found->second;
        }
    }
    const auto words = words_of(end.name);
    if (words.empty()) {
        return base::fail(
            base::ErrorKind::usage,
            fmt::format("{} has no description to take a host's name from: name its agent's address "
                        "in a file (--agents)",
                        end.port_guid));
    }
    if (const auto found = by_name_.find(words[0]); found != by_name_.end()) {
        return found->second;
    }
    return net::parse_host_port(words[0], default_port_);
}

}  // namespace ibf::cli
