#include "probe/proof/asking.hpp"

#include <algorithm>
#include <utility>

namespace ibf::probe {
namespace {

constexpr mad::Tid kFirstSmpTid{0x70000000};
constexpr mad::Tid kFirstPerfTid{0x50000000};

Answer answer_to(const mad::Completion& completion) {
    Answer answer;
    switch (completion.kind) {
        case mad::Completion::Kind::reply: answer.kind = Answer::Kind::data; break;
        case mad::Completion::Kind::error_status: answer.kind = Answer::Kind::refused; break;
        default: answer.kind = Answer::Kind::silent; break;
    }
    answer.status = completion.status;
    std::copy(completion.data.begin(), completion.data.end(), answer.data.begin());
    return answer;
}

Answer answer_to(const mad::PerfAnswer& perf) {
    Answer answer{.status = perf.status, .data = perf.data};
    switch (perf.kind) {
        case mad::PerfAnswer::Kind::reply: answer.kind = Answer::Kind::data; break;
        case mad::PerfAnswer::Kind::error_status: answer.kind = Answer::Kind::refused; break;
        case mad::PerfAnswer::Kind::timeout: answer.kind = Answer::Kind::silent; break;
    }
    return answer;
}

}  // namespace

Asking::Asking(const AskLimits& limits)
    : smps_(limits.smp, kFirstSmpTid), perf_(limits.perf, kFirstPerfTid) {}

void Asking::start(std::span<const Question> questions) {
    questions_.assign(questions.begin(), questions.end());
    answers_.assign(questions.size(), Answer{});
    next_ = 0;
    left_ = questions.size();
    feed();
}

/// Hands on what there is room for.
void Asking::feed() {
    for (; next_ < questions_.size(); ++next_) {
        const Question& question = questions_[next_];
        if (question.is_perf) {
            perf_.submit({.tag = next_,
                          .target = question.device,
                          .attribute = question.perf,
                          .port = question.port,
                          .lid = question.lid});
            continue;
        }
        if (smps_.room() == 0) {
            return;
        }
        mad::Request request;
        request.tag = next_;
        request.target = question.device;
        request.attribute = question.attribute;
        request.modifier = question.modifier;
        request.path = question.path;
        static_cast<void>(smps_.submit(std::move(request)));  // there was room
    }
}

void Asking::settle(std::size_t which, const Answer& answer) {
    answers_[which] = answer;
    --left_;
}

void Asking::collect() {
    for (const mad::Completion& completion : completions_) {
        settle(completion.tag, answer_to(completion));
    }
    for (const mad::PerfAnswer& answer : perf_answers_) {
        settle(answer.tag, answer_to(answer));
    }
    completions_.clear();
    perf_answers_.clear();
    feed();
}

void Asking::poll_send(base::Instant now, std::vector<mad::WireMad>& out) {
    smps_.poll_send(now, out);
    perf_.poll_send(now, out);
}

void Asking::on_send_error(const mad::WireMad& mad, base::Instant now) {
    // A performance Get that did not leave is as good as lost: it is sent again in time.
    smps_.on_send_error(mad, now, completions_);
    collect();
}

void Asking::on_receive(const mad::WireMad& mad, base::Instant now) {
    if (!perf_.on_receive(mad, perf_answers_)) {
        static_cast<void>(smps_.on_receive(mad, now, completions_));
    }
    collect();
}

void Asking::on_time(base::Instant now) {
    smps_.on_time(now, completions_);
    perf_.on_time(now, perf_answers_);
    collect();
}

std::optional<base::Instant> Asking::next_deadline() const {
    const auto smp = smps_.next_deadline();
    const auto perf = perf_.next_deadline();
    return smp && perf ? std::min(smp, perf) : (smp ? smp : perf);
}

std::vector<Answer> Asking::take() {
    smps_.abandon_all();
    perf_.abandon_all();
    left_ = 0;
    next_ = questions_.size();
    return std::exchange(answers_, {});
}

}  // namespace ibf::probe
