// DOC: the readers of topology texts, one per dialect.
//
// Each takes the whole text and gives a Netlist or the first error as "origin:line: reason". recognise() says
// which one a text is for, by the first line that only one of them can have; a text that is for none of them
// is named for what it is, as far as that can be told.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "routing/netlist.hpp"

namespace ibf::routing {

enum class Dialect : std::uint8_t {
    netlist,     ///< Switch/Ca/Hca/Rt blocks: ibnetdiscover, ibsim, ibdiagnet's *.ibnetdiscover
    subnet_lst,  ///< "{ SW Ports:.. NodeGUID:.. } { .. } PHY=.." lines: OpenSM subnet.lst, ibdiagnet2.lst
    db_csv,      ///< START_NODES .. END_NODES sections: ibdiagnet2.db_csv
};

/// Errors: parse, naming the line that told what the text is instead and the formats that are read.
[[nodiscard]] base::Result<Dialect> recognise(std::string_view text, const std::string& origin);

[[nodiscard]] base::Result<Netlist> read_netlist_text(std::string_view text, const std::string& origin);
[[nodiscard]] base::Result<Netlist> read_subnet_lst(std::string_view text, const std::string& origin);
[[nodiscard]] base::Result<Netlist> read_db_csv(std::string_view text, const std::string& origin);

/// "S-0002c90300a1b2c3": how ibnetdiscover names a node; H- for adapters, R- for routers.
[[nodiscard]] std::string canonical_id(mad::NodeType type, mad::Guid guid);

}  // namespace ibf::routing
