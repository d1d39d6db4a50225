// What a client may leave, and for how long after its port is gone.
#include "registry_bench.hpp"

namespace ibf::test {
namespace {

using mad::SaAttribute;
using mad::SaMethod;
using std::chrono::hours;
using std::chrono::seconds;

constexpr std::uint32_t kFlood = 100'000;

mad::SaMad service(const RegistryBench& bench, const std::string& port, std::uint64_t id) {
    mad::SaMad mad = SaBench::request(SaMethod::set, SaAttribute::service_record, {{"ServiceID", id}});
    bench.gid(mad, "ServiceGID", 8, SaBench::kPrefix, bench.end(port).guid.value());
    return mad;
}

mad::SaMad inform(std::uint64_t trap) {
    return SaBench::request(SaMethod::set, SaAttribute::inform_info,
                            {{"Subscribe", 1},
                             {"IsGeneric", 1},
                             {"Type", 3},
                             {"TrapNumber", trap},
                             {"LIDRangeBegin", 0xFFFF},
                             {"ProducerType", 4}});
}

/// How many of `kFlood` requests were taken; the operator is told once.
template <class Ask>
std::uint32_t flood(RegistryBench& bench, const Ask& ask) {
    std::uint32_t taken = 0;
    std::size_t told = 0;
    for (std::uint32_t i = 1; i <= kFlood; ++i) {
        taken += ask(i) == 0 ? 1U : 0U;
        told += bench.events("client-limited");
    }
    EXPECT_EQ(told, 1U);
    return taken;
}

// C109: 100,000 joins, proxy joins, services and subscriptions of one port: as many are taken as a port may
// have, the operator is told once of each, and others are fine.
TEST(FieldCase, C109_joins_without_end) {
    RegistryBench bench(t2(), sa::RegistryLimits{});
    EXPECT_EQ(flood(bench, [&](std::uint32_t i) { return bench.join("h1", i); }),
              sa::RegistryLimits{}.groups_per_port);
    EXPECT_EQ(bench.join("h1", kFlood + 1), mad::kSaNoResources);
    EXPECT_EQ(bench.join("h2", kFlood + 1), 0) << "others are fine";
    EXPECT_EQ(bench.registry.tables()->groups.size(), sa::RegistryLimits{}.groups_per_port + 2U);
}

TEST(FieldCase, C109_proxy_joins_without_end) {
    RegistryBench bench(t2(), sa::RegistryLimits{});
    for (std::uint64_t group = 1; group <= 500; ++group) {
        ASSERT_EQ(bench.join("h8", group), 0);
    }
    const auto proxy = [&](const char* asker, std::uint32_t i) {
        const auto mad =
            bench.member(SaMethod::set, fmt::format("h{}", 3 + i % 5), RegistryBench::named(1 + i / 5 % 500),
                         {{"P_Key", 0xFFFF}, {"JoinState", 1}});
        return bench.send(asker, mad).header.status;
    };
    EXPECT_EQ(flood(bench, [&](std::uint32_t i) { return proxy("h2", i); }),
              sa::RegistryLimits{}.proxies_per_port);
    EXPECT_EQ(proxy("h1", 4000), 0) << "others are fine";
    EXPECT_EQ(
        bench.send("h3", bench.member(SaMethod::remove, "h8", RegistryBench::named(1), {{"JoinState", 1}}))
            .header.status,
        mad::kSaRequestDenied)
        << "who joined itself is taken out by itself";
}

// C109: joining somebody by proxy who is a member already gives no right to take him out.
TEST(FieldCase, C109_a_proxy_join_makes_nobody_a_proxy) {
    RegistryBench bench(t2(), sa::RegistryLimits{});
    ASSERT_EQ(bench.join("h1", 1), 0);
    const auto asked_by_h2 = [&](SaMethod method) {
        return bench.send("h2", bench.member(method, "h1", RegistryBench::named(1), {{"JoinState", 1}}))
            .header.status;
    };
    EXPECT_EQ(asked_by_h2(SaMethod::set), 0);
    EXPECT_EQ(asked_by_h2(SaMethod::remove), mad::kSaRequestDenied);
    EXPECT_EQ(bench.group(RegistryBench::named(1)).members.size(), 1U);
    EXPECT_EQ(bench.leave("h1", 1), 0);
}

TEST(FieldCase, C109_services_and_subscriptions_without_end) {
    RegistryBench bench(t2(), sa::RegistryLimits{});
    EXPECT_EQ(bench.send("h1", service(bench, "h4", 5)).header.status, mad::kSaRequestDenied)
        << "another's GID";
    EXPECT_EQ(flood(bench,
                    [&](std::uint32_t i) { return bench.send("h1", service(bench, "h1", i)).header.status; }),
              sa::RegistryLimits{}.services_per_port);
    EXPECT_EQ(bench.send("h2", service(bench, "h2", 1)).header.status, 0);
    EXPECT_EQ(bench.send("h1", service(bench, "h1", 1)).header.status, 0) << "a renewal";

    const auto subscribe = [&](std::uint32_t i) {
        mad::SaMad mad = inform(i & 0xFFFFU);
        sa::record_type_of(SaAttribute::inform_info).set(mad.data, "Type", i >> 16U);
        return bench.send("h1", mad).header.status;
    };
    EXPECT_EQ(flood(bench, subscribe), sa::RegistryLimits{}.subscriptions_per_port);
    EXPECT_EQ(bench.send("h2", inform(64)).header.status, 0);
    std::set<std::pair<mad::Gid, std::uint16_t>> rids;
    for (const auto& item : bench.registry.tables()->subscriptions) {
        EXPECT_TRUE(rids.insert({item->subscriber, item->number}).second) << "RIDs are apart";
    }
}

// A port that is gone keeps what it left, and has it when it comes back; not for ever.
TEST(GonePorts, KeepTheirMembershipForADay) {
    RegistryBench bench(t2());
    ASSERT_EQ(bench.join("h1", 1), 0);
    ASSERT_EQ(bench.join("h7", 1), 0);
    ASSERT_EQ(bench.join("h7", 2), 0);
    ASSERT_EQ(bench.send("h7", service(bench, "h7", 5)).header.status, 0);
    ASSERT_EQ(bench.send("h7", inform(66)).header.status, 0);
    const auto all = bench.registry.tables();

    bench.host("remove-node h7");
    bench.now += hours{23};
    bench.registry.on_time(bench.now, bench.out);
    bench.host("add-node h7");
    EXPECT_EQ(bench.registry.tables()->groups, all->groups) << "as if it had not been away";
    EXPECT_EQ(bench.registry.tables()->subscriptions.size(), 1U);

    bench.host("remove-node h7");
    ASSERT_EQ(bench.registry.next_deadline(), bench.now + sa::RegistryLimits{}.gone_kept);
    bench.now += hours{24};
    bench.out = {};
    bench.registry.on_time(bench.now, bench.out);
    EXPECT_EQ(bench.events("ports-forgotten"), 1U);
    EXPECT_TRUE(bench.out.groups_changed);
    EXPECT_EQ(bench.group(RegistryBench::named(1)).members.size(), 1U);
    EXPECT_FALSE(bench.registry.tables()->groups.contains(RegistryBench::named(2)))
        << "it was the last member";
    EXPECT_TRUE(bench.registry.tables()->services.empty());
    EXPECT_TRUE(bench.registry.tables()->subscriptions.empty());
    EXPECT_FALSE(bench.registry.next_deadline());
}

// Nobody is refused for the sake of ports that are not there.
TEST(GonePorts, GiveUpTheirRoomWhenItIsShort) {
    sa::RegistryLimits limits = RegistryBench::few();
    limits.members = 3;
    RegistryBench bench(t2(), limits);
    ASSERT_EQ(bench.join("h7", 1), 0);
    ASSERT_EQ(bench.join("h7", 2), 0);
    ASSERT_EQ(bench.join("h1", 1), 0);
    EXPECT_EQ(bench.join("h2", 1), mad::kSaNoResources);
    EXPECT_EQ(bench.events("client-limited"), 1U);
    bench.host("remove-node h7");
    EXPECT_EQ(bench.join("h2", 2), 0) << "group 2 ended with h7, and is made anew";
    EXPECT_EQ(bench.group(RegistryBench::named(2)).members.size(), 1U);
    EXPECT_EQ(bench.group(RegistryBench::named(1)).members.size(), 1U);
}

// C105: who subscribes again, as after a new master came, has one subscription, and reports go where it asked
// last.
TEST(FieldCase, C105_subscribed_again_is_subscribed_once) {
    RegistryBench bench(t2());
    const auto subscribe = [&](std::uint16_t pkey_index) {
        mad::WireMad wire{mad::encode_sa_mad(inform(64)), {}, {}};
        wire.address.lid = bench.end("h2").lids.base;
        wire.address.qp = 1;
        wire.address.pkey_index = pkey_index;
        bench.registry.on_request(wire, *bench.view, bench.now, bench.out);
    };
    subscribe(0);
    subscribe(3);
    ASSERT_EQ(bench.registry.tables()->subscriptions.size(), 1U);
    EXPECT_EQ(bench.registry.tables()->subscriptions[0]->pkey_index, 3);
    // Its LID changes: reports follow.
    const mad::LidRange moved{mad::Lid{0x300}, 0};
    bench.change([&](fabric::Fabric& fabric) { fabric.port(bench.end("h2").at).info.lid = moved.base; });
    ASSERT_EQ(bench.end("h2").lids, moved);
    EXPECT_EQ(bench.registry.tables()->subscriptions[0]->lid, moved.base);
    EXPECT_EQ(bench.registry.tables()->subscriptions.size(), 1U);
}

}  // namespace
}  // namespace ibf::test
