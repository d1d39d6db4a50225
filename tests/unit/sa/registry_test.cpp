#include "daemon/sa/registry.hpp"

#include "mad/codec.hpp"
#include "registry_bench.hpp"

namespace ibf::test {
namespace {

using mad::SaAttribute;
using mad::SaMethod;

// C93: IPoIB's broadcast join has little more than the group's name.
TEST(FieldCase, C93_ipoib_joins_the_broadcast_group) {
    RegistryBench bench(t2());
    const mad::SaMad reply = bench.send(
        "h1", bench.member(SaMethod::set, "h1", kBroadcast, {{"P_Key", 0xFFFF}, {"JoinState", 1}}));
    ASSERT_EQ(reply.header.status, 0);
    EXPECT_EQ(RegistryBench::field(reply, "Q_Key"), 0x0b1bU);
    EXPECT_EQ(RegistryBench::field(reply, "MLID"), 0xC000U);
    EXPECT_EQ(RegistryBench::field(reply, "Mtu"), 5U);
    EXPECT_EQ(RegistryBench::field(reply, "Rate"), 16U);
    EXPECT_EQ(RegistryBench::field(reply, "SL"), 0U);
    EXPECT_EQ(RegistryBench::field(reply, "JoinState"), 1U);
    EXPECT_TRUE(bench.out.groups_changed);
    const mad::SaMad other = bench.send(
        "h1", bench.member(SaMethod::set, "h1", kBroadcast, {{"P_Key", 0x8005}, {"JoinState", 1}}));
    EXPECT_EQ(other.header.status, mad::kSaRequestInvalid);
    ASSERT_EQ(bench.out.events.size(), 1U);
    EXPECT_NE(bench.out.events[0].text.find("partition 0xffff"), std::string::npos)
        << bench.out.events[0].text;
}

// C93: IPoIB on a partition without a broadcast group is refused, and the partition named. Linux sends no
// more than for one that has it.
TEST(FieldCase, C93_a_partition_without_ipoib) {
    RegistryBench bench(t2());
    const auto join = [&] {
        return bench.send("h1", bench.member(SaMethod::set, "h1",
                                             mad::ipoib_broadcast(mad::PKey{0x8005}, mad::kScopeLinkLocal),
                                             {{"P_Key", 0x8005}, {"JoinState", 1}}));
    };
    EXPECT_EQ(join().header.status, mad::kSaRequestInvalid);
    ASSERT_EQ(bench.out.events.size(), 1U);
    EXPECT_NE(bench.out.events[0].text.find("partition 0x8005 has no IPoIB group"), std::string::npos)
        << bench.out.events[0].text;
    EXPECT_EQ(join().header.status, mad::kSaRequestInvalid);
    EXPECT_TRUE(bench.out.events.empty()) << "told once";
}

// C100: a port that names itself with the link-local prefix is meant, with a foreign one nobody.
TEST(FieldCase, C100_prefixes_of_a_join) {
    RegistryBench bench(t2());
    constexpr std::uint64_t kOurs = 0xfec0000000000001ULL;
    bench.config.subnet_prefix = kOurs;
    bench.registry.replace_config(bench.config);
    const auto join = [&](std::uint64_t prefix) {
        mad::SaMad mad = bench.member(SaMethod::set, "h1", kBroadcast, {{"P_Key", 0xFFFF}, {"JoinState", 1}});
        bench.gid(mad, "PortGID", 16, prefix, bench.end("h1").guid.value());
        return bench.send("h1", mad).header.status;
    };
    EXPECT_EQ(join(kOurs), 0);
    EXPECT_EQ(join(0xfe80000000000000ULL), 0);
    EXPECT_EQ(join(0xfec0000000000002ULL), mad::kSaInvalidGid);
}

TEST(Registry, MlidsAreUsedAgainAndNeverTwice) {
    RegistryBench bench(t2());
    for (std::uint64_t group = 1; group <= 19; ++group) {
        ASSERT_EQ(bench.join("h1", group), 0);
    }
    std::set<mad::Mlid> mlids;
    for (const auto& [mgid, group] : bench.registry.tables()->groups) {
        EXPECT_TRUE(mlids.insert(group->mlid).second);
    }
    EXPECT_EQ(mlids.size(), 20U);
    ASSERT_EQ(bench.leave("h1", 4), 0);
    ASSERT_EQ(bench.join("h2", 77), 0);
    EXPECT_EQ(bench.group(RegistryBench::named(77)).mlid, mad::Mlid{0xC004});
}

TEST(Registry, LeasesEnd) {
    RegistryBench bench(t1());
    mad::SaMad mad = SaBench::request(SaMethod::set, SaAttribute::service_record,
                                      {{"ServiceID", 5}, {"ServiceLease", 10}});
    bench.gid(mad, "ServiceGID", 8, SaBench::kPrefix, bench.end("h1").guid.value());
    ASSERT_EQ(bench.send("h1", mad).header.status, 0);
    const auto deadline = bench.registry.next_deadline();
    ASSERT_TRUE(deadline);
    EXPECT_EQ(*deadline, bench.now + std::chrono::seconds{10});
    bench.registry.on_time(*deadline - std::chrono::milliseconds{1}, bench.out);
    EXPECT_EQ(bench.registry.tables()->services.size(), 1U);
    bench.registry.on_time(*deadline, bench.out);
    EXPECT_TRUE(bench.registry.tables()->services.empty());
    EXPECT_FALSE(bench.registry.next_deadline());
}

TEST(Registry, SubscriptionsAreWhatWasAskedFor) {
    RegistryBench bench(t1());
    const auto inform = [](std::uint64_t subscribe) {
        return SaBench::request(SaMethod::set, SaAttribute::inform_info,
                                {{"Subscribe", subscribe},
                                 {"IsGeneric", 1},
                                 {"Type", 3},
                                 {"TrapNumber", 64},
                                 {"LIDRangeBegin", 0xFFFF},
                                 {"QPN", 1},
                                 {"ProducerType", 4}});
    };
    EXPECT_EQ(bench.send("h1", inform(0)).header.status, mad::kSaRequestInvalid) << "nothing to end";
    EXPECT_EQ(bench.send("h1", inform(1)).header.status, 0);
    EXPECT_EQ(bench.send("h1", inform(1)).header.status, 0);
    EXPECT_EQ(bench.registry.tables()->subscriptions.size(), 1U) << "twice the same is once";
    EXPECT_EQ(bench.send("h2", inform(1)).header.status, 0);
    EXPECT_EQ(bench.send("h1", inform(0)).header.status, 0);
    ASSERT_EQ(bench.registry.tables()->subscriptions.size(), 1U);
    EXPECT_EQ(bench.registry.tables()->subscriptions[0]->subscriber.interface_id, bench.end("h2").guid);
}

mad::SaMad inform(std::uint64_t trap, std::uint64_t type) {
    return SaBench::request(SaMethod::set, SaAttribute::inform_info,
                            {{"Subscribe", 1},
                             {"IsGeneric", 1},
                             {"Type", type},
                             {"TrapNumber", trap},
                             {"LIDRangeBegin", 0xFFFF},
                             {"ProducerType", 0xFFFFFF}});
}

// C103: who subscribed to 64 and 65 hears of hosts that come and go, once each, with the host's GID.
TEST(FieldCase, C103_hosts_that_come_and_go) {
    RegistryBench bench(t2());
    ASSERT_EQ(bench.send("h1", inform(64, 3)).header.status, 0);
    ASSERT_EQ(bench.send("h1", inform(65, 3)).header.status, 0);
    const mad::Guid h7 = bench.end("h7").guid;
    const auto told = [&] {
        std::vector<std::pair<unsigned, mad::Guid>> list;
        for (const mad::WireMad& wire : bench.out.wire) {
            const auto mad = mad::parse_sa_mad(wire.bytes).value();
            EXPECT_EQ(mad.header.method, 0x06);
            EXPECT_EQ(wire.address.lid, bench.end("h1").lids.base);
            mad::AttributeData data{};
            std::copy_n(mad.data.begin(), data.size(), data.begin());
            const mad::Notice notice = mad::decode_notice(data);
            list.emplace_back(notice.trap_number, mad::load_gid(notice.details, 6).interface_id);
            bench.registry.on_response([&] {
                mad::SaMad answer = mad;
                answer.header.method = 0x86;
                return answer;
            }());
        }
        return list;
    };
    bench.lab.inject("remove-node h7");
    bench.lab.advance(std::chrono::seconds{15});
    bench.refresh();
    bench.out = {};
    bench.registry.on_fabric(bench.view, bench.now, bench.out);
    EXPECT_EQ(told(), (std::vector<std::pair<unsigned, mad::Guid>>{{65, h7}}));
    bench.lab.inject("add-node h7");
    bench.lab.advance(std::chrono::seconds{15});
    bench.refresh();
    bench.out = {};
    bench.registry.on_fabric(bench.view, bench.now, bench.out);
    EXPECT_EQ(told(), (std::vector<std::pair<unsigned, mad::Guid>>{{64, h7}}));
    bench.out = {};
    bench.registry.on_time(bench.now + std::chrono::seconds{5}, bench.out);
    EXPECT_TRUE(bench.out.wire.empty()) << "answered: not sent again";
}

/// The bench's fabric with other P_Keys at a host's port.
std::shared_ptr<const sa::View> with_pkeys(const RegistryBench& bench, const std::string& host,
                                           std::initializer_list<std::uint16_t> keys) {
    auto snapshot = std::make_shared<fabric::Snapshot>(bench.view->snapshot());
    auto fabric = std::make_shared<fabric::Fabric>(*snapshot->fabric);
    mad::PKeyBlock block;
    std::size_t at = 0;
    for (const std::uint16_t key : keys) {
        block.keys[at++] = mad::PKey{key};
    }
    fabric->nodes[bench.end(host).at.node].ports[1].pkeys = {block};
    snapshot->fabric = fabric;
    return std::make_shared<sa::View>(snapshot);
}

// C103: a subscriber of another partition hears nothing of a host, neither that it goes nor that it comes;
// one of the same partition hears each once.
TEST(FieldCase, C103_only_partners_hear_of_a_host) {
    RegistryBench bench(t2());
    for (const char* host : {"h1", "h2"}) {
        ASSERT_EQ(bench.send(host, inform(64, 3)).header.status, 0);
        ASSERT_EQ(bench.send(host, inform(65, 3)).header.status, 0);
    }
    const auto whole = with_pkeys(bench, "h2", {0x8005});
    bench.lab.inject("remove-node h7");
    bench.lab.advance(std::chrono::seconds{15});
    bench.refresh();
    const auto without = with_pkeys(bench, "h2", {0x8005});
    const auto heard = [&](const std::shared_ptr<const sa::View>& view) {
        bench.out = {};
        bench.registry.on_fabric(view, bench.now, bench.out);
        std::vector<mad::Lid> lids;
        for (const mad::WireMad& wire : bench.out.wire) {
            lids.push_back(wire.address.lid);
        }
        return lids;
    };
    EXPECT_TRUE(heard(whole).empty());
    const std::vector<mad::Lid> partner{bench.end("h1").lids.base};
    EXPECT_EQ(heard(without), partner);
    EXPECT_EQ(heard(whole), partner);
}

// C104: a subscriber whose LID moves keeps its QP and path bits, and is reported to where it is now; to
// subscribe once more along another path moves it as well, and makes no second subscription.
TEST(FieldCase, C104_a_subscriber_that_moves) {
    RegistryBench bench(t2());
    mad::WireMad wire{mad::encode_sa_mad(inform(65, 3)), {}, {}};
    wire.address.lid = bench.end("h2").lids.base;
    wire.address.qp = 77;
    bench.registry.on_request(wire, *bench.view, bench.now, bench.out);
    auto snapshot = std::make_shared<fabric::Snapshot>(bench.view->snapshot());
    auto fabric = std::make_shared<fabric::Fabric>(*snapshot->fabric);
    mad::PortInfo& info = fabric->nodes[bench.end("h2").at.node].ports[1].info;
    info.lid = mad::Lid{400};
    snapshot->fabric = fabric;
    bench.registry.on_fabric(std::make_shared<sa::View>(snapshot), bench.now, bench.out);
    ASSERT_EQ(bench.registry.tables()->subscriptions.size(), 1U);
    EXPECT_EQ(bench.registry.tables()->subscriptions[0]->lid, mad::Lid{400});
    EXPECT_EQ(bench.registry.tables()->subscriptions[0]->qpn, 77U);
    wire.address.sl = mad::Sl{2};
    bench.registry.on_request(wire, *bench.view, bench.now, bench.out);
    ASSERT_EQ(bench.registry.tables()->subscriptions.size(), 1U);
    EXPECT_EQ(bench.registry.tables()->subscriptions[0]->sl, mad::Sl{2});
    EXPECT_EQ(bench.registry.tables()->subscriptions[0]->lid, wire.address.lid);
}

// C104: reports go to the QP that subscribed; who never answers is given up.
TEST(FieldCase, C104_a_subscriber_that_is_gone) {
    RegistryBench bench(t2());
    mad::WireMad wire{mad::encode_sa_mad(inform(66, 3)), {}, {}};
    wire.address.lid = bench.end("h2").lids.base;
    wire.address.qp = 77;
    bench.out = {};
    bench.registry.on_request(wire, *bench.view, bench.now, bench.out);
    ASSERT_EQ(bench.registry.tables()->subscriptions.size(), 1U);
    for (std::uint64_t group = 1; group <= sa::Reporter::kUnansweredMost; ++group) {
        mad::SaMad mad = bench.member(
            SaMethod::set, "h1", RegistryBench::named(group),
            {{"JoinState", 1}, {"Q_Key", 1}, {"TClass", 0}, {"P_Key", 0xFFFF}, {"SL", 0}, {"FlowLabel", 0}});
        mad::WireMad join{mad::encode_sa_mad(mad), {}, {}};
        join.address.lid = bench.end("h1").lids.base;
        join.address.qp = 1;
        bench.out = {};
        bench.registry.on_request(join, *bench.view, bench.now, bench.out);
        ASSERT_EQ(bench.out.wire.size(), 2U) << "the report of the new group, and the answer";
        EXPECT_EQ(bench.out.wire[0].address.qp, 77U);
    }
    std::size_t again = 0;
    bench.out = {};
    for (int second = 1; second < 10; ++second) {
        bench.registry.on_time(bench.now + std::chrono::seconds{second}, bench.out);
    }
    again = bench.out.wire.size();
    EXPECT_EQ(again, std::size_t{sa::Reporter::kUnansweredMost} * (sa::Reporter::kSends - 1U));
    EXPECT_TRUE(bench.registry.tables()->subscriptions.empty());
    ASSERT_EQ(bench.out.events.size(), 1U);
    EXPECT_EQ(bench.out.events[0].kind, "subscriber-gone");
}

TEST(Registry, ReadersKeepTheTablesTheyHave) {
    RegistryBench bench(t1());
    ASSERT_EQ(bench.join("h1", 1), 0);
    const auto before = bench.registry.tables();
    ASSERT_EQ(bench.join("h2", 1), 0);
    EXPECT_EQ(before->groups.at(RegistryBench::named(1))->members.size(), 1U);
    EXPECT_EQ(bench.registry.tables()->groups.at(RegistryBench::named(1))->members.size(), 2U);
}

// 45,000 hosts join one group after a power cut: not each with a copy of all who came before.
TEST(Registry, AGroupThatNobodyReadsIsChangedInPlace) {
    RegistryBench bench(t1());
    ASSERT_EQ(bench.join("h1", 1), 0);
    const fabric::Group* group = &bench.group(RegistryBench::named(1));
    ASSERT_EQ(bench.join("h2", 1), 0);
    EXPECT_EQ(&bench.group(RegistryBench::named(1)), group);
    EXPECT_EQ(group->members.size(), 2U);
}

}  // namespace
}  // namespace ibf::test
