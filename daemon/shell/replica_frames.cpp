#include "daemon/shell/replica_frames.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/packing.hpp"

namespace ibf::shell {
namespace {

using base::Packer;
using base::Unpacker;

constexpr std::uint64_t kMagic = 0x6962666162636f70;  // "ibfabcop"
constexpr std::size_t kDigestsMost = 64;
constexpr std::size_t kTopicMax = 64;
constexpr std::size_t kReasonMax = 1024;

struct Fields {
    Packer& out;

    void operator()(const Hello& hello) const {
        out.number(kMagic);
        out.number(hello.version);
        out.number(hello.guid.value());
        out.text(std::string_view(hello.name).substr(0, kPeerNameMax));
        out.number(static_cast<std::uint32_t>(hello.digests.size()));
        for (const core::ConfigDigest& digest : hello.digests) {
            out.text(digest.topic);
            out.number(digest.value);
        }
    }
    void operator()(const Standing& standing) const {
        out.number(static_cast<std::uint8_t>(standing.is_master ? 1 : 0));
    }
    void operator()(const Want& want) const {
        out.number(want.after_event);
        out.number(want.after_sweep);
    }
    void operator()(const Begin& begin) const {
        out.number(static_cast<std::uint8_t>(begin.whole ? 1 : 0));
        out.number(begin.last_event);
        out.number(begin.last_sweep);
    }
    void operator()(const Piece& piece) const {
        out.number(static_cast<std::uint8_t>(piece.last ? 1 : 0));
        out.raw(piece.octets);
    }
    void operator()(const Commit& commit) const { out.number(commit.number); }
    void operator()(const Told& told) const {
        out.number(told.edition);
        out.number(static_cast<std::uint8_t>(told.to));
        out.number(told.client.value());
    }
    void operator()(const Beat&) const {}
    void operator()(const Bye& bye) const { out.text(std::string_view(bye.why).substr(0, kReasonMax)); }
};

bool flag(Unpacker& in) {
    const auto value = in.number<std::uint8_t>();
    if (value > 1) {
        in.spoil();
    }
    return value == 1;
}

Hello read_hello(Unpacker& in) {
    Hello hello;
    if (in.number<std::uint64_t>() != kMagic) {
        in.spoil();
    }
    hello.version = in.number<std::uint16_t>();
    hello.guid = mad::Guid{in.number<std::uint64_t>()};
    hello.name = in.text(kPeerNameMax);
    const auto count = in.number<std::uint32_t>();
    for (std::uint32_t i = 0; i < count && in.good(); ++i) {
        if (i == kDigestsMost) {
            in.spoil();
            break;
        }
        std::string topic(in.text(kTopicMax));
        hello.digests.push_back({std::move(topic), in.number<std::uint64_t>()});
    }
    return hello;
}

template <std::size_t Index>
Frame read_as(Unpacker& in) {
    using Type = std::variant_alternative_t<Index, Frame>;
    if constexpr (std::is_same_v<Type, Hello>) {
        return read_hello(in);
    } else if constexpr (std::is_same_v<Type, Standing>) {
        return Standing{flag(in)};
    } else if constexpr (std::is_same_v<Type, Want>) {
        const auto after_event = in.number<std::uint64_t>();
        return Want{after_event, in.number<std::uint64_t>()};
    } else if constexpr (std::is_same_v<Type, Begin>) {
        const bool whole = flag(in);
        const auto last_event = in.number<std::uint64_t>();
        return Begin{whole, last_event, in.number<std::uint64_t>()};
    } else if constexpr (std::is_same_v<Type, Piece>) {
        const bool last = flag(in);
        return Piece{last, std::string(in.raw(in.left()))};
    } else if constexpr (std::is_same_v<Type, Commit>) {
        return Commit{in.number<std::uint64_t>()};
    } else if constexpr (std::is_same_v<Type, Told>) {
        const auto edition = in.number<std::uint64_t>();
        const auto to = in.number<std::uint8_t>();
        if (to > static_cast<std::uint8_t>(core::ToldTo::anybody)) {
            in.spoil();
        }
        return Told{edition, static_cast<core::ToldTo>(to), mad::Guid{in.number<std::uint64_t>()}};
    } else if constexpr (std::is_same_v<Type, Beat>) {
        return Beat{};
    } else {
        return Bye{std::string(in.text(kReasonMax))};
    }
}

constexpr std::uint8_t kTypeFirst = 1;  ///< types count from there, in the order of the variant
constexpr std::uint8_t kTypes = std::variant_size_v<Frame>;
constexpr std::uint8_t kTypePiece = kTypeFirst + 4;
static_assert(std::is_same_v<std::variant_alternative_t<kTypePiece - kTypeFirst, Frame>, Piece>);

template <std::size_t... Index>
Frame read(std::size_t index, Unpacker& in, std::index_sequence<Index...>) {
    Frame frame = Beat{};
    static_cast<void>(((Index == index ? (frame = read_as<Index>(in), true) : false) || ...));
    return frame;
}

}  // namespace

std::string encode(const Frame& frame) {
    Packer fields;
    std::visit(Fields{fields}, frame);
    const std::string octets = fields.take();
    Packer out;
    out.number(static_cast<std::uint32_t>(octets.size()));
    out.number(static_cast<std::uint8_t>(kTypeFirst + frame.index()));
    out.raw(octets);
    return out.take();
}

base::Result<FrameHeader> decode_header(std::string_view octets) {
    Unpacker in(octets);
    FrameHeader header;
    header.length = in.number<std::uint32_t>();
    header.type = in.number<std::uint8_t>();
    const bool known = header.type >= kTypeFirst && header.type < kTypeFirst + kTypes;
    const std::size_t longest = header.type == kTypePiece ? kFrameBytesMax : kSmallFrameBytesMax;
    if (!in.done() || !known || header.length > longest) {
        return base::fail(
            base::ErrorKind::parse,
            fmt::format("a frame of type {} and {} octets: no ibfabricd of version {} sends that",
                        header.type, header.length, kReplicaVersion));
    }
    return header;
}

base::Result<Frame> decode(FrameHeader header, std::string_view fields) {
    Unpacker in(fields);
    Frame frame = read(std::size_t{header.type} - kTypeFirst, in, std::make_index_sequence<kTypes>{});
    if (!in.done()) {
        return base::fail(base::ErrorKind::parse,
                          fmt::format("a frame of type {} is not what it should be", header.type));
    }
    return frame;
}

}  // namespace ibf::shell
