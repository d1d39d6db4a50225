#include "daemon/sm/table_audit.hpp"

namespace ibf::sm {

void TableAudit::trust(mad::Guid guid, std::uint16_t top) {
    left_.insert_or_assign(guid, Rest{0, static_cast<std::uint16_t>(top / mad::kLftBlockEntries + 1)});
}

std::optional<base::Instant> TableAudit::due() const {
    return open_ || left_.empty() ? std::nullopt : std::optional{not_before_};
}

std::optional<TableAudit::Question> TableAudit::next(base::Instant now) {
    if (open_ || left_.empty() || now < not_before_) {
        return std::nullopt;
    }
    auto& [guid, rest] = *left_.begin();
    const Question question{guid, rest.next};
    if (++rest.next == rest.end) {
        left_.erase(left_.begin());
    }
    open_ = question;
    return question;
}

void TableAudit::close(Outcome outcome, base::Instant now) {
    if (open_ && outcome == Outcome::ask_again) {
        const auto end = static_cast<std::uint16_t>(open_->block + 1);
        left_.try_emplace(open_->guid, Rest{end, end}).first->second.next = open_->block;
    }
    open_.reset();
    not_before_ = now + kPace;
}

}  // namespace ibf::sm
