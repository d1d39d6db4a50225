// The SA as hosts meet it through the core: what survives a change of master, what refusals become, one tree
// for the groups of one MLID.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>

#include "daemon/core/core.hpp"
#include "daemon/sa/registry_state.hpp"
#include "harness.hpp"
#include "mad/codec.hpp"
#include "mad/octets.hpp"
#include "routing/routes.hpp"

namespace ibf::core {
namespace {

using mad::SaAttribute;
using mad::SaMethod;
using std::chrono::milliseconds;
using std::chrono::seconds;

mad::SaMad inform_of(std::uint64_t trap) {
    const sa::RecordType& type = sa::record_type_of(SaAttribute::inform_info);
    mad::SaMad mad;
    mad.header.method = static_cast<std::uint8_t>(SaMethod::set);
    mad.header.attribute = static_cast<mad::Attribute>(SaAttribute::inform_info);
    type.set(mad.data, "LIDRangeBegin", 0xFFFF);
    type.set(mad.data, "IsGeneric", 1);
    type.set(mad.data, "Subscribe", 1);
    type.set(mad.data, "Type", 3);
    type.set(mad.data, "TrapNumber", trap);
    type.set(mad.data, "ProducerType", 4);
    return mad;
}

/// A simulated T1 whose SM, with its SA, can move from host to host.
class Fabric {
public:
    Fabric() : sim(test::t1(), sim::SimOptions{}) {}

    void start_master(const std::string& host) {
        core.reset();
        inbox_.clear();
        if (!ports_.contains(host)) {
            const auto deliver = [this](mad::WireMad&& mad) { inbox_.push_back(std::move(mad)); };
            ports_[host] = sim.join(host, 0, deliver).value();
        }
        client_ = ports_.at(host);
        sim.set_is_sm(client_, true);
        CoreStart start;
        start.sm.config = std::make_shared<const sm::SmConfig>();
        start.sm.local = sim.local_port(client_);
        start.sm.stored.sa_state = stored_sa_;
        start.sm.stored.sa_edition = marked_;
        start.sm.now = now;
        core = std::make_unique<Core>(std::move(start));
        Effects effects;
        core->begin(now, effects);
        execute(effects);
    }
    void kill_master() {
        core.reset();
        sim.set_is_sm(client_, false);
    }
    void run(base::Duration time) {
        for (const base::Instant until = now + time; now < until; now += milliseconds{1}) {
            for (int settle = 0; settle < 20; ++settle) {
                sim.advance(now);
                std::vector<mad::WireMad> got;
                got.swap(inbox_);
                for (mad::WireMad& mad : got) {
                    receive(std::move(mad));
                }
            }
            if (core && core->next_deadline() && *core->next_deadline() <= now) {
                handle(Deadline{});
            }
        }
    }
    /// What the next master finds in its database.
    void store(std::string sa_state) { stored_sa_ = std::move(sa_state); }
    [[nodiscard]] const std::string& stored() const { return stored_sa_; }
    void inject(const std::string& faults) { sim.schedule(sim::parse_faults(faults, "test").value()); }
    /// Of a host's first port.
    [[nodiscard]] mad::Gid gid(const std::string& host) const {
        const routing::NetlistNode& node = sim.netlist().nodes[sim.locate(host, 0).value().node];
        return {0xfe80000000000000ULL, mad::Guid{node.guid.value() + 1}};
    }
    [[nodiscard]] std::shared_ptr<const fabric::SaTables> tables() { return core->snapshot(now)->sa; }

    sim::Simulator sim;
    base::Instant now{};
    std::unique_ptr<Core> core;

private:
    void handle(Event event) {
        Effects effects;
        core->handle(std::move(event), now, effects);
        execute(effects);
    }
    void receive(mad::WireMad&& mad) {
        if (!core) {
            return;
        }
        if (mad.bytes[1] != static_cast<std::uint8_t>(mad::MgmtClass::subn_adm)) {
            return handle(MadReceived{std::move(mad)});
        }
        auto view = std::make_shared<const sa::View>(core->snapshot(now));
        handle(SaRequested{std::move(mad), std::move(view)});
    }
    void execute(Effects& effects) {
        for (std::size_t i = 0; i < effects.size(); ++i) {
            const Effect effect = std::move(effects[i]);
            if (const auto* send = std::get_if<sm::SendMad>(&effect)) {
                sim.send(client_, send->mad, now);
            } else if (const auto* ask = std::get_if<sm::ComputeRoutes>(&effect)) {
                handle(RoutesReady{ask->epoch, sm::carry_out(*ask)});
            } else if (const auto* mark = std::get_if<sm::MarkEdition>(&effect)) {
                marked_ = mark->edition;
            } else if (const auto* persist = std::get_if<sm::Persist>(&effect)) {
                for (const auto& record : persist->batch) {
                    if (const auto* state = std::get_if<db::SaStateRecord>(&record)) {
                        stored_sa_ = state->text;
                    }
                }
            }
        }
    }

    sim::Simulator::ClientId client_ = 0;
    std::map<std::string, sim::Simulator::ClientId> ports_;  ///< by host: of the masters
    std::vector<mad::WireMad> inbox_;
    std::string stored_sa_;
    std::optional<std::uint64_t> marked_;
};

/// A host as Linux is one: it asks the SA at the SM LID that its port was given last, and subscribes anew
/// when it is told to register again or finds another SM LID.
class Host {
public:
    Host(Fabric& fabric, const std::string& name) : fabric_(fabric) {
        node_ = fabric.sim.locate(name, 0).value().node;
        client_ = fabric.sim
                      .join(name, 0,
                            [this](mad::WireMad&& mad) {
                                if (mad.bytes[1] == static_cast<std::uint8_t>(mad::MgmtClass::subn_adm)) {
                                    answers.push_back(mad::parse_sa_mad(mad.bytes).value());
                                }
                            })
                      .value();
        fabric.sim.set_observer([this](base::Instant, std::uint32_t node, const mad::Smp& request,
                                       mad::MadStatus status) { observe(node, request, status); });
    }
    void send(const mad::SaMad& request) {
        mad::SaMad mad = request;
        mad.header.tid = ++tid_;
        mad::WireMad wire{mad::encode_sa_mad(mad), {}, {}};
        wire.address.lid = sm_lid;
        wire.address.qp = 1;
        wire.address.qkey = 0x80010000;
        fabric_.sim.send(client_, wire, fabric_.now);
    }
    /// What its kernel does on the events that came.
    void follow() {
        for (; events_ > 0; --events_) {
            ++subscribed;
            send(inform_of(64));
        }
    }

    std::vector<mad::SaMad> answers;
    mad::Lid sm_lid{};
    std::uint32_t reregistrations = 0;
    std::uint32_t subscribed = 0;

private:
    void observe(std::uint32_t node, const mad::Smp& request, mad::MadStatus status) {
        if (node != node_ || status != 0 || request.header.attribute != mad::Attribute::port_info ||
            request.header.method != static_cast<std::uint8_t>(mad::Method::set)) {
            return;
        }
        const mad::PortInfo info = mad::decode_port_info(request.data);
        const bool moved = info.sm_lid != sm_lid;
        reregistrations += info.client_reregister ? 1U : 0U;
        events_ = moved || info.client_reregister ? 1U : events_;
        sm_lid = info.sm_lid;
    }

    Fabric& fabric_;
    std::uint32_t node_ = 0;
    sim::Simulator::ClientId client_ = 0;
    std::uint64_t tid_ = 0;
    std::uint32_t events_ = 0;
};

// C105: the master moves to another LID: at the old one there is silence; told to register again a host
// subscribes once, and has one subscription.
TEST(FieldCase, C105_the_masters_lid_moves) {
    Fabric fabric;
    Host host(fabric, "h2");
    fabric.start_master("h1");
    fabric.run(seconds{2});
    const mad::Lid first = host.sm_lid;
    host.follow();
    fabric.run(seconds{1});
    ASSERT_EQ(host.answers.size(), 1U);
    EXPECT_EQ(host.answers[0].header.status, 0);
    ASSERT_EQ(fabric.tables()->subscriptions.size(), 1U);
    EXPECT_EQ(host.reregistrations, 0U) << "it had no master: nothing to register again";

    fabric.kill_master();
    host.send(inform_of(64));
    fabric.run(seconds{1});
    EXPECT_EQ(host.answers.size(), 1U) << "silence";

    fabric.start_master("h4");
    fabric.run(seconds{5});
    ASSERT_NE(host.sm_lid, first);
    EXPECT_EQ(host.reregistrations, 1U);
    host.follow();
    fabric.run(seconds{1});
    EXPECT_EQ(host.answers.size(), 2U);
    EXPECT_EQ(host.subscribed, 2U) << "once with each master";
    ASSERT_EQ(fabric.tables()->subscriptions.size(), 1U);
    fabric.run(seconds{30});
    EXPECT_EQ(host.reregistrations, 1U) << "and not again";
    host.follow();
    EXPECT_EQ(host.subscribed, 2U);
}

mad::SaMad join_of(mad::Gid mgid, mad::Gid port, std::uint64_t qkey) {
    const sa::RecordType& type = sa::record_type_of(SaAttribute::mc_member_record);
    mad::SaMad mad;
    mad.header.method = static_cast<std::uint8_t>(SaMethod::set);
    mad.header.attribute = static_cast<mad::Attribute>(SaAttribute::mc_member_record);
    mad::store_gid(mad.data, 0, mgid);
    mad::store_gid(mad.data, 16, port);
    type.set(mad.data, "JoinState", 1);
    type.set(mad.data, "P_Key", 0xFFFF);
    type.set(mad.data, "Q_Key", qkey);
    for (const char* field :
         {"MGID", "PortGID", "JoinState", "Q_Key", "TClass", "P_Key", "SL", "FlowLabel"}) {
        mad.component_mask |= std::uint64_t{1} << type.component(field);
    }
    return mad;
}

// C94: a host tries a join that is refused again and again: one entry, the newest first, with how often.
TEST(FieldCase, C94_refusals_are_kept_newest_first) {
    Fabric fabric;
    Host host(fabric, "h2");
    fabric.start_master("h1");
    fabric.run(seconds{2});
    const mad::Gid port = fabric.gid("h2");
    const mad::Gid broadcast = mad::ipoib_broadcast(mad::kPKeyDefaultFull, mad::kScopeLinkLocal);
    for (std::uint64_t i = 0; i < 3; ++i) {
        host.send(join_of(broadcast, port, 0x77));
        fabric.run(milliseconds{10});
    }
    fabric.run(milliseconds{100});
    const auto one = fabric.core->snapshot(fabric.now)->join_refusals;
    ASSERT_EQ(one.size(), 1U);
    EXPECT_EQ(one[0].times, 3U);
    EXPECT_EQ(one[0].port, port.interface_id);
    EXPECT_NE(one[0].reason.find("Q_Key"), std::string::npos) << one[0].reason;

    // A flood of them pushes out the oldest.
    for (std::uint64_t i = 0; i < 200; ++i) {
        const mad::Gid mgid{0xff15a01c00000000ULL, mad::Guid{i}};
        host.send(join_of(mgid, port, 1));
        fabric.run(milliseconds{2});
        host.send(join_of(mgid, port, 2));
        fabric.run(milliseconds{2});
    }
    fabric.run(milliseconds{100});
    const auto many = fabric.core->snapshot(fabric.now)->join_refusals;
    EXPECT_EQ(many.size(), 64U);
    EXPECT_EQ(many[0].mgid.interface_id, mad::Guid{199});
    EXPECT_EQ(many[63].mgid.interface_id, mad::Guid{136});
}

// A host that is refused a thousand times a second costs a snapshot ten times a second.
TEST(SaCore, RefusalsAloneAreShownNowAndThen) {
    Fabric fabric;
    Host host(fabric, "h2");
    fabric.start_master("h1");
    fabric.run(seconds{2});
    const mad::SaMad refused =
        join_of(mad::ipoib_broadcast(mad::kPKeyDefaultFull, mad::kScopeLinkLocal), fabric.gid("h2"), 0x77);
    host.send(refused);
    fabric.run(seconds{1});  // the first is told as an event
    auto shown = fabric.core->snapshot(fabric.now);
    int snapshots = 0;
    for (int i = 0; i < 500; ++i) {
        host.send(refused);
        fabric.run(milliseconds{1});
        const auto next = fabric.core->snapshot(fabric.now);
        snapshots += next == shown ? 0 : 1;
        shown = next;
    }
    EXPECT_GE(snapshots, 4);
    EXPECT_LE(snapshots, 5);
    fabric.run(milliseconds{100});
    EXPECT_EQ(fabric.core->snapshot(fabric.now)->join_refusals.at(0).times, 501U);
}

/// A master whose host h2 has subscribed, and that can be killed and started anew at the same LID.
class SaRestart : public ::testing::Test {
protected:
    SaRestart() : host(fabric, "h2") {
        fabric.start_master("h1");
        fabric.run(seconds{2});
        subscribe(seconds{1});
        EXPECT_EQ(host.answers.size(), 1U);
    }
    void subscribe(base::Duration then) {
        host.send(inform_of(64 + traps_++));
        fabric.run(then);
    }
    void restart(base::Duration then) {
        fabric.kill_master();
        fabric.start_master("h1");
        fabric.run(then);
    }

    Fabric fabric;
    Host host;
    std::uint64_t traps_ = 0;
};

// C52: killed after what was told had been written: nobody has to register anew.
TEST_F(SaRestart, NobodyIsAskedWhereTheStateIsTheLast) {
    for (int i = 0; i < 3; ++i) {
        restart(seconds{5});
        EXPECT_EQ(host.reregistrations, 0U);
        EXPECT_EQ(fabric.tables()->subscriptions.size(), 1U);
    }
}

// Killed between the answer and the write: what is stored is whole, and old.
TEST_F(SaRestart, AllAreAskedOnceWhereTheStateIsOld) {
    const std::string before = fabric.stored();
    subscribe(milliseconds{50});
    ASSERT_EQ(host.answers.size(), 2U);
    ASSERT_EQ(fabric.stored(), before);
    restart(seconds{5});
    EXPECT_EQ(host.reregistrations, 1U);
    restart(seconds{5});
    EXPECT_EQ(host.reregistrations, 1U) << "whoever was asked registers by himself";
}

// The database was locked, and went on from an older state; or a copy of yesterday's was put back.
TEST_F(SaRestart, AnOlderStateIsNotTheLast) {
    const std::string yesterday = fabric.stored();
    subscribe(seconds{1});
    ASSERT_NE(fabric.stored(), yesterday);
    fabric.store(yesterday);
    restart(seconds{5});
    EXPECT_EQ(host.reregistrations, 1U);
    EXPECT_EQ(fabric.tables()->subscriptions.size(), 1U) << "what is there serves meanwhile";
}

TEST_F(SaRestart, ATornStateIsNotTheLast) {
    fabric.store(fabric.stored().substr(0, fabric.stored().find("subscription")));
    restart(seconds{5});
    EXPECT_EQ(host.reregistrations, 1U);
}

// Killed while hosts are being asked: what is stored lacks what those had left that were not asked yet.
TEST_F(SaRestart, AStateIsNotTheLastBeforeAllWereAsked) {
    fabric.store({});
    fabric.inject("drop h3 attr=PortInfo method=Set");
    restart(milliseconds{500});
    const sa::StoredState stored = sa::state_of(fabric.stored(), fabric.now, {});
    ASSERT_FALSE(stored.tables.groups.empty()) << "written by this run";
    EXPECT_EQ(stored.edition, 0U);
    ASSERT_EQ(host.reregistrations, 1U);
    restart(seconds{30});
    EXPECT_EQ(host.reregistrations, 2U);
    EXPECT_GT(sa::state_of(fabric.stored(), fabric.now, {}).edition, 0U) << "h3 was asked, as far as can be";
}

// C97: groups that share an MLID are one tree, of the members of all; who receives in one of them receives.
TEST(FieldCase, C97_one_tree_for_the_groups_of_an_mlid) {
    Fabric fabric;
    fabric::SaTables tables;
    const auto add = [&](std::uint64_t name, const std::map<std::string, std::uint8_t>& members) {
        auto group = std::make_shared<fabric::Group>();
        group->mgid = {0xff12601bffff0000ULL, mad::Guid{name}};
        group->mlid = mad::Mlid{0xC005};
        group->mtu = 4;
        group->rate = 3;
        group->pkey = mad::kPKeyDefaultFull;
        group->scope = 2;
        for (const auto& [host, state] : members) {
            const mad::Gid port = fabric.gid(host);
            group->members[port.interface_id] = {port, state, false};
        }
        tables.groups.emplace(group->mgid, group);
    };
    add(1, {{"h1", fabric::kFullMember}, {"h2", fabric::kSendOnlyFullMember}});
    add(2, {{"h2", fabric::kFullMember}, {"h3", fabric::kFullMember}});
    add(3, {{"h4", fabric::kSendOnlyFullMember}});
    fabric.store(sa::state_text(tables, 1, fabric.now, {}));
    fabric.start_master("h1");
    fabric.run(seconds{2});
    ASSERT_EQ(fabric.tables()->groups.size(), 4U) << "and the broadcast group";
    const auto multicast = fabric.core->snapshot(fabric.now)->multicast;
    ASSERT_TRUE(multicast);
    ASSERT_EQ(multicast->size(), 1U);
    fabric::PortMask expected;
    for (const std::size_t port : {1U, 2U, 3U}) {
        expected.set(port);
    }
    EXPECT_EQ(multicast->begin()->second.at(0xC005), expected) << "h4 sends only";
}

}  // namespace
}  // namespace ibf::core
