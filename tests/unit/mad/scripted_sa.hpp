// DOC: an SA behind a transport, that says what the test wants.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "mad/sa_mad.hpp"
#include "mad/transport.hpp"

namespace ibf::mad::test {

/// What became of the questions; it outlives the transport.
struct SaScript {
    /// The answer to a question; none: silence.
    std::function<std::optional<SaMad>(const SaMad&)> answer = [](const SaMad&) { return std::nullopt; };
    LocalPort port{.device = "mlx5_0",
                   .port = PortNum{1},
                   .state_text = "Active, LinkUp",
                   .sm_lid = Lid{1},
                   .lid = Lid{7}};
    std::vector<SaMad> asked{};
};

class ScriptedSa final : public Transport {
public:
    explicit ScriptedSa(std::shared_ptr<SaScript> script) : script_(std::move(script)) {}

    void start(Sink sink) override { sink_ = std::move(sink); }
    [[nodiscard]] base::Result<void> send(const WireMad& mad) override {
        const auto question = parse_sa_mad(mad.bytes);
        script_->asked.push_back(*question);
        if (auto answer = script_->answer(*question)) {
            answer->header.tid = question->header.tid;
            sink_({encode_sa_mad(*answer), mad.address, {}});
        }
        return {};
    }
    [[nodiscard]] LocalPort local_port() const override { return script_->port; }
    [[nodiscard]] base::Result<void> set_is_sm(bool) override { return {}; }

private:
    std::shared_ptr<SaScript> script_;
    Sink sink_;
};

/// Of a Get: with this status, and of status 0 with the question's own octets, which `edit` may change.
inline SaMad answered(
    const SaMad& question, MadStatus status, const std::function<void(SaMad&)>& edit = [](SaMad&) {}) {
    SaMad answer = question;
    answer.header.method = static_cast<std::uint8_t>(SaMethod::get_resp);
    answer.header.status = status;
    answer.attribute_offset = 8;
    edit(answer);
    return answer;
}

}  // namespace ibf::mad::test
