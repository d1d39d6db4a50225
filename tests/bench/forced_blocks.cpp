// DOC: judges what a lost link or switch made an SM write.
//
// forced_blocks FABRIC BEFORE AFTER: the fabric as it is now (its LIDs in the text), and the forwarding
// tables of its switches before and after, as OpenSM dumps them. Prints how many blocks anybody had to write
// (tests/unit/routing/forced_blocks.hpp), and how many hold another entry.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>

#include <fmt/format.h>

#include "routing/lft_dump.hpp"
#include "tests/unit/routing/forced_blocks.hpp"

namespace {

using namespace ibf::routing;

ibf::base::Result<Routes> tables_of(const char* path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    auto dump = parse_lft_dump(text.str());
    if (!dump) {
        return tl::unexpected(dump.error());
    }
    std::sort(dump->tables.begin(), dump->tables.end(),
              [](const auto& a, const auto& b) { return a.switch_guid < b.switch_guid; });
    std::size_t size = 0;
    for (const LftDump::Table& table : dump->tables) {
        for (const LftDump::Entry& entry : table.entries) {
            size = std::max<std::size_t>(size, entry.lid / ibf::mad::kLftBlockEntries + 1U);
        }
    }
    Routes routes;
    for (const LftDump::Table& table : dump->tables) {
        LftRow row(size * ibf::mad::kLftBlockEntries, ibf::mad::kLftDrop);
        for (const LftDump::Entry& entry : table.entries) {
            row[entry.lid] = entry.port;
        }
        routes.switch_guids.push_back(table.switch_guid);
        routes.rows.push_back(std::make_shared<const LftRow>(std::move(row)));
    }
    return routes;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::cerr << "usage: forced_blocks FABRIC BEFORE AFTER\n";
        return 2;
    }
    const auto netlist = load_netlist(argv[1]);
    const auto cut = netlist ? topology_of(*netlist, 0) : tl::unexpected(netlist.error());
    const auto before = tables_of(argv[2]);
    const auto after = tables_of(argv[3]);
    if (!cut || !before || !after) {
        std::cerr << (!cut ? cut.error() : !before ? before.error() : after.error()).message << "\n";
        return 1;
    }
    const test::BlockCount count = test::ForcedBlocks(*before, *cut, in_order_of(*cut, *after)).count();
    fmt::print(R"({{"forced":{},"moved":{},"idle":{},"dropped":{},"switches":{}}})"
               "\n",
               count.forced, count.moved, count.idle, count.dropped, count.switches);
    return 0;
}
