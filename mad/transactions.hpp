// DOC: the transaction table: requests out, replies matched, losses retried.
//
// Sans-I/O. The owner submits requests, then loops: take what may be sent now (poll_send), give what came
// (on_receive), report the time (on_time) and collect completions. No clock, no socket, no thread.
//
// Windows: at most `window_target` requests in flight to one target (a device's management agent buffers
// little, VL15 has no credits) and `window_total` in all. The total window adapts to loss: additive growth
// while replies come, halved (not below `window_min`) at most once per round trip when requests time out at
// several targets. A single silent device must not shrink it. Order: requests to one target go out in the
// order submitted. Matching: class, TID (low 32 bits), attribute, modifier, and for directed route the path.
// Everything else is foreign and counted: late (an answer to a request that ended), duplicate, foreign.
// Silence: a device that let a request run out of time and answered nothing meanwhile is taken for dead until
// it answers or has no requests left: what still waits for it is sent once each, so that thirty-six questions
// to a dead switch cost nine times one time-out, not nine times all the retries. Timeouts: `timeout` doubled
// at each retry up to `timeout_max`; a request may carry its own first timeout.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/time.hpp"
#include "mad/smp.hpp"
#include "mad/transport.hpp"

namespace ibf::mad {

struct TransactionLimits {
    std::uint32_t window_total = 256;
    std::uint32_t window_min = 16;
    std::uint32_t window_target = 4;
    std::uint8_t retries = 3;  ///< sends after the first
    base::Duration timeout = std::chrono::milliseconds{200};
    base::Duration timeout_max = std::chrono::seconds{2};
    std::uint32_t queue_max = 1U << 16;  ///< requests waiting to be sent
};

struct Request {
    std::uint64_t tag = 0;     ///< the owner's; comes back in the completion
    std::uint32_t target = 0;  ///< device the window counts by (any dense id of the owner)
    Method method = Method::get;
    Attribute attribute{};
    std::uint32_t modifier = 0;
    DrPath path;  ///< directed route unless lid is set
    Lid lid{};    ///< not none: LID-routed (class subn_lid)
    MKey mkey{};
    AttributeData data{};
    base::Duration timeout{};     ///< zero: the default
    std::uint8_t retries = 0xFF;  ///< 0xFF: the default
};

struct Completion {
    enum class Kind : std::uint8_t { reply, error_status, timeout, send_error };
    std::uint64_t tag = 0;
    Kind kind = Kind::reply;
    MadStatus status = 0;
    Request request;              ///< as submitted
    AttributeData data{};         ///< reply and error_status
    DrPath return_path;           ///< directed-route replies
    base::Duration round_trip{};  ///< of the send that was answered
    std::uint8_t sends = 0;
};

struct TransactionCounters {
    std::uint64_t requests = 0;  ///< submitted
    std::uint64_t sent = 0;      ///< MADs on the wire, retries included
    std::uint64_t retried = 0;
    std::uint64_t replies = 0;
    std::uint64_t error_statuses = 0;
    std::uint64_t timeouts = 0;  ///< requests given up
    std::uint64_t late = 0;
    std::uint64_t duplicates = 0;
    std::uint64_t foreign = 0;
    std::uint64_t window_cuts = 0;
};

class Transactions {
public:
    explicit Transactions(const TransactionLimits& limits, Tid first_tid);
    ~Transactions();
    Transactions(Transactions&&) noexcept;
    Transactions& operator=(Transactions&&) noexcept;

    /// Queues a request. False when queue_max wait already: pump first.
    [[nodiscard]] bool submit(Request request);
    /// Room left in the queue.
    [[nodiscard]] std::size_t room() const;
    /// Appends to `out` every MAD the windows let go now. Sends count from `now`.
    void poll_send(base::Instant now, std::vector<WireMad>& out);
    /// A send that the transport refused: completes with send_error.
    void on_send_error(const WireMad& mad, base::Instant now, std::vector<Completion>& out);
    /// A response (method bit 7 set). Returns true if it answered one of ours.
    bool on_receive(const WireMad& mad, base::Instant now, std::vector<Completion>& out);
    /// Expires what is due; retries are queued in front and leave by the next poll_send.
    void on_time(base::Instant now, std::vector<Completion>& out);
    [[nodiscard]] std::optional<base::Instant> next_deadline() const;
    /// Drops the requests that nobody wants answered any more, without completions: they neither repeat nor
    /// hold a place in a window. Answers that come later count as late.
    void abandon_if(const std::function<bool(const Request&)>& unwanted);
    /// Drops everything queued and in flight without completions; answers that come later count as late.
    void abandon_all();

    [[nodiscard]] std::size_t in_flight() const;
    [[nodiscard]] std::size_t queued() const;
    [[nodiscard]] std::uint32_t window() const;  ///< the adapted total window
    [[nodiscard]] const TransactionCounters& counters() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace ibf::mad
