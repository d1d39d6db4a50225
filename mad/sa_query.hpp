// DOC: one question to a subnet administrator, from the asker's side.
//
// Sans-I/O: the question goes out, and again while nothing comes back; an answer of many packets is put
// together by our own RMPP; in the end there is a reply (the SA's status, and records) or an error. A
// question under way repeats its TID, so that an SA that has it in hand need not answer twice; one whose
// transfer broke off is asked anew. It knows nothing of records but the distance from one to the next, which
// the SA tells.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "mad/rmpp.hpp"
#include "mad/sa_mad.hpp"

namespace ibf::mad {

struct SaQueryLimits {
    base::Duration timeout = std::chrono::seconds{1};  ///< until the question is sent again
    std::uint32_t retries = 3;                         ///< times it is
    std::size_t answer_bytes = std::size_t{1} << 30U;  ///< longest answer taken
};

struct SaReply {
    MadStatus status = 0;
    std::size_t record_bytes = 0;                             ///< from one record to the next
    std::shared_ptr<const std::vector<std::uint8_t>> data{};  ///< records; null where status is not 0

    [[nodiscard]] std::size_t count() const;
    /// As the SA sent it: it may be shorter or longer than the record that we know.
    [[nodiscard]] std::span<const std::uint8_t> record(std::size_t index) const;
};

class SaQuery {
public:
    /// `question`: its TID's low half is ours. `sa`: the subnet manager's LID; QP and Q_Key are the class's.
    SaQuery(const SaMad& question, Lid sa, Sl sl, const SaQueryLimits& limits);

    void start(base::Instant now, std::vector<WireMad>& out);
    /// MADs that have to do with other questions are left alone.
    void on_receive(const WireMad& mad, base::Instant now, std::vector<WireMad>& out);
    void on_time(base::Instant now, std::vector<WireMad>& out);
    /// None: it is over.
    [[nodiscard]] std::optional<base::Instant> next_deadline() const;
    /// Errors: unavailable where nobody answers, refused where the answer is longer than allowed.
    [[nodiscard]] const std::optional<base::Result<SaReply>>& outcome() const { return outcome_; }

private:
    void again(base::Instant now, std::vector<WireMad>& out);
    void settle(const RmppOutputs& from, base::Instant now, std::vector<WireMad>& out);
    void finish(const SaMad& head, std::shared_ptr<const std::vector<std::uint8_t>> data);

    SaMad question_;
    MadAddress sa_;
    SaQueryLimits limits_;
    Rmpp rmpp_;
    std::uint32_t retries_left_;
    base::Instant due_{};
    bool busy_ = false;  ///< the last word was BUSY
    std::optional<base::Result<SaReply>> outcome_;
};

/// What a status other than 0 means, and what to do about it.
[[nodiscard]] std::string sa_status_text(MadStatus status);

}  // namespace ibf::mad
