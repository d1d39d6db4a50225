// Files of preferences: OpenSM's syntax, and what is said of lines that are not.
#include "routing/preference_files.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace ibf::routing {
namespace {

using mad::Guid;
using mad::PortNum;

std::string refusal(const base::Result<void>& result) {
    return result ? "" : result.error().message;
}

/// What one of the files makes of a text.
base::Result<void> read(std::string_view option, std::string_view text, Preferences& out) {
    for (const PreferenceFile& file : preference_files()) {
        if (file.option == option) {
            return file.read(text, "f", out);
        }
    }
    return base::fail(base::ErrorKind::not_found, "no such file");
}

TEST(PreferenceFiles, OpenSmsSyntaxIsRead) {
    Preferences out;
    const std::string weights =
        "# links to the old row\n"
        "0x0002c90200000002 3 4\n"
        "\t0x0002c90200000001   0x10 2   # in hexadecimal\r\n"
        "\n"
        "0x0002c90200000002 3 4\n";
    EXPECT_EQ(refusal(read("hop_weights_file", weights, out)), "");
    EXPECT_EQ(out.hop_weights, (std::vector<HopWeight>{{{Guid{0x0002c90200000001}, PortNum{16}}, 2},
                                                       {{Guid{0x0002c90200000002}, PortNum{3}}, 4}}));
    EXPECT_EQ(refusal(read("port_prof_ignore_file", "2 1\n0x1 36", out)), "");
    EXPECT_EQ(out.ignored_ports, (std::vector<SwitchPort>{{Guid{1}, PortNum{36}}, {Guid{2}, PortNum{1}}}));
    const std::string guids = "0x3\n#0x9\n0x1 # login\n0x2\n0x3\n";
    EXPECT_EQ(refusal(read("cn_guid_file", guids, out)), "");
    EXPECT_EQ(refusal(read("io_guid_file", "5", out)), "");
    EXPECT_EQ(refusal(read("guid_routing_order_file", guids, out)), "");
    EXPECT_EQ(out.compute_nodes, (std::vector<Guid>{Guid{1}, Guid{2}, Guid{3}}));
    EXPECT_EQ(out.io_nodes, std::vector<Guid>{Guid{5}});
    EXPECT_EQ(out.order, (std::vector<Guid>{Guid{3}, Guid{1}, Guid{2}})) << "as it stands in the file";
}

TEST(PreferenceFiles, EachWrongLineIsNamed) {
    Preferences out;
    EXPECT_EQ(
        refusal(read("hop_weights_file", "0x1 3 2\nleaf-1 3 2\n0x1 0 2\n0x1 4 256\n0x1 3\n0x1 3 2 1\n", out)),
        "f:2:1: 'leaf-1' is not a GUID: expected up to 16 hex digits, not all 0, like "
        "0x0002c90300a1b2c3\n"
        "f:3:5: '0' is not a port number: expected 1 to 254\n"
        "f:4:7: '256' is not a number of hops: expected 1 to 255\n"
        "f:5:5: expected a switch GUID, a port number and a number of hops in a line\n"
        "f:6:9: expected a switch GUID, a port number and a number of hops in a line");
    EXPECT_EQ(refusal(read("hop_weights_file", "0x1 3 2\n0x2 3 2\n0x1 3 5\n", out)),
              "f:3:1: 0x0000000000000001 port 3 has another weight in another line");
    EXPECT_EQ(refusal(read("port_prof_ignore_file", "0x1\n0x1 x\n", out)),
              "f:1:1: expected a switch GUID and a port number in a line\n"
              "f:2:5: 'x' is not a port number: expected 1 to 254");
    EXPECT_EQ(refusal(read("cn_guid_file", "0x0\n0x1 0x2\n", out)),
              "f:1:1: '0x0' is not a GUID: expected up to 16 hex digits, not all 0, like 0x0002c90300a1b2c3\n"
              "f:2:5: '0x2' stands behind the GUID: expected one GUID in a line, and '#' before a comment");
    EXPECT_EQ(out, Preferences{}) << "nothing is half taken";
}

TEST(PreferenceFiles, AnEmptyFileIsAMistake) {
    for (const PreferenceFile& file : preference_files()) {
        Preferences out;
        const std::string text = refusal(file.read("# nothing yet\n", "f", out));
        EXPECT_TRUE(text.starts_with("f:1:1: names no ")) << file.option << text;
    }
}

TEST(PreferenceFiles, ManyWrongLinesAreBounded) {
    std::string text;
    for (int line = 0; line < 1000; ++line) {
        text += "x\n";
    }
    Preferences out;
    const std::string said = refusal(read("io_guid_file", text, out));
    EXPECT_TRUE(said.ends_with("\n... and 950 more"));
    EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 50);
}

}  // namespace
}  // namespace ibf::routing
