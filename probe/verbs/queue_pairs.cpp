#include "probe/verbs/queue_pairs.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "probe/path.hpp"

namespace ibf::probe::verbs {
namespace {

constexpr std::uint32_t kInlineBytes = 64;  ///< what most adapters take along in the request itself
constexpr int kReadsMost = 16;              ///< of one queue pair; what adapters commonly have
constexpr std::uint8_t kHopLimit = 64;

base::Error refusal(const char* step, int why, const Setting& setting, const EndpointAddress& peer) {
    const std::string ours = fmt::format("{}/{}", setting.chosen.port.device, setting.chosen.port.port);
    std::string text = fmt::format("{} does not take a queue pair to {} for {}: {}", ours, step, peer.device,
                                   std::strerror(why));
    if (setting.chosen.with_grh) {
        text += fmt::format("; our GID {} is {} ({}), the peer's is {}", setting.chosen.gid.index,
                            to_text(setting.chosen.gid.gid), setting.chosen.gid.type, to_text(peer.gid));
    }
    if (why == ENETUNREACH || why == EHOSTUNREACH || why == ETIMEDOUT || why == EINVAL) {
        text +=
            setting.chosen.port.layer == LinkLayer::ethernet
                ? ": both must be of one kind (RoCE version, IPv4 or IPv6; --gid-index, --peer-gid-index) "
                  "and in reach of each other (ping)"
                : ": see that LID, SL, path bits and MTU are those of a path that there is";
    }
    return {base::ErrorKind::unavailable, std::move(text)};
}

}  // namespace

ibv_ah_attr address_of(const Setting& setting, const EndpointAddress& peer) {
    ibv_ah_attr to{};
    to.port_num = setting.chosen.port.port;
    // RoCE has no SL of its own: adapters make the priority of it.
    to.sl = setting.path.sl.value_or(setting.way.sl.value_or(mad::Sl{})).value();
    to.static_rate = rate_limit(setting.path, setting.chosen.port.bits_per_second);
    to.dlid = setting.way.dlid.value_or(peer.lid).value();
    to.src_path_bits = setting.way.path_bits;
    if (setting.chosen.with_grh) {
        to.is_global = 1;
        std::copy_n(peer.gid.begin(), peer.gid.size(), to.grh.dgid.raw);
        to.grh.sgid_index = setting.chosen.gid.index;
        to.grh.hop_limit = kHopLimit;
        to.grh.traffic_class = setting.way.traffic_class;
    }
    return to;
}

std::uint32_t sends_posted(const Setting& setting) {
    const bool answers = setting.spec.test == Test::ping || setting.spec.test == Test::ud;
    if (setting.side == Side::initiator) {
        return setting.layout.in_flight + (answers ? 1 : 0);
    }
    return answers ? setting.layout.receives : 1;
}

base::Result<void> check_device_limits(const Setting& setting) {
    const std::uint32_t sends = sends_posted(setting);
    const std::uint32_t receives = std::max(setting.layout.receives, 1U);
    const std::uint64_t entries = std::uint64_t{setting.spec.queue_pairs} * (sends + receives);
    const auto above = [&](const char* what, std::uint64_t wanted, int most) -> base::Result<void> {
        return base::fail(
            base::ErrorKind::usage,
            fmt::format("{} can do {} {}, this test needs {}: use a smaller depth or fewer queue pairs",
                        setting.chosen.port.device, most, what, wanted));
    };
    if (setting.way.pkey_index != 0 && setting.way.pkey_index >= setting.device.max_pkeys) {
        return base::fail(base::ErrorKind::usage,
                          fmt::format("P_Key index {}: {} has a table of {}", setting.way.pkey_index,
                                      setting.chosen.port.device, setting.device.max_pkeys));
    }
    if (std::max(sends, receives) > static_cast<std::uint32_t>(setting.device.max_qp_wr)) {
        return above("requests on a queue pair", std::max(sends, receives), setting.device.max_qp_wr);
    }
    if (entries > static_cast<std::uint64_t>(setting.device.max_cqe)) {
        return above("completions", entries, setting.device.max_cqe);
    }
    if (setting.spec.queue_pairs > static_cast<std::uint32_t>(setting.device.max_qp)) {
        return above("queue pairs", setting.spec.queue_pairs, setting.device.max_qp);
    }
    return {};
}

ibv_qp_init_attr wishes(const Setting& setting, ibv_cq* queue) {
    ibv_qp_init_attr wanted{};
    wanted.send_cq = queue;
    wanted.recv_cq = queue;
    wanted.qp_type = setting.spec.test == Test::ud ? IBV_QPT_UD : IBV_QPT_RC;
    wanted.cap.max_send_wr = sends_posted(setting);
    wanted.cap.max_recv_wr = std::max(setting.layout.receives, 1U);
    wanted.cap.max_send_sge = 1;
    wanted.cap.max_recv_sge = 1;
    wanted.cap.max_inline_data = setting.spec.message_bytes <= kInlineBytes ? kInlineBytes : 0;
    return wanted;
}

std::uint8_t reads_out(const Setting& setting) {
    return static_cast<std::uint8_t>(std::clamp(setting.device.max_qp_init_rd_atom, 0, kReadsMost));
}

std::uint8_t reads_in(const Setting& setting) {
    return static_cast<std::uint8_t>(std::clamp(setting.device.max_qp_rd_atom, 0, kReadsMost));
}

base::Result<MadeQueuePair> make_queue_pair(ibv_pd* domain, const Setting& setting, ibv_cq* queue) {
    ibv_qp_init_attr wanted = wishes(setting, queue);
    errno = 0;
    QueuePair made(ibv_create_qp(domain, &wanted));
    if (!made && wanted.cap.max_inline_data > 0) {
        wanted = wishes(setting, queue);
        wanted.cap.max_inline_data = 0;  // it is only for speed
        made.reset(ibv_create_qp(domain, &wanted));
    }
    if (!made) {
        return base::fail(
            base::ErrorKind::io,
            fmt::format("{} gives no queue pair with room for {} sends and {} receives: {}: use a "
                        "smaller depth or fewer queue pairs",
                        setting.chosen.port.device, wanted.cap.max_send_wr, wanted.cap.max_recv_wr,
                        std::strerror(errno)));
    }
    return MadeQueuePair{std::move(made), wanted.cap.max_inline_data};
}

base::Result<void> to_init(ibv_qp* queue_pair, const Setting& setting) {
    const bool is_target = setting.side == Side::target;
    const bool is_ud = setting.spec.test == Test::ud;
    ibv_qp_attr next{};
    next.qp_state = IBV_QPS_INIT;
    next.pkey_index = setting.way.pkey_index;
    next.port_num = setting.chosen.port.port;
    int what = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
    if (is_ud) {
        next.qkey = setting.q_key;
        what |= IBV_QP_QKEY;
    } else {
        next.qp_access_flags = is_target && setting.spec.test == Test::write  ? IBV_ACCESS_REMOTE_WRITE
                               : is_target && setting.spec.test == Test::read ? IBV_ACCESS_REMOTE_READ
                                                                              : 0;
        what |= IBV_QP_ACCESS_FLAGS;
    }
    if (const int why = ibv_modify_qp(queue_pair, &next, what); why != 0) {
        return base::fail(base::ErrorKind::usage,
                          fmt::format("{}/{} does not take a queue pair to INIT with P_Key index {}: {}",
                                      setting.chosen.port.device, setting.chosen.port.port,
                                      setting.way.pkey_index, std::strerror(why)));
    }
    return {};
}

base::Result<void> to_ready(ibv_qp* queue_pair, const Setting& setting, const EndpointAddress& peer,
                            const QueuePairAddress& theirs, const QueuePairAddress& ours) {
    const bool is_ud = setting.spec.test == Test::ud;
    ibv_qp_attr next{};
    next.qp_state = IBV_QPS_RTR;
    next.path_mtu = static_cast<ibv_mtu>(mad::mtu_from_bytes(setting.path.mtu_bytes));
    next.dest_qp_num = theirs.number;
    next.rq_psn = theirs.packet_sequence;
    next.max_dest_rd_atomic = reads_in(setting);
    next.min_rnr_timer = setting.spec.rnr_timer;
    next.ah_attr = address_of(setting, peer);
    constexpr int kToRtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    const int why = with_rate_or_without(
        next.ah_attr, [&] { return ibv_modify_qp(queue_pair, &next, IBV_QP_STATE | (is_ud ? 0 : kToRtr)); });
    if (why != 0) {
        return tl::unexpected(refusal("RTR", why, setting, peer));
    }
    next = {};
    next.qp_state = IBV_QPS_RTS;
    next.sq_psn = ours.packet_sequence;
    next.timeout = setting.spec.ack_timeout;
    next.retry_cnt = setting.spec.retries;
    next.rnr_retry = setting.spec.rnr_retries;
    next.max_rd_atomic = agreed_reads(reads_out(setting), peer.reads_in);
    constexpr int kToRts = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    const int refused = ibv_modify_qp(queue_pair, &next, IBV_QP_STATE | IBV_QP_SQ_PSN | (is_ud ? 0 : kToRts));
    if (refused != 0) {
        return tl::unexpected(refusal("RTS", refused, setting, peer));
    }
    return {};
}

base::Result<AddressHandle> make_address_handle(ibv_pd* domain, const Setting& setting,
                                                const EndpointAddress& peer) {
    ibv_ah_attr to = address_of(setting, peer);
    AddressHandle made;
    const int why = with_rate_or_without(to, [&] {
        errno = 0;
        made.reset(ibv_create_ah(domain, &to));
        return made ? 0 : std::max(errno, 1);
    });
    if (why != 0) {
        return tl::unexpected(refusal("an address", why, setting, peer));
    }
    return made;
}

base::Result<void> set_rnr_timer(ibv_qp* queue_pair, std::uint8_t timer) {
    ibv_qp_attr next{};
    next.qp_state = IBV_QPS_RTS;
    next.min_rnr_timer = timer;
    if (const int why = ibv_modify_qp(queue_pair, &next, IBV_QP_STATE | IBV_QP_MIN_RNR_TIMER); why != 0) {
        return base::fail(base::ErrorKind::io,
                          fmt::format("the RNR timer of the connection cannot be set to {}: {}", timer,
                                      std::strerror(why)));
    }
    return {};
}

}  // namespace ibf::probe::verbs
