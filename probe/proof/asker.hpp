// DOC: questions to the fabric, asked in batches.
//
// A Question is a Get: an SMP along a directed route, or a performance Get to a LID. A MadAsker sends a batch
// as windows and retries allow and blocks until each has its Answer; a silent device costs bounded time.
// Nothing here can Set.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "mad/perf_mad.hpp"
#include "mad/smp.hpp"

namespace ibf::probe {

struct Question {
    std::uint32_t device = 0;  ///< whom it is for, by any dense number: windows and silence count by it
    /// An SMP; or, where `perf` says so, a performance Get.
    mad::Attribute attribute{};
    std::uint32_t modifier = 0;
    mad::DrPath path{};
    bool is_perf = false;
    mad::PerfAttribute perf{};
    mad::PortNum port{};
    mad::Lid lid{};
};

struct Answer {
    enum class Kind : std::uint8_t { data, refused, silent };
    Kind kind = Kind::silent;
    mad::MadStatus status = 0;  ///< of refused
    mad::PerfData data{};       ///< of an SMP the first 64 octets

    [[nodiscard]] bool ok() const { return kind == Kind::data; }
};

class MadAsker {
public:
    MadAsker() = default;
    MadAsker(const MadAsker&) = delete;
    MadAsker& operator=(const MadAsker&) = delete;
    virtual ~MadAsker() = default;

    /// An answer for each, in their order. Once `stop` is requested what is not answered yet stays silent.
    [[nodiscard]] virtual std::vector<Answer> ask(std::span<const Question> questions,
                                                  std::stop_token stop) = 0;
};

}  // namespace ibf::probe
