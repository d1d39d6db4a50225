// DOC: path records from the subnet administration of a port, in real time.
//
// A question is over within kPatience, whatever comes, and within 50 ms of a request to stop. Who has not
// answered one is not waited for again by the questions of the next kSilenceKept: those get the same error at
// once. Any thread may ask; one question goes at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "mad/sa_client.hpp"
#include "probe/path.hpp"

namespace ibf::probe {

class SaAsker {
public:
    static constexpr std::chrono::seconds kPatience{3};
    static constexpr std::chrono::seconds kSilenceKept{30};

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

    Open open_;
    std::mutex mutex_;
    std::map<std::string, Silence> silent_;  ///< by port
};

/// Shared by whoever keeps it.
[[nodiscard]] AskPath asking_by(std::shared_ptr<SaAsker> asker);

}  // namespace ibf::probe
