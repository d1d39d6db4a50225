// DOC: queue pairs, from RESET to where they carry traffic (IBA 10.3.1), and address handles.
//
// What a refusal of the device means, and what to change, is in the error.
#pragma once

#include <cerrno>
#include <cstdint>

#include "probe/layout.hpp"
#include "probe/spec.hpp"
#include "probe/verbs/device.hpp"
#include "probe/verbs/resources.hpp"

namespace ibf::probe::verbs {

/// One side's fixed facts.
struct Setting {
    TestSpec spec;
    Side side = Side::initiator;
    Way way;
    Layout layout;
    Chosen chosen;
    ibv_device_attr device{};
    std::uint32_t q_key = 0;  ///< our own
    PathTaken path{};         ///< from connect() on
};

/// How many requests a queue pair of this side needs room for.
[[nodiscard]] std::uint32_t sends_posted(const Setting& setting);
/// Errors: usage (more than the device can).
[[nodiscard]] base::Result<void> check_device_limits(const Setting& setting);
/// Room for `setting`, all completions to `queue`. `inline_bytes`: at most; the device may give more.
[[nodiscard]] ibv_qp_init_attr wishes(const Setting& setting, ibv_cq* queue);
/// Reads outstanding at once, as requester and as responder.
[[nodiscard]] std::uint8_t reads_out(const Setting& setting);
[[nodiscard]] std::uint8_t reads_in(const Setting& setting);

struct MadeQueuePair {
    QueuePair queue_pair;
    std::uint32_t inline_bytes = 0;
};
[[nodiscard]] base::Result<MadeQueuePair> make_queue_pair(ibv_pd* domain, const Setting& setting,
                                                          ibv_cq* queue);
[[nodiscard]] base::Result<void> to_init(ibv_qp* queue_pair, const Setting& setting);
/// Where requests to the peer go, and how: LID, path bits, SL and rate; of RoCE the GID. REQUIRES: the path.
[[nodiscard]] ibv_ah_attr address_of(const Setting& setting, const EndpointAddress& peer);

/// `attempt` with `to`, and once more at the port's own rate where the adapter does not know that of the path
/// (mlx5: EINVAL above the highest code that it has): it paces what is sent, and decides nothing. The errno
/// of the last attempt, 0 when it went well.
template <class Attempt>
[[nodiscard]] int with_rate_or_without(ibv_ah_attr& to, const Attempt& attempt) {
    const int why = attempt();
    if (why != EINVAL || to.static_rate == 0) {
        return why;
    }
    to.static_rate = 0;
    return attempt();
}

/// To RTR and RTS. `ours`: our number and PSN. REQUIRES: the path.
[[nodiscard]] base::Result<void> to_ready(ibv_qp* queue_pair, const Setting& setting,
                                          const EndpointAddress& peer, const QueuePairAddress& theirs,
                                          const QueuePairAddress& ours);
[[nodiscard]] base::Result<AddressHandle> make_address_handle(ibv_pd* domain, const Setting& setting,
                                                              const EndpointAddress& peer);
/// Of a connection by librdmacm, which leaves it at 655 ms. REQUIRES: RTS.
[[nodiscard]] base::Result<void> set_rnr_timer(ibv_qp* queue_pair, std::uint8_t timer);

}  // namespace ibf::probe::verbs
