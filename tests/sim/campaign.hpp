// DOC: one seeded history of a fabric and its subnet managers.
//
// A seed fixes everything: the fabric, one to three ibfabric cores at different hosts and perhaps a manager
// of another make (ForeignSm), what each is configured to, and minutes of what goes wrong: lost, late,
// doubled and reordered MADs, cables, reboots, nodes that go and come, two with one GUID, a fabric cut in
// two, SMs that die, hang, are started anew, whose messages to each other are lost, whose disks fail, are
// slow, or forget all. Every lasting fault is taken back before the quiet at the end. Judges look from
// outside all the way (FabricJudge) and at the end (problems(), sa_disagreements()); what they find comes
// back in words.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/prng.hpp"
#include "fabric_judge.hpp"
#include "foreign_sm.hpp"
#include "harness.hpp"

namespace ibf::test {

class Campaign {
public:
    /// What goes into the transcript beside events and sweeps.
    struct Told {
        bool sets = false;  ///< every Set that an agent took
    };
    Campaign(std::uint64_t seed, const Told& told);

    /// What was found wrong; empty: the seed passes.
    [[nodiscard]] std::vector<std::string> run();

    /// So that a run that finds nothing can be seen to have looked.
    struct Statistics {
        std::uint64_t mads = 0;
        std::uint64_t sets = 0;
        std::uint64_t credit_cycles = 0;     ///< 1: old and new tables together had one, for a while
        std::uint64_t untold_cycles = 0;     ///< 1: on one lane, and no manager had said so
        std::uint64_t writers_followed = 0;  ///< how often another SM went on writing
    };
    [[nodiscard]] Statistics statistics() const;
    /// The fabric, the managers, and what was done to them.
    [[nodiscard]] std::string story() const;
    /// Every event and sweep of every SM.
    [[nodiscard]] std::string transcript() const;

private:
    struct Manager {
        std::string name;
        std::string host;
        std::unique_ptr<Lab> lab;
        bool frozen = false;
        std::uint32_t losing = 0;  ///< so many of the next SMInfo MADs that come to it are lost
    };
    /// What takes a fault back.
    using Undo = std::function<void()>;

    // The cast.
    void cast();
    void add_manager(const std::string& host, const std::vector<std::string>& engines, std::uint8_t lmc);
    [[nodiscard]] std::vector<std::string> pick_engines();
    void start(Manager& manager);
    [[nodiscard]] bool alive(const Manager& manager) const;
    [[nodiscard]] bool is_manager_host(std::uint32_t node) const;

    // What goes wrong.
    void begin();
    void strike();
    void strike_fabric();
    void strike_node();
    void strike_managers();
    void split();
    void clone_guid();
    void disk(Manager& manager);
    void stop_or_kill(Manager& manager);
    void act(const std::string& fault);
    void become_forgetful();
    void reset(std::uint32_t node);
    void note(const std::string& line);
    void tell(const std::string& line);
    /// Now, after a while, or at the end.
    void take_back(const std::string& what, Undo undo);
    void act_and_back(const std::string& fault, const std::string& undo);

    // Time, and the end.
    void pass(base::Duration time);
    base::Duration pause();
    void make_peace();
    void judge_rest();
    [[nodiscard]] std::vector<std::string> strangers_to(const Manager& master);
    [[nodiscard]] Manager* the_master();

    // Places.
    [[nodiscard]] Lab& base() { return *managers_[0]->lab; }
    [[nodiscard]] const routing::Netlist& net() { return base().sim.netlist(); }
    [[nodiscard]] std::uint32_t victim();
    [[nodiscard]] std::string quoted(std::uint32_t node);
    [[nodiscard]] std::string cable_of(std::uint32_t node);
    Manager& any_manager() { return *managers_[prng_.below(managers_.size())]; }

    base::Prng prng_;
    std::uint64_t seed_;
    Told told_;
    std::string spec_;
    std::vector<std::unique_ptr<Manager>> managers_;
    std::unique_ptr<ForeignSm> foreign_;
    std::unique_ptr<FabricJudge> judge_;
    base::Instant looked_{};
    bool one_lane_ = true;  ///< the engines promise freedom from credit loops on lane 0 alone
    std::optional<base::Instant>
        ring_told_;             ///< a manager has said that old and new tables have a ring of credits
    bool untold_ring_ = false;  ///< there was one of which none has
    bool forgetful_ = false;    ///< a master may not know what LID a node had that lost its own
    std::vector<std::pair<std::string, std::uint64_t>> raced_;  ///< wire rules broken before it was calm
    std::set<std::uint32_t> reset_;
    std::vector<std::pair<std::string, Undo>> undo_;
    std::vector<std::string> done_;
    std::deque<std::string> lines_;
    std::vector<std::string> found_;
};

}  // namespace ibf::test
