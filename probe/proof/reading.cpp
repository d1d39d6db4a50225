#include "probe/proof/reading.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "mad/codec.hpp"
#include "mad/link_rate.hpp"

namespace ibf::probe {
namespace {

constexpr std::size_t kBatch = 16384;                        // answers that are held at a time
constexpr std::size_t kSilentCablesMost = 3;                 // ways to one switch that are tried in vain
constexpr std::uint32_t kKnowsExtendedSpeeds = 0x80000000U;  // PortInfo modifier, bit 31 (IBA 14.2.5.6)
constexpr std::uint32_t kNvidiaVendor = 0x0002C9;

/// The way to the switch that the prober is plugged into, or is.
struct Start {
    std::uint32_t switch_index = routing::kNoIndex;
    mad::DrPath path;
};

std::optional<Start> start_of(const routing::Topology& topology, const mad::NodeInfo& own) {
    if (own.type == mad::NodeType::switch_) {
        const std::uint32_t at = topology.find_switch(own.node_guid);
        return at == routing::kNoIndex ? std::nullopt : std::optional(Start{at, {}});
    }
    for (const routing::TopologyEndPort& end : topology.end_ports) {
        if (end.node_guid == own.node_guid && end.port == own.local_port &&
            end.switch_index != routing::kNoIndex) {
            return Start{end.switch_index, mad::DrPath{}.then(own.local_port)};
        }
    }
    return std::nullopt;
}

mad::NodeInfo node_info_of(const Answer& answer) {
    return mad::decode_node_info(mad::front_of(answer.data));
}

}  // namespace

base::Result<FabricReader> FabricReader::open(const routing::Topology& topology, MadAsker& asker,
                                              std::stop_token stop) {
    FabricReader reader(topology, asker, std::move(stop));
    reader.ways_.resize(topology.switches.size());
    reader.vendors_.resize(topology.switches.size());
    if (const base::Result<void> begun = reader.begin(); !begun) {
        return tl::unexpected<base::Error>(begun.error());
    }
    reader.find_ways();
    return reader;
}

std::size_t FabricReader::reached() const {
    return static_cast<std::size_t>(
        std::count_if(ways_.begin(), ways_.end(), [](const auto& way) { return way.has_value(); }));
}

std::vector<Answer> FabricReader::ask(const std::vector<Question>& questions) {
    std::vector<Answer> answers;
    answers.reserve(questions.size());
    for (std::size_t first = 0; first < questions.size(); first += kBatch) {
        const std::size_t count = std::min(kBatch, questions.size() - first);
        std::vector<Answer> some = stop_.stop_requested()
                                       ? std::vector<Answer>(count)
                                       : asker_->ask(std::span(questions).subspan(first, count), stop_);
        std::move(some.begin(), some.end(), std::back_inserter(answers));
    }
    questions_ += questions.size();
    const auto count = [&](Answer::Kind kind) {
        return static_cast<std::uint64_t>(std::count_if(
            answers.begin(), answers.end(), [&](const Answer& answer) { return answer.kind == kind; }));
    };
    unanswered_ += count(Answer::Kind::silent);
    refused_ += count(Answer::Kind::refused);
    return answers;
}

std::uint32_t FabricReader::device_of(const Place& place) const {
    return place.is_switch ? place.index
                           : static_cast<std::uint32_t>(topology_->switches.size()) + place.index;
}

base::Result<void> FabricReader::begin() {
    const auto own_device =
        static_cast<std::uint32_t>(topology_->switches.size() + topology_->end_ports.size());
    const std::vector<Answer> own =
        ask({Question{.device = own_device, .attribute = mad::Attribute::node_info}});
    if (!own.front().ok()) {
        return base::fail(base::ErrorKind::unavailable,
                          "the port that the probe asks from does not answer: is its link up, and may this "
                          "program send MADs?");
    }
    const mad::NodeInfo info = node_info_of(own.front());
    const std::optional<Start> start = start_of(*topology_, info);
    if (!start) {
        return base::fail(
            base::ErrorKind::unavailable,
            fmt::format("node {} port {}, where the probe asks from, is not in the topology: take "
                        "the topology of this fabric, or another --port",
                        info.node_guid, info.local_port));
    }
    const Place leaf{.index = start->switch_index, .port = mad::PortNum{0}};
    const std::vector<Answer> first = ask({Question{
        .device = start->switch_index, .attribute = mad::Attribute::node_info, .path = start->path}});
    if (!first.front().ok() || node_info_of(first.front()).node_guid != node_guid_of(*topology_, leaf)) {
        return base::fail(
            base::ErrorKind::unavailable,
            fmt::format("{}, where the probe is plugged in by the topology, does not answer there",
                        node_name_of(*topology_, leaf)));
    }
    ways_[start->switch_index] = start->path;
    vendors_[start->switch_index] = node_info_of(first.front()).vendor_id;
    return {};
}

Question FabricReader::through(const Place& from, const Place& to) const {
    return {.device = device_of(to),
            .attribute = mad::Attribute::node_info,
            .path = ways_[from.index]->then(from.port)};
}

CableReading FabricReader::look(const Place& from, const Place& to, const Answer& answer) {
    CableReading reading{.from = from, .to = to};
    if (!answer.ok()) {
        return reading;
    }
    const mad::NodeInfo info = node_info_of(answer);
    reading.seen_guid = info.node_guid;
    reading.seen_port = info.local_port;
    const bool right = info.node_guid == node_guid_of(*topology_, to) && info.local_port == to.port;
    reading.state = right ? CableReading::State::as_expected : CableReading::State::elsewhere;
    if (right && to.is_switch) {
        vendors_[to.index] = info.vendor_id;
    }
    return reading;
}

/// Level by level; a switch whose first cable leads elsewhere is tried by the next one.
void FabricReader::find_ways() {
    std::set<Place> tried;
    std::vector<std::size_t> silent(ways_.size(), 0);
    for (;;) {
        std::vector<Question> questions;
        std::vector<std::pair<Place, Place>> cables;
        std::vector<char> asked(ways_.size(), 0);
        for (std::uint32_t at = 0; at < ways_.size(); ++at) {
            const auto& peers = topology_->switches[at].peers;
            for (std::size_t port = 1;
                 ways_[at] && ways_[at]->hops < mad::kHopsMax - 1 && port < peers.size(); ++port) {
                const Place from{.index = at, .port = mad::PortNum{static_cast<std::uint8_t>(port)}};
                const std::uint32_t next = peers[port].index;
                if (peers[port].kind != routing::PortPeer::Kind::switch_ || ways_[next] || asked[next] != 0 ||
                    silent[next] >= kSilentCablesMost || !tried.insert(from).second) {
                    continue;
                }
                asked[next] = 1;
                cables.emplace_back(from, *peer_of(*topology_, from));
                questions.push_back(through(from, cables.back().second));
            }
        }
        if (questions.empty()) {
            return;
        }
        const std::vector<Answer> answers = ask(questions);
        for (std::size_t i = 0; i < answers.size(); ++i) {
            const CableReading reading = look(cables[i].first, cables[i].second, answers[i]);
            if (reading.state == CableReading::State::as_expected) {
                ways_[reading.to.index] = questions[i].path;
                continue;
            }
            silent[reading.to.index] += reading.state == CableReading::State::silent ? 1U : 0U;
            odd_cables_.push_back(reading);
        }
    }
}

std::vector<CableReading> FabricReader::cables(std::span<const Place> from) {
    std::vector<Question> questions;
    std::vector<std::pair<Place, Place>> cables;
    for (const Place& place : from) {
        const std::optional<Place> to = peer_of(*topology_, place);
        if (place.is_switch && to && reaches(place.index)) {
            cables.emplace_back(place, *to);
            questions.push_back(through(place, *to));
        }
    }
    const std::vector<Answer> answers = ask(questions);
    std::vector<CableReading> readings;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        readings.push_back(look(cables[i].first, cables[i].second, answers[i]));
    }
    return readings;
}

/// Of a switch by its way, of an end port through the leaf's port; empty: no way.
std::optional<Question> FabricReader::smp_to(const Place& place, mad::Attribute attribute,
                                             std::uint32_t modifier) const {
    Question question{.device = device_of(place), .attribute = attribute, .modifier = modifier};
    if (place.is_switch) {
        if (!reaches(place.index)) {
            return std::nullopt;
        }
        question.path = *ways_[place.index];
        return question;
    }
    const std::optional<Place> leaf = peer_of(*topology_, place);
    if (!leaf || !reaches(leaf->index)) {
        return std::nullopt;
    }
    question.path = ways_[leaf->index]->then(leaf->port);
    return question;
}

std::vector<TableReading> FabricReader::tables(std::span<const TableBlock> blocks) {
    std::map<std::uint32_t, std::uint16_t> tops;
    std::vector<Question> questions;
    std::vector<std::uint32_t> of;
    std::set<std::uint32_t> switches;
    for (const TableBlock& block : blocks) {
        if (switches.insert(block.switch_index).second && reaches(block.switch_index)) {
            questions.push_back(*smp_to(Place{.index = block.switch_index}, mad::Attribute::switch_info, 0));
            of.push_back(block.switch_index);
        }
    }
    std::vector<Answer> answers = ask(questions);
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (answers[i].ok()) {
            tops[of[i]] = mad::decode_switch_info(mad::front_of(answers[i].data)).linear_fdb_top;
        }
    }
    questions.clear();
    std::vector<TableReading> readings;
    for (const TableBlock& block : blocks) {
        const auto top = tops.find(block.switch_index);
        if (top != tops.end()) {
            questions.push_back(*smp_to(Place{.index = block.switch_index},
                                        mad::Attribute::linear_forwarding_table, block.block));
            readings.push_back({.at = block, .entries = {}, .top = top->second});
        }
    }
    answers = ask(questions);
    std::vector<TableReading> answered;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (answers[i].ok()) {
            readings[i].entries = mad::decode_lft(mad::front_of(answers[i].data));
            answered.push_back(readings[i]);
        }
    }
    return answered;
}

std::map<Place, mad::PortInfo> FabricReader::port_infos(std::span<const Place> places,
                                                        std::uint32_t modifier_bits) {
    std::vector<Question> questions;
    std::vector<Place> of;
    for (const Place& place : places) {
        if (auto question = smp_to(place, mad::Attribute::port_info, place.port.value() | modifier_bits)) {
            questions.push_back(*question);
            of.push_back(place);
        }
    }
    const std::vector<Answer> answers = ask(questions);
    std::map<Place, mad::PortInfo> infos;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (answers[i].ok()) {
            infos[of[i]] = mad::decode_port_info(mad::front_of(answers[i].data));
        }
    }
    return infos;
}

std::map<Place, mad::PortInfo> FabricReader::ports(std::span<const Place> places) {
    std::set<Place> speakers;  // who tells the capabilities: port 0 of a switch, an adapter's port itself
    for (const Place& place : places) {
        speakers.insert(place.is_switch ? Place{.index = place.index} : place);
    }
    const std::map<Place, mad::PortInfo> told =
        port_infos(std::vector<Place>(speakers.begin(), speakers.end()), 0);
    std::vector<Place> plain;
    std::vector<Place> extended;
    for (const Place& place : places) {
        const auto speaker = told.find(place.is_switch ? Place{.index = place.index} : place);
        const bool knows = speaker != told.end() && speaker->second.has_extended_speeds();
        (knows ? extended : plain).push_back(place);
    }
    std::map<Place, mad::PortInfo> infos = port_infos(extended, kKnowsExtendedSpeeds);
    for (const Place& place : extended) {
        if (!infos.contains(place)) {
            plain.push_back(place);  // there are ports that refuse the bit
        }
    }
    infos.merge(port_infos(plain, 0));
    for (auto& [place, info] : infos) {
        const auto speaker = told.find(Place{.index = place.index});
        if (place.is_switch && speaker != told.end()) {
            info.capability_mask = speaker->second.capability_mask;
            info.capability_mask2 = speaker->second.capability_mask2;
        }
    }
    return infos;
}

std::vector<std::uint32_t> FabricReader::adaptive(std::span<const std::uint32_t> switches) {
    std::vector<Question> questions;
    std::vector<std::uint32_t> of;
    for (const std::uint32_t at : switches) {
        // The attribute is that vendor's; others need not even answer.
        if (reaches(at) && vendors_[at] == kNvidiaVendor) {
            questions.push_back(*smp_to(Place{.index = at}, mad::Attribute::mlnx_adaptive_routing_info, 0));
            of.push_back(at);
        }
    }
    const std::vector<Answer> answers = ask(questions);
    std::vector<std::uint32_t> on;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (answers[i].ok() && mad::decode_mlnx_adaptive_routing(mad::front_of(answers[i].data))) {
            on.push_back(of[i]);
        }
    }
    return on;
}

/// Asks the performance agents that were not asked yet what they can do.
void FabricReader::learn_perf(std::span<const Place> places) {
    std::vector<Question> questions;
    for (const Place& place : places) {
        if (lid_of(*topology_, place) != mad::kLidNone && perf_.try_emplace(device_of(place)).second) {
            questions.push_back({.device = device_of(place),
                                 .is_perf = true,
                                 .perf = mad::PerfAttribute::class_port_info,
                                 .lid = lid_of(*topology_, place)});
        }
    }
    const std::vector<Answer> answers = ask(questions);
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (answers[i].ok()) {
            perf_[questions[i].device] = mad::decode_class_port_info(answers[i].data);
        } else if (answers[i].kind == Answer::Kind::silent) {
            perf_.erase(questions[i].device);  // asked again next time
        }
    }
}

CounterReadings FabricReader::counters(std::span<const Place> places) {
    CounterReadings readings;
    for (std::size_t first = 0; first < places.size(); first += kBatch) {
        read_counters(places.subspan(first, std::min(kBatch, places.size() - first)), readings);
    }
    return readings;
}

void FabricReader::read_counters(std::span<const Place> places, CounterReadings& readings) {
    learn_perf(places);
    std::vector<Question> questions;
    std::vector<Place> of;
    for (const Place& place : places) {
        CounterReading& reading = readings[place];
        const auto can = perf_.find(device_of(place));
        if (can == perf_.end()) {
            reading.why = lid_of(*topology_, place) == mad::kLidNone
                              ? "it has no LID, so its counters cannot be asked for"
                              : "its performance agent does not answer";
            continue;
        }
        reading.wide = can->second && can->second->has_extended_counters();
        reading.knows_wait = can->second && can->second->has_transmit_wait();
        Question question{.device = device_of(place),
                          .is_perf = true,
                          .perf = mad::PerfAttribute::port_counters,
                          .port = place.port,
                          .lid = lid_of(*topology_, place)};
        questions.push_back(question);
        of.push_back(place);
        if (reading.wide) {
            question.perf = mad::PerfAttribute::port_counters_extended;
            questions.push_back(question);
            of.push_back(place);
        }
    }
    const std::vector<Answer> answers = ask(questions);
    for (std::size_t i = 0; i < answers.size(); ++i) {
        CounterReading& reading = readings[of[i]];
        const bool is_wide = questions[i].perf == mad::PerfAttribute::port_counters_extended;
        if (!answers[i].ok()) {
            reading.known = false;
            reading.why =
                answers[i].kind == Answer::Kind::silent
                    ? "its performance agent does not answer"
                    : fmt::format("its performance agent says {}", mad::status_text(answers[i].status));
        } else if (is_wide) {
            const auto wide = mad::decode_port_counters_extended(answers[i].data);
            reading.transmit_words = wide.transmit_words;
            reading.receive_words = wide.receive_words;
        } else {
            reading.counters = mad::decode_port_counters(mad::front_of(answers[i].data));
            reading.known = true;
            if (!reading.wide) {
                reading.transmit_words = reading.counters.transmit_words;
                reading.receive_words = reading.counters.receive_words;
            }
        }
    }
}

}  // namespace ibf::probe
