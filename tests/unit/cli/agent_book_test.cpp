#include "cli/agent_book.hpp"

#include <gtest/gtest.h>

namespace ibf::cli {
namespace {

routing::TopologyEndPort end_port(const std::string& name) {
    routing::TopologyEndPort end;
    end.name = name;
    end.node_guid = mad::Guid{0x10};
    end.port_guid = mad::Guid{0x11};
    return end;
}

std::string found(const AgentBook& book, const std::string& name) {
    const auto where = book.find(end_port(name));
    return where ? where->text() : where.error().message;
}

TEST(AgentBook, AHostIsCalledByTheFirstWordOfItsDescription) {
    const AgentBook book(18585);
    EXPECT_EQ(found(book, "host-01 mlx5_0"), "host-01:18585");
    EXPECT_EQ(found(book, "  gpu7\tHCA-1"), "gpu7:18585");
    EXPECT_NE(found(book, "   ").find("--agents"), std::string::npos) << "the remedy";
}

TEST(AgentBook, AFileSaysOtherwiseGuidsFirst) {
    AgentBook book(18585);
    ASSERT_TRUE(
        book.add("# agents\n\nhost-01 10.1.0.7\nhost-02\t[fe80::1]:99 # there\r\n0x11 by-port:5\n", "a.txt"));
    EXPECT_EQ(found(book, "host-02 mlx5_0"), "by-port:5");
    routing::TopologyEndPort other = end_port("host-01 HCA-1");
    other.port_guid = mad::Guid{0x99};
    EXPECT_EQ(book.find(other)->text(), "10.1.0.7:18585");
    other.name = "host-02";
    EXPECT_EQ(book.find(other)->text(), "[fe80::1]:99");
    ASSERT_TRUE(book.add("0x10 by-node", "b.txt"));
    EXPECT_EQ(book.find(other)->text(), "by-node:18585");
    other.node_guid = mad::Guid{0x98};
    other.name = "host-03";
    EXPECT_EQ(book.find(other)->text(), "host-03:18585");
}

TEST(AgentBook, AWrongLineIsNamed) {
    for (const char* text : {"host-01", "\nhost-01 a b", "\n\nhost-01 h:99999", "0xzz host"}) {
        AgentBook book(1);
        const auto added = book.add(text, "a.txt");
        ASSERT_FALSE(added) << text;
        EXPECT_EQ(added.error().kind, base::ErrorKind::usage);
        const std::string line = std::to_string(1 + std::count(text, text + std::string(text).size(), '\n'));
        EXPECT_TRUE(added.error().message.starts_with("a.txt:" + line + ": ")) << added.error().message;
    }
}

}  // namespace
}  // namespace ibf::cli
