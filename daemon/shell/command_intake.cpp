#include "daemon/shell/command_intake.hpp"

#include <algorithm>
#include <utility>

namespace ibf::shell {

bool CommandIntake::take(api::AdminCommand command) {
    const std::lock_guard lock(mutex_);
    if (!waiting_.empty() && waiting_.back() == command) {
        return true;  // not an earlier one: what came between may have undone it
    }
    if (waiting_.size() >= kWaitingMax || !events_.push(core::Event{core::AdminRequested{command}})) {
        return false;
    }
    waiting_.push_back(std::move(command));
    return true;
}

void CommandIntake::done(const api::AdminCommand& command) {
    const std::lock_guard lock(mutex_);
    if (const auto first = std::find(waiting_.begin(), waiting_.end(), command); first != waiting_.end()) {
        waiting_.erase(first);
    }
}

}  // namespace ibf::shell
