// DOC: the light sweep: has anything changed?
//
// One SwitchInfo Get per switch (is PortStateChange set, is it still the switch we programmed?) and one
// SMInfo Get per known other SM. The PortInfo of our own port (on a switch: port 0): it names another SM if
// one was master while we were stopped, or suspended with our host, and nothing else would tell. On
// back-to-back fabrics, without a switch, that of the peer as well. Devices that were silent are asked once
// each, aside: their time-outs do not count for the end.
//
// Every switch is asked, whichever told first: the answer says where to look (sm/discovery), not only that
// there is something to see. Once one has told of a change, those that do not answer at the pace of the
// others are no longer waited for: the way to them may lead over what has just died.
//
// Where two devices had one GUID, both are asked who they are: the one that was believed may have been the
// wrong one, and no switch tells when a device is called by another name.
//
// A switch with ports that are held down (hold_down.hpp) may tell of those again and again. There its ports
// are looked at one by one: what has changed is news if it is another port. A switch of which not all ports
// were heard before the end counts as not heard.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "daemon/fabric/fabric.hpp"
#include "daemon/sm/discovery.hpp"
#include "daemon/sm/tag.hpp"
#include "mad/transactions.hpp"

namespace ibf::sm {

/// How SMs are asked: what we show of ourselves, and which SM_Key is ours.
struct SmQuestion {
    mad::SmInfo shown;
    mad::SmKey sm_key;
};

/// Ports whose changes are no news for now, by switch.
using HeldPorts = std::map<mad::Guid, std::set<mad::PortNum>>;

/// Of a switch with held ports that told of a change: those that are not as the fabric has them, and what
/// they are.
using HeldChanges = std::map<mad::Guid, std::map<mad::PortNum, mad::PortState>>;

class LightSweep {
public:
    LightSweep(std::shared_ptr<const fabric::Fabric> fabric, std::uint16_t epoch, bool ask_silent,
               const SmQuestion& question, HeldPorts held);

    [[nodiscard]] std::optional<mad::Request> next();
    void on(const mad::Completion& completion, base::Instant now);
    [[nodiscard]] bool done(base::Instant now) const;
    /// When done() may turn true without a completion.
    [[nodiscard]] std::optional<base::Instant> deadline() const;

    struct Result {
        std::vector<std::string> changes;  ///< one reason each; empty: nothing changed
        /// Where; nullopt: something has changed of which no switch tells. Carries the SMs that are known, as
        /// they have answered now.
        std::optional<TouchedPlaces> touched;
        std::vector<fabric::OtherSm> sms;  ///< the same
        HeldChanges held;                  ///< no changes, yet
    };
    [[nodiscard]] Result take();

private:
    void ask_namesakes();
    void ask(Tag tag, const mad::DrPath& path, mad::Attribute attribute, std::uint32_t modifier);
    void on_switch(std::uint32_t index, const mad::Completion& completion);
    void on_port(const Tag& tag, const mad::Completion& completion);
    void on_namesake(const Tag& tag, const mad::Completion& completion);
    void look_at_ports(std::uint32_t index);
    void on_switch_port(const Tag& tag, const mad::Completion& completion);
    void on_sm(std::uint32_t index, const mad::Completion& completion);

    std::shared_ptr<const fabric::Fabric> fabric_;
    std::deque<mad::Request> waiting_;
    std::size_t open_ = 0;
    std::set<std::uint32_t> unheard_;  ///< switches that have not answered
    std::map<std::uint32_t, std::size_t>
        open_ports_;                   ///< of switches whose ports are looked at: not answered
    std::set<std::uint32_t> changed_;  ///< those that told of a change
    bool elsewhere_ = false;           ///< something changed that no switch tells of
    base::Instant last_answer_{};
    base::Duration slowest_{};
    std::uint16_t epoch_;
    SmQuestion question_;
    HeldPorts held_;
    Result result_;
};

}  // namespace ibf::sm
