// DOC: an outside look at a fabric while it is being managed, after each MAD that an agent took.
//
// It reads the simulated switches' own tables and ports, never a subnet manager, and finds:
// - loops: a LID that circles between switches over links that carry data;
// - credit cycles: channels (switch, exit port) that wait for each other in a ring, by the tables as they are
//   at this moment, whatever mix of old and new. One lane is assumed. The paths: every port to every
//   adapter's LID, every adapter to every LID;
// - two masters: a Set by one SM while another one, alive and reachable for long, is master; or SMs that take
//   turns at writing. Who was master before the other is excused until a word of it has come, for a while;
// - LIDs that a Set moved.
// What SMs are and do is told to it: it cannot see who is alive, and a master's role only its owner knows.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness.hpp"

namespace ibf::test {

/// Loops and credit cycles of the tables as they are now.
class TableWalk {
public:
    explicit TableWalk(const sim::Simulator& sim);
    /// As if these were not there.
    TableWalk(const sim::Simulator& sim, const std::multiset<std::uint32_t>& without);
    /// A loop, in words; empty: none.
    [[nodiscard]] std::string loop();
    /// A credit cycle, link by link; empty: none.
    [[nodiscard]] std::string credit_cycle();

private:
    static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

    void read_links(const std::multiset<std::uint32_t>& without);
    void read_owners();
    [[nodiscard]] std::uint8_t exit(std::uint32_t node, std::uint32_t lid) const;
    [[nodiscard]] std::uint32_t next(std::uint32_t node, std::uint32_t lid) const;
    void add_dependencies(std::uint32_t lid, bool from_everywhere);
    [[nodiscard]] std::string ring_from(std::uint32_t channel);

    const sim::Simulator& sim_;
    std::uint32_t lids_ = 0;            ///< LIDs below this are looked at
    std::uint32_t channels_ = 0;        ///< one for each port of each switch
    std::vector<std::uint32_t> first_;  ///< by node: its first channel
    std::vector<std::uint32_t> peer_;   ///< by channel: the switch it leads to, or kNone
    std::vector<bool> has_hosts_;       ///< by node: adapters are linked to it
    std::vector<std::uint8_t> owner_;   ///< by LID: 0 nobody, 1 an adapter, 2 a switch
    std::vector<std::vector<std::uint32_t>> waits_for_;
    std::vector<std::uint8_t> colour_;
    std::vector<std::uint32_t> way_;
};

class FabricJudge {
public:
    /// A manager as the judge knows it.
    struct Manager {
        std::string name;
        std::uint32_t node = 0;
        std::function<bool()> alive;      ///< runs, and is not frozen
        std::function<bool()> is_master;  ///< and may write
    };
    explicit FabricJudge(const sim::Simulator& sim);

    void add_manager(sim::Simulator::ClientId client, Manager manager);
    /// A new life begins: what the old one sent does not count.
    void reborn(sim::Simulator::ClientId client);
    /// The device has lost its LIDs.
    void forget_lids(std::uint32_t node);
    /// From now on LIDs of this device may change, until on_settled(): it passes, or has passed, for another
    /// one.
    void release_lids(base::Instant at, std::uint32_t node);
    /// A manager has set up all of the fabric by a look that began at `begun`. What it reaches, and was
    /// released before, has the LIDs that it is to keep from now on. Not where there are several: another one
    /// may remember another LID of it, and be the master next.
    void on_settled(sim::Simulator::ClientId by, base::Instant begun);
    /// From now on a master may not know which LIDs are taken: where two ports have been given the same one,
    /// one may change.
    void expect_clashes() { clashes_ = true; }
    /// Nodes whose agents are dead: nobody is seen through them.
    void set_dead(const std::set<std::uint32_t>* dead) { dead_ = dead; }

    void on_mad(base::Instant at, std::uint32_t node, const mad::Smp& request, mad::MadStatus status);
    /// A manager was told by another one's SMInfo, in a question or an answer, what that one is.
    void on_sm_info(base::Instant at, sim::Simulator::ClientId to, const mad::SmInfo& shown);
    /// Who can reach whom now; also between MADs, now and then.
    void look_around(base::Instant now);
    /// Nodes that management reaches from this one.
    [[nodiscard]] std::vector<bool> reach(std::uint32_t from) const;
    /// Nobody sees through these any more: managers do not believe in two nodes with one GUID.
    void hide(std::uint32_t node) { hidden_.insert(node); }
    void show(std::uint32_t node) { hidden_.erase(hidden_.find(node)); }

    /// How often a Set came from another manager than the one before.
    [[nodiscard]] std::uint64_t writers_followed() const { return writers_followed_; }
    [[nodiscard]] bool has_several() const { return managers_.size() > 1; }
    [[nodiscard]] const std::vector<std::string>& findings() const { return findings_; }
    /// When credit cycles were seen, and which.
    [[nodiscard]] const std::vector<std::pair<base::Instant, std::string>>& credit_cycles() const {
        return credit_cycles_;
    }
    /// Adapters' ports and switches whose LID is not the one that they were given first.
    [[nodiscard]] std::vector<std::string> moved() const;

private:
    struct Known {
        Manager manager;
        std::optional<base::Instant> last_set;
        std::map<sim::Simulator::ClientId, base::Instant> apart;  ///< when it could last not be reached
        std::optional<base::Instant> master_since;                ///< as far as this judge has looked
        std::map<sim::Simulator::ClientId, base::Instant> heard;  ///< when another one last told it "master"
    };
    struct Place {
        mad::Lid lid{};    ///< as last seen
        mad::Lid first{};  ///< the first that it was given
    };
    void check_tables(base::Instant at, const mad::Smp& request, std::uint32_t node);
    void check_lid(base::Instant at, std::uint32_t node, const mad::Smp& request);
    [[nodiscard]] bool is_settled(std::uint32_t node, base::Instant released, base::Instant begun,
                                  const std::vector<bool>& reached) const;
    [[nodiscard]] bool is_claimed_elsewhere(mad::Lid lid, std::uint32_t node) const;
    void check_writer(base::Instant at, std::uint32_t node, const mad::Smp& request);
    void note_roles(base::Instant at);
    [[nodiscard]] std::vector<bool> reach(std::uint32_t from,
                                          const std::multiset<std::uint32_t>& hidden) const;
    [[nodiscard]] bool masters_hide() const;
    void note_hiding(base::Instant at);
    [[nodiscard]] bool separate(const Known& one, sim::Simulator::ClientId other, base::Instant at) const;
    [[nodiscard]] bool untold(const Known& one, sim::Simulator::ClientId other, base::Instant at) const;
    void say(base::Instant at, const std::string& text);

    const sim::Simulator& sim_;
    std::map<sim::Simulator::ClientId, Known> managers_;
    std::map<std::pair<std::uint32_t, std::uint8_t>, Place> places_;
    std::map<std::uint32_t, base::Instant> released_;  ///< since when
    bool clashes_ = false;
    std::set<mad::Lid> contested_;  ///< LIDs that two ports had at one time
    const std::set<std::uint32_t>* dead_ = nullptr;
    std::multiset<std::uint32_t> hidden_;
    std::optional<base::Instant> hid_;  ///< when masters_hide() was last so
    std::optional<sim::Simulator::ClientId> last_writer_;
    std::uint64_t writers_followed_ = 0;
    std::vector<std::string> findings_;
    std::vector<std::pair<base::Instant, std::string>> credit_cycles_;
};

}  // namespace ibf::test
