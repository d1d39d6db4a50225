// DOC: what ibfabric-sim and the programs that join it say to each other.
//
// A unix stream socket carries frames: an 8-byte FrameHeader, then `bytes` of payload, which is one of the
// structs below in the machine's own byte order (both ends run on it). A connection is of one kind for life:
//
//   asking    ask_node, ask_port, add_agent, remove_agent: each is answered by one frame, in order
//   port      begins with open_port, answered by `done` (value: the port's handle). From then on only `mad`
//             frames travel, both ways and unanswered, so that the descriptor is readable exactly while a MAD
//             waits. Agents are added to it by its handle over an asking connection. When it ends, its
//             agents end.
//   qp        begins with open_qp, answered by `done`; then as a port, but for a queue pair of its own and
//             without agents: MADs go out and come in as they are. It stands for what programs make by verbs
//   issm      begins with take_issm, answered by `done`; the port has IsSM as long as the connection lives
//
// A request that cannot be met is answered by `refused`. A connection whose first byte is ASCII speaks the
// text commands of commands.hpp instead. Bytes that are neither end the connection.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace ibf::sim {

inline constexpr std::uint8_t kFrameMagic = 0xFB;
inline constexpr std::uint8_t kProtocolVersion = 1;
inline constexpr std::size_t kFrameBytesMax = std::size_t{32} << 20U;  ///< the longest RMPP message, and more
inline constexpr std::size_t kAgentsMax = 32;                          ///< of an open port, as ib_umad
inline constexpr std::size_t kPKeysMax = 256;

enum class FrameKind : std::uint16_t {
    ask_node = 1,      ///< PlaceRequest -> NodeAnswer
    ask_port = 2,      ///< PlaceRequest -> PortAnswer
    open_port = 3,     ///< PlaceRequest -> Done: the handle
    take_issm = 4,     ///< PlaceRequest -> Done, or Refused with EAGAIN where another holds it
    add_agent = 5,     ///< AgentFrame -> Done: the agent's number in its port
    remove_agent = 6,  ///< AgentFrame -> Done
    open_qp = 7,       ///< QpRequest -> Done
    mad = 16,          ///< MadFrame, then the MAD, filled up to 256 bytes
    done = 32,
    refused = 33,
    node_answer = 34,
    port_answer = 35,
};

struct FrameHeader {
    std::uint8_t magic = kFrameMagic;
    std::uint8_t version = kProtocolVersion;
    FrameKind kind{};
    std::uint32_t bytes = 0;  ///< of payload
};

/// A node by description, id or GUID, with "/PORT" or without; empty: the first adapter with a cable.
struct PlaceRequest {
    std::array<char, 248> node{};
    std::uint8_t port = 0;  ///< 0: the one that `node` names, else the first cabled one
    std::array<std::uint8_t, 7> reserved{};
};

struct QpRequest {
    PlaceRequest place;
    std::uint32_t qp = 0;
    std::uint32_t reserved = 0;
};

struct NodeAnswer {
    std::uint64_t node_guid = 0;
    std::uint64_t system_guid = 0;
    std::uint32_t vendor_id = 0;
    std::uint32_t revision = 0;
    std::uint16_t device_id = 0;
    std::uint8_t type = 0;  ///< NodeInfo's: 1 adapter, 2 switch, 3 router
    std::uint8_t num_ports = 0;
    std::uint8_t port = 0;  ///< the one that PlaceRequest means
    std::array<std::uint8_t, 3> reserved{};
};

struct PortAnswer {
    std::uint64_t port_guid = 0;
    std::uint64_t gid_prefix = 0;
    std::uint32_t capability_mask = 0;
    std::uint32_t rate_gbps = 0;
    std::uint16_t lid = 0;
    std::uint16_t sm_lid = 0;
    std::uint16_t pkey_count = 0;
    std::uint8_t port = 0;
    std::uint8_t lmc = 0;
    std::uint8_t sm_sl = 0;
    std::uint8_t state = 0;
    std::uint8_t phys_state = 0;
    std::uint8_t reserved = 0;
    std::array<std::uint16_t, kPKeysMax> pkeys{};
    std::uint32_t reserved2 = 0;
};

struct AgentFrame {
    std::uint32_t handle = 0;
    std::uint32_t agent = 0;  ///< remove_agent
    std::uint32_t oui = 0;
    std::uint8_t mgmt_class = 0;
    std::uint8_t class_version = 0;
    std::uint8_t rmpp_version = 0;
    std::uint8_t user_rmpp = 0;
    std::array<std::uint64_t, 2> methods{};
};

struct Done {
    std::uint32_t value = 0;
};

struct Refused {
    std::int32_t error = 0;  ///< an errno
    std::array<char, 252> text{};
};

/// In front of a MAD. Numbers in the machine's order, the GID in the network's.
struct MadFrame {
    std::uint32_t agent = 0;
    std::uint32_t status = 0;  ///< up: 0 or ETIMEDOUT
    std::uint32_t timeout_ms = 0;
    std::uint32_t retries = 0;
    std::uint32_t qpn = 0;
    std::uint32_t qkey = 0;
    std::uint32_t flow_label = 0;
    std::uint16_t lid = 0;
    std::uint16_t pkey_index = 0;
    std::uint8_t sl = 0;
    std::uint8_t path_bits = 0;
    std::uint8_t grh_present = 0;
    std::uint8_t gid_index = 0;
    std::uint8_t hop_limit = 0;
    std::uint8_t traffic_class = 0;
    std::array<std::uint8_t, 2> reserved{};
    std::array<std::uint8_t, 16> gid{};
    std::uint32_t length = 0;  ///< of the MAD; may be less than the frame carries
    std::uint32_t reserved2 = 0;
};

inline constexpr std::size_t kMadFrameLeast = 256;  ///< a reader takes a frame up to here in one go

static_assert(sizeof(FrameHeader) == 8 && sizeof(PlaceRequest) == 256 && sizeof(NodeAnswer) == 32 &&
              sizeof(AgentFrame) == 32 && sizeof(Refused) == 256 && sizeof(MadFrame) == 64);

/// A payload as its struct; what is missing at the end stays zero.
template <class T>
[[nodiscard]] T read_payload(const std::uint8_t* bytes, std::size_t size) {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    std::memcpy(&value, bytes, size < sizeof value ? size : sizeof value);
    return value;
}

}  // namespace ibf::sim
