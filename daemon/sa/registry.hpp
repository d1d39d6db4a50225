// DOC: what clients leave with the SA.
//
// Sans-I/O, part of the core: joins and leaves (MCMemberRecord, IBA 15.2.5.17), services (ServiceRecord) and
// subscriptions (InformInfo). Requests are judged by the View they came in under, changes are made here
// alone, and readers get them as immutable tables in the next snapshot. Each port has limits of its own, and
// speaks only for itself unless it shows the SA key.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "daemon/fabric/sa_tables.hpp"
#include "daemon/sa/reader.hpp"
#include "daemon/sa/reporter.hpp"

namespace ibf::sa {

struct RegistryLimits {
    std::uint32_t groups_per_port = 1024;  ///< that a port is in
    std::uint32_t services_per_port = 256;
    std::uint32_t subscriptions_per_port = 64;
    std::uint32_t groups = 16'384;
    std::uint32_t proxies_per_port = 256;  ///< joins on behalf of others, until the fabric changes
};

struct RegistryOutputs {
    std::vector<mad::WireMad> wire;           ///< answers
    std::vector<fabric::EventRecord> events;  ///< kind, text, severity, guid
    bool groups_changed = false;              ///< members came or went: trees must follow
    bool changed = false;                     ///< tables() has something new
};

class Registry {
public:
    Registry(const SaConfig& config, const RegistryLimits& limits);

    void replace_config(const SaConfig& config) { config_ = config; }
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
    };
    using MutableGroup = std::shared_ptr<fabric::Group>;

    void join(const Request& request);
    void leave(const Request& request);
    [[nodiscard]] mad::MadStatus create(const Request& request, mad::Gid mgid, const End& port,
                                        MutableGroup& made);
    /// REQ_INVALID, and an event that says why, once for each port and reason.
    [[nodiscard]] mad::MadStatus refuse_join(const Request& request, mad::Gid mgid, const End& port,
                                             std::string reason);
    [[nodiscard]] mad::MadStatus fits(const Request& request, const fabric::Group& group, const End& port);
    [[nodiscard]] mad::MadStatus find_port(const Request& request, mad::Gid gid, const End*& port) const;
    [[nodiscard]] mad::MadStatus may_speak_for(const Request& request, mad::Gid gid, const End*& port) const;
    [[nodiscard]] bool may_proxy(const Request& request, const End& port);
    [[nodiscard]] std::optional<mad::Mlid> free_mlid(const View& view) const;
    void answer_member(const Request& request, const fabric::Group& group,
                       const fabric::Member& member) const;
    void set_service(const Request& request);
    void remove_service(const Request& request);
    void subscribe(const Request& request);
    void reply(const Request& request, mad::MadStatus status) const;
    void add_broadcast_group(const View& view, RegistryOutputs& out);
    /// Reports one of the SM's own notices 64 to 67 about `subject`, which has these P_Keys; only to who
    /// shares a partition with it.
    void report_gid(std::uint16_t trap, mad::Gid subject, std::span<const mad::PKey> pkeys, base::Instant now,
                    RegistryOutputs& out);
    /// Subscribers whose LID moved are reported to where they are.
    void follow_subscribers(RegistryOutputs& out);
    void report_ports(const View& before, const View& after, bool came, base::Instant now,
                      RegistryOutputs& out);
    /// The group, for writing: readers keep the one they have.
    [[nodiscard]] fabric::Group& edit(mad::Gid mgid);

    SaConfig config_;
    RegistryLimits limits_;
    fabric::SaTables tables_;
    std::shared_ptr<const fabric::SaTables> published_;
    std::uint16_t last_subscription_ = 0;
    std::uint32_t last_made_mgid_ = 0;
    Reporter reporter_;
    std::shared_ptr<const View> view_;  ///< of the last fabric
    std::map<mad::Guid, std::uint32_t> groups_of_port_;
    std::map<mad::Guid, std::uint32_t> proxied_by_;
    std::set<std::pair<mad::Guid, std::string>> told_;  ///< refusals that were announced, by port and reason
};

}  // namespace ibf::sa
