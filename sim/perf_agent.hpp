// DOC: the performance management agent: PortCounters and PortCountersExtended of a port (IBA 16.1).
//
// Traffic counters are those of the packets that the simulator moved. A Set writes the counters whose select
// bit is on; agents take it as a clear. PortSelect 0xFF means all ports, which add up.
#pragma once

#include "mad/smp.hpp"
#include "sim/world.hpp"

namespace ibf::sim {

/// The answer of the device that `at` is on to a performance MAD; any bytes are answered.
[[nodiscard]] mad::MadBuffer serve_performance(World& world, PortRef at, const mad::MadBuffer& request,
                                               const mad::MadHeader& header);

/// The answer of a device whose counters are read elsewhere.
[[nodiscard]] mad::MadBuffer redirect_performance(const Device::PerfElsewhere& elsewhere,
                                                  const mad::MadBuffer& request);

}  // namespace ibf::sim
