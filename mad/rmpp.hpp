// DOC: RMPP, the reliable multi-packet transaction protocol (IBA 13.6).
//
// Sans-I/O: many transfers at once, in both directions. The owner hands it every MAD whose RMPP header says
// Active (on_receive), the time (on_time) and messages to send (send); it puts out MADs to send, messages
// that arrived whole, and transfers that ended. A transfer is known by its peer (LID, QP), TID and method.
//
// A message is the header that every packet repeats (for SA: the 56 bytes up to the data) and its data, which
// the packets carry 200 bytes each. A message that fits one packet still goes as a transfer of one segment.
//
// Sending: as many segments in flight as the receiver's ACKs let go, the first alone; what is lost is sent
// again (mad/rmpp_transfer.hpp says when), and after `retries` full time-outs in a row without progress the
// transfer ends. Receiving: segments are kept within the window that our ACKs grant, and data beyond it is
// dropped; a transfer without a new segment for 2 * (retries + 1) time-outs ends. STOP and ABORT end a
// transfer either way. A transfer that arrived whole is remembered as long again, since its last ACK may be
// lost: repeated data gets it again.
//
// Double-sided transfers (GetMulti): the request is one transfer, the answer under the same TID another. They
// are told apart by the method's response bit, which ACK, STOP and ABORT of a receiver carry turned, as in
// Linux. The sender of a request answers its last ACK by an ACK of segment 0; the answer itself acknowledges
// the request too. An answer without RMPP is not seen here: forget() ends its request.
//
// Bytes from the wire never fail a check; every store is bounded by RmppLimits, and a peer's share by
// `per_peer`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/time.hpp"
#include "mad/transport.hpp"

namespace ibf::mad {

inline constexpr std::size_t kSaHeaderBytes = 56;  ///< MAD, RMPP and SA header
inline constexpr std::size_t kSaDataBytes = 200;   ///< SA data of one packet

struct RmppLimits {
    std::uint32_t window = 32;  ///< segments granted to a sender; what we send, the receiver's grant bounds
    std::uint32_t transfers = 4096;                       ///< open at once, each way
    std::uint32_t per_peer = 16;                          ///< of them with one peer (LID, QP), each way
    std::size_t message_bytes = std::size_t{64} << 20U;   ///< longest message taken
    std::size_t receive_bytes = std::size_t{256} << 20U;  ///< kept for messages not yet whole, in all
    std::uint8_t retries = 7;
    base::Duration timeout =
        std::chrono::milliseconds{500};  ///< longest wait for an ACK, before it is measured too
};

/// A whole message. `header` is the first packet up to the data; its RMPP fields are of no meaning.
struct RmppMessage {
    std::array<std::uint8_t, kSaHeaderBytes> header{};
    std::shared_ptr<const std::vector<std::uint8_t>> data;
    MadAddress peer;
};

/// Why a transfer ended without the message.
enum class RmppEnd : std::uint8_t {
    delivered,  ///< sending: the last segment was acknowledged
    timed_out,
    stopped,   ///< by the peer (STOP), with its status
    aborted,   ///< by the peer (ABORT), with its status
    protocol,  ///< the peer broke the protocol and was sent an ABORT
    refused,   ///< a limit: too many transfers, message too long
};

struct RmppOutputs {
    struct Ended {
        bool sending = false;
        MadAddress peer;
        std::uint64_t tid = 0;
        RmppEnd how = RmppEnd::delivered;
        std::uint8_t status = 0;  ///< RMPPStatus where the peer or we ended it (IBA table 180)
    };
    std::vector<WireMad> wire;  ///< to send, in order
    std::vector<RmppMessage> received;
    std::vector<Ended> ended;
};

struct RmppCounters {
    std::uint64_t sent = 0;       ///< messages handed to send()
    std::uint64_t delivered = 0;  ///< of them acknowledged whole
    std::uint64_t received = 0;   ///< messages that arrived whole
    std::uint64_t segments_out = 0;
    std::uint64_t segments_again = 0;
    std::uint64_t segments_in = 0;
    std::uint64_t failed = 0;
    std::uint64_t refused = 0;
};

class Rmpp {
public:
    explicit Rmpp(const RmppLimits& limits);
    ~Rmpp();
    Rmpp(Rmpp&&) noexcept;
    Rmpp& operator=(Rmpp&&) noexcept;

    /// Starts sending to message.peer. A second message under the TID of one under way to the same peer, and
    /// one beyond the limits, ends as `refused`.
    void send(RmppMessage message, base::Instant now, RmppOutputs& out);
    /// A MAD with the RMPP Active flag. False: it is none of ours (no SA MAD, or not Active).
    bool on_receive(const WireMad& mad, base::Instant now, RmppOutputs& out);
    void on_time(base::Instant now, RmppOutputs& out);
    [[nodiscard]] std::optional<base::Instant> next_deadline() const;
    /// Ends all transfers with that peer, or those with that TID, without a word to it. Those that had ended
    /// are still remembered.
    void forget(const MadAddress& peer, std::optional<std::uint64_t> tid = std::nullopt);

    [[nodiscard]] std::size_t sending() const;
    [[nodiscard]] std::size_t receiving() const;
    [[nodiscard]] std::size_t receive_bytes() const;  ///< kept for messages not yet whole
    [[nodiscard]] const RmppCounters& counters() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace ibf::mad
