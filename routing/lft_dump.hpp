// DOC: forwarding tables from a text, as OpenSM dumps them (opensm-lfts.dump) and as dump_fts prints them.
//
//     Unicast lids [0-9] of switch Lid 5 guid 0x0002c90000000001 ('spine-1'):
//     0x0001 003 # Channel Adapter portguid 0x0002c90000000010: 'host-1'
//
// An entry names its LID, the exit port and the port GUID that the LID was of, so that tables survive other
// LIDs. Lines of other kinds are passed over, as OpenSM does. `ibfabric export --format opensm-dumps` writes
// such a file. Not here: what the tables are worth (file_tables.hpp and the proof).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "mad/ids.hpp"

namespace ibf::routing {

struct LftDump {
    struct Entry {
        std::uint32_t owner = 0;  ///< into owners
        std::uint16_t lid = 0;
        std::uint8_t port = 0;
    };
    struct Table {
        mad::Guid switch_guid{};
        std::vector<Entry> entries;  ///< in the order of the text
    };
    std::vector<Table> tables;      ///< in the order of the text
    std::vector<mad::Guid> owners;  ///< port GUIDs; [0] is 0: not said
};

/// Errors: parse, with the line, for an entry that cannot be read, a switch named twice, or no table at all.
[[nodiscard]] base::Result<LftDump> parse_lft_dump(std::string_view text);

}  // namespace ibf::routing
