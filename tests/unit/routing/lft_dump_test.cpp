// Table dumps: OpenSM's, dump_fts's, and texts that are neither.
#include "routing/lft_dump.hpp"

#include <gtest/gtest.h>

#include "base/prng.hpp"

namespace ibf::routing::test {
namespace {

constexpr std::string_view kOpensm =
    "Unicast lids [0-3] of switch Lid 3 guid 0x0002c90000000001 ('a guid 0x5 portguid 0x6'):\n"
    "0x0001 003 # Channel Adapter portguid 0x0002c90000000010: 'host portguid 0x7'\n"
    "0x0002 001 # unknown node and type\n"
    "2 lids dumped\n"
    "\n"
    "Unicast lids [0-3] of switch Lid 2 guid 0x0002c90000000002 ('b'):\r\n"
    "0x0001 255 # Channel Adapter portguid 0x0002c90000000010: 'host'\r\n";

TEST(LftDump, ReadsOpensmsOwn) {
    const auto dump = parse_lft_dump(kOpensm);
    ASSERT_TRUE(dump) << dump.error().message;
    ASSERT_EQ(dump->tables.size(), 2U);
    EXPECT_EQ(dump->tables[0].switch_guid, mad::Guid{0x0002c90000000001});
    ASSERT_EQ(dump->tables[0].entries.size(), 2U);
    const auto& entry = dump->tables[0].entries[0];
    EXPECT_EQ(entry.lid, 1);
    EXPECT_EQ(entry.port, 3);
    EXPECT_EQ(dump->owners[entry.owner], mad::Guid{0x0002c90000000010});
    EXPECT_EQ(dump->owners[dump->tables[0].entries[1].owner], mad::Guid{});
    EXPECT_EQ(dump->tables[1].entries[0].owner, entry.owner) << "one owner, one number";
    EXPECT_EQ(dump->tables[1].entries[0].port, mad::kLftDrop);
}

TEST(LftDump, ReadsWhatDumpFtsPrints) {
    const auto dump = parse_lft_dump(
        "Unicast lids [0x0-0x15] of switch DR path slid 0; dlid 0; 0,1 guid 0x0002c902400c9b40 (MT47396):\n"
        "  Lid  Out   Destination\n       Port     Info \n"
        "0x0001 001 : (Channel Adapter portguid 0x0002c9030000100d: 'host HCA-1')\n"
        "1 valid lids dumped \n");
    ASSERT_TRUE(dump) << dump.error().message;
    ASSERT_EQ(dump->tables.size(), 1U);
    ASSERT_EQ(dump->tables[0].entries.size(), 1U);
    EXPECT_EQ(dump->owners.back(), mad::Guid{0x0002c9030000100d});
}

TEST(LftDump, SaysWhatItCannotRead) {
    const auto message = [](std::string_view text) {
        const auto dump = parse_lft_dump(text);
        return dump ? std::string() : dump.error().message;
    };
    const std::string head = "Unicast lids [0-3] of switch Lid 3 guid 0x1 ('a'):\n";
    EXPECT_NE(message("nothing of the kind\n").find("opensm-lfts.dump"), std::string::npos);
    EXPECT_NE(message("Unicast lids of nobody\n").find("line 1: the switch has no GUID"), std::string::npos);
    EXPECT_NE(message(head + head).find("line 2: switch 0x0000000000000001 has a table already"),
              std::string::npos)
        << message(head + head);
    for (const char* bad : {"0xC000 001", "0x0000 001", "0x0001 256", "0x0001", "0xZZ 001", "0x10001 001"}) {
        EXPECT_NE(message(head + bad).find("line 2: expected a LID"), std::string::npos) << bad;
    }
}

TEST(LftDump, SurvivesAnyDamage) {
    for (std::uint64_t seed = 1; seed <= 500; ++seed) {
        base::Prng prng(seed);
        std::string text(kOpensm.substr(0, prng.below(kOpensm.size())));
        for (int i = 0; i < 5 && !text.empty(); ++i) {
            text[prng.below(text.size())] = static_cast<char>(prng.below(256));
        }
        const auto dump = parse_lft_dump(text);
        EXPECT_TRUE(!dump || !dump->tables.empty());
    }
}

}  // namespace
}  // namespace ibf::routing::test
