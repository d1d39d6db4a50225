// DOC: one side of a test, on a real RDMA device.
//
// An Endpoint (spec.hpp) over libibverbs: RC queue pairs from RESET to RTS by what the other side told, or by
// librdmacm, or UD with address handles. run() of either side ends within 100 ms of a request to stop, and of
// a peer that has gone after a time that follows from the acknowledge timeout and the retries.
//
// Where the flags leave it open, connect() asks for the path (probe/path.hpp).
//
// What lies where in memory, and which message carries what, both sides compute from the TestSpec
// (probe/layout.hpp). No header of verbs is needed to include this.
#pragma once

#include <memory>
#include <string>

#include "probe/path.hpp"
#include "probe/spec.hpp"

namespace ibf::probe {

/// `name` is for messages: "host-17", "this host". `ask` is asked for the path where the flags leave it open.
[[nodiscard]] std::unique_ptr<Endpoint> make_verbs_endpoint(std::string name, AskPath ask);

}  // namespace ibf::probe
