#include "sa_judge.hpp"

#include <fmt/format.h>

#include "daemon/core/core.hpp"
#include "daemon/sa/reader.hpp"
#include "mad/octets.hpp"
#include "sim/world.hpp"
#include "tests/unit/sa/sa_bench.hpp"

namespace ibf::test {
namespace {

using sim::PortRef;

/// One lane of the link out of a switch port.
using Channel = std::tuple<std::uint32_t, std::uint8_t, std::uint8_t>;

class SaJudge {
public:
    explicit SaJudge(const Lab& lab) : lab_(lab), world_(lab.sim.world()) {
        for (std::uint32_t n = 0; n < world_.size(); ++n) {
            const sim::Device& device = world_.device(n);
            for (std::size_t p = 0; p < device.ports.size(); ++p) {
                const mad::LidRange range{device.ports[p].info.lid, device.ports[p].info.lmc};
                for (std::uint32_t lid = range.base.value(); range.base != mad::kLidNone && lid < range.end();
                     ++lid) {
                    owners_[static_cast<std::uint16_t>(lid)] = {n,
                                                                mad::PortNum{static_cast<std::uint8_t>(p)}};
                }
            }
        }
    }

    std::vector<std::string> look() {
        const sa::View view(std::make_shared<fabric::Snapshot>(lab_.snapshot()));
        const mad::SaMad request =
            SaBench::request(mad::SaMethod::get_table, mad::SaAttribute::path_record, {});
        const fabric::SaTables tables;
        const sa::SaConfig config = core::sa_config(lab_.config());
        const sa::Answer answer = sa::read({request, view, tables, config, sa::kNoEnd}, request.data);
        for (std::size_t i = 0; i < answer.count(); ++i) {
            check(answer, i);
        }
        check_complete();
        check_lanes();
        return std::move(found_);
    }

private:
    void check(const sa::Answer& answer, std::size_t index) {
        const auto field = [&](const char* name) { return SaBench::field(answer, index, name); };
        const mad::Lid slid{static_cast<std::uint16_t>(field("SLID"))};
        const mad::Lid dlid{static_cast<std::uint16_t>(field("DLID"))};
        const auto source = owners_.find(slid.value());
        const auto target = owners_.find(dlid.value());
        const std::string what = fmt::format("PathRecord {} to {}", slid, dlid);
        if (source == owners_.end() || target == owners_.end()) {
            return say(what + ": nobody has that LID");
        }
        pairs_.emplace(source->second, target->second);
        if (source->second == target->second || world_.device(source->second.node).is_switch()) {
            return;  // what a switch's port 0 sends is walked from the other end
        }
        const auto steps = lab_.sim.walk(source->second.node, source->second.port, dlid);
        if (!steps) {
            return say(fmt::format("{}: {}", what, steps.error().message));
        }
        const auto sl = static_cast<std::size_t>(field("SL"));
        check_ends(answer, index, source->second, what);
        std::uint8_t mtu = 0xFF;
        std::uint8_t life = 0;
        std::optional<Channel> before;
        for (std::size_t i = 0; i < steps->size(); ++i) {
            const PortRef out{(*steps)[i].node, (*steps)[i].out};
            if (world_.device(out.node).is_switch() && out.port.value() == 0) {
                break;  // it stays in the switch
            }
            mtu = std::min(mtu, static_cast<std::uint8_t>(world_.port(out).info.neighbor_mtu));
            life = std::max(life, lab_.sim.switch_info(out.node).life_time);
            if (i > 0) {
                before = pass(out, *world_.cabled_peer({(*steps)[i - 1].node, (*steps)[i - 1].out}), sl,
                              before, what);
            }
        }
        if (mtu != field("Mtu")) {
            say(fmt::format("{}: MTU code {}, by the links {}", what, field("Mtu"), mtu));
        }
        if (life > field("PacketLifeTime")) {
            say(fmt::format("{}: life time code {}, in a switch {}", what, field("PacketLifeTime"), life));
        }
    }

    /// The GID by which the record names the source is the one that its port was given.
    void check_ends(const sa::Answer& answer, std::size_t index, PortRef source, const std::string& what) {
        constexpr std::size_t kSgid = 24;  // of a PathRecord (IBA 15.2.5.16)
        const std::span<const std::uint8_t> all(answer.records);
        const auto record = all.subspan(index * answer.type->size(), answer.type->size());
        const std::uint64_t named = mad::load_gid(record, kSgid).prefix;
        const std::uint64_t given = world_.port(source).info.gid_prefix;
        if (named != given) {
            say(fmt::format("{}: the source's prefix {:#x}, at its port {:#x}", what, named, given));
        }
    }

    /// A packet goes through a switch: on which lane it leaves.
    std::optional<Channel> pass(PortRef out, PortRef in, std::size_t sl, const std::optional<Channel>& before,
                                const std::string& what) {
        const std::uint8_t lane = lab_.sim.sl2vl(out.node, in.port, out.port).vls[sl].value();
        const unsigned lanes = mad::vl_count(world_.port(out).info.operational_vls);
        if (lane >= lanes) {
            say(fmt::format("{}: {} port {} drops SL {} (VL {} of {})", what,
                            world_.device(out.node).description, out.port, sl, lane, lanes));
        }
        const Channel channel{out.node, out.port.value(), lane};
        if (before) {
            waits_for_[*before].insert(channel);
        }
        return channel;
    }

    void check_complete() {
        for (const auto& [slid, source] : owners_) {
            if (world_.device(source.node).is_switch()) {
                continue;
            }
            for (const auto& [dlid, target] : owners_) {
                if (source != target && !pairs_.contains({source, target}) &&
                    lab_.sim.walk(source.node, source.port, mad::Lid{dlid})) {
                    say(fmt::format("no PathRecord from {} to {}, which the switches connect", slid, dlid));
                }
            }
        }
    }

    /// Channels that wait for nothing are taken away, until none is left or a ring is.
    void check_lanes() {
        std::map<Channel, std::set<Channel>> left = waits_for_;
        for (bool again = true; again;) {
            again = false;
            for (auto item = left.begin(); item != left.end();) {
                std::erase_if(item->second, [&](const Channel& to) { return !left.contains(to); });
                again = again || item->second.empty();
                item = item->second.empty() ? left.erase(item) : std::next(item);
            }
        }
        if (!left.empty()) {
            const auto& [node, port, lane] = left.begin()->first;
            say(fmt::format("lanes wait for each other: a ring of credits with {} port {} VL {}",
                            world_.device(node).description, port, lane));
        }
    }

    void say(std::string text) {
        constexpr std::size_t kMost = 5;
        if (found_.size() < kMost) {
            found_.push_back(std::move(text));
        }
    }

    const Lab& lab_;
    const sim::World& world_;
    std::map<std::uint16_t, PortRef> owners_;
    std::set<std::pair<PortRef, PortRef>> pairs_;  ///< those that have a record
    std::map<Channel, std::set<Channel>> waits_for_;
    std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> sa_disagreements(const Lab& lab) {
    return SaJudge(lab).look();
}

}  // namespace ibf::test
