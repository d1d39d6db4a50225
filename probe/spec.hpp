// DOC: what a test between two end ports is, and what comes out of it.
//
// A test has two sides. The initiator sends, writes, reads or pings; the target answers or merely holds the
// memory. Each side is an Endpoint: prepare() makes queue pairs and says where they are, connect() takes them
// to where the other side's are, run() moves the bytes, release() gives everything back. Whoever holds both
// sides (a command, by TCP to an agent; `ibfabric probe run`, by TCP to two) carries the addresses across.
//
// Plain values; no verbs here, no sockets. JSON forms are in messages.hpp.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "mad/ids.hpp"
#include "probe/histogram.hpp"

namespace ibf::probe {

enum class Test : std::uint8_t {
    ping,   ///< RC send and receive, one at a time, there and back: latency
    send,   ///< RC send, many in flight: bandwidth
    write,  ///< RDMA write, many in flight
    read,   ///< RDMA read, many in flight
    ud,     ///< UD send, there and back: reach, without a connection
};

enum class LinkLayer : std::uint8_t { infiniband, ethernet };

/// 16 octets in network order.
using GidOctets = std::array<std::uint8_t, 16>;

struct TestSpec {
    Test test = Test::ping;
    std::uint64_t message_bytes = 64;   ///< 1 to 1 GiB; of ud at most the path's MTU
    std::uint64_t messages = 1000;      ///< of each queue pair; 0: until `duration` is over
    base::Duration duration{};          ///< 0: until `messages` are through
    std::uint32_t queue_pairs = 1;      ///< 1 to 64
    std::uint32_t depth = 64;           ///< messages in flight on each, 1 to 1024; ping and ud have one
    std::uint64_t bits_per_second = 0;  ///< the initiator sends no faster; 0: no limit
    std::uint64_t seed = 1;             ///< of the payload
    std::uint32_t mtu_bytes = 0;        ///< 256 to 4096; 0: the smaller one of the two ports'
    std::uint8_t ack_timeout = 14;      ///< 4.096 us * 2^n, 0 to 31 (IBA 9.7.6.1.3); 0: for ever
    std::uint8_t retries = 7;           ///< 0 to 7
    std::uint8_t rnr_retries = 7;       ///< 0 to 7; 7: for ever
    std::uint8_t rnr_timer = 12;        ///< IBA table 45: 12 is 0.64 ms
    bool use_cm = false;                ///< connected by librdmacm
    bool check_payload = true;  ///< what arrives is compared with what was sent: which, layout.hpp says
    bool huge_pages = true;     ///< where there are some
};

/// Where on a host, and by which way. Empty or zero: chosen. Without an SL, a side on InfiniBand asks the
/// subnet administration for the path to the other one (path.hpp).
struct Way {
    std::string device{};   ///< "mlx5_0"; empty: the first with an active port
    std::uint8_t port = 0;  ///< 0: the first active one
    std::optional<std::uint8_t> gid_index{};
    std::uint16_t pkey_index = 0;
    std::optional<mad::Lid> dlid{};  ///< instead of the peer's own; with an LMC, one of several
    /// The service level (on RoCE: the upper bits of the traffic class' priority, 0 without).
    std::optional<mad::Sl> sl{};
    std::uint8_t path_bits = 0;      ///< which of our own LIDs is the source
    std::uint8_t traffic_class = 0;  ///< with a GRH
};

enum class Side : std::uint8_t { initiator, target };

struct QueuePairAddress {
    std::uint32_t number = 0;
    std::uint32_t packet_sequence = 0;  ///< PSN that its first packet will carry
};

/// What the other side has to know.
struct EndpointAddress {
    LinkLayer layer = LinkLayer::infiniband;
    mad::Lid lid{};
    GidOctets gid{};
    std::uint32_t mtu_bytes = 0;  ///< active MTU of the port
    std::vector<QueuePairAddress> queue_pairs{};
    std::uint64_t memory = 0;  ///< address of the region that write and read use
    std::uint64_t memory_bytes = 0;
    std::uint32_t memory_key = 0;  ///< rkey
    std::uint32_t q_key = 0;       ///< of ud
    std::uint8_t reads_in = 0;     ///< RDMA reads that a queue pair answers at once; 0: it does not tell
    std::string cm_host{};         ///< with use_cm: where the target listens
    std::uint16_t cm_port = 0;
    std::string device{};  ///< for people: "mlx5_0/1"
};

/// What a side sends by.
struct PathTaken {
    /// None: the link layer has none, librdmacm asked for it, or an agent of an older version does not tell.
    std::optional<mad::Sl> sl{};
    std::uint32_t mtu_bytes = 0;        ///< of the connection; 0: not told
    std::uint64_t bits_per_second = 0;  ///< of the path, as its record says; 0: there is no record
    bool is_recorded = false;           ///< SL, MTU and rate are the subnet administration's
    std::string trouble{};  ///< SL 0 for want of a record: why there is none, and what to do about it
};

/// Key of Outcome::errors: messages that nobody waited for any more.
inline constexpr const char* kInFlightWhenStopped = "in flight when stopped";

/// How a side ended.
struct Outcome {
    std::uint64_t messages = 0;  ///< completed; of ping and ud: there and back
    std::uint64_t bytes = 0;     ///< of payload, completed; one way
    std::uint64_t lost = 0;      ///< of ud: not answered in time
    std::uint64_t checked = 0;   ///< messages whose payload was compared
    std::uint64_t corrupt = 0;   ///< of these, not as sent
    base::Duration elapsed{};    ///< from the first post to the last completion, or as long as a rate takes
    Histogram latency{};         ///< of ping and ud: half of there and back
    bool was_stopped = false;    ///< before its end, by whoever ran it
    bool used_huge_pages = false;
    /// Why it did not go on: one word of Failure, and a sentence with the peer's name in it. Empty: it did.
    std::string failure{};
    std::string failure_text{};
    /// Completions by status, as verbs words ("transport retry counter exceeded").
    std::map<std::string, std::uint64_t> errors{};
    std::map<std::string, std::uint64_t> counters{};  ///< of the port, risen meanwhile (port_counters.hpp)
    /// Sentences: which counter's rise is not to be trusted (wrapped, stuck at its maximum, cleared
    /// meanwhile).
    std::vector<std::string> doubts{};
};

/// Words of Outcome::failure.
namespace failure {
inline constexpr const char* kRetryExceeded = "retry-exceeded";
inline constexpr const char* kRnrRetryExceeded = "rnr-retry-exceeded";
inline constexpr const char* kCorrupt = "corrupt";
inline constexpr const char* kPeerGone = "peer-gone";  ///< the control connection to it broke
inline constexpr const char* kRefused = "refused";     ///< a limit, or a busy agent
inline constexpr const char* kUnreachable =
    "unreachable";                                  ///< no control connection, or no address that works
inline constexpr const char* kTimeout = "timeout";  ///< nothing completed in time
inline constexpr const char* kOther = "other";
}  // namespace failure

struct Progress {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    base::Duration elapsed{};
};

/// One side of one test. Calls in the order prepare, connect, run, release; each blocks. Not for two threads.
class Endpoint {
public:
    Endpoint() = default;
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;
    virtual ~Endpoint() = default;

    /// For messages: "host-17", "this host".
    [[nodiscard]] virtual std::string name() const = 0;
    /// Errors: unavailable (no device, no active port), usage (a value that the device cannot do), refused
    /// (memory lock limit, with what to set; an agent's limits), not_found (a GID index that is empty).
    [[nodiscard]] virtual base::Result<EndpointAddress> prepare(const TestSpec& spec, Side side,
                                                                const Way& way) = 0;
    /// Errors: unavailable (the peer cannot be addressed, or `stop` was requested), usage (the two do not
    /// fit: link layers, MTU).
    [[nodiscard]] virtual base::Result<PathTaken> connect(const EndpointAddress& peer,
                                                          std::stop_token stop) = 0;
    /// The initiator comes back when it is done; the target when `stop` is requested, which the holder does
    /// once the initiator is done. An error is of the machinery; what went wrong on the wire is in Outcome.
    [[nodiscard]] virtual base::Result<Outcome> run(const std::function<void(const Progress&)>& progress,
                                                    std::stop_token stop) = 0;
    virtual void release() = 0;
};

/// Both sides through one test: the target runs in a thread of its own. Outcome of either side, or the error
/// of what could not be set up. Everything is released in the end.
struct PairOutcome {
    Outcome initiator;
    Outcome target;
    PathTaken there{};  ///< the initiator's
    PathTaken back{};   ///< the target's
};
[[nodiscard]] base::Result<PairOutcome> run_pair(Endpoint& initiator, Endpoint& target, const TestSpec& spec,
                                                 const Way& from, const Way& to,
                                                 const std::function<void(const Progress&)>& progress,
                                                 std::stop_token stop);

}  // namespace ibf::probe
