// DOC: the SA's front desk.
//
// Sans-I/O; runs on a thread of its own, beside the SM. It takes every MAD of class SubnAdm, drops retries of
// what it has in hand, queues each asker's requests apart and serves the askers in turn, so that a greedy one
// waits for himself. Reads are answered from the View in hand at that moment; what changes something (Set,
// Delete) goes on to the registry. Tables leave by RMPP.
//
// Silence is an answer only where the SA is not the master's, where a key is wrong, and where a queue is
// full: the asker's retry is then better than a BUSY, which Linux hands to the application as a failure. Who
// wants BUSY all the same configures it (SaConfig::when_full).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "daemon/sa/reader.hpp"
#include "daemon/sa/statistics.hpp"
#include "mad/rmpp.hpp"

namespace ibf::sa {

struct DeskLimits {
    std::size_t per_asker = 64;       ///< requests waiting, by source LID
    std::size_t waiting = 1U << 16U;  ///< in all
};

struct DeskCounters {
    std::uint64_t requests = 0;
    std::uint64_t duplicates = 0;  ///< retries of what was in hand
    std::uint64_t dropped = 0;     ///< queue full
    std::uint64_t malformed = 0;   ///< no SA request, or a key that is not ours
    std::uint64_t silent = 0;      ///< not master
    std::uint64_t answered = 0;
    std::uint64_t records = 0;
    std::uint64_t to_registry = 0;
};

struct DeskOutputs {
    std::vector<mad::WireMad> wire;          ///< to send
    std::vector<mad::WireMad> for_registry;  ///< requests that change something
};

class Desk {
public:
    Desk(const SaConfig& config, const DeskLimits& limits, const mad::RmppLimits& rmpp);

    void show(std::shared_ptr<const View> view, std::shared_ptr<const fabric::SaTables> tables);
    void replace_config(const SaConfig& config) { config_ = config; }

    void on_mad(const mad::WireMad& mad, base::Instant now, DeskOutputs& out);
    /// Serves one waiting request. False: none waits. The answer counts as sent when the owner comes back
    /// with a later time: it sends before it calls serve() or on_time() again.
    bool serve(base::Instant now, DeskOutputs& out);
    void on_time(base::Instant now, DeskOutputs& out);
    [[nodiscard]] std::optional<base::Instant> next_deadline() const { return rmpp_.next_deadline(); }

    [[nodiscard]] const DeskCounters& counters() const { return counters_; }
    [[nodiscard]] fabric::SaActivity activity(base::Instant now) const;

private:
    /// Who asks for what: a second request that is equal is a retry.
    using RequestKey = std::tuple<mad::Lid, std::uint32_t, std::uint64_t, std::uint8_t, std::uint16_t>;
    struct Waiting {
        mad::WireMad mad;  ///< of a request in several packets the first, by its header
        RequestKey key;
        std::shared_ptr<const std::vector<std::uint8_t>> data;  ///< of such a request, whole; else null
        Statistics::Kind kind = 0;
        base::Instant arrived{};
    };
    struct Unmeasured {
        Statistics::Kind kind = 0;
        base::Instant arrived;
    };

    void take(Waiting item, const mad::SaMad& request, base::Instant now, DeskOutputs& out);
    void take_message(mad::RmppMessage&& message, base::Instant now, DeskOutputs& out);
    [[nodiscard]] bool may_ask(const mad::SaMad& request);
    void refuse(const Waiting& item, const mad::SaMad& request, mad::MadStatus status, DeskOutputs& out);
    void answer(const Waiting& item, const mad::SaMad& request, base::Instant now, DeskOutputs& out);
    void send_table(const mad::WireMad& mad, const mad::SaMad& request, Answer&& answer, base::Instant now,
                    DeskOutputs& out);
    void settle(mad::RmppOutputs&& from, base::Instant now, DeskOutputs& out);
    void measure(base::Instant now);

    SaConfig config_;
    DeskLimits limits_;
    mad::Rmpp rmpp_;
    std::shared_ptr<const View> view_;
    std::shared_ptr<const fabric::SaTables> tables_;
    std::map<mad::Lid, std::deque<Waiting>> waiting_;  ///< by source LID; no empty queues
    mad::Lid next_{};                                  ///< whose turn it is, or the next LID above
    std::size_t waiting_count_ = 0;
    std::set<RequestKey> in_hand_;
    DeskCounters counters_;
    Statistics statistics_;
    std::optional<Unmeasured> last_served_;  ///< until it is known when its answer was sent
};

/// The answer to a request, along the way it came: status, and one record where there is one.
[[nodiscard]] mad::WireMad reply_to(const mad::WireMad& wire, const mad::SaMad& request,
                                    mad::MadStatus status, const RecordType* type,
                                    std::span<const std::uint8_t> record);

}  // namespace ibf::sa
