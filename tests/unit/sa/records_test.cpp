#include "mad/codec.hpp"
#include "sa_bench.hpp"

namespace ibf::test {
namespace {

using mad::SaAttribute;
using mad::SaMethod;

TEST(Records, TablesAreTheFabric) {
    SaBench bench(t2());
    const auto count = [&](SaAttribute attribute) {
        return bench.ask(SaMethod::get_table, attribute, {}).count();
    };
    EXPECT_EQ(count(SaAttribute::node_record), 12U);
    EXPECT_EQ(count(SaAttribute::switch_info_record), 4U);
    EXPECT_EQ(count(SaAttribute::link_record), 24U) << "12 cables, both ways";
    EXPECT_EQ(count(SaAttribute::lft_record), 4U);
    EXPECT_EQ(count(SaAttribute::guid_info_record), 12U);
    EXPECT_EQ(count(SaAttribute::sm_info_record), 1U);
}

TEST(Records, KeysNarrowAndOthersMatch) {
    SaBench bench(t2());
    const sa::End& h5 = bench.end("h5");
    const auto by = [&](Fields fields) {
        return bench.ask(SaMethod::get_table, SaAttribute::node_record, fields);
    };
    EXPECT_EQ(by({{"LID", h5.lids.base.value()}}).count(), 1U);
    EXPECT_EQ(by({{"PortGUID", h5.guid.value()}}).count(), 1U);
    EXPECT_EQ(by({{"NodeGUID", h5.node_guid.value()}}).count(), 1U);
    EXPECT_EQ(by({{"NodeType", 2}}).count(), 4U);
    EXPECT_EQ(by({{"LID", h5.lids.base.value()}, {"NodeType", 2}}).count(), 0U);
    EXPECT_EQ(by({{"LID", 0xBFFF}}).count(), 0U);
    EXPECT_EQ(SaBench::field(by({{"PortGUID", h5.guid.value()}}), 0, "NodeGUID"), h5.node_guid.value());
    EXPECT_EQ(SaBench::field(by({{"LID", h5.lids.base.value()}}), 0, "NodeType"), 1U);
}

/// A fabric whose lane tables have been read.
void read_lanes(SaBench& bench) {
    ASSERT_TRUE(bench.lab.run_until(
        [&] {
            const auto lanes = bench.lab.snapshot().lanes;
            return lanes && lanes->read == lanes->devices;
        },
        std::chrono::seconds{60}));
    bench.refresh();
}

TEST(Records, LanesAreToldOnceTheyAreRead) {
    SaBench bench(t2());
    const auto count = [&](SaAttribute attribute, Fields fields) {
        return bench.ask(SaMethod::get_table, attribute, fields).count();
    };
    EXPECT_EQ(count(SaAttribute::sl_to_vl_table_record, {}), 0U) << "not read yet";
    EXPECT_EQ(count(SaAttribute::vl_arb_record, {}), 0U);
    read_lanes(bench);
    const std::size_t leaf = bench.lab.sim.netlist().nodes[bench.lab.node("leaf1")].ports.size();
    const std::size_t spine = bench.lab.sim.netlist().nodes[bench.lab.node("spine1")].ports.size();
    EXPECT_EQ(count(SaAttribute::sl_to_vl_table_record, {}), 2 * leaf * leaf + 2 * spine * spine + 8);
    EXPECT_EQ(count(SaAttribute::vl_arb_record, {}), 4 * (2 * leaf + 2 * spine + 8));
    const std::uint64_t lid = bench.end("leaf1").lids.base.value();
    EXPECT_EQ(count(SaAttribute::sl_to_vl_table_record, {{"LID", lid}}), leaf * leaf);
    EXPECT_EQ(count(SaAttribute::sl_to_vl_table_record, {{"LID", lid}, {"OutputPortNum", 3}}), leaf);
    EXPECT_EQ(count(SaAttribute::sl_to_vl_table_record, {{"LID", lid}, {"SL1toVL", 1}}), leaf * leaf);
    EXPECT_EQ(count(SaAttribute::sl_to_vl_table_record, {{"LID", lid}, {"SL1toVL", 2}}), 0U);
    EXPECT_EQ(count(SaAttribute::sl_to_vl_table_record, {{"OutputPortNum", leaf}}), 8U)
        << "no such port of a switch; of adapters the port is not compared";
    const sa::Answer one = bench.ask(SaMethod::get, SaAttribute::sl_to_vl_table_record,
                                     {{"LID", lid}, {"InputPortNum", 2}, {"OutputPortNum", 3}});
    ASSERT_EQ(one.count(), 1U);
    EXPECT_EQ(SaBench::field(one, 0, "InputPortNum"), 2U);
    EXPECT_EQ(SaBench::field(one, 0, "OutputPortNum"), 3U);
    EXPECT_EQ(SaBench::field(one, 0, "SL9toVL"), 1U) << "of eight lanes";
    EXPECT_EQ(one.type->size(), 16U);
}

// An adapter has one table, whatever ports the asker names; blocks that a port cannot hold are empty.
TEST(Records, LanesOfAnAdapterAndBlocksThatAreNot) {
    SaBench bench(t2());
    read_lanes(bench);
    const std::uint64_t lid = bench.end("h3").lids.base.value();
    const sa::Answer map = bench.ask(SaMethod::get, SaAttribute::sl_to_vl_table_record,
                                     {{"LID", lid}, {"InputPortNum", 0}, {"OutputPortNum", 0}});
    ASSERT_EQ(map.count(), 1U);
    EXPECT_EQ(SaBench::field(map, 0, "OutputPortNum"), 1U);
    for (std::uint64_t block = 1; block <= 4; ++block) {
        const sa::Answer answer = bench.ask(SaMethod::get, SaAttribute::vl_arb_record,
                                            {{"LID", lid}, {"OutputPortNum", 0}, {"BlockNum", block}});
        ASSERT_EQ(answer.count(), 1U) << block;
        EXPECT_EQ(SaBench::field(answer, 0, "BlockNum"), block);
        EXPECT_EQ(answer.type->size(), 72U);
        EXPECT_EQ(answer.records[9], block == 1 ? 64 : 0) << "weight of the first entry, VL 0";
    }
    EXPECT_EQ(bench.ask(SaMethod::get, SaAttribute::vl_arb_record, {{"LID", lid}, {"BlockNum", 5}}).count(),
              0U);
}

// C108: with modifier bit 31 CapabilityMask names bits that must all be set.
TEST(FieldCase, C108_capability_bits) {
    SaBench bench(t2());
    auto fabric = std::make_shared<fabric::Fabric>(bench.view->fabric());
    constexpr std::uint32_t kIsSm = 2;
    constexpr std::uint32_t kIsDm = 1U << 19U;
    for (const char* name : {"h3", "h7"}) {
        fabric->port(bench.end(name).at).info.capability_mask |= kIsDm;
    }
    fabric->port(bench.end("h7").at).info.capability_mask |= kIsSm;
    auto snapshot = std::make_shared<fabric::Snapshot>(bench.lab.snapshot());
    snapshot->fabric = fabric;
    bench.view = std::make_shared<sa::View>(snapshot);
    const auto count = [&](std::uint32_t bits, std::uint32_t modifier) {
        mad::SaMad mad =
            SaBench::request(SaMethod::get_table, SaAttribute::port_info_record, {{"CapabilityMask", bits}});
        mad.header.modifier = modifier;
        return bench.ask(mad).count();
    };
    EXPECT_EQ(count(kIsDm, 0x80000000U), 2U);
    EXPECT_EQ(count(kIsDm | kIsSm, 0x80000000U), 1U);
    EXPECT_EQ(count(kIsDm | 1U << 30U, 0x80000000U), 0U) << "nobody: an empty table";
    EXPECT_EQ(count(kIsDm, 0), 0U) << "without the bit the whole mask is compared";
}

TEST(Records, KeysAndMembersAreForTheTrusted) {
    SaBench bench(t1());
    auto fabric = std::make_shared<fabric::Fabric>(bench.view->fabric());
    for (const sa::End& end : bench.view->ends()) {
        fabric->port(end.at).info.mkey = mad::MKey{0x1234};
    }
    auto snapshot = std::make_shared<fabric::Snapshot>(bench.lab.snapshot());
    snapshot->fabric = fabric;
    bench.view = std::make_shared<sa::View>(snapshot);
    auto group = std::make_shared<fabric::Group>();
    group->mgid = {0xff12401bffff0000ULL, mad::Guid{1}};
    for (const char* name : {"h1", "h2", "h3"}) {
        const mad::Guid guid = bench.end(name).guid;
        group->members[guid] = {{SaBench::kPrefix, guid}, fabric::kFullMember, false};
    }
    bench.tables.groups.emplace(group->mgid, group);
    auto service = std::make_shared<fabric::Service>();
    service->id = 5;
    service->record[7] = 5;
    std::fill_n(service->record.begin() + 32, 16, std::uint8_t{9});
    bench.tables.services.emplace(std::tuple{std::uint64_t{5}, mad::Gid{}, mad::PKey{}}, service);

    mad::SaMad ports = SaBench::request(SaMethod::get_table, SaAttribute::port_info_record, {});
    mad::SaMad members = SaBench::request(SaMethod::get_table, SaAttribute::mc_member_record, {});
    mad::SaMad services = SaBench::request(SaMethod::get_table, SaAttribute::service_record, {});
    mad::SaMad pkeys = SaBench::request(SaMethod::get_table, SaAttribute::pkey_table_record, {});
    EXPECT_EQ(SaBench::field(bench.ask(ports), 0, "M_Key"), 0U);
    EXPECT_EQ(bench.ask(members).count(), 1U) << "the group, not who is in it";
    EXPECT_EQ(bench.ask(services).records[32], 0);
    EXPECT_EQ(bench.ask(pkeys).status, mad::kSaRequestInvalid);
    for (mad::SaMad* mad : {&ports, &members, &services, &pkeys}) {
        mad->sm_key = bench.config.sa_key;
    }
    EXPECT_EQ(SaBench::field(bench.ask(ports), 0, "M_Key"), 0x1234U);
    EXPECT_EQ(bench.ask(members).count(), 3U);
    EXPECT_EQ(bench.ask(services).records[32], 9);
    EXPECT_GT(bench.ask(pkeys).count(), 0U);
}

TEST(Records, ATableHasABound) {
    SaBench bench(t2());
    bench.config.answer_bytes = 1000;
    const auto answer = bench.ask(SaMethod::get_table, SaAttribute::path_record, {});
    EXPECT_GT(answer.records.size(), 1000U) << "more than may be sent: the desk refuses it";
    EXPECT_LT(answer.records.size(), 2000U) << "and no more than that was made";
}

}  // namespace
}  // namespace ibf::test
