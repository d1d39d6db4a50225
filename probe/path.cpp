#include "probe/path.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "mad/sa_rates.hpp"

namespace ibf::probe {
namespace {

PathWanted wanted_of(const Way& way, const PathFrom& from, const EndpointAddress& peer) {
    return {.device = from.device,
            .port = from.port,
            .slid = mad::Lid{static_cast<std::uint16_t>(from.lids.base.value() | way.path_bits)},
            .dlid = way.dlid.value_or(peer.lid),
            .dgid = {},
            .pkey_index = way.pkey_index};
}

base::Result<void> check_size(const TestSpec& spec, const EndpointAddress& peer, std::uint32_t mtu_bytes) {
    if (spec.test == Test::ud && spec.message_bytes > mtu_bytes) {
        return base::fail(
            base::ErrorKind::usage,
            fmt::format("a ud message of {} octets is more than one packet: the MTU to {} is {}",
                        spec.message_bytes, peer.device, mtu_bytes));
    }
    return {};
}

/// By flag and ports alone.
base::Result<std::uint32_t> mtu_of(const TestSpec& spec, const PathFrom& from, const EndpointAddress& peer) {
    const std::uint32_t most = std::min(from.mtu_bytes, peer.mtu_bytes);
    const std::uint32_t mtu = spec.mtu_bytes == 0 ? most : spec.mtu_bytes;
    if (mtu > most || mad::mtu_from_bytes(mtu) == mad::Mtu::none) {
        return base::fail(base::ErrorKind::usage,
                          fmt::format("an MTU of {} does not go: {}/{} has {}, {} has {}", mtu, from.device,
                                      from.port, from.mtu_bytes, peer.device, peer.mtu_bytes));
    }
    return mtu;
}

}  // namespace

base::Result<PathTaken> take_path(const TestSpec& spec, const Way& way, const PathFrom& from,
                                  const EndpointAddress& peer, const AskPath& ask,
                                  const std::stop_token& stop) {
    PathTaken taken;
    if (spec.use_cm) {
        return taken;
    }
    // What cannot be is refused before anybody is asked: a client of an agent may say anything, and often.
    const auto mtu = mtu_of(spec, from, peer);
    if (!mtu) {
        return tl::unexpected(mtu.error());
    }
    if (const auto fits = check_size(spec, peer, *mtu); !fits) {
        return tl::unexpected(fits.error());
    }
    taken.mtu_bytes = *mtu;
    if (from.layer == LinkLayer::infiniband) {
        taken.sl = way.sl.value_or(mad::Sl{});
    }
    const bool is_to_itself = from.lids.contains(way.dlid.value_or(peer.lid));
    if (from.layer == LinkLayer::infiniband && !way.sl && !is_to_itself) {
        const auto told = ask(wanted_of(way, from, peer), stop);
        if (stop.stop_requested()) {
            return base::fail(base::ErrorKind::unavailable, "interrupted before the path was known");
        }
        if (told) {
            taken.mtu_bytes =
                spec.mtu_bytes == 0 ? std::min(*mtu, mad::mtu_bytes(told->mtu)) : spec.mtu_bytes;
            taken.is_recorded = true;
            taken.sl = told->sl;
            taken.bits_per_second = told->bits_per_second;
        } else {
            taken.trouble = fmt::format(
                "SL 0 was taken, without the SA's path record: {}. Where paths have another SL, give --sl",
                told.error().message);
        }
    }
    const auto fits = check_size(spec, peer, taken.mtu_bytes);
    return fits.map([&] { return std::move(taken); });
}

std::uint8_t rate_limit(const PathTaken& path, std::uint64_t port_bits_per_second) {
    const bool is_slower = path.bits_per_second != 0 &&
                           (port_bits_per_second == 0 || path.bits_per_second < port_bits_per_second);
    constexpr double kGiga = 1e9;
    return is_slower ? mad::rate_code(mad::rate_rank(static_cast<double>(path.bits_per_second) / kGiga))
                     : std::uint8_t{0};
}

}  // namespace ibf::probe
