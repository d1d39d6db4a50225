// The core's side of a standby's copy (standby_copy.hpp): records go to the SM and into the registry, and
// readers are told how good the copy is.
#include <algorithm>
#include <utility>

#include "daemon/core/core.hpp"

namespace ibf::core {
namespace {

using Severity = fabric::EventRecord::Severity;
using CopyState = fabric::StandbyCopy::State;

constexpr base::Duration kPatience = std::chrono::seconds{5};  ///< a busy master is behind for a moment

std::string name_of(const Peer& peer) {
    return fmt::format("{} ({})", peer.name, peer.guid);
}

}  // namespace

void Core::tell(Severity severity, std::string kind, std::string text, mad::Guid guid, base::Instant now,
                Effects& out) {
    fabric::EventRecord event;
    event.severity = severity;
    event.kind = std::move(kind);
    event.text = std::move(text);
    event.guid = guid;
    sm_.add_event(event, now, out);
}

/// The last thing that is done to it: what was said here, or before by another one, does not count any more.
void Core::take_registry(const std::string& text, base::Instant now, Effects& out) {
    sa::StoredState state = sa::state_of(text, now, wall(now));
    copy_.hold(state.edition);
    registry_ = sa::Registry(sa_config_, sa::RegistryLimits{});
    registry_.restore(std::move(state.tables));
    registry_due_.reset();
    hand_groups(now, out);
}

void Core::on_peer(CopyReceived&& news, base::Instant now, Effects& out) {
    if (!sm_.takes_copies() || !copy_.begin(news.from, news.extent, now)) {
        return;
    }
    for (const db::Record& record : news.batch) {
        if (const auto* state = std::get_if<db::SaStateRecord>(&record)) {
            take_registry(state->text, now, out);
        }
    }
    sm_.take_copy(std::move(news.batch), news.extent, news.from.name, out);
    if (news.extent == sm::CopyExtent::whole) {
        const auto tables = registry_.tables();
        tell(Severity::info, "copy",
             fmt::format("what {} remembers is kept here, too: {} groups, {} services, {} subscriptions",
                         name_of(news.from), tables->groups.size(), tables->services.size(),
                         tables->subscriptions.size()),
             news.from.guid, now, out);
    }
    note_copy(now, out);
}

void Core::on_peer(const CopyTold& news, base::Instant now, Effects& out) {
    if (!sm_.takes_copies()) {
        return;
    }
    const bool fresh =
        copy_.told() != news.edition || copy_.of().guid != news.from.guid || news.to != ToldTo::nobody;
    copy_.on_told(news, now);
    edition_ = std::max(edition_, news.edition == kEditionUnknown ? 0 : news.edition);
    if (fresh) {
        out.emplace_back(sm::MarkEdition{news.edition, news.client});  // a restart here is to know it, too
    }
    note_copy(now, out);
}

void Core::on_peer(const CopyEnded& news, base::Instant now, Effects& out) {
    if (!copy_.on_ended(news.from, news.why, now)) {
        return;
    }
    if (sm_.takes_copies()) {
        tell(Severity::warning, "copy-ended",
             fmt::format("nothing comes from {} any more: {}; what it remembered up to now is kept",
                         name_of(news.from), news.why),
             news.from.guid, now, out);
    }
    note_copy(now, out);
}

/// For the SM, before it acts. A swarm of joins at the master is a list made once, not one for each of them.
void Core::pass_on_clients() {
    if (!std::exchange(clients_passed_on_, true)) {
        sm_.note_clients(copy_.clients());
    }
}

/// For the SM, and for readers.
void Core::note_copy(base::Instant now, Effects& out) {
    clients_passed_on_ = false;
    ++own_version_;
    const bool behind = copy_.state() == CopyState::behind;
    behind_since_ = behind ? behind_since_.value_or(now) : std::optional<base::Instant>{};
    if (!behind) {
        behind_told_ = false;
    } else if (now - *behind_since_ >= kPatience && !std::exchange(behind_told_, true)) {
        tell(Severity::warning, "copy-behind",
             fmt::format("{} has told its clients more than it has passed on: they would have to register "
                         "anew after a take-over",
                         name_of(copy_.of())),
             copy_.of().guid, now, out);
    }
}

void Core::on_peer(PeerCompared&& news, base::Instant now, Effects& out) {
    const auto at = std::lower_bound(peers_.begin(), peers_.end(), news.peer.guid,
                                     [](const auto& peer, mad::Guid guid) { return peer.guid < guid; });
    const bool known = at != peers_.end() && at->guid == news.peer.guid;
    const bool same = known ? at->differences == news.differences : news.differences.empty();
    if (!known && peers_.size() < kPeersMost) {
        peers_.insert(at, {news.peer.guid, news.peer.name, news.differences});
    } else if (known) {
        at->name = news.peer.name;
        at->differences = news.differences;
    }
    ++own_version_;
    if (same) {
        return;
    }
    if (news.differences.empty()) {
        return tell(Severity::info, "config-agrees",
                    fmt::format("{} is configured as we are", name_of(news.peer)), news.peer.guid, now, out);
    }
    tell(Severity::warning, "config-differs",
         fmt::format("{} is configured otherwise than we are ({}): a take-over would change the fabric; give "
                     "both the same configuration and reload",
                     name_of(news.peer), fmt::join(news.differences, ", ")),
         news.peer.guid, now, out);
}

void Core::on_peer(const CopyTrouble& news, base::Instant now, Effects& out) {
    if (news.text.empty()) {
        return tell(Severity::info, "replica", "copies go to and from peers again", {}, now, out);
    }
    tell(Severity::error, "replica-off", news.text, {}, now, out);
}

void Core::show_copy(fabric::Snapshot& snapshot) const {
    snapshot.copy = {};
    if (copies_) {
        snapshot.copy = {copy_.state(), copy_.of().guid, copy_.of().name, copy_.heard(), copy_.why()};
    }
    snapshot.peers = peers_;
}

}  // namespace ibf::core
