// Groups: who may join what, what they share, and what configuration makes of them.
#include <map>
#include <set>

#include "base/prng.hpp"
#include "daemon/sa/registry_state.hpp"
#include "registry_bench.hpp"

namespace ibf::test {
namespace {

using mad::SaMethod;

constexpr std::uint8_t kRate10 = 3;
constexpr std::uint8_t kRate40 = 7;
constexpr std::uint8_t kRate100 = 16;

/// T2, with one host on a cable of 10 Gb/s.
routing::Netlist with_slow_host(const std::string& name) {
    routing::Netlist net = t2();
    for (routing::NetlistNode& node : net.nodes) {
        if (node.description == name) {
            node.ports[1].speed = mad::LinkSpeed::sdr;
            net.nodes[*node.ports[1].peer_node].ports[node.ports[1].peer_port.value()].speed =
                mad::LinkSpeed::sdr;
        }
    }
    return net;
}

/// Gives ports a further partition.
void add_partition(RegistryBench& bench, std::initializer_list<const char*> hosts, mad::PKey pkey) {
    bench.change([&](fabric::Fabric& fabric) {
        for (const char* host : hosts) {
            auto& blocks = fabric.port(bench.end(host).at).pkeys;
            if (blocks.empty()) {
                blocks.emplace_back();
            }
            blocks[0].keys[31] = pkey;
        }
    });
}

// --- too slow

// C94: a group of 40 Gb/s and 4 KiB, a port of 10 Gb/s: refused, and the operator is told which port and
// group.
TEST(FieldCase, C94_too_slow_for_the_group) {
    const mad::Gid mgid = RegistryBench::named(7);
    RegistryBench bench(with_slow_host("h3"), RegistryBench::few(),
                        {{.mgid = mgid, .mtu = static_cast<std::uint8_t>(mad::Mtu::b4096), .rate = kRate40}});
    EXPECT_EQ(bench.group(mgid).rate, kRate40);
    EXPECT_EQ(bench.group(mgid).mtu, static_cast<std::uint8_t>(mad::Mtu::b4096));
    const auto ask = [&](const char* host) {
        return bench
            .send(host, bench.member(SaMethod::set, host, mgid, {{"P_Key", 0xFFFF}, {"JoinState", 1}}))
            .header.status;
    };
    EXPECT_EQ(ask("h1"), 0);
    EXPECT_EQ(ask("h3"), mad::kSaRequestInvalid);
    ASSERT_EQ(bench.out.events.size(), 1U);
    EXPECT_EQ(bench.out.events[0].kind, "join-refused");
    for (const std::string part : {"too slow", "h3", "10 Gb/s", "40 Gb/s", "ff15:a01c:0:0:0:0:0:7"}) {
        EXPECT_NE(bench.out.events[0].text.find(part), std::string::npos) << bench.out.events[0].text;
    }
    ASSERT_EQ(bench.out.refusals.size(), 1U);
    EXPECT_EQ(bench.out.refusals[0].mgid, mgid);
    EXPECT_EQ(bench.out.refusals[0].port, bench.end("h3").guid);
    EXPECT_NE(bench.out.refusals[0].reason.find("too slow"), std::string::npos);
    EXPECT_EQ(ask("h3"), mad::kSaRequestInvalid);
    EXPECT_TRUE(bench.out.events.empty()) << "told once";
    EXPECT_EQ(bench.out.refusals.size(), 1U) << "counted each time";
    EXPECT_EQ(bench.group(mgid).members.size(), 1U);
}

// C94: where MTU and rate are left open, a group is made for the slowest, and says who that is.
TEST(FieldCase, C94_auto_follows_the_slowest) {
    RegistryBench bench(with_slow_host("h3"));
    EXPECT_EQ(bench.group(kBroadcast).rate, kRate10);
    EXPECT_EQ(bench.group(kBroadcast).limiters, 1U);
    EXPECT_EQ(bench.group(kBroadcast).limited_by, std::vector{bench.end("h3").guid});
    ASSERT_EQ(bench.events("group-created"), 1U);
    EXPECT_NE(bench.out.events[0].text.find("limited by h3"), std::string::npos) << bench.out.events[0].text;

    bench.host("remove-node h3");
    EXPECT_EQ(bench.group(kBroadcast).rate, kRate100) << "nobody is in it: it follows";
    EXPECT_EQ(bench.group(kBroadcast).limiters, 0U);
    ASSERT_EQ(
        bench.send("h1", bench.member(SaMethod::set, "h1", kBroadcast, {{"P_Key", 0xFFFF}, {"JoinState", 1}}))
            .header.status,
        0);
    bench.host("add-node h3");
    EXPECT_EQ(bench.group(kBroadcast).rate, kRate100) << "members know it as it is";
    EXPECT_EQ(bench.group(kBroadcast).limiters, 0U) << "h3 does not hold it back: it is left out";
    EXPECT_EQ(
        bench.send("h3", bench.member(SaMethod::set, "h3", kBroadcast, {{"P_Key", 0xFFFF}, {"JoinState", 1}}))
            .header.status,
        mad::kSaRequestInvalid);
}

// --- what configuration wants

TEST(WantedGroups, ComeStayAndGoWithTheConfiguration) {
    const mad::Gid mgid = mad::ipoib_broadcast(mad::PKey{0x8005}, mad::kScopeSiteLocal);
    EXPECT_EQ(mad::to_string(mgid), "ff15:401b:8005:0:0:0:ffff:ffff");
    RegistryBench bench(t2(), RegistryBench::few(),
                        {{.mgid = mgid, .pkey = mad::PKey{0x8005}, .qkey = 0x1234, .sl = 3}});
    EXPECT_FALSE(bench.registry.tables()->groups.contains(mgid)) << "no port of that partition to follow yet";
    EXPECT_TRUE(bench.registry.tables()->groups.contains(kBroadcast));
    add_partition(bench, {"h1", "h2"}, mad::PKey{0x8005});
    EXPECT_EQ(bench.group(mgid).sl, 3);
    EXPECT_EQ(bench.group(mgid).qkey, 0x1234U);
    EXPECT_EQ(bench.group(mgid).scope, mad::kScopeSiteLocal);
    EXPECT_EQ(bench.join("h1", mgid, 0x8005), mad::kSaRequestInvalid) << "another Q_Key than the group's";
    const auto plain = [&](const char* host) {
        return bench
            .send(host, bench.member(SaMethod::set, host, mgid, {{"P_Key", 0x8005}, {"JoinState", 1}}))
            .header.status;
    };
    EXPECT_EQ(plain("h1"), 0);
    EXPECT_EQ(plain("h5"), mad::kSaRequestInvalid) << "not in the partition";
    EXPECT_EQ(bench.leave("h1", mgid), 0);
    EXPECT_TRUE(bench.registry.tables()->groups.contains(mgid)) << "stays without members";

    sa::SaConfig without = bench.config;
    without.groups.clear();
    ASSERT_EQ(plain("h2"), 0);
    bench.registry.replace_config(without);
    bench.show_fabric();
    EXPECT_FALSE(bench.group(mgid).well_known) << "h2 is still in it";
    EXPECT_EQ(bench.leave("h2", mgid), 0);
    EXPECT_FALSE(bench.registry.tables()->groups.contains(mgid));
    EXPECT_TRUE(bench.registry.tables()->groups.contains(kBroadcast));
}

TEST(WantedGroups, TheBroadcastGroupMayBeConfiguredItself) {
    RegistryBench bench(t2(), RegistryBench::few(), {{.mgid = kBroadcast, .qkey = 0x77, .rate = kRate10}});
    EXPECT_EQ(bench.registry.tables()->groups.size(), 1U);
    EXPECT_EQ(bench.group(kBroadcast).qkey, 0x77U);
    EXPECT_EQ(bench.group(kBroadcast).rate, kRate10);
}

// --- any order

/// What clients believe to be joined, and what must hold whatever came in which order.
class GroupModel {
public:
    explicit GroupModel(RegistryBench& bench) : bench_(bench) {}

    void join(const std::string& port, std::uint64_t group) {
        EXPECT_EQ(bench_.join(port, group), 0);
        members_[group].insert(port);
    }
    void leave(const std::string& port, std::uint64_t group) {
        EXPECT_EQ(bench_.leave(port, group), members_[group].erase(port) > 0 ? 0 : mad::kSaRequestInvalid);
    }
    void check() {
        const auto tables = bench_.registry.tables();
        ASSERT_TRUE(tables->groups.contains(kBroadcast)) << "made by configuration: survives";
        std::size_t alive = 0;
        for (const auto& [name, members] : members_) {
            alive += members.empty() ? 0U : 1U;
            const auto found = tables->groups.find(RegistryBench::named(name));
            ASSERT_EQ(found != tables->groups.end(), !members.empty()) << "no empty group is left";
            ASSERT_EQ(members.empty() ? 0U : found->second->members.size(), members.size());
        }
        ASSERT_EQ(tables->groups.size(), alive + 1U);
    }

private:
    RegistryBench& bench_;
    std::map<std::uint64_t, std::set<std::string>> members_;
};

/// A join that must fail, each in another way; of the broadcast group or of one of the clients'.
mad::SaMad bad_join(RegistryBench& bench, base::Prng& prng, const std::string& port) {
    const mad::Gid mgid = prng.below(2) == 0 ? kBroadcast : RegistryBench::named(1 + prng.below(5));
    const auto with = [&](Fields fields) { return bench.member(SaMethod::set, port, mgid, fields); };
    switch (prng.below(6)) {
        case 0: return with({{"P_Key", 0x8000 | (1 + prng.below(0x7FFE))}, {"JoinState", 1}});
        case 1: return with({{"P_Key", 0xFFFF}, {"JoinState", 0}});
        case 2: return with({{"MtuSelector", 0}, {"Mtu", 5}, {"JoinState", 1}});
        case 3: return with({{"RateSelector", 2}, {"Rate", kRate10}, {"JoinState", 1}});
        case 4: {
            mad::SaMad mad = with({{"JoinState", 1}});
            mad::store_gid(mad.data, 16, {SaBench::kPrefix, mad::Guid{0xDEAD}});
            return mad;
        }
        default: {
            mad::SaMad mad = with({{"JoinState", 1}});
            mad.component_mask &=
                ~(std::uint64_t{1} << sa::record_type_of(mad.attribute()).component("PortGID"));
            return mad;
        }
    }
}

// C96: eight clients, whose joins, leaves and wrong joins come in any order: a group is there while it has a
// full member, the broadcast group always, and a wrong join takes nobody out.
TEST(FieldCase, C96_random_joins_and_leaves_of_eight_clients) {
    RegistryBench bench(t2());
    base::Prng prng(96);
    GroupModel model(bench);
    for (int i = 0; i < 8000; ++i) {
        const std::string port = fmt::format("h{}", 1 + prng.below(8));
        const std::uint64_t group = 1 + prng.below(5);
        switch (prng.below(4)) {
            case 0:
            case 1: model.join(port, group); break;
            case 2: model.leave(port, group); break;
            default:
                EXPECT_NE(bench.send(port, bad_join(bench, prng, port)).header.status, 0);
                EXPECT_FALSE(bench.out.groups_changed);
        }
        model.check();
        ASSERT_FALSE(testing::Test::HasFatalFailure());
    }
}

// --- MLIDs

/// The group of an IPv6 address for neighbour discovery (RFC 4391, 4; RFC 4291, 2.7.1).
mad::Gid solicited_node(mad::PKey pkey, std::uint32_t address) {
    return {0xff12601b00000000ULL | std::uint64_t{pkey.value()} << 16U,
            mad::Guid{0x00000001ff000000ULL | (address & 0xFFFFFFU)}};
}

class MlidBench : public RegistryBench {
public:
    static constexpr mad::PKey kOther{0x8005};
    static constexpr std::uint32_t kRoom = 1024;

    MlidBench() : RegistryBench(t2(), sa::RegistryLimits{}) {
        change([](fabric::Fabric& fabric) {
            bool first = true;
            for (fabric::Node& node : fabric.nodes) {
                if (node.switch_info) {  // the smallest bounds them all
                    node.switch_info->multicast_fdb_cap = std::exchange(first, false) ? kRoom : 4096;
                }
            }
        });
        add_partition(*this, {"h5", "h6", "h7", "h8"}, kOther);
    }
    /// MLIDs of all groups; fails where two partitions meet.
    std::map<mad::Mlid, std::size_t> uses() {
        std::map<mad::Mlid, std::size_t> uses;
        std::map<mad::Mlid, mad::PKey> partitions;
        for (const auto& [mgid, group] : registry.tables()->groups) {
            ++uses[group->mlid];
            EXPECT_EQ(partitions.emplace(group->mlid, group->pkey).first->second, group->pkey);
            EXPECT_LT(group->mlid.value(), mad::kMlidFirst + kRoom);
        }
        return uses;
    }
};

// C97: 3000 solicited-node groups and 1024 MLIDs: all are joined, MLIDs are shared within a partition only.
TEST(FieldCase, C97_more_groups_than_mlids) {
    MlidBench bench;
    std::size_t warnings = 0;
    for (std::uint32_t i = 0; i < 3000; ++i) {
        const bool other = i % 3 == 0;
        const mad::PKey pkey = other ? MlidBench::kOther : mad::kPKeyDefaultFull;
        const std::string host = fmt::format("h{}", other ? 5 + i / 3 % 4 : 1 + i % 8);
        ASSERT_EQ(bench.join(host, solicited_node(pkey, i), pkey.value()), 0) << i;
        warnings += bench.events("mlids-scarce");
    }
    EXPECT_EQ(bench.registry.tables()->groups.size(), 3001U);
    EXPECT_EQ(warnings, 1U);
    auto uses = bench.uses();
    EXPECT_EQ(uses.size(), 820U) << "80 % are given out one by one, the rest is kept for other partitions";
    EXPECT_EQ(uses.at(bench.group(kBroadcast).mlid), 1U) << "every host is in it: nobody shares with it";
    for (const auto& [mlid, groups] : uses) {
        EXPECT_LE(groups, 5U) << fmt::format("{}: spread", mlid);
    }
    const mad::Gid site{0xff15601bffff0000ULL, mad::Guid{7}};
    EXPECT_EQ(bench.join("h1", site, 0xFFFF), 0);
    EXPECT_FALSE(uses.contains(bench.group(site).mlid)) << "a scope that had none";

    // A restart: the same groups at the same MLIDs, counted as before.
    const std::string text = sa::state_text(*bench.registry.tables(), 1, bench.now, {});
    sa::Registry next(bench.config, sa::RegistryLimits{});
    next.restore(sa::state_of(text, bench.now, {}).tables);
    EXPECT_EQ(sa::state_text(*next.tables(), 1, bench.now, {}), text);
    std::swap(bench.registry, next);
    bench.show_fabric();
    const mad::Gid one_more = solicited_node(mad::kPKeyDefaultFull, 5000);
    EXPECT_EQ(bench.join("h1", one_more, 0xFFFF), 0);
    EXPECT_GT(bench.uses().at(bench.group(one_more).mlid), 1U);

    // An MLID is free once the last of its groups is gone.
    for (std::uint32_t i = 0; i < 3000; ++i) {
        const bool other = i % 3 == 0;
        const mad::PKey pkey = other ? MlidBench::kOther : mad::kPKeyDefaultFull;
        const std::string host = fmt::format("h{}", other ? 5 + i / 3 % 4 : 1 + i % 8);
        ASSERT_EQ(bench.leave(host, solicited_node(pkey, i)), 0) << i;
    }
    EXPECT_EQ(bench.uses().size(), 3U);
    EXPECT_EQ(bench.join("h1", solicited_node(mad::kPKeyDefaultFull, 1), 0xFFFF), 0);
    EXPECT_EQ(bench.uses().size(), 4U) << "plenty again: an MLID of its own";
}

TEST(Mlids, ATornStateGivesNoMlidToTwoPartitions) {
    MlidBench bench;
    ASSERT_EQ(bench.join("h5", solicited_node(mad::kPKeyDefaultFull, 1), 0xFFFF), 0);
    ASSERT_EQ(bench.join("h5", solicited_node(MlidBench::kOther, 1), 0x8005), 0);
    fabric::SaTables torn = *bench.registry.tables();
    auto moved = std::make_shared<fabric::Group>(bench.group(solicited_node(MlidBench::kOther, 1)));
    moved->mlid = bench.group(solicited_node(mad::kPKeyDefaultFull, 1)).mlid;
    torn.groups[moved->mgid] = moved;
    sa::Registry next(bench.config, sa::RegistryLimits{});
    next.restore(std::move(torn));
    EXPECT_EQ(next.tables()->groups.size(), 2U) << "the other is made anew when it is joined";
}

TEST(Mlids, ASwitchWithASmallerTableIsNamed) {
    MlidBench bench;
    for (std::uint32_t i = 0; i < 100; ++i) {
        ASSERT_EQ(bench.join("h1", solicited_node(mad::kPKeyDefaultFull, i), 0xFFFF), 0);
    }
    bench.change([](fabric::Fabric& fabric) {
        for (fabric::Node& node : fabric.nodes) {
            if (node.description == "spine2") {
                node.switch_info->multicast_fdb_cap = 64;
            }
        }
    });
    ASSERT_EQ(bench.events("mlids-beyond"), 1U);
    EXPECT_NE(bench.out.events[0].text.find("spine2 forwards 64"), std::string::npos)
        << bench.out.events[0].text;
    const mad::Gid next = solicited_node(mad::kPKeyDefaultFull, 1000);
    EXPECT_EQ(bench.join("h1", next, 0xFFFF), 0);
    EXPECT_LT(bench.group(next).mlid, mad::Mlid{0xC000 + 64});
}

/// A new group without a name; the SA gives it one.
mad::SaMad unnamed(RegistryBench& bench, const std::string& port, std::uint64_t scope) {
    return bench.member(SaMethod::set, port, mad::Gid{},
                        {{"JoinState", 1},
                         {"Q_Key", 1},
                         {"TClass", 0},
                         {"P_Key", 0xFFFF},
                         {"SL", 0},
                         {"FlowLabel", 0},
                         {"Scope", scope}});
}

TEST(Registry, GroupsThatTheSaNamedAreJoinedAgainAndByOthers) {
    for (const std::uint8_t scope : {mad::kScopeLinkLocal, mad::kScopeSiteLocal}) {
        RegistryBench bench(t2(), sa::RegistryLimits{});
        const mad::SaMad answer = bench.send("h1", unnamed(bench, "h1", scope));
        ASSERT_EQ(answer.header.status, 0);
        const mad::Gid name = mad::load_gid(answer.data, 0);
        EXPECT_TRUE(mad::is_sa_made(name));
        EXPECT_EQ(bench.join("h2", name, 0xFFFF), 0);
        EXPECT_EQ(bench.join("h1", name, 0xFFFF), 0) << "as after a reregistration";
        EXPECT_EQ(bench.group(name).members.size(), 2U);
    }
}

TEST(Registry, TheSaGivesNoNameThatIsTaken) {
    RegistryBench bench(t2(), sa::RegistryLimits{});
    const mad::Gid first =
        mad::load_gid(bench.send("h1", unnamed(bench, "h1", mad::kScopeSiteLocal)).data, 0);
    const mad::Gid next{first.prefix, mad::Guid{first.interface_id.value() + 1}};
    ASSERT_EQ(bench.join("h2", next, 0xFFFF), 0) << "somebody chose the name that would be next";
    const mad::Gid second =
        mad::load_gid(bench.send("h1", unnamed(bench, "h1", mad::kScopeSiteLocal)).data, 0);
    EXPECT_NE(second, next);
    EXPECT_EQ(bench.group(second).members.size(), 1U);
}

TEST(Registry, AJoinThatSaysNothingNewChangesNothing) {
    RegistryBench bench(t2(), sa::RegistryLimits{});
    ASSERT_EQ(bench.join("h1", 1), 0);
    const auto before = bench.registry.tables();
    EXPECT_EQ(bench.join("h1", 1), 0);
    EXPECT_FALSE(bench.out.changed);
    EXPECT_EQ(bench.registry.tables(), before) << "readers keep what they have";
}

}  // namespace
}  // namespace ibf::test
