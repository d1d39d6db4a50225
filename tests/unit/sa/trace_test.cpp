// TraceRecord: the devices on the way, as the packets take it.
#include "sa_bench.hpp"

namespace ibf::test {
namespace {

using mad::SaAttribute;
using mad::SaMethod;

mad::SaMad trace(Fields path) {
    mad::SaMad mad = SaBench::request(SaMethod::get_trace_table, SaAttribute::path_record, path);
    mad.header.attribute = static_cast<mad::Attribute>(SaAttribute::trace_record);
    return mad;
}

TEST(Trace, NamesEachDeviceWithItsPorts) {
    SaBench bench(t2());
    const sa::End& from = bench.end("h1");
    const sa::End& to = bench.end("h5");
    const sa::Answer answer =
        bench.ask(trace({{"SLID", from.lids.base.value()}, {"DLID", to.lids.base.value()}}));
    ASSERT_EQ(answer.status, 0);
    ASSERT_EQ(answer.count(), 5U) << "host, leaf, spine, leaf, host";
    EXPECT_EQ(answer.type->size(), 48U);
    const auto field = [&](std::size_t i, const char* name) { return SaBench::field(answer, i, name); };
    const auto guid = [&](const char* name) {
        return bench.lab.sim.netlist().nodes[bench.lab.node(name)].guid.value();
    };
    EXPECT_EQ(field(0, "NodeID"), guid("h1"));
    EXPECT_EQ(field(0, "NodeType"), 1U);
    EXPECT_EQ(field(0, "EntryPort"), 0U);
    EXPECT_EQ(field(0, "EntryPortID"), 0U);
    EXPECT_EQ(field(0, "ExitPort"), 1U);
    EXPECT_EQ(field(0, "ExitPortID"), from.guid.value());
    EXPECT_EQ(field(1, "NodeID"), guid("leaf1"));
    EXPECT_EQ(field(1, "NodeType"), 2U);
    EXPECT_EQ(field(1, "EntryPort"), 1U);
    EXPECT_EQ(field(3, "NodeID"), guid("leaf2"));
    EXPECT_EQ(field(3, "ExitPort"), 1U);
    EXPECT_EQ(field(4, "NodeID"), guid("h5"));
    EXPECT_EQ(field(4, "EntryPortID"), to.guid.value());
    EXPECT_EQ(field(4, "ExitPort"), 0U);
    EXPECT_EQ(field(4, "ExitPortID"), 0U);
    for (std::size_t i = 0; i < answer.count(); ++i) {
        EXPECT_EQ(field(i, "GIDPrefix"), SaBench::kPrefix);
        EXPECT_EQ(field(i, "IDGeneration"), field(0, "IDGeneration"));
    }
    // Each hop's exit is a cable to the next one's entry.
    const routing::Netlist& net = bench.lab.sim.netlist();
    for (std::size_t i = 0; i + 1 < answer.count(); ++i) {
        for (const routing::NetlistNode& node : net.nodes) {
            if (node.guid.value() == field(i, "NodeID")) {
                const auto& port = node.ports[field(i, "ExitPort")];
                ASSERT_TRUE(port.peer_node);
                EXPECT_EQ(net.nodes[*port.peer_node].guid.value(), field(i + 1, "NodeID"));
                EXPECT_EQ(port.peer_port.value(), field(i + 1, "EntryPort"));
            }
        }
    }
}

// Where the fields stand, octet by octet; ib_types.h does not know the record.
TEST(Trace, FieldsStandWhereOthersHaveThem) {
    const sa::RecordType& type = sa::record_type_of(SaAttribute::trace_record);
    std::vector<std::uint8_t> record(type.size());
    const std::vector<std::pair<const char*, std::size_t>> fields{
        {"GIDPrefix", 0}, {"NodeID", 12}, {"ChassisID", 20}, {"EntryPortID", 28}, {"ExitPortID", 36},
    };
    for (const auto& [name, at] : fields) {
        type.set(record, name, 0x0102030405060700ULL + at);
    }
    type.set(record, "IDGeneration", 0xABCD);
    type.set(record, "NodeType", 2);
    type.set(record, "EntryPort", 3);
    type.set(record, "ExitPort", 4);
    for (const auto& [name, at] : fields) {
        EXPECT_EQ(mad::load64(record, at), 0x0102030405060700ULL + at) << name;
    }
    EXPECT_EQ(mad::load16(record, 8), 0xABCD);
    EXPECT_EQ(record[10], 0) << "reserved";
    EXPECT_EQ(record[11], 2);
    EXPECT_EQ(record[44], 3);
    EXPECT_EQ(record[45], 4);
    EXPECT_EQ(type.component("NodeType"), 3U);
    EXPECT_EQ(type.component("ExitPort"), 9U);
}

TEST(Trace, OfOnePortToItselfIsThatPort) {
    SaBench bench(t2());
    const std::uint64_t lid = bench.end("h1").lids.base.value();
    EXPECT_EQ(bench.ask(trace({{"SLID", lid}, {"DLID", lid}})).count(), 1U);
}

TEST(Trace, WantsBothEndsAndAPath) {
    SaBench bench(t2());
    const std::uint64_t lid = bench.end("h1").lids.base.value();
    EXPECT_EQ(bench.ask(trace({{"SLID", lid}})).status, mad::kSaInsufficientComponents);
    EXPECT_EQ(bench.ask(trace({{"DLID", lid}})).status, mad::kSaInsufficientComponents);
    EXPECT_EQ(bench.ask(trace({{"SLID", lid}, {"DLID", 0xBFFF}})).status, mad::kSaNoRecords);
    auto group = std::make_shared<fabric::Group>();
    group->mgid = {0xff12401bffff0000ULL, mad::Guid{0xffffffff}};
    group->mlid = mad::Mlid{0xC000};
    bench.tables.groups.emplace(group->mgid, group);
    mad::SaMad to_group = trace({{"SLID", lid}});
    mad::store_gid(to_group.data, 8, group->mgid);
    to_group.component_mask |= std::uint64_t{1}
                               << sa::record_type_of(SaAttribute::path_record).component("DGID");
    EXPECT_EQ(bench.ask(to_group).status, mad::kSaRequestInvalid) << "a tree is no path";
}

}  // namespace
}  // namespace ibf::test
