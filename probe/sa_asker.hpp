// DOC: path records from the subnet administration of a port, in real time.
//
// A question is over within kPatience, the wait for its turn included, and within some 50 ms of a request to
// stop. An SA that has not answered one, or only that it is busy, is not waited for again by the questions of
// the next kSilenceKept from that port: those get the same error at once. What it has answered is kept for
// kAnswerKept, and the same question not sent meanwhile. Any thread may ask; one question goes at a time.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <tuple>

#include "mad/sa_client.hpp"
#include "probe/path.hpp"

namespace ibf::probe {

class SaAsker {
public:
    static constexpr std::chrono::seconds kPatience{3};
    static constexpr std::chrono::seconds kSilenceKept{30};
    static constexpr std::chrono::seconds kAnswerKept{5};
    static constexpr std::size_t kAnswersMost = 256;

    using Open = std::function<base::Result<std::unique_ptr<mad::SaClient>>(
        const std::string& port, const mad::SaQueryLimits& limits)>;

    SaAsker();  ///< by umad
    explicit SaAsker(Open open) : open_(std::move(open)) {}

    /// Errors: as of AskPath.
    [[nodiscard]] base::Result<mad::PathRecord> ask(const PathWanted& wanted, const std::stop_token& stop);

private:
    struct Silence {
        base::Error error;
        base::Instant kept_until;
    };
    struct Answer {
        base::Result<mad::PathRecord> record;
        base::Instant kept_until;
    };
    /// The port, and what it was asked.
    using Asked =
        std::tuple<std::string, mad::Lid, mad::Lid, std::optional<mad::Gid>, std::optional<mad::PKey>>;

    [[nodiscard]] base::Result<mad::PathRecord> ask_in_turn(const PathWanted& wanted, base::Instant give_up,
                                                            const std::stop_token& stop);
    void keep(const Asked& asked, const base::Result<mad::PathRecord>& record);

    Open open_;
    std::mutex mutex_;  ///< of the turn; all below is of who has it
    std::condition_variable_any turn_ended_;
    bool is_asking_ = false;
    std::map<std::string, Silence> silent_;  ///< by port
    std::map<Asked, Answer> answers_;
};

/// Shared by whoever keeps it.
[[nodiscard]] AskPath asking_by(std::shared_ptr<SaAsker> asker);

}  // namespace ibf::probe
