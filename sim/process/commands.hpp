// DOC: the text commands of a running ibfabric-sim.
//
// A command is a line, the answer any number of lines and then "ok", or a line "error: what is wrong". A
// line that is no command below is a fault as in a fault script (simulator.hpp), which strikes at once, or
// after "at TIME" from now.
//
//   truth [tables|lanes]  the fabric as it is, as JSON (truth.hpp); with the forwarding tables, or SL2VL and
//                    VL arbitration
//   counters         what the simulator and the ports counted
//   clients          the ports that programs have opened
//   events NODE      what the driver of an adapter's port told its host, how often each (PortEvents)
//   help, quit
#pragma once

#include <string>
#include <vector>

#include "base/time.hpp"
#include "sim/port_layer.hpp"
#include "sim/simulator.hpp"

namespace ibf::sim {

/// What the server adds to the simulator's own figures.
struct ServerReport {
    struct Port {
        std::string node;
        mad::PortNum port{};
        std::size_t connections = 0;
        std::size_t agents = 0;
        bool is_sm = false;
        PortLayerCounters counters;
    };
    std::vector<Port> ports;
    std::size_t connections = 0;
    std::uint64_t dropped = 0;  ///< MADs for programs that did not read
};

struct CommandAnswer {
    std::string text;  ///< lines, the last one "ok" or "error: ..."
    bool quit = false;
};

[[nodiscard]] CommandAnswer run_command(const std::string& line, Simulator& simulator,
                                        const ServerReport& report, base::Instant now);

}  // namespace ibf::sim
