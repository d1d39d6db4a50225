// DOC: what packets may wait for that meet old tables at one switch and new ones at another, counted by hand.
//
// Shares nothing with mixture.cpp: every LID by itself, every state (switch, exit, SL, lane) in a set. For
// small fabrics in which every switch has hosts.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "routing/routes.hpp"

namespace ibf::routing::test {

class SlowMix {
public:
    SlowMix(const Topology& topology, const Routes& old, const Routes& fresh)
        : topology_(topology), both_{&fresh, &old} {
        for (std::uint32_t lid = 1; lid <= topology.max_lid; ++lid) {
            std::set<std::uint32_t> circling;
            for (std::uint32_t at = 0; at < topology.switches.size(); ++at) {
                const std::uint32_t to = next(at, entry(&old, at, lid));
                if (to != kNoIndex && entry(&old, at, lid) != entry(&fresh, at, lid) &&
                    reaches(to, at, lid)) {
                    circling.insert(at);
                }
            }
            follow(lid, [&](std::uint32_t at) { return Exits{entry(&old, at, lid)}; });
            follow(lid, [&](std::uint32_t at) {
                Exits exits{entry(&fresh, at, lid)};
                if (!circling.contains(at)) {
                    exits.insert(entry(&old, at, lid));
                }
                return exits;
            });
        }
    }
    [[nodiscard]] bool cyclic() const {
        std::map<Channel, int> colour;
        return std::any_of(waits_.begin(), waits_.end(), [&](const auto& item) {
            return colour[item.first] == 0 && visit(item.first, colour);
        });
    }

private:
    using Exits = std::set<std::uint8_t>;
    using Channel = std::tuple<std::uint32_t, std::uint8_t, std::uint8_t>;              // switch, exit, lane
    using State = std::tuple<std::uint32_t, std::uint8_t, std::uint8_t, std::uint8_t>;  // and SL

    [[nodiscard]] std::uint32_t next(std::uint32_t at, std::uint8_t port) const {
        const auto& peers = topology_.switches[at].peers;
        const bool leads = port < peers.size() && peers[port].kind == PortPeer::Kind::switch_;
        return leads ? peers[port].index : kNoIndex;
    }
    static std::uint8_t entry(const Routes* routes, std::uint32_t at, std::uint32_t lid) {
        return routes->port(SwitchIndex{at}, mad::Lid{static_cast<std::uint16_t>(lid)});
    }
    [[nodiscard]] bool reaches(std::uint32_t from, std::uint32_t to, std::uint32_t lid) const {
        std::set<std::uint32_t> seen{from};
        std::vector<std::uint32_t> reached{from};
        for (std::size_t i = 0; i < reached.size(); ++i) {
            for (const Routes* routes : both_) {
                const std::uint32_t on = next(reached[i], entry(routes, reached[i], lid));
                if (on != kNoIndex && seen.insert(on).second) {
                    reached.push_back(on);
                }
            }
        }
        return seen.contains(to);
    }
    [[nodiscard]] std::set<std::uint8_t> lanes(std::uint32_t at, std::uint8_t in, std::uint8_t out,
                                               std::uint8_t sl) const {
        std::set<std::uint8_t> all;
        for (const Routes* routes : both_) {
            all.insert(routes->lane(SwitchIndex{at}, mad::PortNum{in}, mad::PortNum{out}, sl));
        }
        return all;
    }
    [[nodiscard]] bool to_end_port(std::uint32_t lid) const {
        return std::any_of(topology_.end_ports.begin(), topology_.end_ports.end(), [&](const auto& end) {
            return end.lids.contains(mad::Lid{static_cast<std::uint16_t>(lid)});
        });
    }

    template <class ExitsOf>
    void follow(std::uint32_t lid, const ExitsOf& exits_of) {
        std::set<State> seen;
        std::vector<State> reached;
        const auto reach = [&](const State& state) {
            if (seen.insert(state).second) {
                reached.push_back(state);
            }
        };
        for (std::uint32_t at = 0; at < topology_.switches.size(); ++at) {
            start(at, lid, exits_of(at), reach);
        }
        for (std::size_t i = 0; i < reached.size(); ++i) {
            const auto [at, out, lane, sl] = reached[i];
            const std::uint32_t to = next(at, out);
            const std::uint8_t in = topology_.switches[at].peers[out].port.value();
            for (const std::uint8_t further : exits_of(to)) {
                for (const std::uint8_t then :
                     next(to, further) == kNoIndex ? std::set<std::uint8_t>{} : lanes(to, in, further, sl)) {
                    waits_[{at, out, lane}].insert({to, further, then});
                    reach({to, further, then, sl});
                }
            }
        }
    }
    template <class Reach>
    void start(std::uint32_t at, std::uint32_t lid, const Exits& exits, const Reach& reach) {
        const auto& peers = topology_.switches[at].peers;
        for (const std::uint8_t out : exits) {
            for (std::size_t in = 0; in < peers.size() && next(at, out) != kNoIndex; ++in) {
                if (in == 0 ? !to_end_port(lid) : peers[in].kind != PortPeer::Kind::end_port) {
                    continue;
                }
                for (const Routes* routes : both_) {
                    const std::uint8_t sl =
                        routes->sl(SwitchIndex{at}, mad::Lid{static_cast<std::uint16_t>(lid)});
                    for (const std::uint8_t lane : lanes(at, static_cast<std::uint8_t>(in), out, sl)) {
                        reach({at, out, lane, sl});
                    }
                }
            }
        }
    }
    bool visit(const Channel& at, std::map<Channel, int>& colour) const {
        colour[at] = 1;
        const auto found = waits_.find(at);
        for (const Channel& to : found == waits_.end() ? std::set<Channel>{} : found->second) {
            if (colour[to] == 1 || (colour[to] == 0 && visit(to, colour))) {
                return true;
            }
        }
        colour[at] = 2;
        return false;
    }

    const Topology& topology_;
    const std::array<const Routes*, 2> both_;
    std::map<Channel, std::set<Channel>> waits_;
};

}  // namespace ibf::routing::test
