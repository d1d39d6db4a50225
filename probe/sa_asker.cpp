#include "probe/sa_asker.hpp"

#include <utility>

#include <fmt/format.h>

namespace ibf::probe {
namespace {

/// Three tries, which are over before kPatience is.
constexpr mad::SaQueryLimits kLimits{
    .timeout = std::chrono::milliseconds{900}, .retries = 2, .answer_bytes = std::size_t{1} << 16U};

base::Result<mad::PathQuestion> question_of(const PathWanted& wanted, const mad::LocalPort& port) {
    mad::PathQuestion question{.slid = wanted.slid == mad::kLidNone ? port.lid : wanted.slid,
                               .dlid = wanted.dlid,
                               .dgid = wanted.dgid,
                               .pkey = {}};
    if (wanted.pkey_index) {
        const std::size_t index = *wanted.pkey_index;
        if (index >= port.pkeys.size() || port.pkeys[index] == mad::PKey{}) {
            return base::fail(base::ErrorKind::usage,
                              fmt::format("{}/{} has no P_Key at index {}", port.device, port.port, index));
        }
        question.pkey = port.pkeys[index];
    }
    return question;
}

base::Result<mad::PathRecord> record_of(const mad::SaReply& reply) {
    if (reply.status != 0) {
        return base::fail(base::ErrorKind::refused, mad::sa_status_text(reply.status));
    }
    if (reply.count() == 0) {
        return base::fail(base::ErrorKind::refused, "the SA knows no such path");
    }
    return mad::parse_path_record(reply.record(0));
}

}  // namespace

SaAsker::SaAsker()
    : open_([](const std::string& port, const mad::SaQueryLimits& limits) {
          return mad::SaClient::open(port, limits);
      }) {}

base::Result<mad::PathRecord> SaAsker::ask(const PathWanted& wanted, const std::stop_token& stop) {
    const std::lock_guard lock(mutex_);
    const base::Instant begun = base::monotonic_now();
    const std::string name =
        wanted.port == 0 ? wanted.device : fmt::format("{}/{}", wanted.device, wanted.port);
    const auto known = silent_.find(name);
    if (known != silent_.end() && begun < known->second.kept_until) {
        return tl::unexpected(known->second.error);
    }
    silent_.erase(name);
    const auto client = open_(name, kLimits);
    if (!client) {
        return tl::unexpected(client.error());
    }
    const auto question = question_of(wanted, (*client)->port());
    if (!question) {
        return tl::unexpected(question.error());
    }
    const auto reply = (*client)->ask(mad::path_question(*question), begun + kPatience, stop);
    if (!reply) {
        if (reply.error().kind == base::ErrorKind::unavailable && !stop.stop_requested()) {
            silent_.insert_or_assign(name, Silence{reply.error(), base::monotonic_now() + kSilenceKept});
        }
        return tl::unexpected(reply.error());
    }
    return record_of(*reply);
}

AskPath asking_by(std::shared_ptr<SaAsker> asker) {
    return [asker = std::move(asker)](const PathWanted& wanted, const std::stop_token& stop) {
        return asker->ask(wanted, stop);
    };
}

}  // namespace ibf::probe
