// DOC: commands on their way from the API's threads to the loop.
//
// A command that equals the last one that waits is not queued again: one will do. Of others only so many
// wait, so clients cannot fill the mailbox of events. Whoever is not taken is told so.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "base/mailbox.hpp"
#include "daemon/api/api.hpp"
#include "daemon/core/core.hpp"

namespace ibf::shell {

class CommandIntake {
public:
    static constexpr std::size_t kWaitingMax = 1024;

    /// `events` outlives this.
    explicit CommandIntake(base::Mailbox<core::Event>& events) : events_(events) {}

    /// Any thread. False: not taken, too much waits.
    [[nodiscard]] bool take(api::AdminCommand command);
    /// The loop has it.
    void done(const api::AdminCommand& command);

private:
    base::Mailbox<core::Event>& events_;
    std::mutex mutex_;  ///< of the next
    std::vector<api::AdminCommand> waiting_;
};

}  // namespace ibf::shell
