#include "daemon/sa/registry_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <span>

#include "base/fnv.hpp"
#include "mad/multicast.hpp"

namespace ibf::sa {
namespace {

using fabric::Group;
using fabric::Member;
using fabric::SaTables;
using fabric::Service;
using fabric::Subscription;

constexpr std::string_view kFormat = "ibfabric-sa";
constexpr std::uint64_t kVersion = 2;
constexpr std::size_t kItemsMost = 2'000'000;

/// The last line: it vouches for all before it.
std::string last_line(std::string_view text) {
    base::Fnv1a sum;
    for (const char c : text) {
        sum.add(static_cast<std::uint8_t>(c));
    }
    return fmt::format("end {:x}\n", sum.value());
}

bool is_whole(std::string_view text) {
    const auto end = text.rfind("\nend ");
    return end != std::string_view::npos && text.substr(end + 1) == last_line(text.substr(0, end + 1));
}

std::string hex(std::span<const std::uint8_t> bytes) {
    std::string text;
    for (const std::uint8_t byte : bytes) {
        text += fmt::format("{:02x}", byte);
    }
    return text;
}

/// The words of a line, taken one after the other; the first that is missing or wrong spoils all.
class Words {
public:
    explicit Words(std::string_view line) : rest_(line) {}

    std::string_view word() {
        const auto blank = std::min(rest_.find(' '), rest_.size());
        const std::string_view word = rest_.substr(0, blank);
        rest_.remove_prefix(std::min(blank + 1, rest_.size()));
        good_ = good_ && !word.empty();
        return word;
    }
    template <class T>
    T number() {
        const std::string_view text = word();
        T value{};
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
        good_ = good_ && error == std::errc{} && end == text.data() + text.size();
        return value;
    }
    void bytes(std::span<std::uint8_t> into) {
        const std::string_view text = word();
        good_ = good_ && text.size() == 2 * into.size();
        for (std::size_t i = 0; good_ && i < into.size(); ++i) {
            const auto [end, error] =
                std::from_chars(text.data() + 2 * i, text.data() + 2 * i + 2, into[i], 16);
            good_ = error == std::errc{} && end == text.data() + 2 * i + 2;
        }
    }
    mad::Gid gid() {
        const auto prefix = number<std::uint64_t>();
        return {prefix, mad::Guid{number<std::uint64_t>()}};
    }
    /// Everything was there and right, and nothing is left.
    [[nodiscard]] bool good() const { return good_ && rest_.empty(); }

private:
    std::string_view rest_;
    bool good_ = true;
};

std::shared_ptr<Group> read_group(Words& words) {
    auto group = std::make_shared<Group>();
    group->mgid = words.gid();
    group->mlid = mad::Mlid{words.number<std::uint16_t>()};
    group->qkey = words.number<std::uint32_t>();
    group->mtu = words.number<std::uint8_t>();
    group->rate = words.number<std::uint8_t>();
    group->packet_life_time = words.number<std::uint8_t>();
    group->tclass = words.number<std::uint8_t>();
    group->pkey = mad::PKey{words.number<std::uint16_t>()};
    group->sl = words.number<std::uint8_t>();
    group->flow_label = words.number<std::uint32_t>();
    group->hop_limit = words.number<std::uint8_t>();
    group->scope = words.number<std::uint8_t>();
    group->well_known = words.number<std::uint8_t>() != 0;
    const bool multicast =
        group->mlid.value() >= mad::kMlidFirst && group->mlid.value() < mad::kMlidFirst + mad::kMlidsMost;
    return words.good() && multicast ? group : nullptr;
}

std::optional<Member> read_member(Words& words) {
    Member member;
    member.port = words.gid();
    member.join_state = words.number<std::uint8_t>();
    member.proxy_join = words.number<std::uint8_t>() != 0;
    return words.good() && member.join_state != 0 && member.join_state < 16 ? std::optional(member)
                                                                            : std::nullopt;
}

std::shared_ptr<Service> read_service(Words& words, base::Instant now, base::WallTime wall) {
    auto service = std::make_shared<Service>();
    service->id = words.number<std::uint64_t>();
    service->gid = words.gid();
    service->pkey = mad::PKey{words.number<std::uint16_t>()};
    service->lease = words.number<std::uint32_t>();
    const base::WallTime until{std::chrono::milliseconds{words.number<std::int64_t>()}};
    words.bytes(service->record);
    if (!words.good() || (service->lease != fabric::kLeaseForEver && until <= wall)) {
        return nullptr;
    }
    // In milliseconds: the time of a torn text may be further away than a Duration reaches.
    const auto left = std::min<base::WallTime::duration>(until - wall, std::chrono::seconds{service->lease});
    service->until = service->lease == fabric::kLeaseForEver ? base::Instant{} : now + left;
    return service;
}

std::shared_ptr<Subscription> read_subscription(Words& words) {
    auto subscription = std::make_shared<Subscription>();
    subscription->subscriber = words.gid();
    subscription->number = words.number<std::uint16_t>();
    subscription->lid = mad::Lid{words.number<std::uint16_t>()};
    subscription->qpn = words.number<std::uint32_t>();
    subscription->pkey_index = words.number<std::uint16_t>();
    subscription->sl = mad::Sl{words.number<std::uint8_t>()};
    subscription->path_bits = words.number<std::uint8_t>();
    words.bytes(subscription->inform_info);
    return words.good() ? subscription : nullptr;
}

/// The edition; empty: not a text of ours.
std::optional<std::uint64_t> read_first_line(std::string_view line) {
    Words words(line);
    const bool ours = words.word() == kFormat && words.number<std::uint64_t>() == kVersion;
    const auto edition = words.number<std::uint64_t>();
    return ours && words.good() ? std::optional{edition} : std::nullopt;
}

}  // namespace

std::string state_text(const SaTables& tables, std::uint64_t edition, base::Instant now,
                       base::WallTime wall) {
    std::string text = fmt::format("{} {:x} {:x}\n", kFormat, kVersion, edition);
    const auto out = std::back_inserter(text);
    for (const auto& [mgid, group] : tables.groups) {
        fmt::format_to(out, "group {:x} {:x} {:x} {:x} {:x} {:x} {:x} {:x} {:x} {:x} {:x} {:x} {:x} {:x}\n",
                       mgid.prefix, mgid.interface_id.value(), group->mlid.value(), group->qkey, group->mtu,
                       group->rate, group->packet_life_time, group->tclass, group->pkey.value(), group->sl,
                       group->flow_label, group->hop_limit, group->scope, group->well_known ? 1 : 0);
        for (const auto& [guid, member] : group->members) {
            fmt::format_to(out, "member {:x} {:x} {:x} {:x}\n", member.port.prefix, guid.value(),
                           member.join_state, member.proxy_join ? 1 : 0);
        }
    }
    for (const auto& [rid, service] : tables.services) {
        const auto until =
            wall + std::chrono::duration_cast<std::chrono::milliseconds>(
                       service->lease == fabric::kLeaseForEver ? base::Duration{} : service->until - now);
        fmt::format_to(out, "service {:x} {:x} {:x} {:x} {:x} {:x} {}\n", service->id, service->gid.prefix,
                       service->gid.interface_id.value(), service->pkey.value(), service->lease,
                       until.time_since_epoch().count(), hex(service->record));
    }
    for (const auto& item : tables.subscriptions) {
        fmt::format_to(out, "subscription {:x} {:x} {:x} {:x} {:x} {:x} {:x} {:x} {}\n",
                       item->subscriber.prefix, item->subscriber.interface_id.value(), item->number,
                       item->lid.value(), item->qpn, item->pkey_index, item->sl.value(), item->path_bits,
                       hex(item->inform_info));
    }
    return text += last_line(text);
}

StoredState state_of(std::string_view text, base::Instant now, base::WallTime wall) {
    StoredState state;
    SaTables& tables = state.tables;
    const bool whole = is_whole(text);
    std::shared_ptr<Group> group;  // that the members below belong to
    bool first = true;
    for (std::size_t items = 0; !text.empty() && items < kItemsMost; ++items) {
        const auto end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (std::exchange(first, false)) {
            const auto edition = read_first_line(line);
            if (!edition) {
                return {};
            }
            state.edition = whole ? *edition : 0;
            continue;
        }
        Words words(line);
        const std::string_view kind = words.word();
        if (kind == "group") {
            group = read_group(words);
            if (group) {
                tables.groups[group->mgid] = group;
            }
        } else if (const auto member = kind == "member" && group ? read_member(words) : std::nullopt) {
            group->members[member->port.interface_id] = *member;
        } else if (const auto service = kind == "service" ? read_service(words, now, wall) : nullptr) {
            tables.services[{service->id, service->gid, service->pkey}] = service;
        } else if (const auto item = kind == "subscription" ? read_subscription(words) : nullptr) {
            tables.subscriptions.push_back(item);
        }
    }
    return state;
}

}  // namespace ibf::sa
