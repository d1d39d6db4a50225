// DOC: a fabric as computed and its simulation, for the tests of the probe: damaged and mended again and
// again.
#pragma once

#include <memory>
#include <string>

#include "probe/conduct/conduct.hpp"
#include "probe/rehearsal/sim_agents.hpp"
#include "probe/rehearsal/sim_asker.hpp"
#include "routing/netlist.hpp"
#include "sim/simulator.hpp"

namespace ibf::probe::test {

inline constexpr std::uint64_t kFlowBytes = 16U << 20U;

/// A fabric as computed, and its simulation, programmed accordingly.
class Stage {
public:
    /// Null: it could not be built; the test has failed.
    [[nodiscard]] static std::unique_ptr<Stage> make(const std::string& spec, const std::string& engine);

    [[nodiscard]] std::vector<routing::EndPortIndex> hosts() const;
    /// A bulk write on each flow.
    [[nodiscard]] static ConductOptions bulk(bool audit);
    [[nodiscard]] Report conduct(const RunPlan& plan, const ConductOptions& options, Agents* agents);
    [[nodiscard]] SimAsker& asker() { return *asker_; }
    /// So many flows of the cover; the same seed, the same ones.
    [[nodiscard]] RunPlan some_flows(std::size_t count, base::Prng& prng) const;
    [[nodiscard]] std::vector<Hop> hops(const Flow& flow) const;

    routing::Topology topology;
    routing::Routes routes;
    std::unique_ptr<sim::Simulator> simulator;
    std::unique_ptr<SimPlaces> places;
    RunPlan cover;

private:
    Stage() = default;
    std::unique_ptr<SimAsker> asker_;
};

/// Something that is wrong with the fabric until it goes out of scope.
class Damage {
public:
    explicit Damage(std::function<void()> mend) : mend_(std::move(mend)) {}
    ~Damage() { mend_(); }
    Damage(const Damage&) = delete;
    Damage& operator=(const Damage&) = delete;

private:
    std::function<void()> mend_;
};

/// The entry of a switch for a LID becomes that port.
[[nodiscard]] std::unique_ptr<Damage> change_entry(Stage& stage, std::uint32_t at, mad::Lid lid,
                                                   std::uint8_t port);
/// Two cables, by one end of each, change their other ends; nobody is told.
[[nodiscard]] std::unique_ptr<Damage> swap_cables(Stage& stage, const Place& a, const Place& b);
/// A share of what comes in there is damaged.
[[nodiscard]] std::unique_ptr<Damage> make_lossy(Stage& stage, const Place& in, double probability);
/// The port gets credits for a share of its rate; it says that it runs at full speed.
[[nodiscard]] std::unique_ptr<Damage> throttle(Stage& stage, const Place& out, double share);
/// Both ends have come up with one lane.
[[nodiscard]] std::unique_ptr<Damage> narrow(Stage& stage, const Place& end);

}  // namespace ibf::probe::test
