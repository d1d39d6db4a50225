// Standbys with a copy of the master's memory, in virtual time: several cores on one simulated fabric, and
// what one stores and tells passed on to the others as their connections would, record by record through its
// octets.
#include "daemon/core/standby_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>

#include "daemon/core/core.hpp"
#include "db/record_codec.hpp"
#include "db/waiting.hpp"
#include "harness.hpp"
#include "mad/codec.hpp"
#include "mad/octets.hpp"
#include "routing/routes.hpp"
#include "sim/world.hpp"
#include "tests/unit/sa/counted_allocations.hpp"

namespace ibf::core {
namespace {

using mad::SaAttribute;
using mad::SaMethod;
using std::chrono::milliseconds;
using std::chrono::seconds;
using CopyState = fabric::StandbyCopy::State;

class Member;

/// T2, its time, and who manages it.
struct World {
    World() : sim(test::t2(), sim::SimOptions{}) {
        sim.set_observer([this](base::Instant at, std::uint32_t node, const mad::Smp& smp, mad::MadStatus) {
            if (smp.header.method != static_cast<std::uint8_t>(mad::Method::set) ||
                smp.header.attribute == mad::Attribute::sm_info) {
                return;
            }
            ++sets[smp.header.attribute];
            last_set = at;
            static_cast<void>(node);
        });
    }
    void run(base::Duration time);
    [[nodiscard]] bool run_until(const std::function<bool()>& condition, base::Duration limit);
    [[nodiscard]] std::uint32_t node(const std::string& host) const {
        return sim.locate(host, 0).value().node;
    }
    [[nodiscard]] mad::Gid gid(const std::string& host) const {
        return {0xfe80000000000000ULL, mad::Guid{sim.netlist().nodes[node(host)].guid.value() + 1}};
    }
    [[nodiscard]] std::map<std::string, mad::Lid> lids() const {
        std::map<std::string, mad::Lid> all;
        for (std::uint32_t n = 0; n < sim.netlist().nodes.size(); ++n) {
            const auto& entry = sim.netlist().nodes[n];
            const std::uint8_t port = entry.type == mad::NodeType::switch_ ? 0 : 1;
            all[entry.description] = sim.port_info(n, mad::PortNum{port}).lid;
        }
        return all;
    }
    /// How often hosts were asked to register anew, all together.
    [[nodiscard]] std::uint32_t asked() {
        std::uint32_t count = 0;
        for (std::uint32_t n = 0; n < sim.netlist().nodes.size(); ++n) {
            if (sim.netlist().nodes[n].type == mad::NodeType::ca) {
                count += sim.world().device(n).ports[1].events.client_reregister;
            }
        }
        return count;
    }
    /// Which ports of each switch a group's packets leave by.
    [[nodiscard]] auto trees() {
        std::vector<decltype(sim.world().device(0).mft)> all;
        for (std::uint32_t n = 0; n < sim.netlist().nodes.size(); ++n) {
            all.push_back(sim.world().device(n).mft);
        }
        return all;
    }

    sim::Simulator sim;
    base::Instant now{};
    std::vector<Member*> members;
    std::map<mad::Attribute, std::uint64_t> sets;
    base::Instant last_set{};
};

/// An ibfabricd on a host, as far as it is a core, a database and connections to others.
class Member {
public:
    Member(World& world, std::string host, sm::SmConfig config)
        : world_(world), host_(std::move(host)), config_(std::move(config)) {
        client_ = world.sim.join(host_, 0, [this](mad::WireMad&& mad) { inbox_.push_back(std::move(mad)); })
                      .value();
        world.members.push_back(this);
    }
    void start() {
        CoreStart start;
        start.sm.config = std::make_shared<const sm::SmConfig>(config_);
        start.sm.local = world_.sim.local_port(client_);
        start.sm.now = world_.now;
        start.sm.wall = base::WallTime{milliseconds{1'800'000'000'000}} +
                        std::chrono::duration_cast<milliseconds>(world_.now.time_since_epoch());
        start.copies = true;
        core = std::make_unique<Core>(std::move(start));
        world_.sim.set_is_sm(client_, true);
        Effects effects;
        core->begin(world_.now, effects);
        execute(effects);
    }
    void kill() {
        core.reset();
        inbox_.clear();
        news_.clear();
        world_.sim.set_is_sm(client_, false);
        for (Member* taker : std::exchange(takers_, {})) {
            taker->news_.push_back(CopyEnded{peer(), "the connection was closed"});
        }
    }
    /// `taker` is connected, and gets all that there is.
    void feed(Member& taker) {
        takers_.push_back(&taker);
        db::Waiting all = memory_;
        taker.news_.push_back(CopyTold{peer(), told_, ToldTo::anybody, {}});
        taker.news_.push_back(CopyReceived{peer(), sm::CopyExtent::whole, through_octets(all.take())});
    }
    void cut(Member& taker) {
        std::erase(takers_, &taker);
        taker.news_.push_back(CopyEnded{peer(), "the cable was pulled"});
    }
    void step() {
        if (!core) {
            return;
        }
        for (mad::WireMad& mad : std::exchange(inbox_, {})) {
            receive(std::move(mad));
        }
        for (Event& event : std::exchange(news_, {})) {
            handle(std::move(event));
        }
        if (world_.now >= next_beat_) {
            next_beat_ = world_.now + HeldCopy::kBeat;
            for (Member* taker : takers_) {
                taker->news_.push_back(CopyTold{peer(), told_, ToldTo::nobody, {}});
            }
        }
        if (core->next_deadline() && *core->next_deadline() <= world_.now) {
            handle(Deadline{});
        }
    }
    [[nodiscard]] bool busy() const { return core && (!inbox_.empty() || !news_.empty()); }
    void handle(Event event) {
        Effects effects;
        core->handle(std::move(event), world_.now, effects);
        execute(effects);
    }
    [[nodiscard]] std::shared_ptr<const fabric::Snapshot> snapshot() { return core->snapshot(world_.now); }
    [[nodiscard]] bool serves() {
        return core && core->at_rest() && snapshot()->mastership.state == mad::SmState::master &&
               snapshot()->mode == fabric::SmMode::up;
    }
    [[nodiscard]] bool stands_by() { return core && snapshot()->mastership.state == mad::SmState::standby; }
    [[nodiscard]] CopyState copy() { return snapshot()->copy.state; }
    [[nodiscard]] std::size_t events(const std::string& kind) {
        const auto all = snapshot()->events;
        return static_cast<std::size_t>(
            std::count_if(all.begin(), all.end(), [&](const auto& event) { return event.kind == kind; }));
    }
    /// Who is in which group, and under which MLID; who is subscribed; what is served.
    [[nodiscard]] std::set<std::string> clients() {
        std::set<std::string> all;
        const auto tables = snapshot()->sa;
        for (const auto& [mgid, group] : tables->groups) {
            for (const auto& [guid, member] : group->members) {
                all.insert(fmt::format("{} {} {}", mad::to_string(mgid), group->mlid, guid));
            }
        }
        for (const auto& item : tables->subscriptions) {
            all.insert(fmt::format("{} to {}", mad::to_string(item->subscriber), item->number));
        }
        for (const auto& [rid, service] : tables->services) {
            all.insert(fmt::format("{} serves {:x}", mad::to_string(service->gid), service->id));
        }
        return all;
    }
    [[nodiscard]] Peer peer() const { return {world_.sim.local_port(client_).port_guid, host_}; }

    std::unique_ptr<Core> core;

private:
    static db::Batch through_octets(const db::Batch& batch) {
        db::Batch out;
        for (const db::Record& record : batch) {
            if (db::is_copied(record)) {
                out.push_back(db::decode(db::encode(record)).value());
            }
        }
        return out;
    }
    void receive(mad::WireMad&& mad) {
        if (mad.bytes[1] != static_cast<std::uint8_t>(mad::MgmtClass::subn_adm)) {
            return handle(MadReceived{std::move(mad)});
        }
        if (stands_by()) {
            return;  // the SA's desk does not answer then
        }
        auto view = std::make_shared<const sa::View>(snapshot());
        handle(SaRequested{std::move(mad), std::move(view)});
    }
    void execute(Effects& effects) {
        for (std::size_t i = 0; i < effects.size(); ++i) {
            const Effect effect = std::move(effects[i]);
            if (const auto* send = std::get_if<sm::SendMad>(&effect)) {
                world_.sim.send(client_, send->mad, world_.now);
            } else if (const auto* ask = std::get_if<sm::ComputeRoutes>(&effect)) {
                handle(RoutesReady{ask->epoch, sm::carry_out(*ask)});
            } else if (const auto* mark = std::get_if<sm::MarkEdition>(&effect)) {
                if (mark->edition == kEditionUnknown && core->takes_copies()) {
                    continue;  // as the shell has it
                }
                told_ = mark->edition;
                const ToldTo to = told_ == kEditionUnknown      ? ToldTo::anybody
                                  : mark->client == mad::Guid{} ? ToldTo::nobody
                                                                : ToldTo::client;
                for (Member* taker : takers_) {
                    taker->news_.push_back(CopyTold{peer(), told_, to, mark->client});
                }
            } else if (const auto* persist = std::get_if<sm::Persist>(&effect)) {
                const db::Batch batch = through_octets(persist->batch);
                for (Member* taker : takers_) {
                    taker->news_.push_back(CopyReceived{peer(), sm::CopyExtent::changes, batch});
                }
                memory_.absorb(db::Batch(batch));
            }
        }
    }

    World& world_;
    std::string host_;
    sm::SmConfig config_;
    sim::Simulator::ClientId client_ = 0;
    std::vector<mad::WireMad> inbox_;
    std::vector<Event> news_;
    std::vector<Member*> takers_;
    base::Instant next_beat_{};
    db::Waiting memory_{256};
    std::uint64_t told_ = 0;
};

void World::run(base::Duration time) {
    for (const base::Instant until = now + time; now < until; now += milliseconds{1}) {
        bool again = true;
        while (again) {
            sim.advance(now);
            again = false;
            for (Member* member : members) {
                again = again || member->busy();
                member->step();
            }
        }
    }
}

bool World::run_until(const std::function<bool()>& condition, base::Duration limit) {
    for (const base::Instant until = now + limit; now < until;) {
        run(milliseconds{10});
        if (condition()) {
            return true;
        }
    }
    return false;
}

/// A host that speaks to whichever SA its port was told of.
class Client {
public:
    Client(World& world, const std::string& host)
        : world_(world), node_(world.node(host)), gid_(world.gid(host)) {
        client_ =
            world.sim
                .join(host, 0,
                      [this](mad::WireMad&& mad) {
                          const auto answer = mad::parse_sa_mad(mad.bytes);
                          answers +=
                              answer && answer->header.is_response() && answer->header.status == 0 ? 1U : 0U;
                      })
                .value();
    }
    void join(std::uint64_t group) {
        mad::SaMad mad = request(SaAttribute::mc_member_record);
        const sa::RecordType& type = sa::record_type_of(SaAttribute::mc_member_record);
        mad::store_gid(mad.data, 0, {0xff12a01c00000000ULL, mad::Guid{group}});
        mad::store_gid(mad.data, 16, gid_);
        type.set(mad.data, "JoinState", 1);
        type.set(mad.data, "P_Key", 0xFFFF);
        type.set(mad.data, "Q_Key", 0xb1b);
        for (const char* field :
             {"MGID", "PortGID", "JoinState", "Q_Key", "TClass", "P_Key", "SL", "FlowLabel"}) {
            mad.component_mask |= std::uint64_t{1} << type.component(field);
        }
        send(mad);
    }
    void subscribe() {
        mad::SaMad mad = request(SaAttribute::inform_info);
        const sa::RecordType& type = sa::record_type_of(SaAttribute::inform_info);
        type.set(mad.data, "LIDRangeBegin", 0xFFFF);
        type.set(mad.data, "IsGeneric", 1);
        type.set(mad.data, "Subscribe", 1);
        type.set(mad.data, "Type", 3);
        type.set(mad.data, "TrapNumber", 64);
        type.set(mad.data, "ProducerType", 4);
        send(mad);
    }
    void serve(std::uint64_t id) {
        mad::SaMad mad = request(SaAttribute::service_record);
        const sa::RecordType& type = sa::record_type_of(SaAttribute::service_record);
        type.set(mad.data, "ServiceID", id);
        mad::store_gid(mad.data, 8, gid_);
        type.set(mad.data, "ServiceP_Key", 0xFFFF);
        type.set(mad.data, "ServiceLease", 0xFFFFFFFF);
        for (const char* field : {"ServiceID", "ServiceGID", "ServiceP_Key", "ServiceLease"}) {
            mad.component_mask |= std::uint64_t{1} << type.component(field);
        }
        send(mad);
    }

    std::uint32_t answers = 0;  ///< that granted something

private:
    static mad::SaMad request(SaAttribute attribute) {
        mad::SaMad mad;
        mad.header.method = static_cast<std::uint8_t>(SaMethod::set);
        mad.header.attribute = static_cast<mad::Attribute>(attribute);
        return mad;
    }
    void send(mad::SaMad& mad) {
        mad.header.tid = ++tid_;
        mad::WireMad wire{mad::encode_sa_mad(mad), {}, {}};
        wire.address.lid = world_.sim.port_info(node_, mad::PortNum{1}).sm_lid;
        wire.address.qp = 1;
        wire.address.qkey = 0x80010000;
        world_.sim.send(client_, wire, world_.now);
    }

    World& world_;
    std::uint32_t node_;
    mad::Gid gid_;
    sim::Simulator::ClientId client_ = 0;
    std::uint64_t tid_ = 0;
};

sm::SmConfig standby_config(std::uint8_t priority, sm::Reregister reregister) {
    sm::SmConfig config;
    config.priority = priority;
    config.reregister = reregister;
    config.routing.threads = 1;
    return config;
}

/// a on h1 is master, b on h5 stands by with a copy; h2, h3 and h6 have left something.
class WithCopy : public ::testing::Test {
protected:
    explicit WithCopy(sm::SmConfig config = standby_config(0, sm::Reregister::lost))
        : a(world, "h1", config), b(world, "h5", config), h2(world, "h2"), h3(world, "h3"), h6(world, "h6") {
        a.start();
        EXPECT_TRUE(world.run_until([&] { return a.serves(); }, seconds{10}));
        world.run(seconds{1});
        b.start();
        EXPECT_TRUE(world.run_until([&] { return b.stands_by(); }, seconds{10}));
        a.feed(b);
        for (std::uint64_t group = 1; group <= 5; ++group) {
            h2.join(group);
            h3.join(group);
            h6.join(group);
        }
        h2.subscribe();
        h3.serve(0x1000);
        world.run(seconds{1});
        EXPECT_EQ(h2.answers + h3.answers + h6.answers, 17U);
        EXPECT_EQ(a.clients().size(), 17U);
    }
    /// What must not change when the master does.
    void expect_kept(const std::function<void()>& accident, Member& heir) {
        const auto lids = world.lids();
        const auto trees = world.trees();
        world.sets.clear();
        accident();
        ASSERT_TRUE(world.run_until([&] { return heir.serves(); }, seconds{120}));
        world.run(seconds{2});
        EXPECT_EQ(world.lids(), lids);
        EXPECT_TRUE(world.trees() == trees);
        EXPECT_EQ(world.sets[mad::Attribute::linear_forwarding_table], 0U);
        EXPECT_EQ(world.sets[mad::Attribute::multicast_forwarding_table], 0U);
        EXPECT_EQ(world.sim.counters().rule_breaks, 0U);
    }

    World world;
    Member a;
    Member b;
    Client h2;
    Client h3;
    Client h6;
};

// C53: LIDs, MLIDs, groups, services and subscriptions are the ones that were; nobody is asked to register
// anew; all is written within (N + 1.5) P = 4.5 s.
TEST_F(WithCopy, C53_AMasterThatDiesTakesNothingAlong) {
    EXPECT_EQ(b.copy(), CopyState::current);
    EXPECT_EQ(b.clients(), a.clients()) << "readers of the standby see the copy";
    const auto clients = a.clients();
    const std::uint32_t asked = world.asked();
    for (int i = 0; i < 4; ++i) {
        Member& old = i % 2 == 0 ? a : b;
        Member& heir = i % 2 == 0 ? b : a;
        ASSERT_EQ(heir.copy(), CopyState::current) << i;
        world.run(milliseconds{137 * i});
        const base::Instant died = world.now;
        expect_kept([&] { old.kill(); }, heir);
        EXPECT_LE(world.last_set - died, milliseconds{4500}) << i;
        EXPECT_EQ(heir.clients(), clients) << i;
        EXPECT_EQ(world.asked(), asked) << i;
        EXPECT_EQ(heir.events("reregister"), 0U);
        old.start();
        ASSERT_TRUE(world.run_until([&] { return old.stands_by(); }, seconds{10}));
        heir.feed(old);
        world.run(seconds{1});
        EXPECT_EQ(old.clients(), clients) << "one that begins with an empty database has the copy at once";
    }
}

// C53 under load: what was joined up to the last moment is routed, and who was told something that did not
// come over is asked to register anew.
TEST_F(WithCopy, C53_UnderLoadNothingThatWasToldIsLost) {
    for (std::uint64_t group = 100; group < 200; ++group) {
        h2.join(group);
        world.run(milliseconds{7});
    }
    EXPECT_EQ(b.copy(), CopyState::behind);
    const auto copied = b.clients();
    const base::Instant died = world.now;
    a.kill();
    ASSERT_TRUE(world.run_until([&] { return b.serves(); }, seconds{30}));
    world.run(seconds{2});
    EXPECT_GT(copied.size(), 100U);
    EXPECT_EQ(b.clients(), copied);
    EXPECT_EQ(world.asked(), 1U) << "h2 alone, whose last joins came to nobody's hand";
    EXPECT_EQ(b.events("reregister"), 1U);
    EXPECT_LE(world.last_set - died, milliseconds{4700})
        << "the request to register follows once the SA answers";
}

// The connection was lost, and the master lived on: it may have told clients anything since.
TEST_F(WithCopy, ACopyThatEndedBeforeItsMasterIsNotTheLast) {
    a.cut(b);
    world.run(seconds{3});
    EXPECT_EQ(b.copy(), CopyState::ended);
    EXPECT_EQ(b.events("copy-ended"), 1U);
    h6.join(77);
    world.run(seconds{1});
    const auto copied = b.clients();
    a.kill();
    ASSERT_TRUE(world.run_until([&] { return b.serves(); }, seconds{30}));
    world.run(seconds{2});
    EXPECT_EQ(b.clients(), copied) << "what was copied is better than nothing";
    EXPECT_EQ(b.events("reregister"), 1U);
    EXPECT_EQ(world.asked(), 8U) << "every host";
}

// Who was told what is not here: those, and no others, until it comes.
TEST(HeldCopy, KnowsWhoWasToldMore) {
    const Peer one{mad::Guid{1}, "one"};
    const base::Instant now{};
    const auto told = [&one](std::uint64_t edition, std::uint64_t port) {
        return CopyTold{one, edition, ToldTo::client, mad::Guid{port}};
    };
    HeldCopy copy;
    copy.on_told({one, 5, ToldTo::anybody, {}}, now);
    EXPECT_TRUE(copy.begin(one, sm::CopyExtent::whole, now));
    EXPECT_FALSE(copy.clients().last);
    copy.hold(5);
    EXPECT_TRUE(copy.clients().last);
    EXPECT_TRUE(copy.clients().lacking.empty());
    copy.on_told(told(6, 21), now);
    copy.on_told(told(6, 22), now);
    copy.on_told(told(7, 22), now);
    copy.on_told(told(7, 23), now);
    EXPECT_EQ(copy.clients().lacking, (std::set<mad::Guid>{mad::Guid{21}, mad::Guid{22}, mad::Guid{23}}));
    copy.hold(6);
    EXPECT_EQ(copy.clients().lacking, (std::set<mad::Guid>{mad::Guid{22}, mad::Guid{23}}));
    EXPECT_FALSE(copy.current());
    copy.hold(7);
    EXPECT_TRUE(copy.current());
    copy.on_told({one, kEditionUnknown, ToldTo::anybody, {}}, now);
    EXPECT_FALSE(copy.clients().last);
    copy.on_told({one, 8, ToldTo::nobody, {}}, now);
    EXPECT_FALSE(copy.clients().last) << "whoever was told something by nobody knows whom";
    copy.hold(8);
    EXPECT_TRUE(copy.current());
}

// Of three, the second one's heir has what the first one's clients left.
TEST_F(WithCopy, ACopyOfACopyIsAsGood) {
    Member c(world, "h8", standby_config(0, sm::Reregister::lost));
    c.start();
    ASSERT_TRUE(world.run_until([&] { return c.stands_by(); }, seconds{10}));
    a.feed(c);
    world.run(seconds{1});
    const auto clients = a.clients();
    const std::uint32_t asked = world.asked();
    expect_kept([&] { a.kill(); }, b);
    ASSERT_TRUE(world.run_until([&] { return c.stands_by(); }, seconds{30}));
    b.feed(c);
    world.run(seconds{2});
    EXPECT_EQ(c.copy(), CopyState::current);
    expect_kept([&] { b.kill(); }, c);
    EXPECT_EQ(c.clients(), clients);
    EXPECT_EQ(world.asked(), asked);
}

// A host that is away when the master dies has its LID when it comes back.
TEST_F(WithCopy, LidsOfPortsThatAreAwayAreRemembered) {
    const mad::Lid before = world.lids().at("h7");
    world.sim.schedule(sim::parse_faults("link-down h7/1", "test").value());
    world.run(seconds{2});
    a.kill();
    ASSERT_TRUE(world.run_until([&] { return b.serves(); }, seconds{30}));
    sim::Simulator& sim = world.sim;
    mad::PortInfo blank = sim.port_info(world.node("h7"), mad::PortNum{1});
    blank.lid = mad::kLidNone;  // its host was booted meanwhile
    sim.set_port_info(world.node("h7"), mad::PortNum{1}, blank);
    sim.schedule(sim::parse_faults("link-up h7/1", "test").value());
    ASSERT_TRUE(world.run_until([&] { return world.lids().at("h7") != mad::kLidNone; }, seconds{20}));
    EXPECT_EQ(world.lids().at("h7"), before);
}

class Slowly : public WithCopy {
protected:
    static sm::SmConfig polls() {
        sm::SmConfig config = standby_config(0, sm::Reregister::lost);
        config.poll_interval = seconds{10};
        config.poll_misses = 4;
        return config;
    }
    Slowly() : WithCopy(polls()) {}
};

// OpenSM's 10 s and 4.
TEST_F(Slowly, C53_OpenSmsPollingIsKeptToAsWell) {
    const auto clients = a.clients();
    const std::uint32_t asked = world.asked();
    const base::Instant died = world.now;
    expect_kept([&] { a.kill(); }, b);
    EXPECT_LE(world.last_set - died, seconds{55});
    EXPECT_GE(world.last_set - died, seconds{30});
    EXPECT_EQ(b.clients(), clients);
    EXPECT_EQ(world.asked(), asked);
}

class Moved : public WithCopy {
protected:
    Moved() : WithCopy(standby_config(0, sm::Reregister::moved)) {}
};

// Few drivers tell their clients that the SM has another LID: as a rule hosts are asked all the same.
TEST_F(Moved, HostsAreToldOfANewMasterUnlessTheyAreKnownToHearOfIt) {
    const auto clients = a.clients();
    expect_kept([&] { a.kill(); }, b);
    EXPECT_EQ(b.clients(), clients);
    EXPECT_EQ(world.asked(), 8U) << "each once";
}

// Handed over to in good order: the heir has the last word, though it came while it looked already.
TEST_F(WithCopy, AHandOverLosesNothing) {
    const auto clients = a.clients();
    const std::uint32_t asked = world.asked();
    h6.join(99);
    world.run(milliseconds{50});  // told, and not stored yet
    EXPECT_EQ(b.copy(), CopyState::behind);
    sm::SmConfig higher = standby_config(9, sm::Reregister::lost);
    b.handle(ConfigReplaced{std::make_shared<const sm::SmConfig>(higher), {}});
    ASSERT_TRUE(world.run_until([&] { return b.serves() && a.stands_by(); }, seconds{30}));
    world.run(seconds{2});
    EXPECT_EQ(b.clients().size(), clients.size() + 1);
    EXPECT_EQ(world.asked(), asked);
}

TEST_F(WithCopy, ItsHistoryIsKeptWithItsName) {
    world.sim.schedule(sim::parse_faults("link-down leaf1/5", "test").value());
    world.run(seconds{2});
    const auto events = b.snapshot()->events;
    EXPECT_TRUE(std::any_of(events.begin(), events.end(), [](const auto& event) {
        return event.kind == "link-down" && event.text.starts_with("[h1] ");
    }));
}

// C56: different partitions: an alarm, once, and word when it is mended.
TEST_F(WithCopy, C56_DifferentConfigurationsAreToldOnce) {
    for (int i = 0; i < 3; ++i) {
        b.handle(PeerCompared{a.peer(), {"partitions and groups"}});
    }
    ASSERT_EQ(b.events("config-differs"), 1U);
    EXPECT_EQ(b.snapshot()->peers.at(0).differences, std::vector<std::string>{"partitions and groups"});
    b.handle(PeerCompared{a.peer(), {}});
    EXPECT_EQ(b.events("config-agrees"), 1U);
    EXPECT_TRUE(b.snapshot()->peers.at(0).differences.empty());
}

// Whoever is master takes nothing from others, whatever they send.
TEST_F(WithCopy, AMasterTakesNoCopy) {
    const auto clients = a.clients();
    const auto lids = world.lids();
    db::LidsRecord wrong;
    wrong.lids[mad::Guid{1}] = {mad::Lid{7}, 0};
    a.handle(CopyTold{b.peer(), 1, ToldTo::anybody, {}});
    a.handle(CopyReceived{b.peer(), sm::CopyExtent::whole, {wrong, db::SaStateRecord{"ibfabric-sa 2 1\n"}}});
    world.run(seconds{12});
    EXPECT_EQ(a.clients(), clients);
    EXPECT_EQ(world.lids(), lids);
}

// However many have been told something that is not stored yet, the next one costs what the first did.
TEST_F(WithCopy, ASwarmOfJoinsAtTheMasterCostsEachTheSame) {
    constexpr std::size_t kClients = 2000;
    constexpr std::size_t kEach = 16;  // of core and effects together
    Effects effects;
    const std::size_t before = test::allocations();
    for (std::uint64_t i = 1; i <= kClients; ++i) {
        b.core->handle(CopyTold{Peer{mad::Guid{0x77}, "master"}, 100 + i, ToldTo::client, mad::Guid{i}},
                       world.now, effects);
    }
    EXPECT_LE(test::allocations() - before, kClients * kEach);
    EXPECT_GE(test::allocations() - before, kClients) << "each is remembered";
}

// A master that tells and never passes on: what is kept of it has a bound, and then anybody may lack
// something.
TEST(HeldCopy, WhoIsToldMoreWithoutEndIsAnybody) {
    const Peer master{mad::Guid{1}, "one"};
    HeldCopy copy;
    ASSERT_TRUE(copy.begin(master, sm::CopyExtent::whole, base::Instant{}));
    copy.hold(100);
    for (std::uint64_t client = 1; client <= HeldCopy::kLackingMost; ++client) {
        copy.on_told({master, 101, ToldTo::client, mad::Guid{client}}, base::Instant{});
    }
    EXPECT_TRUE(copy.clients().last);
    copy.on_told({master, 101, ToldTo::client, mad::Guid{7}}, base::Instant{});
    EXPECT_TRUE(copy.clients().last) << "once more";
    copy.on_told({master, 101, ToldTo::client, mad::Guid{~0ULL}}, base::Instant{});
    EXPECT_FALSE(copy.clients().last);
    EXPECT_EQ(copy.clients().lacking.size(), HeldCopy::kLackingMost);
    copy.hold(101);
    EXPECT_TRUE(copy.current());
}

// What comes before a whole copy, after its end, or from another one, is changes to nothing.
TEST(HeldCopy, ChangesFollowTheWholeOfTheSame) {
    const Peer one{mad::Guid{1}, "one"};
    const Peer other{mad::Guid{2}, "other"};
    const base::Instant now{};
    HeldCopy copy;
    EXPECT_FALSE(copy.begin(one, sm::CopyExtent::changes, now));
    copy.on_told({one, 5, ToldTo::anybody, {}}, now);
    EXPECT_EQ(copy.state(), CopyState::reading);
    EXPECT_TRUE(copy.begin(one, sm::CopyExtent::whole, now));
    copy.hold(4);
    EXPECT_EQ(copy.state(), CopyState::behind);
    EXPECT_TRUE(copy.begin(one, sm::CopyExtent::changes, now));
    copy.hold(5);
    EXPECT_EQ(copy.state(), CopyState::current);
    EXPECT_FALSE(copy.begin(other, sm::CopyExtent::changes, now));
    EXPECT_FALSE(copy.on_ended(other, "", now));
    EXPECT_TRUE(copy.on_ended(one, "gone", now));
    EXPECT_FALSE(copy.begin(one, sm::CopyExtent::changes, now));
    EXPECT_EQ(copy.state(), CopyState::ended);
    copy.on_told({other, 9, ToldTo::nobody, {}}, now);
    EXPECT_EQ(copy.state(), CopyState::reading) << "of another one, all over again";
    copy.hold(0);
    EXPECT_TRUE(copy.begin(other, sm::CopyExtent::whole, now));
    EXPECT_FALSE(copy.current()) << "a state without an edition lacks something";
}

}  // namespace
}  // namespace ibf::core
