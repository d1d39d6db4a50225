// DOC: which LIDs there are to be routed to, and in which order they are spread.
//
// Destinations are numbered leaf by leaf in the shape's order; on a leaf by switch port. End ports that an
// operator set apart (roles, a routing order) are numbered apart: each kind in a row of its own, so that a
// closed form spreads it as evenly as if the others were not there (Gliksberg et al., Node-Type-Based
// Load-Balancing Routing for PGFTs, 2017). The ports of one
// node (rails) are numbered apart, so that they are reached over different neighbours of their leaves and no
// lost switch above cuts off both (multi-homed fat-tree routing, Bogdanski et al., PDP 2014). The LIDs of one
// port (LMC) are numbered in a row, so they leave by different ports.
//
// LIDs and numbers that both go up by one form a run: with LIDs laid out by attachment a leaf is one run, and
// tables are written run by run.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "routing/graph.hpp"
#include "routing/preferences.hpp"
#include "routing/topology.hpp"

namespace ibf::routing {

/// One LID to be routed to: its switch's local exit port, and its number in the spreading order.
struct Target {
    std::uint16_t lid = 0;
    std::uint8_t local_port = 0;
    Role role = Role::uncounted;  ///< of an end port; flows go to what is counted
    std::uint32_t number = 0;
};

/// `count` targets of one switch whose LIDs and numbers follow each other.
struct TargetRun {
    std::uint16_t lid = 0;
    std::uint16_t count = 0;
    std::uint32_t number = 0;
};

/// LIDs [low, high). All switches hold the same class whole or not at all.
struct LidClass {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
};

/// The LID space cut at every LinearFDBCap that lies inside it.
[[nodiscard]] std::vector<LidClass> lid_classes(const Topology& topology);

class Targets {
public:
    Targets(const Topology& topology, const Shape& shape, const LidClass& of, const Roles& roles);

    /// Of the destination switch at this place of the shape's order.
    [[nodiscard]] std::span<const Target> at(std::size_t place) const {
        return {all_.data() + first_[place], all_.data() + first_[place + 1]};
    }
    [[nodiscard]] std::span<const TargetRun> runs(std::size_t place) const {
        return {runs_.data() + first_run_[place], runs_.data() + first_run_[place + 1]};
    }
    [[nodiscard]] std::size_t size() const { return all_.size(); }
    [[nodiscard]] std::uint32_t numbers() const { return numbers_; }  ///< one past the highest number
    /// LIDs of the class that nobody has, ascending.
    [[nodiscard]] const std::vector<std::uint16_t>& vacant() const { return vacant_; }

private:
    void add(const mad::LidRange& lids, std::uint8_t port, Role role, std::uint32_t number);
    void close_runs();

    LidClass class_;
    std::vector<Target> all_;
    std::vector<std::uint32_t> first_;
    std::vector<TargetRun> runs_;
    std::vector<std::uint32_t> first_run_;
    std::vector<std::uint16_t> vacant_;
    std::uint32_t numbers_ = 0;
};

}  // namespace ibf::routing
