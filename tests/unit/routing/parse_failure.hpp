// DOC: for the tests of the topology readers: what a text is refused with.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "routing/netlist.hpp"

namespace ibf::routing {

inline std::string parse_failure(const std::string& text) {
    const auto netlist = parse_netlist(text, "t");
    EXPECT_FALSE(netlist);
    return netlist ? "" : netlist.error().message;
}

}  // namespace ibf::routing
