#include "routing/preference_files.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/words.hpp"
#include "routing/text_lines.hpp"

namespace ibf::routing {

namespace {

/// Collects what is wrong and where.
class Problems {
public:
    explicit Problems(const std::string& origin) : origin_(origin) {}

    void add(std::uint32_t line, std::size_t column, std::string_view text) {
        if (++count_ <= kShown) {
            text_ += fmt::format("{}{}:{}:{}: {}", text_.empty() ? "" : "\n", origin_, line, column, text);
        }
    }
    /// REQUIRES: the lines were read to the end.
    [[nodiscard]] base::Result<void> result() const {
        if (count_ == 0) {
            return {};
        }
        const std::string more = count_ > kShown ? fmt::format("\n... and {} more", count_ - kShown) : "";
        return base::fail(base::ErrorKind::parse, text_ + more);
    }

private:
    static constexpr std::size_t kShown = 50;
    const std::string& origin_;
    std::size_t count_ = 0;
    std::string text_;
};

struct Word {
    std::string_view text;
    std::size_t column = 1;
};
constexpr std::size_t kWordsMost = 4;

/// The words of each line that has any, comments left out; at most kWordsMost of a line.
template <class Each>
void each_line(std::string_view text, const Each& each) {
    for (std::uint32_t line = 1; !text.empty(); ++line) {
        const std::string_view whole = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(whole.size() + 1, text.size()));
        const std::string_view content = whole.substr(0, whole.find('#'));
        std::vector<Word> words;
        for (std::size_t at = 0; words.size() < kWordsMost;) {
            constexpr std::string_view kBlanks = " \t\r";
            const std::size_t first = content.find_first_not_of(kBlanks, at);
            if (first == content.npos) {
                break;
            }
            at = std::min(content.find_first_of(kBlanks, first), content.size());
            words.push_back({content.substr(first, at - first), first + 1});
        }
        if (!words.empty()) {
            each(line, words);
        }
    }
}

std::optional<mad::Guid> guid_in(const Word& word) {
    const auto guid = mad::parse_guid(word.text);
    return guid && guid->value() != 0 ? std::optional<mad::Guid>(*guid) : std::nullopt;
}

/// A number of the line, or what is wrong with it.
std::optional<std::uint8_t> number_in(std::uint32_t line, const Word& word, std::uint64_t most,
                                      std::string_view what, Problems& problems) {
    const auto number = to_number(word.text);
    if (!number || *number < 1 || *number > most) {
        problems.add(line, word.column,
                     fmt::format("{} is not {}: expected 1 to {}", base::quote(word.text), what, most));
        return std::nullopt;
    }
    return static_cast<std::uint8_t>(*number);
}

constexpr std::uint64_t kPortMost = 254;
constexpr std::uint64_t kWeightMost = 255;

/// "GUID PORT" and, if wanted, a weight.
base::Result<std::vector<HopWeight>> parse_ports(std::string_view text, const std::string& origin,
                                                 std::size_t words_wanted, std::string_view form) {
    struct Entry {
        HopWeight says;
        std::uint32_t line = 0;
        auto operator<=>(const Entry&) const = default;
    };
    std::vector<Entry> entries;
    Problems problems(origin);
    each_line(text, [&](std::uint32_t line, const std::vector<Word>& words) {
        const auto guid = guid_in(words[0]);
        if (!guid) {
            return problems.add(line, words[0].column, not_a_guid(words[0].text));
        }
        if (words.size() != words_wanted) {
            const Word& odd = words.size() > words_wanted ? words[words_wanted] : words.back();
            return problems.add(line, odd.column, fmt::format("expected {} in a line", form));
        }
        HopWeight says{{*guid, {}}, 1};
        const auto port = number_in(line, words[1], kPortMost, "a port number", problems);
        says.at.port = mad::PortNum{port.value_or(0)};
        if (words_wanted == 3) {
            says.hops = number_in(line, words[2], kWeightMost, "a number of hops", problems).value_or(1);
        }
        entries.push_back({says, line});
    });
    std::sort(entries.begin(), entries.end());
    std::vector<HopWeight> found;
    for (const Entry& entry : entries) {
        if (!found.empty() && found.back().at == entry.says.at && found.back() != entry.says) {
            problems.add(entry.line, 1,
                         fmt::format("{} port {} has another weight in another line", entry.says.at.node,
                                     entry.says.at.port));
        } else if (found.empty() || found.back() != entry.says) {
            found.push_back(entry.says);
        }
    }
    if (const auto result = problems.result(); !result) {
        return tl::unexpected<base::Error>(result.error());
    }
    return found;
}

base::Result<void> nothing_in(const std::string& origin, std::string_view what) {
    return base::fail(base::ErrorKind::parse,
                      fmt::format("{}:1:1: names no {}: add one, or leave the file out", origin, what));
}

template <std::vector<mad::Guid> Preferences::*kMember>
base::Result<void> read_guids(std::string_view text, const std::string& origin, Preferences& out) {
    return parse_guid_list(text, origin).and_then([&](std::vector<mad::Guid> guids) -> base::Result<void> {
        if (guids.empty()) {
            return nothing_in(origin, "GUID");
        }
        if (kMember != &Preferences::order) {
            std::sort(guids.begin(), guids.end());
        }
        out.*kMember = std::move(guids);
        return {};
    });
}

template <class Item, base::Result<std::vector<Item>> (*kParse)(std::string_view, const std::string&),
          std::vector<Item> Preferences::*kMember>
base::Result<void> read_ports(std::string_view text, const std::string& origin, Preferences& out) {
    return kParse(text, origin).and_then([&](std::vector<Item> items) -> base::Result<void> {
        if (items.empty()) {
            return nothing_in(origin, "port");
        }
        out.*kMember = std::move(items);
        return {};
    });
}

constexpr std::array<PreferenceFile, 5> kFiles{{
    {"hop_weights_file", "--hop-weights",
     "File of links that count as more hops, one by one and each way: switch GUID, exit port, hops.",
     &PreferencePaths::hop_weights, read_ports<HopWeight, parse_hop_weights, &Preferences::hop_weights>},
    {"port_prof_ignore_file", "--ignored-ports",
     "File of switch ports, GUID and number, whose end ports are not counted when loads are evened out.",
     &PreferencePaths::ignored_ports, read_ports<SwitchPort, parse_port_list, &Preferences::ignored_ports>},
    {"cn_guid_file", "--compute-nodes",
     "File of GUIDs of compute nodes, which are spread evenly among themselves, before all others.",
     &PreferencePaths::compute_nodes, read_guids<&Preferences::compute_nodes>},
    {"io_guid_file", "--io-nodes",
     "File of GUIDs of I/O nodes, which are spread apart from others; without cn_guid_file these compute.",
     &PreferencePaths::io_nodes, read_guids<&Preferences::io_nodes>},
    {"guid_routing_order_file", "--guid-order",
     "File of GUIDs of end ports in the order in which they are placed, before those that it does not name.",
     &PreferencePaths::order, read_guids<&Preferences::order>},
}};

}  // namespace

std::string not_a_guid(std::string_view word) {
    return fmt::format("{} is not a GUID: expected up to 16 hex digits, not all 0, like 0x0002c90300a1b2c3",
                       base::quote(word));
}

base::Result<std::vector<mad::Guid>> parse_guid_list(std::string_view text, const std::string& origin) {
    std::vector<mad::Guid> guids;
    Problems problems(origin);
    each_line(text, [&](std::uint32_t line, const std::vector<Word>& words) {
        if (const auto guid = guid_in(words[0]); !guid) {
            problems.add(line, words[0].column, not_a_guid(words[0].text));
        } else if (words.size() > 1) {
            problems.add(
                line, words[1].column,
                fmt::format("{} stands behind the GUID: expected one GUID in a line, and '#' before a "
                            "comment",
                            base::quote(words[1].text)));
        } else {
            guids.push_back(*guid);
        }
    });
    if (const auto result = problems.result(); !result) {
        return tl::unexpected<base::Error>(result.error());
    }
    std::set<mad::Guid> seen;
    std::erase_if(guids, [&](mad::Guid guid) { return !seen.insert(guid).second; });
    return guids;
}

base::Result<std::vector<SwitchPort>> parse_port_list(std::string_view text, const std::string& origin) {
    return parse_ports(text, origin, 2, "a switch GUID and a port number")
        .map([](const std::vector<HopWeight>& found) {
            std::vector<SwitchPort> ports;
            std::transform(found.begin(), found.end(), std::back_inserter(ports),
                           [](const HopWeight& entry) { return entry.at; });
            return ports;
        });
}

base::Result<std::vector<HopWeight>> parse_hop_weights(std::string_view text, const std::string& origin) {
    return parse_ports(text, origin, 3, "a switch GUID, a port number and a number of hops");
}

std::span<const PreferenceFile> preference_files() {
    return kFiles;
}

}  // namespace ibf::routing
