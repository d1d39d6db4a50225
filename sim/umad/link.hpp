// DOC: the stand-in's side of the protocol: connections to ibfabric-sim.
//
// Where the simulation is comes from the environment: IBFABRIC_SIM, its socket, and IBFABRIC_NODE, the node
// that this program runs on ("NODE" or "NODE/PORT"). Questions of all threads share one connection; opened
// ports and the issm device have each their own. Functions return 0 or a negative errno, as libibumad does.
#pragma once

#include <cxxabi.h>

#include <cstdint>

#include "sim/process/protocol.hpp"

namespace ibf::sim::shim {

inline constexpr const char* kDevice = "sim0";

/// Whether IBFABRIC_SIM is set.
[[nodiscard]] bool in_simulation();
/// A request for `port` (0: any) of this program's node.
[[nodiscard]] PlaceRequest place(std::uint8_t port);

[[nodiscard]] int ask_node(NodeAnswer& out);
[[nodiscard]] int ask_port(std::uint8_t port, PortAnswer& out);
/// add_agent, remove_agent. `out`: the agent's number.
[[nodiscard]] int ask_agent(FrameKind kind, const AgentFrame& request, std::uint32_t& out);
/// A connection of its own that has begun with `kind` (open_port, take_issm): its descriptor, or a negative
/// errno. `out`: the port's handle.
[[nodiscard]] int begin(FrameKind kind, std::uint8_t port, std::uint32_t& out);

/// Sends a frame whole.
[[nodiscard]] int send_frame(int socket, FrameKind kind, const void* payload, std::size_t size,
                             const void* rest, std::size_t rest_size);

/// Runs a function of the C interface: nothing thrown leaves it but pthread_cancel()'s unwinding, by which
/// OpenSM and its like end their receiving thread.
template <class Result, class Function>
Result guarded(Result failure, Function&& function) {
    try {
        return function();
    } catch (abi::__forced_unwind&) {
        throw;
    } catch (...) {
        return failure;
    }
}

}  // namespace ibf::sim::shim

/// The functions that replace libibumad's, and libc's for the device's files.
#define IBF_EXPORT extern "C" __attribute__((visibility("default")))
