// DOC: what clients leave with the SA.
//
// Sans-I/O, part of the core: joins and leaves (MCMemberRecord, IBA 15.2.5.17), services (ServiceRecord) and
// subscriptions (InformInfo). Requests are judged by the View they came in under, changes are made here
// alone, and readers get them as immutable tables in the next snapshot. Each port has limits of its own, and
// speaks only for itself unless it shows the SA key.
//
// What a port left stays while the port is out of the fabric, so that a host behind a failed switch need not
// join again; after `gone_kept`, or as soon as room is short, it is forgotten.
//
// One class in several files: registry.cpp (requests, the fabric, time), registry_groups.cpp (joins and
// leaves), registry_wanted.cpp (groups of the configuration), registry_services.cpp, registry_reports.cpp
// (subscriptions).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/fabric/sa_tables.hpp"
#include "daemon/sa/mlid_pool.hpp"
#include "daemon/sa/reader.hpp"
#include "daemon/sa/reporter.hpp"

namespace ibf::sa {

struct RegistryLimits {
    std::uint32_t groups_per_port = 1024;  ///< that a port is in
    std::uint32_t services_per_port = 256;
    std::uint32_t subscriptions_per_port = 64;
    std::uint32_t proxies_per_port = 256;  ///< joins on behalf of others, until the fabric changes
    std::uint32_t groups = 16'384;
    std::uint32_t members = 1'000'000;  ///< of all groups
    std::uint32_t services = 65'536;
    std::uint32_t subscriptions = 262'144;
    base::Duration gone_kept = std::chrono::hours{24};
};

struct RegistryOutputs {
    std::vector<mad::WireMad> wire;             ///< answers
    std::vector<fabric::EventRecord> events;    ///< kind, text, severity, guid
    std::vector<fabric::JoinRefusal> refusals;  ///< without their time
    bool groups_changed = false;                ///< members came or went: trees must follow
    bool changed = false;                       ///< tables() has something new
};

class Registry {
public:
    Registry(const SaConfig& config, const RegistryLimits& limits);

    /// Groups that it wants follow with the next fabric.
    void replace_config(const SaConfig& config);
    /// What an earlier run left.
    void restore(fabric::SaTables tables);
    /// The fabric is known, or changed: groups made by configuration follow, ports that are gone leave.
    void on_fabric(std::shared_ptr<const View> view, base::Instant now, RegistryOutputs& out);
    /// A trap that a device sent: forwarded to who subscribed to it.
    void on_trap(const mad::Notice& notice, base::Instant now, RegistryOutputs& out);
    void on_response(const mad::SaMad& mad) { static_cast<void>(reporter_.on_response(mad)); }
    void on_request(const mad::WireMad& wire, const View& view, base::Instant now, RegistryOutputs& out);
    void on_time(base::Instant now, RegistryOutputs& out);
    [[nodiscard]] std::optional<base::Instant> next_deadline() const;
    [[nodiscard]] std::shared_ptr<const fabric::SaTables> tables();

private:
    struct Request {
        const mad::WireMad& wire;
        const mad::SaMad& mad;
        const View& view;
        const End& asker;
        base::Instant now;
        bool trusted = false;
        RegistryOutputs& out;

        [[nodiscard]] bool has(const RecordType& type, std::string_view field) const {
            return ((mad.component_mask >> type.component(field)) & 1U) != 0;
        }
    };
    /// How much a port has; no entry: nothing.
    struct Holdings {
        std::uint32_t groups = 0;
        std::uint32_t services = 0;
        std::uint32_t proxies = 0;  ///< joins that it asked for, for others
        bool operator==(const Holdings&) const = default;
    };
    using MutableGroup = std::shared_ptr<fabric::Group>;
    using SubscriptionPtr = std::shared_ptr<const fabric::Subscription>;
    /// Why something was refused: a status for the client, a reason for the operator.
    struct Refusal {
        mad::MadStatus status = 0;  ///< 0: it was not
        std::string reason;         ///< empty: only the client's own business
    };

    // registry.cpp
    [[nodiscard]] mad::MadStatus find_port(const Request& request, mad::Gid gid, const End*& port) const;
    [[nodiscard]] mad::MadStatus may_speak_for(const Request& request, mad::Gid gid, const End*& port) const;
    void reply(const Request& request, mad::MadStatus status) const;
    /// Tells once of a port that has as much as it may have of something, or of a registry that does.
    void tell_limit(const Request& request, std::uint32_t most, std::string_view what);
    /// An event about a port; only the first of each reason.
    void tell_once(const Request& request, const End& port, std::string kind, std::string reason,
                   std::string text);
    void note_gone(base::Instant now);
    void forget_ports(const std::set<mad::Guid>& ports, base::Instant now, RegistryOutputs& out);
    /// Forgets those that are gone since `since` or longer.
    void forget_gone(base::Instant since, base::Instant now, RegistryOutputs& out);

    // registry_groups.cpp
    void join(const Request& request);
    void leave(const Request& request);
    [[nodiscard]] mad::Gid name_for(const Request& request);
    [[nodiscard]] Refusal judge_join(const Request& request, mad::Gid mgid, const End& port,
                                     MutableGroup& made);
    [[nodiscard]] Refusal create(const Request& request, mad::Gid mgid, const End& port, MutableGroup& made);
    [[nodiscard]] Refusal fits(const Request& request, const fabric::Group& group, const End& port) const;
    [[nodiscard]] Refusal room_for(const Request& request, mad::Gid mgid, const End& port);
    [[nodiscard]] bool may_proxy(const Request& request, const End& port);
    void refuse_join(const Request& request, mad::Gid mgid, const End& port, const Refusal& why);
    void answer_member(const Request& request, const fabric::Group& group,
                       const fabric::Member& member) const;
    void remove_member(fabric::Group& group, mad::Guid port);
    /// With its last full member a group ends, for the others too; not one that configuration made.
    void end_if_empty(mad::Gid mgid, base::Instant now, RegistryOutputs& out);
    void erase_group(mad::Gid mgid, base::Instant now, RegistryOutputs& out);
    [[nodiscard]] bool take_mlid(fabric::Group& group, RegistryOutputs& out);
    /// The group, for writing: readers keep the one they have.
    [[nodiscard]] fabric::Group& edit(mad::Gid mgid);

    // registry_wanted.cpp
    void follow_config(base::Instant now, RegistryOutputs& out);
    void follow_wanted(const fabric::ConfiguredGroup& wanted, base::Instant now, RegistryOutputs& out);
    void bound_mlids(RegistryOutputs& out);

    // registry_services.cpp
    void set_service(const Request& request);
    void remove_service(const Request& request);
    void end_leases(base::Instant now, RegistryOutputs& out);

    // registry_reports.cpp
    void subscribe(const Request& request);
    void end_subscription(const fabric::Subscription& which);
    void follow_lids(RegistryOutputs& out);
    [[nodiscard]] std::vector<SubscriptionPtr> who_wants(const Report& report) const;
    [[nodiscard]] Report own_report(std::uint16_t trap) const;
    /// Notices 66 and 67, to who shares the group's partition.
    void report_group(std::uint16_t trap, const fabric::Group& group, base::Instant now,
                      RegistryOutputs& out);
    /// Notices 64 for ports that came or became Active, or 65 for ports that went or are Active no more; to
    /// who shares a partition with them.
    void report_ports(const View& before, const View& after, std::uint16_t trap, base::Instant now,
                      RegistryOutputs& out);
    void touch(RegistryOutputs& out);

    SaConfig config_;
    RegistryLimits limits_;
    fabric::SaTables tables_;  ///< but for the subscriptions, which stand below
    std::map<mad::Guid, std::vector<SubscriptionPtr>> subscriptions_;  ///< by subscriber; no empty ones
    std::uint32_t subscription_count_ = 0;
    std::shared_ptr<const fabric::SaTables> published_;
    Reporter reporter_;
    std::shared_ptr<const View> view_;  ///< of the last fabric

    MlidPool mlids_;
    bool scarce_told_ = false;
    std::uint32_t last_made_mgid_ = 0;
    std::map<mad::Guid, Holdings> holdings_;
    std::uint32_t members_ = 0;
    std::map<mad::Guid, base::Instant>
        gone_;  ///< ports that left something and are not in the fabric, since when
    std::optional<base::Instant> gone_due_;             ///< when to look at them
    std::optional<base::Instant> lease_due_;            ///< no lease ends before
    std::set<std::pair<mad::Guid, std::string>> told_;  ///< refusals that were announced, by port and reason
};

}  // namespace ibf::sa
