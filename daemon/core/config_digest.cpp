#include "daemon/core/config_digest.hpp"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/fnv.hpp"
#include "routing/lft_dump.hpp"

namespace ibf::core {
namespace {

/// Words, each told apart from the next.
class Digest {
public:
    template <class T>
    Digest& operator<<(const T& value) {
        return text(fmt::format("{}", value));
    }
    Digest& operator<<(mad::Gid gid) { return *this << gid.prefix << gid.interface_id; }
    Digest& operator<<(routing::SwitchPort at) { return *this << at.node << at.port; }
    Digest& operator<<(const routing::HopWeight& weight) { return *this << weight.at << weight.hops; }
    template <class T>
    Digest& operator<<(const std::vector<T>& items) {
        *this << items.size();
        for (const T& item : items) {
            *this << item;
        }
        return *this;
    }
    [[nodiscard]] std::uint64_t value() const { return sum_.value(); }

private:
    Digest& text(std::string_view words) {
        for (const char c : words) {
            sum_.add(static_cast<std::uint8_t>(c));
        }
        sum_.add(0);
        return *this;
    }
    base::Fnv1a sum_;
};

std::uint64_t groups(const sm::SmConfig& config) {
    Digest digest;
    for (const auto& group :
         std::set<fabric::ConfiguredGroup>(config.multicast_groups.begin(), config.multicast_groups.end())) {
        digest << group.mgid << group.pkey << group.qkey << group.sl << group.mtu << group.rate;
    }
    return digest.value();
}

std::uint64_t ports(const sm::SmConfig& config) {
    Digest digest;
    digest << config.operational_vls_max << config.subnet_timeout << config.packet_life_time
           << config.hoq_life << config.hoq_life_hosts << config.vl_stall_count << config.error_threshold
           << config.width_enabled << config.speed_enabled << config.speed_ext_enabled
           << config.speed_ext2_enabled;
    return digest.value();
}

void add_tables(Digest& digest, const routing::LftDump& dump) {
    for (const auto& table : dump.tables) {
        digest << table.switch_guid << table.entries.size();
        for (const auto& entry : table.entries) {
            digest << entry.lid << entry.port << dump.owners[entry.owner];
        }
    }
}

std::uint64_t routing_of(const sm::SmConfig& config) {
    const routing::RouteOptions& options = config.routing;
    const routing::Preferences& preferences = options.preferences;
    Digest digest;
    std::vector<mad::Guid> roots = options.root_guids;
    std::sort(roots.begin(), roots.end());
    digest << options.engines << roots << options.connect_roots << options.allow_credit_loops
           << options.vls_max;
    if (options.lfts) {
        add_tables(digest, *options.lfts);
    }
    digest << static_cast<unsigned>(preferences.slow_links) << preferences.hop_weights
           << preferences.ignored_ports << preferences.compute_nodes << preferences.io_nodes
           << preferences.order;
    return digest.value();
}

}  // namespace

ConfigDigests config_digests(const sm::SmConfig& config) {
    return {
        {"LMC", (Digest{} << config.lmc << config.lmc_on_enhanced_port0).value()},
        {"SA_Key", (Digest{} << config.sa_key).value()},
        {"SM_Key", (Digest{} << config.sm_key.value()).value()},
        {"partitions and groups", groups(config)},
        {"ports", ports(config)},
        {"routing", routing_of(config)},
        {"subnet prefix", (Digest{} << config.subnet_prefix).value()},
    };
}

std::vector<std::string> differences(const ConfigDigests& ours, const ConfigDigests& theirs) {
    std::set<std::string> found;
    const auto note = [&found](const ConfigDigests& from, const ConfigDigests& in) {
        for (const ConfigDigest& digest : from) {
            if (std::find(in.begin(), in.end(), digest) == in.end()) {
                found.insert(digest.topic);
            }
        }
    };
    note(ours, theirs);
    note(theirs, ours);
    return {found.begin(), found.end()};
}

}  // namespace ibf::core
