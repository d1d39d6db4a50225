// DOC: what goes over a connection between two ibfabricds, as values and as octets. Pure.
//
// A frame is its length (32 bits, of what follows), its type (8 bits) and its fields, in network order. Both
// sides begin with Hello. Then one gives and one takes: the giver says whether it is master (Standing); the
// taker asks (Want) and gets all that there is and then every change, each as Begin, Pieces, Commit: the
// pieces of a record follow each other, tables as octets. Told goes between any two frames: what clients were
// told, and, once a second, that there is nothing new. A taker's sign of life is Beat.
//
// A gap in the numbers of the commits, or a new connection, means all over again: there is no catching up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.hpp"
#include "daemon/core/config_digest.hpp"
#include "daemon/core/standby_copy.hpp"
#include "mad/ids.hpp"

namespace ibf::shell {

inline constexpr std::uint16_t kReplicaVersion = 2;  ///< 2: tables with their SLs
inline constexpr std::size_t kFrameHeaderBytes = 5;
inline constexpr std::size_t kPieceBytesMax = 64 * 1024;
inline constexpr std::size_t kFrameBytesMax = kPieceBytesMax + 64;
inline constexpr std::size_t kSmallFrameBytesMax = 8 * 1024;  ///< of every frame but Piece
inline constexpr std::size_t kPeerNameMax = 255;

struct Hello {
    std::uint16_t version = kReplicaVersion;
    mad::Guid guid{};  ///< of the SM's port
    std::string name;
    core::ConfigDigests digests;
};
struct Standing {
    bool is_master = false;
};
/// And of history what is newer than that.
struct Want {
    std::uint64_t after_event = 0;
    std::uint64_t after_sweep = 0;
};
/// With the newest history that there is.
struct Begin {
    bool whole = false;
    std::uint64_t last_event = 0;
    std::uint64_t last_sweep = 0;
};
struct Piece {
    bool last = false;  ///< of its record
    std::string octets;
};
/// A batch is complete. Numbers count from 1.
struct Commit {
    std::uint64_t number = 0;
};
struct Told {
    std::uint64_t edition = 0;
    core::ToldTo to = core::ToldTo::nobody;
    mad::Guid client{};
};
struct Beat {};
/// Why the connection ends.
struct Bye {
    std::string why;
};

using Frame = std::variant<Hello, Standing, Want, Begin, Piece, Commit, Told, Beat, Bye>;

/// With its header.
[[nodiscard]] std::string encode(const Frame& frame);

struct FrameHeader {
    std::uint32_t length = 0;  ///< of the fields
    std::uint8_t type = 0;
};
/// REQUIRES: kFrameHeaderBytes. Errors: parse: a length or type that no frame has.
[[nodiscard]] base::Result<FrameHeader> decode_header(std::string_view octets);
/// Errors: parse.
[[nodiscard]] base::Result<Frame> decode(FrameHeader header, std::string_view fields);

}  // namespace ibf::shell
