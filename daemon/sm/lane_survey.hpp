// DOC: reading the lane tables in the background.
//
// No sweep needs them, so none waits for them: while the subnet is up and nothing else is to be done, each
// device's SL to VL mappings and VL arbitration are read once, and again only where it lost its set-up or a
// port's lanes changed. What would lose packets is mended on the way (lane_plan). It decides what is asked
// and when, keeps what was told, and says what was found; when there is rest is the SM's to know.
//
// Pace: every kPace one question to each of at most kWindow devices. So a device sees 250 questions a second
// at most, about what the audit of forwarding tables asks of it, and the fabric 5,000: 666 switches of 36
// ports (911,754 mappings) take three minutes, 13,284 nodes eight. A window instead of a rate alone, because
// a device that is slow or dead holds up nobody but itself. An open question also keeps anything else away
// from its device: optimised Sets must come one at a time.
//
// Who does not answer is left out for 1, 2, 4, ... and at most 64 sweeps that set the fabric up, so that a
// device that was out of reach is read later, and one that is mute about lanes costs next to nothing.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "daemon/fabric/lane_tables.hpp"
#include "daemon/sm/lane_plan.hpp"
#include "daemon/sm/tag.hpp"
#include "mad/transactions.hpp"

namespace ibf::sm {

/// Something to be told to the operator.
struct LaneFinding {
    enum class Kind : std::uint8_t {
        mended,
        refused,  ///< a Set: packets are lost there still
        unread,   ///< devices that did not answer
    };
    Kind kind = Kind::mended;
    std::vector<mad::Guid> nodes;
    mad::PortNum port{};  ///< of an adapter or router, where it is one node
    std::string text;
};

class LaneSurvey {
public:
    static constexpr base::Duration kPace = std::chrono::milliseconds{4};
    static constexpr std::size_t kWindow = 20;
    /// Readers get a new value at most so often until all is read: each costs the SA a new view.
    static constexpr base::Duration kShowEvery = std::chrono::seconds{5};

    /// The fabric as it was set up: what is new or has other lanes is to be read.
    void follow(const fabric::Fabric& fabric);
    /// This device (lid_owner) lost its set-up, and its lane tables with it.
    void forget(mad::Guid owner);
    /// This device refused an optimised Set: it is not given another.
    void go_row_by_row(mad::Guid owner) { row_by_row_.insert(owner); }
    [[nodiscard]] const std::set<mad::Guid>& row_by_row() const { return row_by_row_; }

    /// When ask() has questions; empty: nothing is left, or all are open.
    [[nodiscard]] std::optional<base::Instant> due() const;
    /// No more than kWindow questions, to devices where follow() saw them last.
    void ask(std::uint16_t epoch, base::Instant now, std::vector<mad::Request>& out);
    /// An answer that a sweep overtook does not count: the device may have been reset meanwhile.
    enum class Validity : std::uint8_t { counts, overtaken };
    void on(const mad::Completion& completion, Validity validity);

    /// What is known, if there is news that readers should see now.
    [[nodiscard]] std::shared_ptr<const fabric::Lanes> news(base::Instant now);
    [[nodiscard]] std::vector<LaneFinding> take_findings() { return std::exchange(findings_, {}); }

private:
    using Tables = std::shared_ptr<const fabric::LaneTables>;

    /// What is being done with a device.
    struct Work {
        fabric::LaneTables tables;  ///< as far as they are known
        std::size_t exit = 0;       ///< the port being read
        std::size_t step = 0;       ///< next of its questions: mappings by input port, then blocks 1..4
        bool planned = false;
        std::vector<LaneWrite> writes;  ///< next one first
        std::string wrong;
        std::size_t written = 0;
        std::optional<mad::MadStatus> refused;  ///< a Set, and by what
    };
    struct Device {
        LaneDevice lanes;
        mad::DrPath path;
        std::bitset<256> unread;  ///< ports
        Tables tables;            ///< null: not read
        std::unique_ptr<Work> work;
        bool silent = false;    ///< left out
        unsigned silences = 0;  ///< how often in a row
        unsigned sits_out = 0;  ///< so many calls of follow() more, while silent
    };
    struct Slot {
        mad::Guid device{};  ///< 0: none
        bool open = false;
        bool refused = false;    ///< its question was refused once
        std::uint16_t busy = 0;  ///< times in a row that the device asked to be left alone for now
    };
    struct ByValue {
        bool operator()(const Tables& a, const Tables& b) const { return *a < *b; }
    };

    void follow_device(mad::Guid owner, LaneDevice lanes);
    [[nodiscard]] std::optional<mad::Request> next_of(Slot& slot);
    [[nodiscard]] bool take_device(Slot& slot);
    [[nodiscard]] std::optional<mad::Request> question(Device& device);
    [[nodiscard]] static std::optional<mad::Request> next_of_port(Device& device);
    void start_writing(Device& device);
    void finish(Device& device);
    void reread(Device& device, const std::bitset<256>& ports);
    void leave_out(Device& device);
    void take(Device& device, const mad::Completion& completion);
    void pass_over(mad::Guid owner, const mad::Completion& completion);
    void keep(Device& device, const fabric::LaneTables& tables);
    [[nodiscard]] bool busy() const;
    void tell_silent();

    std::map<mad::Guid, Device> devices_;  ///< by lid_owner
    std::set<mad::Guid> row_by_row_;       ///< owners that refused an optimised Set
    std::set<mad::Guid> waiting_;          ///< with something to be done, in no slot
    std::array<Slot, kWindow> slots_;
    base::Instant not_before_{};
    std::set<Tables, ByValue> pool_;  ///< devices that hold the same share one
    std::vector<mad::Guid> fell_silent_;
    std::vector<LaneFinding> findings_;
    bool news_ = false;
    std::optional<base::Instant> shown_at_;
};

}  // namespace ibf::sm
