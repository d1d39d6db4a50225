// What each counter of a port tells, in a sentence.
#include <algorithm>
#include <array>

#include "probe/port_counters.hpp"

namespace ibf::probe {
namespace {

using enum CounterKind;

// InfiniBand's own (IBA 16.1.3), as sysfs names them.
constexpr std::array kOfTheLink = {
    CounterMeaning{
        "symbol_error", error,
        "Symbols arrived damaged on a lane: a dirty or ageing cable, a loose plug, or electrical noise."},
    CounterMeaning{
        "link_error_recovery", error,
        "The link lost its training and came back by itself: it was away for a moment, and packets with it."},
    CounterMeaning{"link_downed", error,
                   "Link recovery failed and the link went down: a cable was pulled, a peer was reset, or it "
                   "is broken."},
    CounterMeaning{
        "port_rcv_errors", error,
        "Packets arrived with a bad CRC, a bad length or a bad VL and were dropped: the link damages data."},
    CounterMeaning{"port_rcv_remote_physical_errors", error,
                   "Packets arrived marked as bad by a switch further up: the damage was done on a link "
                   "before that one."},
    CounterMeaning{
        "port_rcv_switch_relay_errors", error,
        "A switch had no way to forward packets: no LFT entry, or out of the port that they came in by."},
    CounterMeaning{"port_xmit_discards", error,
                   "Packets were dropped instead of sent: the port was down, or they waited longer than the "
                   "switch allows."},
    CounterMeaning{"port_xmit_constraint_errors", error,
                   "Packets were not sent since their P_Key is not allowed out of this port."},
    CounterMeaning{
        "port_rcv_constraint_errors", error,
        "Packets were dropped on arrival since their P_Key or raw form is not allowed in at this port."},
    CounterMeaning{"local_link_integrity_errors", error,
                   "Local physical errors came faster than the port's threshold allows: the link is bad."},
    CounterMeaning{
        "excessive_buffer_overrun_errors", error,
        "The receive buffer overran again and again: flow control credits between the two ends disagree."},
    CounterMeaning{"VL15_dropped", error,
                   "Management packets found no buffer and were dropped; those who sent them ask again."},
    CounterMeaning{
        "port_xmit_wait", congestion,
        "Ticks in which data was ready and the other end gave no credits: congestion there or beyond."},
    CounterMeaning{"port_xmit_data", traffic, "Words of four octets that were sent."},
    CounterMeaning{"port_rcv_data", traffic, "Words of four octets that were received."},
    CounterMeaning{"port_xmit_packets", traffic, "Packets that were sent."},
    CounterMeaning{"port_rcv_packets", traffic, "Packets that were received."},
    CounterMeaning{"unicast_xmit_packets", traffic, "Unicast packets that were sent."},
    CounterMeaning{"unicast_rcv_packets", traffic, "Unicast packets that were received."},
    CounterMeaning{"multicast_xmit_packets", traffic, "Multicast packets that were sent."},
    CounterMeaning{"multicast_rcv_packets", traffic, "Multicast packets that were received."},
};

// hw_counters of mlx5.
constexpr std::array kOfMlx5 = {
    CounterMeaning{
        "out_of_sequence", recovery,
        "A packet arrived with a PSN above the expected one: one before it was lost or overtaken, and a NAK "
        "asked for it again."},
    CounterMeaning{
        "packet_seq_err", recovery,
        "The peer answered with a NAK for a PSN sequence error: it missed one of our packets, which we sent "
        "again."},
    CounterMeaning{
        "implied_nak_seq_err", recovery,
        "An acknowledgement came for a later packet than a read or atomic that was still open: its response "
        "was lost, and asked for again."},
    CounterMeaning{
        "local_ack_timeout_err", recovery,
        "No acknowledgement within the QP's timeout, so packets were sent again: the packet or its answer "
        "was lost, or the timeout is too short for the path."},
    CounterMeaning{"duplicate_request", recovery,
                   "A request arrived a second time: our acknowledgement of the first was lost or late."},
    CounterMeaning{
        "rnr_nak_retry_err", recovery,
        "The peer had no receive posted (RNR NAK) more often than the retries allow: it is too slow."},
    CounterMeaning{
        "out_of_buffer", recovery,
        "A message arrived and no receive was posted for it: the software here is too slow in posting."},
    CounterMeaning{
        "rx_icrc_encapsulated", error,
        "RoCE packets arrived with a wrong ICRC and were dropped: something on the path damages or rewrites "
        "packets."},
    CounterMeaning{"roce_adp_retrans", recovery, "Adaptive retransmission sent packets again, on RoCE."},
    CounterMeaning{"roce_adp_retrans_to", recovery,
                   "Adaptive retransmission ran into its timeout, on RoCE: losses in a row."},
    CounterMeaning{"roce_slow_restart", congestion, "A RoCE flow began anew at a low rate after losses."},
    CounterMeaning{"roce_slow_restart_cnps", congestion,
                   "CNPs were made by the slow restart of a RoCE flow."},
    CounterMeaning{"roce_slow_restart_trans", congestion, "RoCE flows changed into slow restart."},
    CounterMeaning{
        "np_ecn_marked_roce_packets", congestion,
        "RoCE packets arrived with the ECN mark of a congested switch: the sender will be asked to slow "
        "down."},
    CounterMeaning{"np_cnp_sent", congestion,
                   "Congestion notifications (CNP) were sent, since packets arrived with an ECN mark."},
    CounterMeaning{"rp_cnp_handled", congestion, "CNPs arrived and this port slowed the flow down."},
    CounterMeaning{"rp_cnp_ignored", congestion,
                   "CNPs arrived and were ignored: congestion control is off for that class at the sender."},
    CounterMeaning{"req_cqe_error", error, "Requests of this side completed with an error."},
    CounterMeaning{"resp_cqe_error", error, "Receives of this side completed with an error."},
    CounterMeaning{"req_cqe_flush_error", error,
                   "Requests were flushed since their queue pair had broken before."},
    CounterMeaning{"resp_cqe_flush_error", error,
                   "Receives were flushed since their queue pair had broken before."},
    CounterMeaning{"req_remote_access_errors", error,
                   "The peer refused a request for its memory: key, range or right."},
    CounterMeaning{"req_remote_invalid_request", error, "The peer called a request invalid."},
    CounterMeaning{"resp_remote_access_errors", error,
                   "A peer asked for memory of ours that it has no right to."},
    CounterMeaning{"resp_local_length_error", error,
                   "A message was longer than the receive that it came into."},
    CounterMeaning{"rx_read_requests", traffic, "RDMA reads that peers asked for."},
    CounterMeaning{"rx_write_requests", traffic, "RDMA writes that peers made."},
    CounterMeaning{"rx_atomic_requests", traffic, "Atomic operations that peers asked for."},
};

// hw_counters of rdma_rxe.
constexpr std::array kOfRxe = {
    CounterMeaning{"sent_pkts", traffic, "Packets that were sent."},
    CounterMeaning{"rcvd_pkts", traffic, "Packets that were received."},
    CounterMeaning{"rdma_sends", traffic, "Send operations that were completed."},
    CounterMeaning{"rdma_recvs", traffic, "Messages that were received by a posted receive."},
    CounterMeaning{"ack_deferred", traffic,
                   "Acknowledgements that waited, to stand for more than one packet."},
    CounterMeaning{
        "out_of_seq_request", recovery,
        "A request packet arrived out of sequence: one before it was lost or overtaken, and a NAK asked for "
        "it again."},
    CounterMeaning{
        "rcvd_seq_err", recovery,
        "A NAK for a sequence error arrived: the peer missed one of our packets, which we sent again."},
    CounterMeaning{"rcvd_rnr_err", recovery,
                   "An RNR NAK arrived: the peer had no receive posted, and we waited."},
    CounterMeaning{"send_rnr_err", recovery,
                   "RNR NAKs were sent: a message came and no receive was posted for it here."},
    CounterMeaning{
        "completer_retry_err", recovery,
        "The requester began again from the oldest packet that was not acknowledged: after a timeout, a NAK, "
        "or a lost read response."},
    CounterMeaning{
        "retry_exceeded_err", error,
        "A queue pair gave up after all its retries: the peer is gone, or the path loses too much."},
    CounterMeaning{"retry_rnr_exceeded_err", error,
                   "A queue pair gave up after all its RNR retries: the peer never posted a receive."},
    CounterMeaning{"send_err", error,
                   "The network interface did not take a packet: its queue was full, or it is down."},
};

// hw_counters of bnxt_re and irdma.
constexpr std::array kOfOthers = {
    CounterMeaning{"to_retransmits", recovery,
                   "Packets were sent again since no acknowledgement came in time."},
    CounterMeaning{"seq_err_naks_rcvd", recovery,
                   "NAKs for sequence errors arrived: the peer missed packets, which were sent again."},
    CounterMeaning{"rnr_naks_rcvd", recovery, "RNR NAKs arrived: the peer had no receive posted."},
    CounterMeaning{"missing_resp", recovery,
                   "Responses of reads or atomics were missing and asked for again."},
    CounterMeaning{"dup_req", recovery,
                   "Requests arrived a second time: our acknowledgement was lost or late."},
    CounterMeaning{"rx_out_of_sequence", recovery, "Packets arrived out of sequence: one before was lost."},
    CounterMeaning{"res_oos_drop_count", recovery,
                   "Packets were dropped since they arrived out of sequence."},
    CounterMeaning{"rx_out_of_buffer", recovery, "A message arrived and no receive was posted for it."},
    CounterMeaning{"max_retry_exceeded", error, "A queue pair gave up after all its retries."},
    CounterMeaning{"unrecoverable_err", error, "Errors of the transport after which a queue pair is lost."},
    CounterMeaning{"recoverable_errors", recovery, "Errors of the transport that retries repaired."},
    CounterMeaning{"tx_roce_errors", error, "RoCE packets could not be sent, for an error."},
    CounterMeaning{"tx_roce_discards", error, "RoCE packets were dropped instead of sent."},
    CounterMeaning{"rx_roce_errors", error, "RoCE packets arrived damaged."},
    CounterMeaning{"rx_roce_discards", error, "RoCE packets were dropped on arrival, for want of buffers."},
    CounterMeaning{"rx_ecn_marked_pkts", congestion,
                   "RoCE packets arrived with the ECN mark of a congested switch."},
    CounterMeaning{"tx_cnp_pkts", congestion, "Congestion notifications (CNP) were sent."},
    CounterMeaning{"rx_cnp_pkts", congestion, "CNPs arrived: this port was asked to slow down."},
    CounterMeaning{"cnpHandled", congestion, "CNPs arrived and this port slowed the flow down."},
    CounterMeaning{"cnpIgnored", congestion, "CNPs arrived and were ignored."},
    CounterMeaning{"cnpSent", congestion, "Congestion notifications (CNP) were sent."},
    CounterMeaning{"RxECNMrkd", congestion, "RoCE packets arrived with the ECN mark of a congested switch."},
};

// What ethtool -S tells of the interface; N is the class, 0 to 7.
constexpr std::array kOfEthtool = {
    CounterMeaning{"ethtool.rx_prioN_pause", congestion,
                   "Pause frames (PFC) for class N arrived: the switch had no room, and this port held that "
                   "class back."},
    CounterMeaning{"ethtool.tx_prioN_pause", congestion,
                   "Pause frames (PFC) for class N were sent: this host took packets too slowly."},
    CounterMeaning{"ethtool.rx_prioN_pause_duration", congestion,
                   "Microseconds for which class N was held back by pause frames that arrived."},
    CounterMeaning{"ethtool.tx_prioN_pause_duration", congestion,
                   "Microseconds for which this host held class N of the other end back."},
    CounterMeaning{"ethtool.rx_prioN_pause_transition", congestion,
                   "Class N went from running to paused, by pause frames that arrived."},
    CounterMeaning{"ethtool.rx_pause_ctrl_phy", congestion, "Pause frames for all classes at once arrived."},
    CounterMeaning{"ethtool.tx_pause_ctrl_phy", congestion,
                   "Pause frames for all classes at once were sent."},
    CounterMeaning{"ethtool.rx_global_pause", congestion, "Pause frames for all classes at once arrived."},
    CounterMeaning{"ethtool.tx_global_pause", congestion, "Pause frames for all classes at once were sent."},
    CounterMeaning{"ethtool.rx_ecn_mark", congestion,
                   "Packets were marked with ECN on arrival: this host is congested."},
};

template <class... Tables>
constexpr auto joined(const Tables&... tables) {
    std::array<CounterMeaning, (std::tuple_size_v<Tables> + ...)> all{};
    auto at = all.begin();
    ((at = std::copy(tables.begin(), tables.end(), at)), ...);
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return all;
}

constexpr auto kMeanings = joined(kOfTheLink, kOfMlx5, kOfRxe, kOfOthers, kOfEthtool);

/// "rx_prio3_pause" is told of as "rx_prioN_pause".
std::string without_class(std::string_view name) {
    std::string general(name);
    const auto at = general.find("_prio");
    if (at != std::string::npos && at + 5 < general.size() && general[at + 5] >= '0' &&
        general[at + 5] <= '7') {
        general[at + 5] = 'N';
    }
    return general;
}

}  // namespace

std::span<const CounterMeaning> counter_meanings() {
    return kMeanings;
}

const CounterMeaning* find_counter(std::string_view name) {
    const std::string general = without_class(name);
    const auto found = std::lower_bound(
        kMeanings.begin(), kMeanings.end(), general,
        [](const CounterMeaning& meaning, const std::string& wanted) { return meaning.name < wanted; });
    return found != kMeanings.end() && found->name == general ? &*found : nullptr;
}

std::optional<std::string_view> explain(std::string_view name) {
    const CounterMeaning* meaning = find_counter(name);
    return meaning == nullptr ? std::nullopt : std::optional(meaning->sentence);
}

}  // namespace ibf::probe
