// PathRecord queries as clients send them.
#include "sa_bench.hpp"
#include "tests/unit/sa/counted_allocations.hpp"

namespace ibf::test {
namespace {

using mad::SaAttribute;
using mad::SaMethod;

mad::SaMad path_query(const SaBench& bench, SaMethod method, const char* from, const char* to,
                      Fields fields) {
    mad::SaMad mad = SaBench::request(method, SaAttribute::path_record, fields);
    bench.gid(mad, "SGID", 24, SaBench::kPrefix, bench.end(from).guid.value());
    if (to != nullptr) {
        bench.gid(mad, "DGID", 8, SaBench::kPrefix, bench.end(to).guid.value());
    }
    return mad;
}

// IPoIB: DGID, SGID, NumbPath 1, TClass, P_Key.
TEST(Paths, WhatIpoibAsks) {
    SaBench bench(t2());
    const auto answer = bench.ask(
        path_query(bench, SaMethod::get, "h1", "h5", {{"NumbPath", 1}, {"TClass", 0}, {"P_Key", 0xFFFF}}));
    ASSERT_EQ(answer.status, 0);
    ASSERT_EQ(answer.count(), 1U);
    EXPECT_EQ(SaBench::field(answer, 0, "DLID"), bench.end("h5").lids.base.value());
    EXPECT_EQ(SaBench::field(answer, 0, "SLID"), bench.end("h1").lids.base.value());
    EXPECT_EQ(SaBench::field(answer, 0, "P_Key"), 0xFFFFU);
    EXPECT_EQ(SaBench::field(answer, 0, "Reversible"), 1U);
    EXPECT_EQ(SaBench::field(answer, 0, "MtuSelector"), 2U);
    EXPECT_EQ(SaBench::field(answer, 0, "Mtu"), 5U);
    EXPECT_EQ(SaBench::field(answer, 0, "Rate"), 16U);
    EXPECT_EQ(SaBench::field(answer, 0, "PacketLifeTime"), 0x12U);
}

TEST(Paths, WishesAreMetOrTheRecordIsNotThere) {
    SaBench bench(t2());
    const auto count = [&](Fields fields) {
        return bench.ask(path_query(bench, SaMethod::get_table, "h1", "h5", fields)).count();
    };
    const auto value = [&](const char* field, Fields fields) {
        return SaBench::field(bench.ask(path_query(bench, SaMethod::get_table, "h1", "h5", fields)), 0,
                              field);
    };
    EXPECT_EQ(count({{"MtuSelector", 0}, {"Mtu", 5}}), 0U) << "nothing is greater than 4096";
    EXPECT_EQ(count({{"MtuSelector", 0}, {"Mtu", 4}}), 1U);
    EXPECT_EQ(value("Mtu", {{"MtuSelector", 1}, {"Mtu", 5}}), 4U)
        << "less than 4096: used below what it can do";
    EXPECT_EQ(value("Mtu", {{"MtuSelector", 2}, {"Mtu", 3}}), 3U);
    EXPECT_EQ(value("Mtu", {{"MtuSelector", 3}, {"Mtu", 1}}), 5U) << "the largest there is";
    EXPECT_EQ(count({{"RateSelector", 0}, {"Rate", 12}}), 1U) << "more than 56 Gb/s";
    EXPECT_EQ(count({{"RateSelector", 2}, {"Rate", 17}}), 0U) << "200 Gb/s";
    EXPECT_EQ(value("Rate", {{"RateSelector", 2}, {"Rate", 7}}), 7U);
    EXPECT_EQ(value("Rate", {{"RateSelector", 1}, {"Rate", 12}}), 20U) << "the next below 56 is 50, code 20";
    EXPECT_EQ(count({{"SL", 3}}), 0U);
    EXPECT_EQ(
        bench.ask(path_query(bench, SaMethod::get_table, "h1", "h5", {{"RateSelector", 2}, {"Rate", 63}}))
            .status,
        mad::kSaRequestInvalid);
}

/// The bench's snapshot, but every path has this SL.
std::shared_ptr<fabric::Snapshot> with_sl(const SaBench& bench, std::uint8_t sl) {
    auto snapshot = std::make_shared<fabric::Snapshot>(bench.lab.snapshot());
    auto outcome = std::make_shared<routing::RouteOutcome>(*snapshot->routes);
    const std::size_t lids = std::size_t{snapshot->view->topology.max_lid} + 1;
    outcome->routes.sls.assign(outcome->routes.rows.size(), std::make_shared<routing::SlRow>(lids, sl));
    snapshot->routes = std::move(outcome);
    return snapshot;
}

TEST(Paths, HaveTheServiceLevelOfTheRoutes) {
    SaBench bench(t2());
    bench.view = std::make_shared<sa::View>(with_sl(bench, 3));
    const auto ask = [&](Fields fields) {
        return bench.ask(path_query(bench, SaMethod::get_table, "h1", "h5", fields));
    };
    ASSERT_EQ(ask({}).count(), 1U);
    EXPECT_EQ(SaBench::field(ask({}), 0, "SL"), 3U);
    EXPECT_EQ(ask({{"SL", 3}}).count(), 1U);
    EXPECT_EQ(ask({{"SL", 0}}).count(), 0U) << "there is no path with that one";
}

// C83: SL2VL[3] = 15 on one hop: no path with SL 3 over it.
TEST(FieldCase, C83_a_barred_service_level_is_not_handed_out) {
    SaBench bench(t2());
    const auto lanes_known = [&] {
        const auto lanes = bench.lab.snapshot().lanes;
        return lanes && lanes->read == lanes->devices;
    };
    ASSERT_TRUE(bench.lab.run_until(lanes_known, std::chrono::seconds{60}));
    const auto barred = with_sl(bench, 3);
    const auto records = [&](const std::shared_ptr<fabric::Snapshot>& snapshot, const char* to) {
        bench.view = std::make_shared<sa::View>(snapshot);
        return bench.ask(path_query(bench, SaMethod::get_table, "h1", to, {})).count();
    };
    ASSERT_EQ(records(barred, "h5"), 1U);
    const sa::End from = bench.end("h1");
    const auto way = bench.view->trace(from, bench.end("h5").lids.base);
    ASSERT_GE(way.size(), 3U) << "over a spine";
    auto lanes = std::make_shared<fabric::Lanes>(*barred->lanes);
    const mad::Guid leaf = barred->fabric->nodes[way[1].node].guid();
    auto tables = std::make_shared<fabric::LaneTables>(*lanes->tables.at(leaf));
    mad::Sl2VlTable map = *tables->map(from.switch_port.value(), way[1].port.value());
    map.vls[3] = mad::Vl{15};
    tables->set_map(from.switch_port.value(), way[1].port.value(), map);
    lanes->tables.insert_or_assign(leaf, std::move(tables));
    barred->lanes = std::move(lanes);
    EXPECT_EQ(records(barred, "h5"), 0U) << "that hop drops SL 3";
    EXPECT_EQ(records(barred, "h2"), 1U) << "another way";
    const auto plain = with_sl(bench, 2);
    plain->lanes = barred->lanes;
    EXPECT_EQ(records(plain, "h5"), 1U) << "another SL";
}

// C92: one source, all destinations.
TEST(FieldCase, C92_half_the_world) {
    SaBench bench(netlist("fat-tree:radix=16,levels=3"));
    const sa::End* host = nullptr;
    for (const sa::End& end : bench.view->ends()) {
        host = end.is_switch ? host : &end;
    }
    mad::SaMad mad =
        SaBench::request(SaMethod::get_table, SaAttribute::path_record, {{"NumbPath", 1}, {"Reversible", 1}});
    bench.gid(mad, "SGID", 24, SaBench::kPrefix, host->guid.value());
    const auto answer = bench.ask(mad);
    EXPECT_EQ(answer.count(), 1024U + 320U);
    std::set<std::uint64_t> lids;
    for (std::size_t i = 0; i < answer.count(); ++i) {
        EXPECT_EQ(SaBench::field(answer, i, "SLID"), host->lids.base.value());
        lids.insert(SaBench::field(answer, i, "DLID"));
    }
    EXPECT_EQ(lids.size(), answer.count()) << "one record a destination";
}

// C90: before anybody has a LID there are no records, and nobody is to blame.
TEST(FieldCase, C90_nobody_has_a_lid_yet) {
    Lab lab(t1());
    auto snapshot = std::make_shared<fabric::Snapshot>();
    const sa::View empty(snapshot);
    const mad::SaMad mad =
        SaBench::request(SaMethod::get, SaAttribute::path_record, {{"SLID", 1}, {"DLID", 2}});
    EXPECT_EQ(sa::read({mad, empty, {}, {}, sa::kNoEnd}, mad.data).status, mad::kSaNoRecords);
    mad::SaMad by_gid = SaBench::request(SaMethod::get, SaAttribute::path_record, {});
    by_gid.component_mask = std::uint64_t{1} << 2U;
    by_gid.data[8] = 0xFE;
    by_gid.data[9] = 0x80;
    by_gid.data[23] = 7;
    EXPECT_EQ(sa::read({by_gid, empty, {}, {}, sa::kNoEnd}, by_gid.data).status, mad::kSaNoRecords);
}

// C100: the link-local prefix is taken as the fabric's own, foreign ones are refused.
TEST(FieldCase, C100_prefixes) {
    LabOptions options;
    options.config.subnet_prefix = 0xfec0000000000001ULL;
    SaBench bench(t1(), options);
    bench.config.subnet_prefix = options.config.subnet_prefix;
    const auto status = [&](std::uint64_t prefix) {
        mad::SaMad mad = SaBench::request(SaMethod::get, SaAttribute::path_record, {});
        bench.gid(mad, "SGID", 24, prefix, bench.end("h1").guid.value());
        bench.gid(mad, "DGID", 8, prefix, bench.end("h2").guid.value());
        return bench.ask(mad).status;
    };
    EXPECT_EQ(status(0xfec0000000000001ULL), 0);
    EXPECT_EQ(status(0xfe80000000000000ULL), 0);
    EXPECT_EQ(status(0x2001000000000000ULL), mad::kSaInvalidGid);
}

TEST(Paths, LmcGivesAPathForEachPairOfOffsets) {
    LabOptions options;
    options.config.lmc = 2;
    SaBench bench(t2(), options);
    const auto answer = bench.ask(path_query(bench, SaMethod::get_table, "h1", "h5", {}));
    ASSERT_EQ(answer.count(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(SaBench::field(answer, i, "DLID"), bench.end("h5").lids.base.value() + i);
        EXPECT_EQ(SaBench::field(answer, i, "SLID"), bench.end("h1").lids.base.value() + i);
    }
    EXPECT_EQ(bench.ask(path_query(bench, SaMethod::get_table, "h1", "h5", {{"NumbPath", 3}})).count(), 3U);
    EXPECT_EQ(bench.ask(path_query(bench, SaMethod::get, "h1", "h5", {})).count(), 1U);
}

TEST(Paths, AGroupsPathIsItsRecord) {
    SaBench bench(t1());
    auto group = std::make_shared<fabric::Group>();
    group->mgid = {0xff12401bffff0000ULL, mad::Guid{0xffffffffULL}};
    group->mlid = mad::Mlid{0xC005};
    group->mtu = 4;
    group->rate = 3;
    group->sl = 2;
    group->pkey = mad::PKey{0xFFFF};
    bench.tables.groups.emplace(group->mgid, group);
    mad::SaMad mad = SaBench::request(SaMethod::get, SaAttribute::path_record, {});
    bench.gid(mad, "SGID", 24, SaBench::kPrefix, bench.end("h1").guid.value());
    bench.gid(mad, "DGID", 8, group->mgid.prefix, group->mgid.interface_id.value());
    const auto answer = bench.ask(mad);
    ASSERT_EQ(answer.count(), 1U);
    EXPECT_EQ(SaBench::field(answer, 0, "DLID"), 0xC005U);
    EXPECT_EQ(SaBench::field(answer, 0, "Mtu"), 4U);
    EXPECT_EQ(SaBench::field(answer, 0, "SL"), 2U);
}

mad::SaMad multipath_query() {
    mad::SaMad mad;
    mad.header.method = static_cast<std::uint8_t>(SaMethod::get_multi);
    mad.header.attribute = static_cast<mad::Attribute>(SaAttribute::multi_path_record);
    mad.component_mask = std::uint64_t{1} << 19U | std::uint64_t{1} << 20U;  // SGIDCount, DGIDCount
    return mad;
}

TEST(MultiPath, IsThePathsOfEachPair) {
    SaBench bench(t2());
    mad::SaMad mad = multipath_query();
    std::vector<std::uint8_t> data(24);
    data[15] = 2;
    data[16] = 3;
    for (const char* name : {"h1", "h2", "h5", "h6", "h7"}) {
        data.resize(data.size() + 16);
        mad::store_gid(data, data.size() - 16, {SaBench::kPrefix, bench.end(name).guid});
    }
    const auto ask = [&] {
        return sa::read_multipath({mad, *bench.view, bench.tables, bench.config, sa::kNoEnd}, data);
    };
    EXPECT_EQ(ask().count(), 6U);
    mad.component_mask |= std::uint64_t{1} << 6U;
    data[5] = 4;  // NumbPath
    EXPECT_EQ(ask().count(), 4U);
    data[16] = 200;
    EXPECT_EQ(ask().status, mad::kSaRequestInvalid) << "more GIDs than there are";
    data[16] = 3;
    data.back() ^= 0x55U;
    EXPECT_EQ(ask().status, mad::kSaInvalidGid);
    mad.component_mask = 0;
    EXPECT_EQ(ask().status, mad::kSaInsufficientComponents);
}

// Who names 255 by 255 ports gets 127 paths, and no more pairs are looked at than it takes to find them.
TEST(MultiPath, LooksAtNoMorePairsThanItAnswers) {
    SaBench bench(t2());
    const mad::SaMad mad = multipath_query();
    std::size_t made = 0;
    const auto paths = [&](std::uint8_t sources, std::uint8_t destinations) {
        std::vector<std::uint8_t> data(24 + (sources + destinations) * 16U);
        data[15] = sources;
        data[16] = destinations;
        for (std::size_t at = 24; at < data.size(); at += 16) {
            mad::store_gid(data, at, {SaBench::kPrefix, bench.end(at % 32 == 0 ? "h1" : "h5").guid});
        }
        const std::size_t before = test::allocations();
        const auto answer =
            sa::read_multipath({mad, *bench.view, bench.tables, bench.config, sa::kNoEnd}, data);
        made = test::allocations() - before;
        return answer.count();
    };
    EXPECT_EQ(paths(1, 127), 127U);
    const std::size_t of_127_pairs = made;
    EXPECT_EQ(paths(255, 255), 127U);
    EXPECT_LE(made, of_127_pairs + 8);
}

}  // namespace
}  // namespace ibf::test
