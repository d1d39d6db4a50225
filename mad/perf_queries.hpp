// DOC: performance questions out, answers matched, losses asked again.
//
// Sans-I/O, as Transactions is for SMPs: submit, poll_send, on_receive, on_time, next_deadline. Gets only.
//
// At most `window_target` questions are under way to one device and `window_total` in all. A device that let
// a question run through all its retries and answered nothing meanwhile is taken for silent: what waits for
// it is given up at once, so that it costs one question's time and not a hundred's. A device that redirects
// is asked where it says from then on; a redirection that is answered by another one is given up (answered
// with its status), so nobody can send us round.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "mad/perf_mad.hpp"
#include "mad/transport.hpp"

namespace ibf::mad {

struct PerfLimits {
    std::uint32_t window_total = 128;
    std::uint32_t window_target = 4;
    std::uint8_t retries = 3;  ///< sends after the first
    base::Duration timeout = std::chrono::milliseconds{200};
};

struct PerfQuestion {
    std::uint64_t tag = 0;     ///< the owner's; comes back in the answer
    std::uint32_t target = 0;  ///< device the window counts by (any id of the owner)
    PerfAttribute attribute{};
    PortNum port{};
    Lid lid{};
    Sl sl{};
};

struct PerfAnswer {
    enum class Kind : std::uint8_t { reply, error_status, timeout };
    std::uint64_t tag = 0;
    Kind kind = Kind::reply;
    MadStatus status = 0;
    PerfData data{};
};

class PerfQueries {
public:
    PerfQueries(const PerfLimits& limits, Tid first_tid) : limits_(limits), next_tid_(first_tid.value()) {}

    void submit(const PerfQuestion& question);
    /// Appends to `out` what the windows let go now.
    void poll_send(base::Instant now, std::vector<WireMad>& out);
    /// True if it answered one of ours.
    bool on_receive(const WireMad& mad, std::vector<PerfAnswer>& out);
    void on_time(base::Instant now, std::vector<PerfAnswer>& out);
    [[nodiscard]] std::optional<base::Instant> next_deadline() const;
    /// Nothing waits and nothing is under way.
    [[nodiscard]] bool idle() const { return waiting_ == 0 && flights_.empty(); }
    /// Drops everything without answers.
    void abandon_all();

private:
    struct Item {
        PerfQuestion question;
        std::uint8_t sends = 0;
        bool by_redirect = false;  ///< the last time, to where the device had said
    };
    struct Target {
        std::deque<Item> waiting;
        std::optional<ClassPortInfo> redirect;
        std::uint32_t in_flight = 0;
        bool heard = false;  ///< since a question was last given up
        bool ready = false;  ///< in ready_
    };
    struct Flight {
        Item item;
        base::Instant deadline{};
    };
    void make_ready(std::uint32_t id, Target& target);
    [[nodiscard]] WireMad wire(const Target& target, const Item& item, std::uint32_t tid) const;
    void give_up(Target& target, std::vector<PerfAnswer>& out);
    void end(std::map<std::uint32_t, Flight>::iterator flight);

    PerfLimits limits_;
    std::uint32_t next_tid_;
    std::map<std::uint32_t, Target> targets_;
    std::deque<std::uint32_t> ready_;          ///< targets with something to send and room for it
    std::map<std::uint32_t, Flight> flights_;  ///< by TID
    std::set<std::pair<base::Instant, std::uint32_t>> deadlines_;
    std::size_t waiting_ = 0;
};

}  // namespace ibf::mad
