// The fat tree is drawn from the leaves upward. A branch of level l is a set of top switches, each with free
// uplinks. A branch of level l + 1 joins several branches under new top switches: uplink u of top switch i of
// every child goes to new switch (i, u), at the port that the child's number says. The root level does the
// same once, with all ports downward. Radix k, full size, gives the k-ary tree: k/2 children per branch, k at
// the root.
#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "routing/generate_draft.hpp"
#include "routing/generate_families.hpp"

namespace ibf::routing {
namespace {

constexpr std::uint32_t kLevelsMax = 4;

/// What a spec asks for, in bundles of `parallel` cables.
struct Plan {
    std::uint32_t radix = 0;
    std::uint32_t levels = 0;
    std::uint32_t parallel = 0;
    std::uint32_t hosts = 0;                             ///< per leaf
    std::array<std::uint32_t, kLevelsMax> bundles_up{};  ///< per switch of that level; 0 at the root
    std::array<std::uint32_t, kLevelsMax> children{};    ///< per branch of that level; unused for leaves
    std::array<std::uint64_t, kLevelsMax> tops{};        ///< top switches of a branch of that level

    [[nodiscard]] std::uint64_t branches(std::uint32_t level) const {
        std::uint64_t count = 1;
        for (std::uint32_t above = level + 1; above < levels; ++above) {
            count *= children[above];
        }
        return count;
    }
    [[nodiscard]] std::uint64_t switches() const {
        std::uint64_t count = 0;
        for (std::uint32_t level = 0; level < levels; ++level) {
            count += branches(level) * tops[level];
        }
        return count;
    }
};

tl::unexpected<base::Error> bad(std::string text) {
    return base::fail(base::ErrorKind::usage, "fat-tree: " + std::move(text));
}

base::Result<Plan> plan_tree(const Parameters& parameters) {
    Plan plan;
    plan.radix = parameters.number("radix");
    plan.levels = parameters.number("levels");
    plan.parallel = parameters.number("parallel");
    const std::uint32_t taper = parameters.number("taper");
    if (plan.radix % 2 != 0) {
        return bad(fmt::format("radix={}: must be even, half of the ports lead up", plan.radix));
    }
    const std::uint32_t leaf_up = plan.radix / (taper + 1);
    if (leaf_up == 0 || leaf_up % plan.parallel != 0 || plan.radix / 2 % plan.parallel != 0) {
        return bad(
            fmt::format("parallel={}: must divide the {} uplinks of a leaf and the {} of the switches above",
                        plan.parallel, leaf_up, plan.radix / 2));
    }
    const std::uint32_t hosts_most = plan.radix - leaf_up;
    plan.hosts = parameters.given("hosts") ? parameters.number("hosts") : hosts_most;
    if (plan.hosts > hosts_most) {
        return bad(fmt::format("hosts={}: a leaf of {} ports has {} uplinks, so 0 to {} hosts", plan.hosts,
                               plan.radix, leaf_up, hosts_most));
    }
    const std::uint32_t root = plan.levels - 1;
    const std::uint32_t pods_most = plan.radix / plan.parallel;
    const std::uint32_t pods = parameters.given("pods") ? parameters.number("pods") : pods_most;
    if (pods > pods_most) {
        return bad(fmt::format("pods={}: the root switches reach 1 to {} branches", pods, pods_most));
    }
    plan.bundles_up[0] = leaf_up / plan.parallel;
    plan.tops[0] = 1;
    for (std::uint32_t level = 1; level <= root; ++level) {
        plan.bundles_up[level] = level == root ? 0 : plan.radix / 2 / plan.parallel;
        plan.children[level] = level == root ? pods : plan.radix / 2 / plan.parallel;
        plan.tops[level] = plan.tops[level - 1] * plan.bundles_up[level - 1];
    }
    return plan;
}

/// "leaf", "spine", "core" from below; the root of four levels sits above a super-spine.
std::string_view tier_name(std::uint32_t level, std::uint32_t levels) {
    if (level == 0) {
        return "leaf";
    }
    if (level == 1) {
        return "spine";
    }
    return level + 1 == levels ? "core" : "super";
}

class TreePainter {
public:
    TreePainter(const Plan& plan, FabricDraft& draft) : plan_(plan), draft_(draft) {}

    void paint() {
        paint_switches();
        for (std::uint32_t level = 1; level < plan_.levels; ++level) {
            for (std::uint64_t branch = 0; branch < plan_.branches(level); ++branch) {
                for (std::uint32_t child = 0; child < plan_.children[level]; ++child) {
                    join(level, branch, child);
                }
            }
        }
        for (std::uint32_t leaf = 0; leaf < plan_.branches(0); ++leaf) {
            draft_.add_hosts_to(leaf, 1, plan_.hosts);
        }
    }

private:
    void paint_switches() {
        std::uint32_t next = 0;
        for (std::uint32_t level = 0; level < plan_.levels; ++level) {
            first_[level] = next;
            const auto count = static_cast<std::uint32_t>(plan_.branches(level) * plan_.tops[level]);
            for (std::uint32_t i = 1; i <= count; ++i) {
                draft_.add_switch(fmt::format("{}-{:03}", tier_name(level, plan_.levels), i), plan_.radix);
            }
            next += count;
        }
    }

    [[nodiscard]] std::uint32_t top(std::uint32_t level, std::uint64_t branch, std::uint64_t index) const {
        return first_[level] + static_cast<std::uint32_t>(branch * plan_.tops[level] + index);
    }

    /// The cables between one child branch and the top switches of its parent.
    void join(std::uint32_t level, std::uint64_t branch, std::uint32_t child) {
        const std::uint32_t below = level - 1;
        const std::uint64_t child_branch = branch * plan_.children[level] + child;
        const std::uint32_t first_up = plan_.radix - plan_.bundles_up[below] * plan_.parallel + 1;
        for (std::uint64_t i = 0; i < plan_.tops[below]; ++i) {
            for (std::uint32_t up = 0; up < plan_.bundles_up[below]; ++up) {
                const std::uint32_t lower = top(below, child_branch, i);
                const std::uint32_t upper = top(level, branch, i * plan_.bundles_up[below] + up);
                for (std::uint32_t cable = 0; cable < plan_.parallel; ++cable) {
                    draft_.connect(lower, first_up + up * plan_.parallel + cable, upper,
                                   child * plan_.parallel + cable + 1);
                }
            }
        }
    }

    const Plan& plan_;
    FabricDraft& draft_;
    std::array<std::uint32_t, kLevelsMax> first_{};  ///< node index of the first switch of a level
};

base::Result<Netlist> draw_fat_tree(const Parameters& parameters) {
    const auto plan = plan_tree(parameters);
    if (!plan) {
        return tl::unexpected(plan.error());
    }
    if (auto fits = check_size("fat-tree", plan->switches(), plan->branches(0) * plan->hosts, plan->radix);
        !fits) {
        return tl::unexpected(fits.error());
    }
    FabricDraft draft(parameters);
    TreePainter(*plan, draft).paint();
    return draft.take();
}

}  // namespace

Family fat_tree_family() {
    return {
        "fat-tree",
        "fat-tree:radix=36,levels=3,pods=18",
        "a folded Clos network of equal switches, full or with fewer pods; 2, 3 or 4 levels",
        "",
        {{"radix", KeyKind::number, 2, kSwitchPortsMax, "8", "ports of every switch, even"},
         {"levels", KeyKind::number, 2, kLevelsMax, "2", "levels of switches"},
         {"pods", KeyKind::number, 1, kSwitchPortsMax, "",
          "branches under the root switches (leaves, where there are 2 levels); default radix/parallel"},
         {"taper", KeyKind::number, 1, kSwitchPortsMax, "1", "host ports per uplink at the leaves: 2 is 2:1"},
         {"parallel", KeyKind::number, 1, kSwitchPortsMax, "1", "cables between two connected switches"},
         {"hosts", KeyKind::number, 0, kSwitchPortsMax, "",
          "hosts per leaf; default: every port not an uplink"}},
        draw_fat_tree};
}

}  // namespace ibf::routing
