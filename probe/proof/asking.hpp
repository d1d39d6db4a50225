// DOC: one batch of questions on its way, without a clock or a socket.
//
// Joins mad::Transactions (SMPs) and mad::PerfQueries (counters): give it a batch, then loop as with those.
// Its two drivers are TransportAsker (real time) and the rehearsal's SimAsker (virtual time).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "mad/perf_queries.hpp"
#include "mad/transactions.hpp"
#include "probe/proof/asker.hpp"

namespace ibf::probe {

struct AskLimits {
    mad::TransactionLimits smp{};
    mad::PerfLimits perf{};
};

class Asking {
public:
    explicit Asking(const AskLimits& limits);

    /// REQUIRES: the last batch was taken.
    void start(std::span<const Question> questions);
    void poll_send(base::Instant now, std::vector<mad::WireMad>& out);
    /// A MAD that the transport refused.
    void on_send_error(const mad::WireMad& mad, base::Instant now);
    void on_receive(const mad::WireMad& mad, base::Instant now);
    void on_time(base::Instant now);
    [[nodiscard]] std::optional<base::Instant> next_deadline() const;
    [[nodiscard]] bool done() const { return left_ == 0; }
    /// What there is; what is still under way stays silent and is forgotten.
    [[nodiscard]] std::vector<Answer> take();

private:
    void feed();
    void settle(std::size_t which, const Answer& answer);
    void collect();

    mad::Transactions smps_;
    mad::PerfQueries perf_;
    std::vector<Question> questions_;
    std::vector<Answer> answers_;
    std::vector<mad::Completion> completions_;
    std::vector<mad::PerfAnswer> perf_answers_;
    std::size_t next_ = 0;  ///< the first question that was not handed on
    std::size_t left_ = 0;
};

}  // namespace ibf::probe
