// Every topology file of the shared fabrics loads with the counts its README states; every other file there
// is refused by name, line and what it is.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <zlib.h>

#include "routing/netlist.hpp"

namespace ibf::routing {
namespace {

std::filesystem::path shared_folder() {
    const char* const named = std::getenv("IBF_SHARED");
    return named != nullptr ? std::filesystem::path(named) : std::filesystem::path("../shared");
}

struct FabricFile {
    const char* path;
    std::size_t switches;
    std::size_t adapters;
    std::size_t links;
};

void PrintTo(const FabricFile& file, std::ostream* out) {
    *out << file.path;
}

class FabricFiles : public testing::TestWithParam<FabricFile> {};

TEST_P(FabricFiles, LoadWithTheCountsOfTheReadme) {
    const auto path = shared_folder() / "fabrics" / GetParam().path;
    if (!std::filesystem::exists(path)) {
        GTEST_SKIP() << path << " is not here; set IBF_SHARED";
    }
    const auto netlist = load_netlist(path.string());
    ASSERT_TRUE(netlist) << netlist.error().message;
    EXPECT_EQ(netlist->switch_count(), GetParam().switches);
    EXPECT_EQ(netlist->nodes.size() - netlist->switch_count(), GetParam().adapters);
    EXPECT_EQ(netlist->link_count(), GetParam().links);
    for (std::uint32_t index = 0; index < netlist->nodes.size(); ++index) {
        for (std::uint32_t port = 1; port < netlist->nodes[index].ports.size(); ++port) {
            const NetlistPort& item = netlist->nodes[index].ports[port];
            if (!item.peer_node) {
                continue;
            }
            const NetlistPort& back = netlist->nodes[*item.peer_node].ports[item.peer_port.value()];
            EXPECT_EQ(back.peer_node, index);
            EXPECT_EQ(back.peer_port.value(), port);
            EXPECT_EQ(back.speed, item.speed);
            EXPECT_EQ(back.width, item.width);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    Shared, FabricFiles,
    testing::Values(
        FabricFile{"real/hdr-3tier-8rail-666sw.topo.gz", 666, 4341, 12852},
        FabricFile{"real/edr-directors-174sw.topo.gz", 174, 1644, 3443},
        FabricFile{"real/ndr-2tier-40sw.topo", 40, 582, 1114},
        FabricFile{"real/ndr-unlinked-1ca.topo", 0, 1, 0},
        FabricFile{"real/hdr-3tier-206sw-console-paste.topo.gz", 206, 1336, 3572},
        FabricFile{"real/qdr-ddr-11sw.topo", 11, 89, 159},
        FabricFile{"real/mixed-fdr-edr-hdr-selfcabled-2sw.topo", 2, 13, 16},
        FabricFile{"real/edr-ring-4sw.topo", 4, 8, 12},
        FabricFile{"real/edr-ring-4sw-badlids.topo", 4, 12, 16},
        FabricFile{"real/ddr-1sw-2009-oldformat.topo", 1, 24, 24},
        FabricFile{"real/sdr-1sw-8port.topo", 1, 2, 2},
        FabricFile{"ibdiagnet/ndr-9sw-a/ibdiagnet2.ibnetdiscover", 9, 263, 271},
        FabricFile{"ibdiagnet/ndr-9sw-a/ibdiagnet2.lst", 9, 263, 271},
        FabricFile{"ibdiagnet/ndr-9sw-a/ibdiagnet2.db_csv.gz", 9, 263, 271},
        FabricFile{"ibdiagnet/ndr-9sw-b/ibdiagnet2.ibnetdiscover", 9, 263, 271},
        FabricFile{"ibdiagnet/ndr-9sw-b/ibdiagnet2.lst", 9, 263, 271},
        FabricFile{"ibdiagnet/ndr-9sw-b/ibdiagnet2.db_csv.gz", 9, 263, 271},
        FabricFile{"routes/chassis-62sw.subnet.lst", 62, 3, 172},
        FabricFile{"routes/chassis-62sw.topo", 62, 3, 172},
        FabricFile{"routes/qdr-irregular-9sw.topo", 9, 125, 201},
        FabricFile{"ibdm/4-ary-2-tree.net", 8, 16, 32},
        FabricFile{"ibdm/4-ary-2-tree-missing-sw-link.net", 8, 14, 29},
        FabricFile{"ibdm/4-ary-2-tree-links-at-same-rank-1.net", 8, 16, 35},
        FabricFile{"ibdm/merge-roots-4-ary-2-tree.net", 6, 16, 32},
        FabricFile{"ibdm/half-4-ary-3-tree.net", 24, 32, 96},
        FabricFile{"ibdm/4-ary-3-tree.net", 48, 64, 192}, FabricFile{"ibdm/12-node-spaced.net", 8, 12, 28},
        FabricFile{"ibdm/32nodes-3lvl-is1.net", 20, 32, 96},
        FabricFile{"ibdm/32nodes-3lvl-is1-cbb2-2st.net", 20, 32, 80},
        FabricFile{"ibdm/IS1-16.net", 6, 16, 32}, FabricFile{"ibdm/RhinoDDR.net", 18, 144, 288},
        FabricFile{"ibdm/RhinoReindeer1100.net", 116, 1100, 1904},
        FabricFile{"ibdm/gnu-stallion-64.net", 40, 64, 192},
        FabricFile{"ibdm/partial-gnu-based-32.net", 20, 32, 94},
        FabricFile{"ibdm/demo-network-128.net", 17, 128, 256}, FabricFile{"ibdm/Buffalo8.net", 6, 14, 30},
        FabricFile{"ibdm/SingleGazelle.net", 68, 96, 288},
        FabricFile{"ibdm/credit-loops-20sw.net", 20, 16, 48}, FabricFile{"ibdm/square-4sw.net", 4, 4, 8},
        FabricFile{"synthetic/kary-4-n-3-80sw.topo", 80, 128, 384}, FabricFile{"netlist/ibsim-net", 2, 2, 4},
        FabricFile{"netlist/ibsim-net.1", 1, 2, 2}, FabricFile{"netlist/ibsim-net.2sw2path", 2, 2, 4},
        FabricFile{"netlist/ibsim-net.2sw2path4hca", 2, 4, 6},
        FabricFile{"netlist/ibsim-net.2sw2path4hca2port", 2, 2, 6},
        FabricFile{"netlist/qnib-clos3.net", 3, 8, 10},
        FabricFile{"netlist/qnib-clos3_multilink.net", 3, 8, 12},
        FabricFile{"netlist/qnib-clos7.net", 8, 16, 23},
        FabricFile{"netlist/qnibng-256nodes.net", 9, 256, 264},
        FabricFile{"netlist/handmade-1sw-2ca.net", 1, 2, 2}));

struct OtherFile {
    const char* path;
    const char* says;
};

void PrintTo(const OtherFile& file, std::ostream* out) {
    *out << file.path;
}

class OtherFiles : public testing::TestWithParam<OtherFile> {};

TEST_P(OtherFiles, AreRefusedForWhatTheyAre) {
    const auto path = shared_folder() / "fabrics" / GetParam().path;
    if (!std::filesystem::exists(path)) {
        GTEST_SKIP() << path << " is not here; set IBF_SHARED";
    }
    const auto netlist = load_netlist(path.string());
    ASSERT_FALSE(netlist);
    EXPECT_EQ(netlist.error().kind, base::ErrorKind::parse);
    EXPECT_TRUE(netlist.error().message.starts_with(path.string() + ":")) << netlist.error().message;
    EXPECT_NE(netlist.error().message.find(GetParam().says), std::string::npos) << netlist.error().message;
    EXPECT_NE(netlist.error().message.find("ibnetdiscover output"), std::string::npos)
        << netlist.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    Shared, OtherFiles,
    testing::Values(OtherFile{"reports/ibnetdiscover-p-1.out", "ibnetdiscover -p"},
                    OtherFile{"reports/ibnetdiscover-p-3.out", "ibnetdiscover -p"},
                    OtherFile{"real/qdr-ddr-11sw.names", "map of nodes"},
                    OtherFile{"real/qdr-ddr-11sw.spines", "list or map of nodes"},
                    OtherFile{"real/qdr-ddr-11sw.slurm-topology.conf", "Slurm"},
                    OtherFile{"routes/qdr-irregular-9sw.netloc-nodes.json", "JSON"},
                    OtherFile{"routes/qdr-irregular-9sw.netloc-log-paths.json.gz", "JSON"},
                    OtherFile{"routes/chassis-62sw.osm.fdbs", "forwarding tables"},
                    OtherFile{"routes/chassis-62sw.guid2lid", "guid2lid"},
                    OtherFile{"ibdm/4-ary-2-tree.topo", "ibdm .topo"},
                    OtherFile{"ibdm/square-4sw.topo", "ibdm .topo"},
                    OtherFile{"ibdm/demo-network-128.topo", "ibdm .topo"},
                    OtherFile{"ibdm/ibnl/IS5200.ibnl", "ibnl"},
                    OtherFile{"config/showfloor.ibfabricconf.xml", "XML"},
                    OtherFile{"config/lab-3.3.17.opensm.conf", "no topology found"},
                    OtherFile{"ibdiagnet/ndr-9sw-a/ibdiagnet2.net_dump", "net_dump"},
                    OtherFile{"ibdiagnet/ndr-9sw-a/ibdiagnet2.sm", "SM report"},
                    OtherFile{"ibdiagnet/ndr-9sw-a/ibdiagnet2.log", "no topology found"}));

/// A file in the test's own folder, removed at the end.
class ScratchFile {
public:
    explicit ScratchFile(const std::string& name)
        : path_((std::filesystem::path(testing::TempDir()) / name).string()) {}
    ~ScratchFile() { std::filesystem::remove(path_); }
    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

constexpr const char* kPair = "Hca 1 \"a\"\n[1] \"b\"[1]\n\nHca 1 \"b\"\n[1] \"a\"[1]\n";

TEST(NetlistLoad, ReadsPlainAndGzipAlike) {
    const ScratchFile plain("netlist_load_plain.net");
    std::ofstream(plain.path()) << kPair;
    const ScratchFile packed("netlist_load_packed.gz");
    const gzFile out = gzopen(packed.path().c_str(), "wb");
    gzputs(out, kPair);
    gzclose(out);
    for (const std::string& path : {plain.path(), packed.path()}) {
        const auto netlist = netlist_from_spec(path);
        ASSERT_TRUE(netlist) << netlist.error().message;
        EXPECT_EQ(netlist->link_count(), 1U);
        EXPECT_EQ(netlist->origin, path);
    }
}

TEST(NetlistLoad, SaysThatAGzipFileIsCutOff) {
    const ScratchFile whole("netlist_load_whole.gz");
    const gzFile out = gzopen(whole.path().c_str(), "wb");
    std::string text;
    for (int i = 0; i < 2000; ++i) {
        text += "# " + std::to_string(i * 7919) + "\n";
    }
    gzputs(out, (text + kPair).c_str());
    gzclose(out);
    ASSERT_TRUE(load_netlist(whole.path()));
    std::filesystem::resize_file(whole.path(), std::filesystem::file_size(whole.path()) / 2);
    const auto netlist = load_netlist(whole.path());
    ASSERT_FALSE(netlist);
    EXPECT_EQ(netlist.error().kind, base::ErrorKind::io);
    EXPECT_NE(netlist.error().message.find("cut off"), std::string::npos) << netlist.error().message;
}

TEST(NetlistLoad, BoundsWhatAGzipFileUnpacksTo) {
    // Gzip members may follow each other: 257 times one that unpacks to a MiB.
    const ScratchFile bomb("netlist_load_bomb.gz");
    const gzFile out = gzopen(bomb.path().c_str(), "wb");
    const std::string lines(std::size_t{1} << 20U, '\n');
    gzwrite(out, lines.data(), static_cast<unsigned>(lines.size()));
    gzclose(out);
    std::ifstream in(bomb.path(), std::ios::binary);
    const std::string member{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    std::ofstream rest(bomb.path(), std::ios::binary | std::ios::app);
    for (int i = 1; i < 257; ++i) {
        rest << member;
    }
    rest.close();
    const auto netlist = load_netlist(bomb.path());
    ASSERT_FALSE(netlist);
    EXPECT_NE(netlist.error().message.find("256 MiB"), std::string::npos) << netlist.error().message;
}

TEST(NetlistLoad, MissingFileFolderAndMistypedFamily) {
    const auto missing = netlist_from_spec("./no-such-file.topo");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().kind, base::ErrorKind::io);
    EXPECT_FALSE(load_netlist(testing::TempDir()));
    const auto mistyped = netlist_from_spec("tours:4x4");
    ASSERT_FALSE(mistyped);
    EXPECT_EQ(mistyped.error().kind, base::ErrorKind::usage);
    EXPECT_NE(mistyped.error().message.find("did you mean torus?"), std::string::npos)
        << mistyped.error().message;
}

TEST(NetlistLoad, EmptyTextIsRefused) {
    for (const char* text : {"", "\n\n", "\xEF\xBB\xBF", "hello\n"}) {
        const auto netlist = parse_netlist(text, "x");
        ASSERT_FALSE(netlist);
        EXPECT_TRUE(netlist.error().message.starts_with("x:")) << netlist.error().message;
    }
}

}  // namespace
}  // namespace ibf::routing
