// DOC: port health: from evidence to a verdict with hysteresis. Pure.
//
// One table of rules (kHealthRules) says what is counted and where the marks lie. A port that reaches the
// high mark of a rule is ill by that rule. It is well again when its count has fallen to the low mark and the
// quarantine is over: a time that doubles with each relapse, so that what only pauses stays out longer and
// longer, and what is mended comes back by itself. Marks and quarantine are the hysteresis: a verdict changes
// twice in a quarantine at most, whatever comes from the wire, and only a change of verdict costs a sweep.
//
// What is counted is what a port did, not what we did to it: a port that is left out is not expected to come
// up, so what looks find of it does not count meanwhile.
//
// Not here: where evidence comes from and what follows of a verdict (health_watch.cpp), whether a link can be
// spared (spare_links.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "daemon/fabric/health.hpp"

namespace ibf::sm {

/// How a rule counts.
struct HealthSpec {
    fabric::HealthRule rule;
    std::string_view evidence;  ///< "traps 129-131": what the count is of
    base::Duration within{};    ///< events: those of so long ago count. Zero: looks are counted
    std::uint8_t looks = 0;     ///< of the last so many looks
    std::uint32_t high = 1;     ///< ill from here on
    std::uint32_t low = 0;      ///< well again down here
    std::uint32_t disable = 1;  ///< where policy is to disable: from here on
};
[[nodiscard]] const HealthSpec& spec_of(fabric::HealthRule rule);

struct HealthPolicy {
    /// By rule. What an operator calls ill is left out; all else is reported, unless the configuration says
    /// more.
    std::array<fabric::HealthAction, fabric::kHealthRules> actions = [] {
        std::array<fabric::HealthAction, fabric::kHealthRules> all{};
        all[static_cast<std::size_t>(fabric::HealthRule::manual)] = fabric::HealthAction::isolate;
        return all;
    }();
    base::Duration quarantine = std::chrono::minutes{5};  ///< at first; 16 times that at most
    bool operator==(const HealthPolicy&) const = default;
};

class PortHealth {
public:
    /// Ports of which something is known at once. Beyond it evidence of further ports is dropped.
    static constexpr std::size_t kPortsMax = 8192;

    explicit PortHealth(const HealthPolicy& policy) : policy_(policy) {}
    void set_policy(const HealthPolicy& policy) { policy_ = policy; }

    /// Evidence of a rule that counts events.
    void note(fabric::HealthRule rule, fabric::PortId at, std::uint32_t times, base::Instant now);
    /// A look at all ports has found these ill, by a rule that counts looks; all others were well.
    void note_look(fabric::HealthRule rule, const std::set<fabric::PortId>& found, base::Instant now);
    /// An operator says that it is ill, until an operator says that it is not.
    void set(fabric::PortId at, base::Instant now);
    /// Forgets all that is held against it. False: there was nothing.
    bool clear(fabric::PortId at);

    struct News {
        enum class Kind : std::uint8_t { ill, disable, well };
        Kind kind = Kind::ill;
        fabric::PortId at;
        fabric::HealthRule rule{};
        std::uint32_t count = 0;
        base::Duration quarantine{};  ///< ill: at least so long
    };
    /// What has become of whom since the last call. Ports in order, for each the rules in order.
    [[nodiscard]] std::vector<News> take_news(base::Instant now);
    [[nodiscard]] bool has_news() const { return !news_.empty(); }
    /// When time alone may bring some.
    [[nodiscard]] std::optional<base::Instant> due() const;

    /// Ports whose link policy wants left out, or more.
    [[nodiscard]] std::set<fabric::PortId> to_leave_out() const;
    /// A rule that it breaks wants it disabled, by the policy of now.
    [[nodiscard]] bool is_to_be_disabled(fabric::PortId at) const;

    struct State {
        fabric::PortId at;
        fabric::HealthRule rule{};
        std::uint32_t count = 0;
        std::uint32_t times = 0;
        base::Instant since{};
        std::optional<base::Instant> until;  ///< empty: until cleared
        fabric::HealthAction wanted{};
    };
    [[nodiscard]] std::vector<State> states() const;

private:
    /// Counts events of the last `within`, in eighths of it.
    struct Events {
        std::array<std::uint32_t, 8> counts{};
        std::int64_t newest = 0;  ///< which eighth, since time began
    };
    struct Verdict {
        bool ill = false;
        bool disable = false;
        base::Instant since{};
        base::Instant until{};
    };
    struct Record {
        std::array<Events, fabric::kHealthRules> events{};
        std::array<std::uint16_t, fabric::kHealthRules> looks{};  ///< the newest is bit 0
        std::array<Verdict, fabric::kHealthRules> verdicts{};
        std::uint32_t times = 0;
        base::Instant forget_at{};  ///< how often it was ill, if it is not by then

        [[nodiscard]] bool ill() const;
    };

    [[nodiscard]] Record* record_of(fabric::PortId at, base::Instant now);
    void drop_idle(base::Instant now);
    [[nodiscard]] static std::uint32_t count_of(const Record& record, fabric::HealthRule rule);
    static void advance(Events& events, const HealthSpec& spec, base::Instant now);
    void judge(fabric::PortId at, Record& record, fabric::HealthRule rule, base::Instant now);
    void fall_ill(Record& record, fabric::HealthRule rule, base::Instant now) const;
    [[nodiscard]] bool left_out(fabric::PortId at, const Record& record) const;
    [[nodiscard]] bool disables(fabric::PortId at, const Record& record, std::size_t rule) const;
    [[nodiscard]] fabric::HealthAction action_of(fabric::PortId at, fabric::HealthRule rule) const;

    HealthPolicy policy_;
    std::map<fabric::PortId, Record> records_;
    base::Instant next_clearing_{};
    std::vector<News> news_;
};

}  // namespace ibf::sm
