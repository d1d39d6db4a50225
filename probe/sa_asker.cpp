#include "probe/sa_asker.hpp"

#include <utility>

#include <fmt/format.h>

namespace ibf::probe {
namespace {

/// Three tries, which are over before kPatience is.
constexpr mad::SaQueryLimits kLimits{
    .timeout = std::chrono::milliseconds{900}, .retries = 2, .answer_bytes = std::size_t{1} << 16U};
constexpr std::chrono::milliseconds kAllTries{2'700};

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

base::Result<mad::PathRecord> record_of(const mad::SaReply& reply, const mad::PathQuestion& question) {
    if ((reply.status & mad::kStatusBusy) != 0) {
        return base::fail(base::ErrorKind::unavailable,
                          "the subnet administrator is busy, and answers no more");
    }
    if (reply.status == mad::kSaNoRecords || reply.status == mad::kSaInvalidGid) {
        return base::fail(base::ErrorKind::not_found, mad::sa_status_text(reply.status));
    }
    if (reply.status != 0) {
        return base::fail(base::ErrorKind::refused, mad::sa_status_text(reply.status));
    }
    if (reply.count() == 0) {
        return base::fail(base::ErrorKind::not_found, "the SA knows no such path");
    }
    return mad::parse_path_answer(reply.record(0), question);
}

}  // namespace

SaAsker::SaAsker()
    : open_([](const std::string& port, const mad::SaQueryLimits& limits) {
          return mad::SaClient::open(port, limits);
      }) {}

void SaAsker::keep(const Asked& asked, const base::Result<mad::PathRecord>& record) {
    const base::Instant now = base::monotonic_now();
    std::erase_if(answers_, [now](const auto& one) { return one.second.kept_until <= now; });
    if (answers_.size() < kAnswersMost) {
        answers_.insert_or_assign(asked, Answer{record, now + kAnswerKept});
    }
}

base::Result<mad::PathRecord> SaAsker::ask(const PathWanted& wanted, const std::stop_token& stop) {
    const base::Instant give_up = base::monotonic_now() + kPatience;
    {
        std::unique_lock lock(mutex_);
        if (!turn_ended_.wait_for(lock, stop, kPatience, [this] { return !is_asking_; })) {
            return base::fail(
                base::ErrorKind::unavailable,
                stop.stop_requested() ? "interrupted" : "another question to the SA takes too long");
        }
        is_asking_ = true;
    }
    auto record = ask_in_turn(wanted, give_up, stop);
    {
        const std::lock_guard lock(mutex_);
        is_asking_ = false;
    }
    turn_ended_.notify_one();
    return record;
}

base::Result<mad::PathRecord> SaAsker::ask_in_turn(const PathWanted& wanted, base::Instant give_up,
                                                   const std::stop_token& stop) {
    const auto client =
        open_(wanted.port == 0 ? wanted.device : fmt::format("{}/{}", wanted.device, wanted.port), kLimits);
    if (!client) {
        return tl::unexpected(client.error());
    }
    const mad::LocalPort& port = (*client)->port();
    const std::string name = fmt::format("{}/{}", port.device, port.port);
    const base::Instant begun = base::monotonic_now();
    if (const auto known = silent_.find(name); known != silent_.end() && begun < known->second.kept_until) {
        return tl::unexpected(known->second.error);
    }
    silent_.erase(name);
    const auto question = question_of(wanted, port);
    if (!question) {
        return tl::unexpected(question.error());
    }
    const Asked asked{name, question->slid, question->dlid, question->dgid, question->pkey};
    if (const auto known = answers_.find(asked);
        known != answers_.end() && begun < known->second.kept_until) {
        return known->second.record;
    }
    const auto record =
        (*client)->ask(mad::path_question(*question), give_up, stop).and_then([&](const auto& reply) {
            return record_of(reply, *question);
        });
    if (record || record.error().kind != base::ErrorKind::unavailable) {
        keep(asked, record);
    } else if (!stop.stop_requested() && give_up - begun >= kAllTries) {
        silent_.insert_or_assign(name, Silence{record.error(), base::monotonic_now() + kSilenceKept});
    }
    return record;
}

AskPath asking_by(std::shared_ptr<SaAsker> asker) {
    return [asker = std::move(asker)](const PathWanted& wanted, const std::stop_token& stop) {
        return asker->ask(wanted, stop);
    };
}

}  // namespace ibf::probe
