// DOC: a registry on a fabric that came up, and clients that ask it.
#pragma once

#include <algorithm>
#include <functional>

#include "daemon/sa/registry.hpp"
#include "sa_bench.hpp"

namespace ibf::test {

class RegistryBench : public SaBench {
public:
    RegistryBench(routing::Netlist net, const sa::RegistryLimits& most,
                  std::vector<fabric::ConfiguredGroup> groups)
        : SaBench(std::move(net)), registry(with(std::move(groups)), most) {
        registry.on_fabric(view, now, out);
    }
    RegistryBench(routing::Netlist net, const sa::RegistryLimits& most)
        : RegistryBench(std::move(net), most, {}) {}
    explicit RegistryBench(routing::Netlist net) : RegistryBench(std::move(net), few()) {}

    static sa::RegistryLimits few() {
        sa::RegistryLimits few;
        few.groups_per_port = 20;
        few.services_per_port = 5;
        few.subscriptions_per_port = 5;
        few.proxies_per_port = 3;
        return few;
    }
    /// Sends a request from a host's port, as it is; returns the answer.
    mad::SaMad send(const std::string& from, const mad::SaMad& mad) {
        out = {};
        mad::WireMad wire{mad::encode_sa_mad(mad), {}, {}};
        wire.address.lid = end(from).lids.base;
        wire.address.qp = 1;
        registry.on_request(wire, *view, now, out);
        if (out.wire.empty()) {
            ADD_FAILURE() << "an answer expected";
            return {};
        }
        return mad::parse_sa_mad(out.wire.back().bytes).value();
    }
    mad::SaMad member(mad::SaMethod method, const std::string& port, mad::Gid mgid, Fields fields) {
        mad::SaMad mad = request(method, mad::SaAttribute::mc_member_record, fields);
        gid(mad, "MGID", 0, mgid.prefix, mgid.interface_id.value());
        gid(mad, "PortGID", 16, kPrefix, end(port).guid.value());
        return mad;
    }
    static std::uint64_t field(const mad::SaMad& mad, const char* name) {
        return sa::record_type_of(mad.attribute()).get(mad.data, name);
    }
    static mad::Gid named(std::uint64_t low) { return {0xff15a01c00000000ULL, mad::Guid{low}}; }
    /// A join that says all that a new group needs.
    mad::MadStatus join(const std::string& port, mad::Gid mgid, std::uint64_t pkey) {
        return send(port, member(mad::SaMethod::set, port, mgid,
                                 {{"JoinState", 1},
                                  {"Q_Key", 1},
                                  {"TClass", 0},
                                  {"P_Key", pkey},
                                  {"SL", 0},
                                  {"FlowLabel", 0}}))
            .header.status;
    }
    mad::MadStatus join(const std::string& port, std::uint64_t low) { return join(port, named(low), 0xFFFF); }
    mad::MadStatus leave(const std::string& port, mad::Gid mgid) {
        return send(port, member(mad::SaMethod::remove, port, mgid, {{"JoinState", 1}})).header.status;
    }
    mad::MadStatus leave(const std::string& port, std::uint64_t low) { return leave(port, named(low)); }
    const fabric::Group& group(mad::Gid mgid) { return *registry.tables()->groups.at(mgid); }

    /// Shows the fabric as it is now.
    void show_fabric() {
        out = {};
        registry.on_fabric(view, now, out);
    }
    /// Shows the registry a fabric that differs.
    void change(const std::function<void(fabric::Fabric&)>& how) {
        auto fabric = std::make_shared<fabric::Fabric>(view->fabric());
        how(*fabric);
        auto snapshot = std::make_shared<fabric::Snapshot>(view->snapshot());
        snapshot->fabric = std::move(fabric);
        view = std::make_shared<sa::View>(std::move(snapshot));
        show_fabric();
    }
    /// Takes a host out of the fabric, or brings it back.
    void host(const char* fault) {
        lab.inject(fault);
        lab.advance(std::chrono::seconds{15});
        refresh();
        show_fabric();
    }
    [[nodiscard]] std::size_t events(const std::string& kind) const {
        return static_cast<std::size_t>(std::count_if(out.events.begin(), out.events.end(),
                                                      [&](const auto& event) { return event.kind == kind; }));
    }

    sa::Registry registry;
    sa::RegistryOutputs out;
    base::Instant now{std::chrono::seconds{100}};

private:
    const sa::SaConfig& with(std::vector<fabric::ConfiguredGroup> groups) {
        config.groups = std::move(groups);
        return config;
    }
};

inline constexpr mad::Gid kBroadcast = mad::ipoib_broadcast(mad::kPKeyDefaultFull, mad::kScopeLinkLocal);

}  // namespace ibf::test
