#include "routing/verify_lanes.hpp"

#include <algorithm>
#include <bit>

namespace ibf::routing {

bool single_lane(const Routes& routes) {
    const auto unsaid = [](const auto& item) { return item == nullptr; };
    return std::all_of(routes.sls.begin(), routes.sls.end(), unsaid) &&
           std::all_of(routes.lane_maps.begin(), routes.lane_maps.end(), unsaid);
}

std::uint32_t lanes_told_apart(const Routes& routes) {
    std::uint8_t highest = 0;
    const auto raise = [&](std::uint8_t lane) { highest = std::max<std::uint8_t>(highest, lane & 15U); };
    const SlRow* last = nullptr;
    for (const std::shared_ptr<const SlRow>& row : routes.sls) {  // an SL is its lane where no map says else
        if (row != nullptr && row.get() != last) {
            last = row.get();
            std::for_each(row->begin(), row->end(), raise);
        }
    }
    for (const std::shared_ptr<const LaneMap>& map : routes.lane_maps) {
        for (std::size_t i = 0; map != nullptr && i < map->tables.size(); ++i) {
            std::for_each(map->tables[i].begin(), map->tables[i].end(), raise);
        }
    }
    return highest + 1U;
}

LaneWalker::LaneWalker(const Topology& topology, const Routes& routes, const TableView& view)
    : topology_(topology),
      routes_(routes),
      view_(view),
      inputs_(view.switch_count()),
      exit_(view.switch_count(), 0),
      lanes_(std::size_t{view.switch_count()} * kServiceLevels, 0),
      service_(view.switch_count(), 0) {
    for (std::uint32_t at = 0; at < view.switch_count(); ++at) {
        const bool mapped = at < routes.lane_maps.size() && routes.lane_maps[at] != nullptr;
        std::set<std::uint8_t> classes;
        const std::vector<PortPeer>& peers = topology.switches[at].peers;
        for (std::size_t port = 1; port < peers.size(); ++port) {
            const bool source = peers[port].kind == PortPeer::Kind::end_port &&
                                topology.end_ports[peers[port].index].lids.count() != 0;
            if (source && classes.insert(mapped ? routes.lane_maps[at]->input_class[port] : 0).second) {
                inputs_[at].push_back(static_cast<std::uint8_t>(port));
            }
        }
    }
}

std::uint8_t LaneWalker::lane(std::uint32_t at, std::uint8_t input, std::uint8_t exit, unsigned sl) const {
    return routes_.lane(SwitchIndex{at}, mad::PortNum{input}, mad::PortNum{exit},
                        static_cast<std::uint8_t>(sl));
}

void LaneWalker::walk(const ColumnWalker& walker, std::uint32_t lid, Senders senders, Dependencies& out) {
    std::fill(lanes_.begin(), lanes_.end(), LaneSet{0});
    std::fill(service_.begin(), service_.end(), std::uint16_t{0});
    for (std::uint32_t at = 0; at < view_.switch_count(); ++at) {
        exit_[at] = view_.port(at, lid);
        if (walker.next(at) != kNoNext) {
            start(at, lid, senders);
        }
    }
    // From the far ends to the root. A loop has no far end: twice round carries what enters it to all of it.
    const int rounds = walker.arriving() == view_.switch_count() ? 1 : 2;
    for (int round = 0; round < rounds; ++round) {
        for (auto it = walker.order().rbegin(); it != walker.order().rend(); ++it) {
            if (service_[*it] != 0) {
                advance(walker, *it, out);
            }
        }
    }
}

/// What the switch's own end ports, and its port 0, send out.
void LaneWalker::start(std::uint32_t at, std::uint32_t lid, Senders senders) {
    const std::uint8_t sl = routes_.sl(SwitchIndex{at}, mad::Lid{static_cast<std::uint16_t>(lid)});
    const auto send = [&](std::uint8_t input) {
        lanes_[std::size_t{at} * kServiceLevels + sl] |=
            static_cast<LaneSet>(1U << (lane(at, input, exit_[at], sl) & 15U));
        service_[at] |= static_cast<std::uint16_t>(1U << sl);
    };
    std::for_each(inputs_[at].begin(), inputs_[at].end(), send);
    if (senders == Senders::end_ports_and_switches && topology_.switches[at].lids.count() != 0) {
        send(0);
    }
}

/// Carries what leaves `at` over the link and through the next switch.
void LaneWalker::advance(const ColumnWalker& walker, std::uint32_t at, Dependencies& out) {
    const std::uint32_t next = walker.next(at);
    const std::uint8_t slot = walker.slot(at);
    const std::uint32_t channel = view_.first_channel(at) + slot;
    const std::uint8_t input = topology_.switches[at].peers[exit_[at]].port.value();
    const bool onward = walker.next(next) != kNoNext;
    for (unsigned services = service_[at]; services != 0; services &= services - 1) {
        const auto sl = static_cast<unsigned>(std::countr_zero(services));
        const LaneSet held = lanes_[std::size_t{at} * kServiceLevels + sl];
        note(at, slot, held);
        if (!onward) {
            continue;
        }
        const std::uint8_t wanted = lane(next, input, exit_[next], sl) & 15U;
        lanes_[std::size_t{next} * kServiceLevels + sl] |= static_cast<LaneSet>(1U << wanted);
        service_[next] |= static_cast<std::uint16_t>(1U << sl);
        for (unsigned lanes = held; lanes != 0; lanes &= lanes - 1) {
            out.add(channel, static_cast<unsigned>(std::countr_zero(lanes)), walker.slot(next), wanted);
        }
    }
}

void LaneWalker::note(std::uint32_t at, std::uint8_t slot, LaneSet lanes) {
    const unsigned there = topology_.switches[at].peers[exit_[at]].data_vls;
    for (unsigned missing = lanes & ~((1U << std::min(there, kDataLanesMax)) - 1U); missing != 0;
         missing &= missing - 1) {
        faults_.emplace(view_.first_channel(at) + slot, static_cast<std::uint8_t>(std::countr_zero(missing)));
    }
}

}  // namespace ibf::routing
