// Lane tables: when the survey may ask and what it says; what the routes needed and devices took.
#include "base/check.hpp"
#include "daemon/sm/subnet_manager.hpp"

namespace ibf::sm {
namespace {

using Severity = fabric::EventRecord::Severity;

std::pair<Severity, std::string_view> event_of(LaneFinding::Kind kind) {
    switch (kind) {
        case LaneFinding::Kind::mended: return {Severity::warning, "lanes-mended"};
        case LaneFinding::Kind::refused: return {Severity::error, "lanes-lossy"};
        case LaneFinding::Kind::unread: return {Severity::info, "lanes-unread"};
    }
    return {};
}

}  // namespace

/// Of a fabric that is up and at rest, and never while others wait for the wire.
bool SubnetManager::may_survey() const {
    return std::holds_alternative<Idle>(phase_) && mode_ == fabric::SmMode::up && settled_ &&
           settled_ == fabric_ && election_.may_write() && mads_.room() >= LaneSurvey::kWindow;
}

std::optional<base::Instant> SubnetManager::survey_due() const {
    if (!may_survey()) {
        return std::nullopt;
    }
    return surveyed_sweeps_ != settled_sweeps_ ? std::optional{survey_from_} : survey_.due();
}

void SubnetManager::ask_lanes(base::Instant now) {
    const auto due = survey_due();
    const auto look = sweep_due();
    if (!due || now < *due || (look && now >= *look)) {
        return;
    }
    if (surveyed_sweeps_ != settled_sweeps_) {
        surveyed_sweeps_ = settled_sweeps_;
        survey_.follow(*fabric_);
    }
    std::vector<mad::Request> questions;
    survey_.ask(epoch_, now, questions);
    for (mad::Request& question : questions) {
        const bool taken = mads_.submit(std::move(question));
        IBF_CHECK(taken, "the transaction table refused a request although it had room");
    }
}

void SubnetManager::on_lanes(const mad::Completion& completion) {
    const bool overtaken =
        Tag::unpack(completion.tag).epoch != epoch_ || !std::holds_alternative<Idle>(phase_);
    survey_.on(completion, overtaken ? LaneSurvey::Validity::overtaken : LaneSurvey::Validity::counts);
}

void SubnetManager::tell_lanes(base::Instant now, Effects& out) {
    if (auto news = std::holds_alternative<Idle>(phase_) ? survey_.news(now) : nullptr) {
        lanes_ = std::move(news);
        ++version_;
    }
    for (const LaneFinding& finding : survey_.take_findings()) {
        const mad::Guid guid = finding.nodes.front();
        const std::string others =
            finding.nodes.size() > 1 ? fmt::format(" and {} more", finding.nodes.size() - 1) : std::string{};
        const auto [severity, kind] = event_of(finding.kind);
        announce(severity, std::string(kind), fmt::format("{}{}: {}", name_of(guid), others, finding.text),
                 guid, finding.port, now, out);
    }
}

/// As tables are believed (unknown_tables): after a clean stop, of devices that kept what this SM gave them.
void SubnetManager::believe_stored_lanes() {
    if (!stored_clean_ || stored_lanes_.empty()) {
        return stored_lanes_.clear();
    }
    for (const fabric::Node& node : working_->nodes) {
        for (auto [p, end] = fabric::addressed_ports(node); p < end; ++p) {
            const mad::PortInfo& info = node.ports[p].info;
            const bool kept = node.is_switch()
                                  ? trusts_stored(node)
                                  : stored_sm_lid_ != mad::kLidNone && info.sm_lid == stored_sm_lid_ &&
                                        info.state == mad::PortState::active;
            const auto stored =
                stored_lanes_.find(fabric::lid_owner(node, mad::PortNum{static_cast<std::uint8_t>(p)}));
            if (node.ports[p].known && kept && stored != stored_lanes_.end()) {
                lanes_acknowledged_.insert(*stored);
            }
        }
    }
    stored_lanes_.clear();
}

void SubnetManager::keep_lanes(const Programmer& done, base::Instant now, Effects& out) {
    report_.lane_sets = done.lanes().sets();
    if (done.lanes().jobs().empty()) {
        return;
    }
    done.lanes().keep(lanes_acknowledged_);
    for (const mad::Guid owner : done.row_by_row()) {
        survey_.go_row_by_row(owner);
    }
    for (const LaneJob& job : done.lanes().jobs()) {
        survey_.forget(job.owner);  // what it read there is no longer so
        if (!job.lacking.empty()) {
            const fabric::Node& node = working_->nodes[job.at.node];
            announce(Severity::error, "lanes-lacking",
                     fmt::format("{} ({}): lanes of the {} engine are not set up: {}", node.description,
                                 node.guid(), routes_->routes.engine, job.lacking),
                     node.guid(), job.at.port, now, out);
        }
    }
    db::LanesRecord record;
    for (const auto& [owner, prints] : lanes_acknowledged_) {
        for (const auto& [exit, print] : prints) {
            record.rows.push_back({owner, mad::PortNum{exit}, print});
        }
    }
    out.emplace_back(Persist{{std::move(record)}});
}

}  // namespace ibf::sm
