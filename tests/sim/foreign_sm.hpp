// DOC: a scripted subnet manager of another make on a simulated fabric.
//
// It behaves to other SMs as OpenSM 3.3.23 does: polls the master, answers a HANDOVER with its GetResp and
// never sends ACKNOWLEDGE, hands over to the highest SM that outranks it and stands by at once, waits for a
// master of lower rank to hand over to it, and passes over SMs that show another SM_Key. As master it makes
// every port with a LID name it (MasterSMLID) and does nothing else: it is for a fabric that another SM has
// set up and that an SM will look after again. It finds its way by the simulator's truth, not by discovery.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness.hpp"

namespace ibf::test {

class ForeignSm : public Actor {
public:
    ForeignSm(Lab& lab, const std::string& node, std::uint8_t priority);
    ~ForeignSm() override;

    void start();
    void kill();
    [[nodiscard]] bool alive() const { return state_.has_value(); }
    [[nodiscard]] bool is_master() const { return state_ == mad::SmState::master; }
    [[nodiscard]] sim::Simulator::ClientId client() const { return client_; }

    [[nodiscard]] std::optional<base::Instant> next_deadline() const override;
    void on_time() override;

private:
    struct Peer {
        mad::DrPath path;
        std::optional<mad::SmInfo> info;
        std::uint64_t asked_tid = 0;
    };
    /// Nodes over links that are up, from its own on, each with a way there.
    [[nodiscard]] std::map<std::uint32_t, mad::DrPath> reachable() const;
    [[nodiscard]] mad::SmInfo own_info() const;
    [[nodiscard]] bool outranks_us(const mad::SmInfo& other) const;
    void take(const mad::WireMad& wire);
    void take_request(const mad::WireMad& wire, const mad::Smp& smp);
    void take_answer(const mad::Smp& smp);
    std::uint64_t send(mad::Method method, mad::Attribute attribute, std::uint32_t modifier,
                       const mad::DrPath& path, const mad::AttributeData& data);
    void ask(Peer& peer);
    void look();
    bool ask_again();
    void decide();
    void poll();
    void become(mad::SmState state);
    void configure();

    Lab& lab_;
    std::uint32_t node_;
    std::uint8_t priority_;
    sim::Simulator::ClientId client_ = 0;
    std::optional<mad::SmState> state_;  ///< empty: not running
    std::map<mad::Guid, Peer> peers_;    ///< what the last look asked, by port GUID
    mad::Guid polled_{};
    std::uint32_t missed_ = 0;
    std::uint32_t tries_left_ = 0;
    bool poll_open_ = false;
    base::Instant next_look_{};
    std::optional<base::Instant> decide_at_;
    base::Instant next_poll_{};
    std::uint32_t next_tid_ = 1;
    std::uint32_t act_count_ = 0;
};

}  // namespace ibf::test
