#include "daemon/shell/command_intake.hpp"

#include <algorithm>
#include <utility>

namespace ibf::shell {

bool CommandIntake::take(api::AdminCommand command) {
    const std::lock_guard lock(mutex_);
    if (std::find(waiting_.begin(), waiting_.end(), command) != waiting_.end()) {
        return true;
    }
    if (waiting_.size() >= kWaitingMax || !events_.push(core::Event{core::AdminRequested{command}})) {
        return false;
    }
    waiting_.push_back(std::move(command));
    return true;
}

void CommandIntake::done(const api::AdminCommand& command) {
    const std::lock_guard lock(mutex_);
    std::erase(waiting_, command);
}

}  // namespace ibf::shell
