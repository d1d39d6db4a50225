#include "probe/proof/judge.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "mad/link_rate.hpp"

namespace ibf::probe {
namespace {

using routing::TableView;
using routing::Topology;

constexpr std::size_t kEntriesMost = 16;  ///< wrong ones of a switch that are told one by one

std::string lid_text(const Topology& topology, const TableView& view, std::uint16_t lid) {
    const routing::LidOwner& owner = view.owner(lid);
    if (owner.end_port != routing::kNoIndex) {
        const Place end = place_of(topology, routing::EndPortIndex{owner.end_port});
        return fmt::format("LID {} ({})", lid, name_of(topology, end));
    }
    return fmt::format("LID {} ({})", lid, topology.switches[owner.switch_index].name);
}

std::string exit_text(const Topology& topology, std::uint32_t at, std::uint8_t port) {
    if (port == mad::kLftDrop) {
        return "nowhere (it is dropped)";
    }
    if (port == 0) {
        return "the switch itself";
    }
    const std::optional<Place> peer = peer_of(topology, Place{.index = at, .port = mad::PortNum{port}});
    return peer ? fmt::format("port {}, to {}", port, name_of(topology, *peer))
                : fmt::format("port {}, where there is no cable", port);
}

Finding wrong_entry(const Topology& topology, const TableView& view, const TableReading& reading,
                    std::uint16_t lid, std::uint8_t has) {
    const std::uint32_t at = reading.at.switch_index;
    const std::uint8_t wants = view.port(at, lid);
    return {.kind = Finding::Kind::wrong_entry,
            .at = {.index = at, .port = mad::PortNum{wants == mad::kLftDrop ? std::uint8_t{0} : wants}},
            .lid = mad::Lid{lid},
            .has = has,
            .wants = wants,
            .text = fmt::format("{}: its table sends {} to {}; computed was {}", topology.switches[at].name,
                                lid_text(topology, view, lid), exit_text(topology, at, has),
                                exit_text(topology, at, wants))};
}

/// The port by its GUID, if the topology knows it.
std::string seen_text(const Topology& topology, const CableReading& reading) {
    const std::uint32_t found = topology.find_switch(reading.seen_guid);
    if (found != routing::kNoIndex) {
        return fmt::format("{} port {}", topology.switches[found].name, reading.seen_port);
    }
    const auto end =
        std::find_if(topology.end_ports.begin(), topology.end_ports.end(), [&](const auto& item) {
            return item.node_guid == reading.seen_guid && item.port == reading.seen_port;
        });
    return end != topology.end_ports.end()
               ? fmt::format("{}/{}", end->name, end->port)
               : fmt::format("node {} port {}", reading.seen_guid, reading.seen_port);
}

/// Switches of which nothing was heard through any cable that was tried.
std::set<std::uint32_t> silent_switches(std::span<const CableReading> readings) {
    std::set<std::uint32_t> silent;
    std::set<std::uint32_t> heard;
    for (const CableReading& reading : readings) {
        heard.insert(reading.from.index);  // it passed the question on, at least
        if (reading.to.is_switch && reading.state == CableReading::State::silent) {
            silent.insert(reading.to.index);
        } else if (reading.to.is_switch && reading.state == CableReading::State::as_expected) {
            heard.insert(reading.to.index);
        }
    }
    std::erase_if(silent, [&](std::uint32_t at) { return heard.contains(at); });
    return silent;
}

}  // namespace

std::vector<Finding> judge_tables(const Topology& topology, const TableView& view,
                                  std::span<const TableReading> readings) {
    std::map<std::uint32_t, std::vector<Finding>> by_switch;
    for (const TableReading& reading : readings) {
        const std::uint32_t first = std::uint32_t{reading.at.block} * mad::kLftBlockEntries;
        for (std::uint32_t i = 0; i < mad::kLftBlockEntries && first + i < view.lid_end(); ++i) {
            const auto lid = static_cast<std::uint16_t>(first + i);
            const std::uint8_t has = lid <= reading.top ? reading.entries.ports[i] : mad::kLftDrop;
            if (view.owner(lid).switch_index != routing::kNoIndex &&
                has != view.port(reading.at.switch_index, lid)) {
                by_switch[reading.at.switch_index].push_back(wrong_entry(topology, view, reading, lid, has));
            }
        }
    }
    std::vector<Finding> findings;
    for (auto& [at, wrong] : by_switch) {
        if (wrong.size() > kEntriesMost) {
            wrong.front().text = fmt::format("{} entries of its table are not as computed, among them: {}",
                                             wrong.size(), wrong.front().text);
            wrong.resize(1);
        }
        std::move(wrong.begin(), wrong.end(), std::back_inserter(findings));
    }
    return findings;
}

std::vector<Finding> judge_cables(const Topology& topology, std::span<const CableReading> readings) {
    const std::set<std::uint32_t> dead = silent_switches(readings);
    std::vector<Finding> findings;
    for (const std::uint32_t at : dead) {
        add_finding(findings,
                    {.kind = Finding::Kind::dead_device,
                     .at = {.index = at},
                     .text = fmt::format("{}: its management agent does not answer through any cable",
                                         topology.switches[at].name)});
    }
    for (const CableReading& reading : readings) {
        if (reading.state == CableReading::State::elsewhere) {
            add_finding(findings,
                        {.kind = Finding::Kind::miswired_cable,
                         .at = reading.from,
                         .peer = reading.to,
                         .text = fmt::format("{}: its cable leads to {}; it should lead to {}",
                                             name_of(topology, reading.from), seen_text(topology, reading),
                                             name_of(topology, reading.to))});
        } else if (reading.state == CableReading::State::silent &&
                   !(reading.to.is_switch && dead.contains(reading.to.index))) {
            add_finding(findings, {.kind = Finding::Kind::dead_link,
                                   .at = reading.from,
                                   .peer = reading.to,
                                   .text = fmt::format("{}: nothing answers through its cable to {}",
                                                       name_of(topology, reading.from),
                                                       name_of(topology, reading.to))});
        }
    }
    return findings;
}

void judge_unread(const Topology& topology, const std::map<std::uint32_t, ReadShare>& shares,
                  std::vector<Finding>& findings) {
    std::set<std::uint32_t> dead;
    for (const Finding& finding : findings) {
        if (finding.kind == Finding::Kind::dead_device) {
            dead.insert(finding.at.index);
        }
    }
    for (const auto& [at, share] : shares) {
        const bool is_whole =
            share.is_reached && share.blocks_read >= share.blocks && share.ports_read >= share.ports;
        if (is_whole || dead.contains(at)) {
            continue;
        }
        const std::string what =
            share.is_reached ? fmt::format("{} of {} blocks of its table and {} of {} ports were not read",
                                           share.blocks - share.blocks_read, share.blocks,
                                           share.ports - share.ports_read, share.ports)
                             : "nothing of it was read: no way there over cables that are as they should be";
        add_finding(findings, {.kind = Finding::Kind::not_read,
                               .at = {.index = at},
                               .text = fmt::format("{}: {}", topology.switches[at].name, what)});
    }
}

std::vector<Finding> judge_links(const Topology& topology, const std::map<Place, mad::PortInfo>& infos) {
    std::vector<Finding> findings;
    for (const auto& [place, info] : infos) {
        const std::optional<Place> peer = peer_of(topology, place);
        const auto other = peer ? infos.find(*peer) : infos.end();
        if (info.state != mad::PortState::active && place.port.value() != 0) {
            add_finding(findings,
                        {.kind = Finding::Kind::dead_link,
                         .at = place,
                         .peer = peer,
                         .text = fmt::format("{}: its link is {}, not Active", name_of(topology, place),
                                             mad::to_string(info.state))});
        } else if (other != infos.end() && place < *peer) {
            const mad::LinkRate running = mad::running_rate(info);
            const mad::LinkRate possible = mad::possible_rate(info, other->second);
            if (mad::is_below(running, possible)) {
                add_finding(findings,
                            {.kind = Finding::Kind::throttled_link,
                             .at = place,
                             .peer = peer,
                             .text = fmt::format("{}: its link to {} runs at {}; both ends could do {}",
                                                 name_of(topology, place), name_of(topology, *peer),
                                                 mad::to_string(running), mad::to_string(possible))});
            }
        }
    }
    return findings;
}

}  // namespace ibf::probe
