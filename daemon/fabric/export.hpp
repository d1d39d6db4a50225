// DOC: what a fabric looks like in other programs' files.
//
// Pure writers: snapshot in, text out. Formats are those of infiniband-diags (ibnetdiscover), ibsim, and
// OpenSM 3.3.23's dump files (-D 0x43) as its `file` routing engine and ibutils' ibdmchk read them, kept to
// the byte, oddities included. Tables are produced switch by switch (a 10,000-node fabric's opensm.fdbs is
// 100 MB).
//
// Tables come from the LFTs in force; LIDs in the topology texts are what the ports said.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "daemon/fabric/snapshot.hpp"
#include "routing/netlist.hpp"

namespace ibf::fabric {

/// Appends the next piece to the string; false: there was none, the text is complete.
using TextStream = std::function<bool(std::string&)>;

/// The fabric as text formats describe it: nodes, cables, widths, speeds, LIDs.
[[nodiscard]] routing::Netlist netlist_of(const Fabric& fabric);

/// As ibnetdiscover prints it, with its header. Requires snapshot.fabric, like the next three.
[[nodiscard]] std::string ibnetdiscover_text(const Snapshot& snapshot);
[[nodiscard]] std::string ibsim_text(const Snapshot& snapshot);
/// OpenSM's guid2lid: one "0xguid 0xlow 0xhigh" line per LID holder, by GUID.
[[nodiscard]] std::string guid2lid_text(const Snapshot& snapshot);
/// opensm-subnet.lst: one line per linked port.
[[nodiscard]] std::string subnet_lst_text(const Snapshot& snapshot);

/// The files of a dump folder, in the order they are written.
[[nodiscard]] std::vector<std::string_view> opensm_dump_files();
/// One of them. The stream keeps the snapshot alive. Errors: not_found for another name, unavailable before
/// there are tables.
[[nodiscard]] base::Result<TextStream> opensm_dump(std::shared_ptr<const Snapshot> snapshot,
                                                   std::string_view file);

/// A text that is already whole, as a stream.
[[nodiscard]] TextStream stream_of(std::string text);

}  // namespace ibf::fabric
