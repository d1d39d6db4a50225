#include "daemon/core/core.hpp"

namespace ibf::core {
namespace {

template <class... Ts>
struct Overload : Ts... {
    using Ts::operator()...;
};

}  // namespace

std::string to_line(const Event& event) {
    return std::visit(
        Overload{
            [](const MadReceived& e) {
                const auto smp = mad::parse_smp(e.mad.bytes);
                return smp ? fmt::format("received {}", mad::to_line(*smp))
                           : std::string("received (no SMP)");
            },
            [](const SendFailed&) { return std::string("send failed"); },
            [](const Deadline&) { return std::string("deadline"); },
            [](const RoutesReady& e) {
                return e.result
                           ? fmt::format("routes ready epoch {} engine {}", e.epoch, e.result->routes.engine)
                           : fmt::format("routes failed epoch {}: {}", e.epoch, e.result.error().message);
            },
            [](const AdminRequested&) { return std::string("admin command"); },
            [](const ConfigReplaced& e) {
                return e.error.empty() ? std::string("configuration replaced")
                                       : fmt::format("configuration kept: {}", e.error);
            },
            [](const DatabaseState& e) { return fmt::format("database {}", e.text); },
        },
        event);
}

Core::Core(CoreStart start) : sm_(start.sm), begun_(start.sm.now), begun_wall_(start.sm.wall) {
    auto first = std::make_shared<fabric::Snapshot>();
    first->transport = std::move(start.transport);
    first->config_path = std::move(start.config_path);
    first->state_dir = std::move(start.state_dir);
    snapshot_ = std::move(first);
}

void Core::begin(base::Instant now, Effects& out) {
    sm_.begin(now, out);
}

void Core::handle(Event event, base::Instant now, Effects& out) {
    const std::size_t first = out.size();
    std::visit(Overload{
                   [&](MadReceived& e) {
                       recorder_.note(FlightRecorder::Way::in, e.mad, now);
                       sm_.on_mad(e.mad, now, out);
                   },
                   [&](SendFailed& e) { sm_.on_send_error(e.mad, now, out); },
                   [&](Deadline&) { sm_.on_time(now, out); },
                   [&](RoutesReady& e) { sm_.on_routes(e.epoch, std::move(e.result), now, out); },
                   [&](AdminRequested& e) {
                       if (e.command.kind != api::AdminCommand::Kind::reload) {
                           const bool full = e.command.kind == api::AdminCommand::Kind::sweep_full;
                           sm_.request_sweep(full ? sm::SweepScope::full : sm::SweepScope::light, "operator",
                                             now, out);
                       }
                   },
                   [&](ConfigReplaced& e) {
                       config_error_ = e.error;
                       ++own_version_;
                       if (e.config) {
                           sm_.replace_config(std::move(e.config), now, out);
                       }
                   },
                   [&](DatabaseState& e) {
                       database_text_ = std::move(e.text);
                       ++own_version_;
                   },
               },
               event);
    for (std::size_t i = first; i < out.size(); ++i) {
        if (const auto* send = std::get_if<sm::SendMad>(&out[i])) {
            recorder_.note(FlightRecorder::Way::out, send->mad, now);
        }
    }
}

void Core::stop(base::Instant now, Effects& out) {
    sm_.stop(now, out);
}

std::shared_ptr<const fabric::Snapshot> Core::snapshot(base::Instant now) {
    if (shown_ == sm_.version() && own_shown_ == own_version_) {
        return snapshot_;
    }
    auto fresh = std::make_shared<fabric::Snapshot>(*snapshot_);
    sm_.fill(*fresh);
    fresh->version = snapshot_->version + 1;
    fresh->published = begun_wall_ + std::chrono::duration_cast<std::chrono::milliseconds>(now - begun_);
    fresh->database_text = database_text_;
    fresh->last_config_error = config_error_;
    shown_ = sm_.version();
    own_shown_ = own_version_;
    snapshot_ = std::move(fresh);
    return snapshot_;
}

}  // namespace ibf::core
