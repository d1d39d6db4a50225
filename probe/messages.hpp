// DOC: what goes between a command and an agent, as values and as JSON. Pure.
//
// A frame is its length (32 bits in network order, of what follows) and one JSON object of at most
// kFrameBytesMax octets, whose "type" is the name of the message in lower case. Both sides begin with Hello.
// Then the client asks and the agent answers: Describe with Description, Prepare with Prepared, Connect with
// Connected, Release with Released, Run with ProgressTold (at least once a second: that is its sign of life)
// and then Ended. Stop may come while a test runs; Ended answers it. Refused answers anything.
//
// Whoever decodes judges every value: ranges are those of spec.hpp, texts and lists are bounded, fields that
// are not known are left out of account, so that a newer peer may say more. Errors name the field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"
#include "probe/spec.hpp"

namespace ibf::probe {

using Json = nlohmann::json;

inline constexpr std::uint32_t kProtocolVersion = 1;
inline constexpr std::uint16_t kAgentPort = 18585;
inline constexpr std::size_t kFrameHeaderBytes = 4;
inline constexpr std::size_t kFrameBytesMax = 1024 * 1024;
inline constexpr std::size_t kTextMax = 255;       ///< of names and words
inline constexpr std::size_t kSentenceMax = 1024;  ///< of what went wrong, with its remedy
inline constexpr std::size_t kEntriesMax = 1024;   ///< of errors, counters, ports and GIDs

inline constexpr std::uint64_t kMessageBytesMax = std::uint64_t{1} << 30U;
inline constexpr std::uint32_t kQueuePairsMax = 64;
inline constexpr std::uint32_t kDepthMax = 1024;
inline constexpr base::Duration kDurationMax = std::chrono::hours{24};

/// The first thing that either side says. Which protocol it is comes first: the rest of a newer one may
/// differ.
struct Hello {
    std::uint32_t protocol = kProtocolVersion;
    std::string program;  ///< "0.1.0"
    std::string host;
};

struct Describe {};

struct GidEntry {
    std::uint8_t index = 0;
    std::string gid;   ///< as text
    std::string type;  ///< "IB", "RoCE v1", "RoCE v2"
};
struct PortDescription {
    std::string device;  ///< "mlx5_0"
    std::uint8_t port = 1;
    LinkLayer layer = LinkLayer::infiniband;
    std::string state;  ///< "active"
    mad::Lid lid{};
    std::uint8_t lmc = 0;
    std::uint32_t mtu_bytes = 0;
    std::uint64_t bits_per_second = 0;
    std::vector<GidEntry> gids;
    std::string problem;  ///< why it cannot be used; empty: it can
};
/// What an agent lets others ask of it. 0: no limit, except of seconds.
struct AgentLimits {
    std::uint32_t seconds = 60;
    std::uint64_t bits_per_second = 0;
    std::uint64_t message_bytes = 0;
    std::uint32_t queue_pairs = 0;
};
struct Description {
    AgentLimits limits{};
    std::vector<PortDescription> ports;
    std::string trouble;  ///< why there are none
};

struct Prepare {
    std::string run;  ///< named by the client, for people
    TestSpec spec{};
    Side side = Side::target;
    Way way{};
};
struct Prepared {
    EndpointAddress address{};
};
struct Connect {
    EndpointAddress peer{};
};
struct Connected {
    PathTaken path{};
};
struct Run {};
struct ProgressTold {
    Progress progress{};
};
struct Ended {
    Outcome outcome{};
};
struct Stop {};
struct Release {};
struct Released {};

/// Words of Refused::code.
namespace refusal {
inline constexpr const char* kBusy = "busy";        ///< another run holds the agent; the text says whose
inline constexpr const char* kLimit = "limit";      ///< above what the agent allows
inline constexpr const char* kVersion = "version";  ///< of the protocol
inline constexpr const char* kOrder = "order";      ///< not now: run before prepare and the like
inline constexpr const char* kUsage = "usage";      ///< these and the rest: kinds of base::Error
inline constexpr const char* kNotFound = "not-found";
inline constexpr const char* kUnavailable = "unavailable";
inline constexpr const char* kUnsupported = "unsupported";
inline constexpr const char* kRefused = "refused";
inline constexpr const char* kFailed = "failed";
}  // namespace refusal

struct Refused {
    std::string code;
    std::string text;
};
/// As an agent tells an error of its endpoint, and as its client makes one of it again.
[[nodiscard]] Refused refused_of(const base::Error& error);
[[nodiscard]] base::ErrorKind kind_of(const Refused& refused);

using Message = std::variant<Hello, Describe, Description, Prepare, Prepared, Connect, Connected, Run,
                             ProgressTold, Ended, Stop, Release, Released, Refused>;

/// "prepare"; for logs.
[[nodiscard]] std::string_view name_of(const Message& message);
/// With its header. Texts that are too long are cut, so that what is encoded can be decoded.
[[nodiscard]] std::string encode(const Message& message);
/// The length of what follows. REQUIRES: kFrameHeaderBytes. Errors: parse: longer than any frame, or empty.
[[nodiscard]] base::Result<std::size_t> decode_length(std::string_view header);
/// What follows the header. Errors: parse.
[[nodiscard]] base::Result<Message> decode(std::string_view body);

// ---- the parts, for reports and databases as well
// -----------------------------------------------------------------

[[nodiscard]] std::string_view to_string(Test test);        ///< "ping", "send", "write", "read", "ud"
[[nodiscard]] std::string_view to_string(Side side);        ///< "initiator", "target"
[[nodiscard]] std::string_view to_string(LinkLayer layer);  ///< "InfiniBand", "Ethernet"

[[nodiscard]] Json json_of(const TestSpec& spec);
[[nodiscard]] Json json_of(const Way& way);
[[nodiscard]] Json json_of(const EndpointAddress& address);
[[nodiscard]] Json json_of(const PathTaken& path);
[[nodiscard]] Json json_of(const Histogram& histogram);
[[nodiscard]] Json json_of(const Progress& progress);
[[nodiscard]] Json json_of(const Outcome& outcome);
[[nodiscard]] Json json_of(const PortDescription& port);

/// Errors of all of these: parse.
[[nodiscard]] base::Result<TestSpec> spec_from(const Json& json);
[[nodiscard]] base::Result<Way> way_from(const Json& json);
[[nodiscard]] base::Result<EndpointAddress> address_from(const Json& json);
[[nodiscard]] base::Result<PathTaken> path_from(const Json& json);
[[nodiscard]] base::Result<Histogram> histogram_from(const Json& json);
[[nodiscard]] base::Result<Outcome> outcome_from(const Json& json);

}  // namespace ibf::probe
