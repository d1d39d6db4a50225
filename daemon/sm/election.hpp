// DOC: which of several subnet managers is the master (IBA 14.4.1). Pure.
//
// One literal table, rule_of() in election.cpp: in which role we are, what has come, what we are then and
// what is to be done. What comes is of three kinds: what a look at the fabric shows, what the SM that we poll
// says or does not say, and what another SM asks for by a SubnSet(SMInfo). Everything else here serves the
// table: the rank of SMs, who is trusted, whom to poll and when, who keeps vanishing. It sends nothing and
// keeps no clock: the SubnetManager does what a Step says (mastership.cpp).
//
// Rank: the higher priority, then the lower GUID (IBA 14.4.1). It decides between SMs that are not yet
// anything, and between masters that meet. A standby does not take over because of its GUID alone, and not
// before it has stayed for a while if it vanished earlier: mastership that moves costs every client a
// registration (may_inherit).
//
// Roles: three of them are MASTER to the outside (sm_state). Only `master` may write, and not before it has
// looked. `contested`: a master of lower rank is there and has to hand over to us (IBA 14.4.1).
// `handing_over`: we have sent HANDOVER to one of higher rank, and again with each poll, until it
// acknowledges or says that it is master.
//
// Trust: who shows an SM_Key other than ours is not trusted: it is not handed anything, and its Sets are
// refused. An SM_Key of zero is none at all: some show theirs to a master only. Who asks for what could take
// mastership from us must show ours.
//
// Times: with a poll every `interval` P, each waited for P/2, the death of a master is known (misses + 0.5) P
// after its last answer at the latest, and no misses - 1 lost answers in a row can pass for it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "daemon/fabric/fabric.hpp"
#include "daemon/sm/config.hpp"
#include "mad/attributes.hpp"

namespace ibf::sm {

enum class Role : std::uint8_t { discovering, standby, not_active, master, contested, handing_over };
inline constexpr std::size_t kRoles = 6;
[[nodiscard]] std::string_view to_string(Role role);
/// What SMInfo says of a role.
[[nodiscard]] mad::SmState sm_state(Role role);

enum class Input : std::uint8_t {
    // What a look at the fabric shows, the first of these that is true.
    higher_master,   ///< another master of higher rank, trusted
    foreign_master,  ///< the same, but it has not shown our SM_Key
    lower_master,    ///< another master of lower rank
    heir,            ///< a standby that mastership is to move to (may_inherit)
    higher_waiting,  ///< one of higher rank that is no master
    alone,           ///< none of these
    // What the SM that we poll says.
    polled_master,   ///< it is master
    polled_waiting,  ///< it is none, but of higher rank, and alive
    polled_gone,     ///< it has not answered for too long, or there is nothing to wait for
    // What another SM asks for (SubnSet(SMInfo), IBA 14.4.1, by AttributeModifier).
    handover,
    acknowledge,
    disable,
    standby,
    discover,
};
inline constexpr std::size_t kInputs = 14;
[[nodiscard]] std::string_view to_string(Input input);

enum class Act : std::uint8_t {
    none,
    refuse,       ///< answer the Set with an error status
    serve,        ///< go on: what differs is to be written
    look,         ///< a full sweep at once
    watch,        ///< poll the SM that it is about
    hand_over,    ///< write nothing more, send it HANDOVER (again), poll it
    call,         ///< write nothing more, poll it, and tell it of us by trap 144
    step_down,    ///< forget what we knew as master, poll it
    acknowledge,  ///< send it ACKNOWLEDGE, then a full sweep at once
    sleep,        ///< send nothing more
};
[[nodiscard]] std::string_view to_string(Act act);

struct Rule {
    Role next;
    Act act;
};
/// The table.
[[nodiscard]] Rule rule_of(Role role, Input input);

/// The AttributeModifier of SubnSet(SMInfo) that asks for this, and back. nullopt: none of them.
[[nodiscard]] std::uint32_t modifier_of(Input input);
[[nodiscard]] std::optional<Input> request_of(std::uint32_t modifier);

/// What an SM that shows this key is, to one whose own is `ours`.
[[nodiscard]] fabric::SmTrust trust_of(mad::SmKey shown, mad::SmKey ours);
/// An answer to SubnGet(SMInfo). A key that it has shown once is remembered: it shows it to a master only.
void note_sm_info(fabric::OtherSm& sm, const mad::SmInfo& info, mad::SmKey ours);

struct ElectionPolicy {
    std::uint8_t priority = 0;
    mad::SmKey sm_key{};
    base::Duration interval{};
    std::uint32_t misses = 3;
    HandOver hand_over = HandOver::priority;
    base::Duration hold{};  ///< how long an SM that has vanished must stay before it inherits
};
[[nodiscard]] ElectionPolicy election_policy(const SmConfig& config);

class Election {
public:
    Election(mad::Guid self, const ElectionPolicy& policy);

    void set_policy(const ElectionPolicy& policy) { policy_ = policy; }

    struct Step {
        Role from{};
        Role to{};
        Act act = Act::none;
        Input input{};
        fabric::OtherSm whom;  ///< whom it is about; guid 0: nobody
    };
    /// A look at the fabric has ended: these are the other SMs.
    [[nodiscard]] Step on_fabric(const std::vector<fabric::OtherSm>& others, base::Instant now);
    /// Another SM asks for something. `shown`: its SMInfo, from the request.
    [[nodiscard]] Step on_request(Input input, const mad::SmInfo& shown, base::Instant now);

    /// When the next poll is due.
    [[nodiscard]] std::optional<base::Instant> due() const;
    /// The SM to be asked now, if it is time.
    [[nodiscard]] std::optional<mad::Guid> poll(base::Instant now);
    [[nodiscard]] base::Duration poll_timeout() const { return policy_.interval / 2; }
    /// For the last question to one that was given up, sent twice: P/4 and P/2 (mad::Transactions doubles).
    [[nodiscard]] base::Duration last_timeout() const { return policy_.interval / 4; }
    [[nodiscard]] Step on_poll_answer(const mad::SmInfo& info, base::Instant now);
    [[nodiscard]] Step on_poll_lost(base::Instant now);
    /// An answer to a sweep's question: if it is of the SM that we poll, it is as good as one to a poll.
    void on_sign_of_life(const mad::SmInfo& info, base::Instant now);
    /// The SM that was sent HANDOVER has it. Asked at once it says that it is master; a master that looks at
    /// the fabric must not find two (OpenSM would wait for our HANDOVER).
    void on_handover_taken(base::Instant now);
    /// The SM that was sent HANDOVER does not take it.
    [[nodiscard]] Step on_handover_refused(base::Instant now);

    [[nodiscard]] Role role() const { return role_; }
    /// Master, and the fabric was looked at since it became that.
    [[nodiscard]] bool may_write() const { return role_ == Role::master && looked_; }
    /// Whom we poll; guid 0: nobody.
    [[nodiscard]] mad::Guid polled() const { return polled_.guid; }
    /// Polls in a row that were not answered.
    [[nodiscard]] std::uint32_t missed() const { return missed_; }
    /// It was polled as our master and is dead: there is no need to wait for its word again.
    [[nodiscard]] mad::Guid given_up() const { return given_up_; }
    [[nodiscard]] bool given_up(mad::Guid guid) const { return given_up_ == guid && guid != mad::Guid{}; }
    /// The master answers, but its ActCount has stood still for a minute (IBA 14.2.5.13).
    [[nodiscard]] bool polled_is_stuck(base::Instant now) const;

    [[nodiscard]] bool outranks_us(const fabric::OtherSm& other) const;

private:
    /// What is known of an SM over time.
    struct Past {
        bool present = false;
        base::Instant since{};       ///< of its presence, or absence
        std::uint32_t vanished = 0;  ///< how often it did
    };
    struct Sight {
        Input input = Input::alone;
        fabric::OtherSm whom;
    };

    [[nodiscard]] Sight sight_of(const std::vector<fabric::OtherSm>& others, base::Instant now) const;
    [[nodiscard]] bool may_inherit(const fabric::OtherSm& other, base::Instant now) const;
    [[nodiscard]] bool counts_as_master(const fabric::OtherSm& other, base::Instant now) const;
    [[nodiscard]] bool is_master_like() const { return sm_state(role_) == mad::SmState::master; }
    [[nodiscard]] Step apply(Input input, const fabric::OtherSm& whom, base::Instant now);
    void poll_from(const fabric::OtherSm& whom, base::Instant now);
    void note_present(const std::vector<fabric::OtherSm>& others, base::Instant now);
    void note_vanished(mad::Guid guid, base::Instant now);

    mad::Guid self_;
    ElectionPolicy policy_;
    Role role_ = Role::discovering;
    fabric::OtherSm polled_;
    base::Instant next_poll_{};
    base::Instant asked_at_{};  ///< the poll under way, or the last one
    base::Instant heard_at_{};
    std::uint32_t missed_ = 0;
    bool looked_ = false;
    bool hastened_ = false;        ///< polled before its time, once for each heir
    base::Instant count_moved_{};  ///< when the polled one's ActCount last changed
    mad::Guid given_up_{};
    mad::Guid predecessor_{};  ///< handed over to us: it says "master" until it knows that we took it
    base::Instant predecessor_until_{};
    std::map<mad::Guid, Past> past_;
};

}  // namespace ibf::sm
