// DOC: what was read, held against what was computed.
//
// Tables, cables and links are judged by themselves. A round is judged by counters: of each port before and
// after it, our own octets are a lower bound of what they may have risen by, whatever else is on the fabric.
// So background traffic can hide a loss from the counters (the tables and cables are read for that), and
// never makes one. A 32-bit counter at its maximum, one that was cleared meanwhile, and one that nobody read
// say nothing. From the first switch on that routes adaptively a flow may have gone another way: what its
// links did not count then says nothing either.
//
// What makes a link throttled that says it runs at full speed: a bulk flow came below kSlowShare of its
// path's rate, and of the ports on its path that waited for credits (kWaitShare of the time that they sent)
// it has the last. Unless the next link is busy: then packets wait before it because there is much to do. (A
// port that sends all the time does not count waits: no data was sent during the tick, IBA 16.1.3.5.) Pure.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "probe/conduct/report.hpp"
#include "probe/proof/reading.hpp"

namespace ibf::probe {

inline constexpr double kSlowShare = 0.75;
inline constexpr double kWaitShare = 0.2;
inline constexpr std::uint64_t kBulkBytes = 1U << 20U;  ///< less says nothing of a rate

/// Entries of LIDs that somebody has. A switch that differs in many has one finding for all.
[[nodiscard]] std::vector<Finding> judge_tables(const routing::Topology& topology,
                                                const routing::TableView& view,
                                                std::span<const TableReading> readings);
/// A switch that is silent through each of its cables is one dead device.
[[nodiscard]] std::vector<Finding> judge_cables(const routing::Topology& topology,
                                                std::span<const CableReading> readings);
/// What was to be read of a switch, and was.
struct ReadShare {
    bool is_reached = false;
    std::size_t blocks = 0;  ///< of its table
    std::size_t blocks_read = 0;
    std::size_t ports = 0;  ///< their PortInfos
    std::size_t ports_read = 0;
};
/// By SwitchIndex. Adds a finding for each switch that was not read in full, unless it is a dead device in
/// `findings` already.
void judge_unread(const routing::Topology& topology, const std::map<std::uint32_t, ReadShare>& shares,
                  std::vector<Finding>& findings);
/// Both ends of each cable of which both were read.
[[nodiscard]] std::vector<Finding> judge_links(const routing::Topology& topology,
                                               const std::map<Place, mad::PortInfo>& infos);

struct RoundReading {
    const CounterReadings& before;
    const CounterReadings& after;
    std::span<const std::uint32_t> adaptive;        ///< switches
    const std::map<Place, std::uint32_t>& running;  ///< what links run at, in Mb/s, as read
};
/// Says of each flow what was seen of its hops, and adds to `findings`: what links did, and how either side
/// of each flow ended. `flows`: those of the round. REQUIRES: by the tables, all of them arrive.
void judge_round(const routing::Topology& topology, const routing::TableView& view, const TestSpec& spec,
                 const RoundReading& reading, std::span<FlowReport* const> flows,
                 std::vector<Finding>& findings);

}  // namespace ibf::probe
