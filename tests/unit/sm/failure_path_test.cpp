// What a lost cable, switch or host costs: what is asked, what is computed, what is written; and that a look
// at what was touched finds what a look at everything finds.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "base/prng.hpp"
#include "harness.hpp"
#include "mad/codec.hpp"
#include "tests/unit/routing/forced_blocks.hpp"

namespace ibf::test {
namespace {

using fabric::Fabric;
using fabric::kNoNode;
using mad::Attribute;
using mad::PortNum;
using std::chrono::milliseconds;
using std::chrono::seconds;

// --- a fabric as text, whatever the order of its nodes
// ---------------------------------------------------------------------------------------

std::string name_of(const Fabric& fabric, fabric::PortRef ref) {
    return ref.node == kNoNode ? "nothing" : fmt::format("{}/{}", fabric.nodes[ref.node].guid(), ref.port);
}

std::string port_text(const Fabric& fabric, const fabric::Port& port) {
    constexpr std::size_t kLocalPortNum =
        28;  // by which port the question came in: of the way, not of the port
    auto info = mad::encode(port.info);
    info[kLocalPortNum] = 0;
    if (port.info.state == mad::PortState::down) {
        constexpr std::size_t kPhysState = 33;  // goes up and down while the link stays down: nobody tells
        info[kPhysState] &= 0x0F;
    }
    std::string text =
        fmt::format("{}{} guid {} peer {} fdr10 {} info {:02x}", port.known ? "known" : "unknown",
                    port.usable ? "" : " unusable", port.guid, name_of(fabric, port.peer),
                    port.info.fdr10_active, fmt::join(info, ""));
    for (const mad::PKeyBlock& block : port.pkeys) {
        text += fmt::format(" keys {:02x}", fmt::join(mad::encode(block), ""));
    }
    return text;
}

/// The node that a directed route leads to.
std::uint32_t end_of(const Fabric& fabric, const mad::DrPath& path) {
    std::uint32_t at = fabric.local.node;
    for (std::uint8_t hop = 1; hop <= path.hops && at != kNoNode; ++hop) {
        const auto& ports = fabric.nodes[at].ports;
        at = path.ports[hop] < ports.size() ? ports[path.ports[hop]].peer.node : kNoNode;
    }
    return at;
}

std::string text_of(const Fabric& fabric) {
    std::map<mad::Guid, std::string> nodes;
    for (std::uint32_t n = 0; n < fabric.nodes.size(); ++n) {
        const fabric::Node& node = fabric.nodes[n];
        std::string text =
            fmt::format("{} {} {} hops {} {}\n", node.guid(), mad::to_string(node.info.type),
                        node.description, node.path.hops, end_of(fabric, node.path) == n ? "right" : "WRONG");
        if (node.switch_info) {
            text += fmt::format("  switch {:02x}\n", fmt::join(mad::encode(*node.switch_info), ""));
        }
        for (std::size_t p = 0; p < node.ports.size(); ++p) {
            text += fmt::format("  {} {}", p, port_text(fabric, node.ports[p]));
            const bool has_way = !node.is_switch() && node.ports[p].peer.node != kNoNode;
            text += has_way && end_of(fabric, node.ports[p].path) != n ? " WRONG WAY\n" : "\n";
        }
        nodes.emplace(node.guid(), std::move(text));
    }
    std::vector<std::string> asides;
    for (const fabric::Isolation& item : fabric.isolations) {
        asides.push_back(fmt::format("{} at {}\n", to_string(item.reason), name_of(fabric, item.at)));
    }
    std::sort(asides.begin(), asides.end());
    std::string all;
    for (const auto& [guid, text] : nodes) {
        all += text;
    }
    return all + fmt::format("{}", fmt::join(asides, ""));
}

/// Lines of one text that the other lacks.
std::string difference(const std::string& a, const std::string& b) {
    const auto lines = [](const std::string& text) {
        std::multiset<std::string> out;
        std::size_t from = 0;
        for (std::size_t to = text.find('\n'); to != std::string::npos; to = text.find('\n', from)) {
            out.insert(text.substr(from, to - from));
            from = to + 1;
        }
        return out;
    };
    std::string out;
    const auto of_a = lines(a);
    const auto of_b = lines(b);
    for (const std::string& line : of_a) {
        out += of_b.contains(line) ? "" : "- " + line + "\n";
    }
    for (const std::string& line : of_b) {
        out += of_a.contains(line) ? "" : "+ " + line + "\n";
    }
    return out;
}

// --- random change
// -------------------------------------------------------------------------------------------------

/// One random event of a cable or a node, as a fault; the SM's own host and leaf are left alone.
class Events {
public:
    Events(const Lab& lab, std::uint64_t seed) : nodes_(lab.sim.netlist().nodes), prng_(seed) {
        const mad::Guid own = lab.sim.local_port(lab.client).node_guid;
        for (std::uint32_t n = 0; n < nodes_.size(); ++n) {
            if (nodes_[n].guid == own) {
                spared_ = {n, *nodes_[n].ports[1].peer_node};
            }
        }
    }

    std::string next() {
        const auto node = static_cast<std::uint32_t>(prng_.below(nodes_.size()));
        const auto port = 1 + prng_.below(nodes_[node].ports.size() - 1);
        const bool spared = spared_.contains(node);
        switch (prng_.below(spared ? 2 : 6)) {
            case 0:
            case 1: return spared && nodes_[node].type != mad::NodeType::switch_ ? "" : cable(node, port);
            case 2: return whole(node);
            case 3: return gone_.contains(node) ? "" : fmt::format("reboot \"{}\"", nodes_[node].id);
            case 4: return nodes_[node].type == mad::NodeType::switch_ ? "" : whole(node);
            default: return "";
        }
    }

private:
    std::string cable(std::uint32_t node, std::size_t port) {
        const auto peer = nodes_[node].ports[port].peer_node;
        if (!peer || (spared_.contains(*peer) && nodes_[*peer].type != mad::NodeType::switch_)) {
            return "";
        }
        const std::string name = fmt::format("\"{}/{}\"", nodes_[node].id, port);
        return down_.erase(name) > 0 ? "link-up " + name : (down_.insert(name), "link-down " + name);
    }
    std::string whole(std::uint32_t node) {
        const std::string name = fmt::format("\"{}\"", nodes_[node].id);
        return gone_.erase(node) > 0 ? "add-node " + name : (gone_.insert(node), "remove-node " + name);
    }

    const std::vector<routing::NetlistNode>& nodes_;
    base::Prng prng_;
    std::set<std::uint32_t> spared_;
    std::set<std::string> down_;
    std::set<std::uint32_t> gone_;
};

TEST(TouchedLook, FindsWhatALookAtEverythingFinds) {
    std::uint64_t touched = 0;
    std::uint64_t full = 0;
    for (const char* spec : {"fat-tree:radix=6,levels=3", "torus:4x4,hosts=2", "fat-tree:radix=4,levels=2"}) {
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
            Lab lab(netlist(spec));
            lab.start();
            ASSERT_TRUE(lab.run_until_up(seconds{10}));
            Events events(lab, seed);
            for (std::uint32_t round = 0; round < 40; ++round) {
                std::string what;
                for (std::uint64_t i = 0; i <= round % 3; ++i) {
                    const std::string event = events.next();
                    what += event.empty() ? "" : event + "\n";
                }
                lab.advance(seconds{70});  // every hold-down is over
                lab.forget_counts();
                lab.inject(what);
                lab.advance(seconds{40});
                touched += lab.sweeps("touched");
                full += lab.sweeps("full");
                ASSERT_TRUE(lab.sm->only_retries_left()) << what;
                const std::string found = text_of(*lab.snapshot().fabric);
                lab.forget_counts();
                lab.request_sweep(sm::SweepScope::full);
                ASSERT_TRUE(lab.run_until([&] { return lab.sweeps("full") > 0; }, seconds{20}));
                ASSERT_EQ(difference(found, text_of(*lab.snapshot().fabric)), "")
                    << spec << " seed " << seed << " round " << round << ":\n"
                    << what;
            }
            EXPECT_EQ(wrong(lab), "");
        }
    }
    EXPECT_GT(touched, 200U);
    EXPECT_LT(full, touched / 4) << "a look at everything is for what does not fit together";
}

// The only way on leads over a switch that was out of reach and is read again itself.
TEST(TouchedLook, OneCableComesAsTheOtherGoes) {
    Lab lab(t2(), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{10}));
    lab.inject("link-down leaf1/5");
    lab.advance(seconds{70});
    lab.forget_counts();
    lab.inject("link-up leaf1/5\nlink-down leaf1/6");
    lab.advance(seconds{5});
    EXPECT_EQ(lab.sweeps("full"), 0U);
    EXPECT_GT(lab.sweeps("touched"), 0U);
    EXPECT_EQ(lab.snapshot().fabric->nodes.size(), 12U);
    EXPECT_EQ(lab.events("node-removed"), 0U);
    EXPECT_EQ(wrong(lab), "");
}

// --- what an event costs
// ------------------------------------------------------------------------------------------

/// A tree of 320 switches and 1,024 hosts, at rest.
struct Tree {
    Tree() : net(netlist("fat-tree:radix=16,levels=3")), lab(net, options()) {
        lab.start();
        EXPECT_TRUE(lab.run_until_up(seconds{20}));
        lab.advance(seconds{70});
        begin_count();
    }

    static LabOptions options() {
        LabOptions options;
        options.config.routing.engines = {"ftree"};
        return options;
    }
    void begin_count() {
        lab.forget_counts();
        mads = 0;
        lab.on_mad = [this](base::Instant, std::uint32_t, const mad::Smp&, mad::MadStatus) { ++mads; };
    }
    /// Up to the end of the first sweep over something touched.
    void settle(const std::string& event) {
        lab.inject(event);
        ASSERT_TRUE(lab.run_until([&] { return lab.sweeps("touched") == 1; }, seconds{20})) << event;
    }
    std::string switch_at_level(std::size_t level) const {
        std::size_t hosts = 0;
        std::string found;
        for (const routing::NetlistNode& node : net.nodes) {
            if (node.type != mad::NodeType::switch_) {
                continue;
            }
            hosts = 0;
            std::size_t above_leaf = 0;
            for (std::size_t p = 1; p < node.ports.size(); ++p) {
                const auto peer = node.ports[p].peer_node;
                hosts += peer && net.nodes[*peer].type != mad::NodeType::switch_ ? 1U : 0U;
                above_leaf += peer && is_leaf(*peer) ? 1U : 0U;
            }
            const std::size_t own = hosts > 0 ? 0 : above_leaf > 0 ? 1 : 2;
            found = own == level ? node.id : found;
        }
        return found;
    }
    bool is_leaf(std::uint32_t n) const {
        return net.nodes[n].type == mad::NodeType::switch_ &&
               std::any_of(net.nodes[n].ports.begin(), net.nodes[n].ports.end(), [&](const auto& port) {
                   return port.peer_node && net.nodes[*port.peer_node].type != mad::NodeType::switch_;
               });
    }

    routing::Netlist net;
    Lab lab;
    std::uint64_t mads = 0;
};

constexpr std::uint64_t kSwitches = 320;

TEST(FailurePath, ALostUplinkAsksBothEndsAndWritesWhatDiffers) {
    Tree tree;
    const fabric::Snapshot before = tree.lab.snapshot();
    tree.settle(fmt::format("link-down \"{}/9\"", tree.switch_at_level(0)));
    // The light sweep, and of two switches SwitchInfo, its change bit, 17 ports and our own port's.
    EXPECT_LE(tree.lab.gets(Attribute::switch_info), kSwitches + 2);
    EXPECT_EQ(tree.lab.sets(Attribute::switch_info), 2U) << "the bits that told are cleared, nothing else";
    EXPECT_LE(tree.lab.gets(Attribute::port_info), 2 * 17U + 2);
    EXPECT_EQ(tree.lab.gets(Attribute::node_info), 0U) << "nobody new is looked for";
    EXPECT_EQ(tree.lab.gets(Attribute::pkey_table), 0U);
    EXPECT_EQ(tree.lab.sets(Attribute::port_info), 0U);
    EXPECT_LE(tree.mads, kSwitches + 45 + tree.lab.sets(Attribute::linear_forwarding_table));
    const fabric::Snapshot after = tree.lab.snapshot();
    const auto blocks =
        routing::test::ForcedBlocks(before.routes->routes, after.view->topology, after.routes->routes)
            .count();
    EXPECT_GT(blocks.forced, 20U);
    EXPECT_LE(tree.lab.sets(Attribute::linear_forwarding_table), blocks.forced * 12 / 10);
    EXPECT_EQ(tree.lab.sweeps("full"), 0U);
    EXPECT_EQ(wrong(tree.lab), "");
}

TEST(FailurePath, ACableThatComesBackIsTheSamePath) {
    Tree tree;
    const std::string cable = fmt::format("\"{}/12\"", tree.switch_at_level(1));
    tree.settle("link-down " + cable);
    tree.lab.advance(seconds{70});
    tree.begin_count();
    tree.settle("link-up " + cable);
    EXPECT_LE(tree.lab.gets(Attribute::node_info), 2U) << "both ends ask, and nobody else";
    EXPECT_LE(tree.lab.gets(Attribute::port_info), 2 * 17U + 2);
    EXPECT_LE(tree.lab.sets(Attribute::port_info), 4U) << "both ends armed and active";
    EXPECT_EQ(tree.lab.sweeps("full"), 0U);
    tree.lab.advance(seconds{5});
    EXPECT_EQ(wrong(tree.lab), "");
}

TEST(FailurePath, ALostSpineIsToldByItsNeighbours) {
    Tree tree;
    tree.settle(fmt::format("remove-node \"{}\"", tree.switch_at_level(2)));
    EXPECT_EQ(tree.lab.gets(Attribute::node_info), 0U);
    EXPECT_LE(tree.lab.gets(Attribute::port_info), 16 * 17U + 2) << "sixteen neighbours";
    EXPECT_EQ(tree.lab.events("node-removed"), 1U);
    tree.lab.advance(seconds{5});
    EXPECT_EQ(tree.lab.sweeps("full"), 0U);
    EXPECT_EQ(wrong(tree.lab), "");
}

// Every way but those of its own leaf leads over the cable: whoever is behind it cannot say that nothing
// happened.
TEST(FailurePath, WhoIsBehindTheLostCableIsAskedAnotherWay) {
    Lab lab(leaf_spine(24, 2, 2, mad::LinkSpeed::edr), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{70});
    const fabric::Snapshot before = lab.snapshot();
    const mad::Guid leaf2 = lab.sim.netlist().nodes[lab.node("leaf2")].guid;
    const std::uint8_t way = before.fabric->nodes[before.fabric->find(leaf2)].path.ports[2];
    lab.forget_counts();
    const base::Instant began = lab.now;
    lab.inject(fmt::format("link-down leaf1/{}", way));
    ASSERT_TRUE(lab.run_until([&] { return lab.sweeps("touched") == 1; }, seconds{20}));
    EXPECT_LT(lab.now - began, milliseconds{100}) << "no time-out was waited for";
    EXPECT_EQ(lab.sweeps("full"), 0U);
    EXPECT_EQ(lab.gets(Attribute::node_info), 0U);
    lab.advance(seconds{5});
    EXPECT_EQ(lab.events("node-removed"), 0U);
    EXPECT_EQ(wrong(lab), "");
}

TEST(FailurePath, WithoutATrapTheIntervalFindsTheSame) {
    Tree tree;
    tree.lab.inject("mute-traps *");
    tree.settle(fmt::format("link-down \"{}/9\"", tree.switch_at_level(0)));
    EXPECT_LE(tree.lab.gets(Attribute::port_info), 2 * 17U + 2);
    EXPECT_EQ(tree.lab.sweeps("full"), 0U);
    EXPECT_EQ(wrong(tree.lab), "");
}

// Its links stay up, so its neighbours have nothing to tell: it does not fit together.
TEST(FailurePath, ASwitchThatOnlyFallsSilentIsLookedForEverywhere) {
    Lab lab(leaf_spine(4, 2, 2, mad::LinkSpeed::edr), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{70});
    lab.forget_counts();
    lab.inject("dead spine2");
    ASSERT_TRUE(lab.run_until([&] { return lab.sweeps("full") == 1; }, seconds{40}));
    lab.advance(seconds{20});
    EXPECT_EQ(lab.events("node-removed"), 1U);
    EXPECT_EQ(wrong(lab, {lab.node("spine2")}), "");
}

TEST(FailurePath, AMovedCableIsFoundWhereItIs) {
    Lab lab(leaf_spine(4, 2, 2, mad::LinkSpeed::edr), at("h1"));
    lab.inject("link-down leaf2/2");
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{70});
    lab.forget_counts();
    lab.inject("link-down leaf3/1\nlink-up leaf2/2");
    lab.advance(seconds{5});
    EXPECT_EQ(lab.sweeps("full"), 0U);
    EXPECT_EQ(lab.events("node-removed"), 1U);
    EXPECT_EQ(lab.events("node-added"), 1U);
    EXPECT_EQ(wrong(lab), "");
}

// --- engines, and what stays where it was
// ---------------------------------------------------------------------------

/// Cables between switches, each once, and switches, as names for fault scripts; the SM's own switch left
/// out.
std::vector<std::string> losses(const Lab& lab) {
    const auto& nodes = lab.sim.netlist().nodes;
    const mad::Guid own = lab.sim.local_port(lab.client).node_guid;
    std::vector<std::string> names;
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
        if (nodes[n].type != mad::NodeType::switch_) {
            continue;
        }
        bool has_sm = false;
        for (std::size_t p = 1; p < nodes[n].ports.size(); ++p) {
            const auto peer = nodes[n].ports[p].peer_node;
            has_sm = has_sm || (peer && nodes[*peer].guid == own);
            if (peer && *peer > n && nodes[*peer].type == mad::NodeType::switch_) {
                names.push_back(fmt::format("\"{}/{}\"", nodes[n].id, p));
            }
        }
        if (!has_sm) {
            names.push_back(fmt::format("\"{}\"", nodes[n].id));
        }
    }
    return names;
}

TEST(FieldCase, C65_lash_serves_whatever_one_loss_leaves) {
    LabOptions options;
    options.config.routing.engines = {"lash"};
    Lab lab(netlist("random:switches=13,degree=4,hosts=1,seed=7"), options);
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{10}));
    ASSERT_EQ(lab.snapshot().routes->routes.engine, "lash");
    for (const std::string& name : losses(lab)) {
        const bool cable = name.find('/') != std::string::npos;
        lab.forget_counts();
        lab.inject((cable ? "link-down " : "remove-node ") + name);
        lab.advance(seconds{40});
        EXPECT_EQ(lab.sm->mode(), fabric::SmMode::up) << name;
        EXPECT_EQ(wrong(lab), "") << "without " << name;
        EXPECT_GE(lab.events("link-down") + lab.events("node-removed"), 1U) << "the loss is told: " << name;
        lab.inject((cable ? "link-up " : "add-node ") + name);
        lab.advance(seconds{70});
        EXPECT_EQ(wrong(lab), "") << "with " << name << " again";
    }
}

TEST(FieldCase, C67_a_torus_engine_on_a_tree_is_told_and_replaced) {
    LabOptions options = at("h1");
    options.config.routing.engines = {"torus-2qos"};
    Lab lab(leaf_spine(4, 3, 2, mad::LinkSpeed::edr), options);  // T2 itself is a ring of four, and served
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    ASSERT_NE(lab.find_event("engine-refused"), nullptr);
    EXPECT_NE(lab.find_event("engine-refused")->text.find("engine torus-2qos does not serve: "),
              std::string::npos)
        << lab.find_event("engine-refused")->text;
    EXPECT_EQ(lab.snapshot().routes->routes.engine, "updn");
    EXPECT_EQ(wrong(lab), "");
    // And after a loss the fallback goes on.
    lab.advance(seconds{70});
    lab.inject("link-down leaf1/4");
    lab.advance(seconds{40});
    EXPECT_EQ(lab.snapshot().routes->routes.engine, "updn");
    EXPECT_EQ(wrong(lab), "");
}

TEST(FieldCase, C74_kill_spine_1_of_t2) {
    Lab lab(t2(), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{70});
    const std::uint32_t spine = lab.node("spine1");
    const auto way = [&](std::uint32_t from, std::uint32_t to) {
        std::vector<std::uint32_t> nodes;
        const auto steps = lab.sim.walk(lab.node(fmt::format("h{}", from)), PortNum{1},
                                        lab.lid(lab.node(fmt::format("h{}", to)), 1));
        EXPECT_TRUE(steps) << "h" << from << " to h" << to;
        for (std::size_t i = 0; steps && i < steps->size(); ++i) {
            nodes.push_back((*steps)[i].node);
        }
        return nodes;
    };
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> before;
    for (std::uint32_t from = 1; from <= 8; ++from) {
        for (std::uint32_t to = 1; to <= 8; ++to) {
            if (from != to) {
                before[{from, to}] = way(from, to);
            }
        }
    }
    const auto tables = [&] {
        std::vector<std::vector<std::uint8_t>> all;
        for (const char* name : {"leaf1", "leaf2", "spine2"}) {
            auto& table = all.emplace_back();
            for (std::uint16_t lid = 0; lid < 64; ++lid) {
                table.push_back(lab.sim.lft_entry(lab.node(name), mad::Lid{lid}));
            }
        }
        return all;
    };
    const auto old = tables();
    lab.forget_counts();
    lab.inject("remove-node spine1");
    lab.advance(seconds{40});
    EXPECT_EQ(wrong(lab), "");
    std::uint64_t differ = 0;
    for (std::size_t i = 0; i < old.size(); ++i) {
        differ += tables()[i] != old[i] ? 1U : 0U;
    }
    EXPECT_EQ(lab.sets(Attribute::linear_forwarding_table), differ);
    std::size_t moved = 0;
    for (const auto& [pair, nodes] : before) {
        const bool affected = std::find(nodes.begin(), nodes.end(), spine) != nodes.end();
        const auto now = way(pair.first, pair.second);
        EXPECT_TRUE(affected || now == nodes) << "h" << pair.first << " to h" << pair.second;
        moved += affected ? 1U : 0U;
    }
    EXPECT_GT(moved, 0U);
}

// --- hosts
// ---------------------------------------------------------------------------------------------------------

TEST(HostDown, ComputesNoRoutesAndWritesNoTable) {
    Tree tree;
    std::string host;
    for (const routing::NetlistNode& node : tree.net.nodes) {
        host = node.type == mad::NodeType::switch_ ? host : node.id;
    }
    const std::uint32_t routed = tree.lab.routings;
    for (const std::string event : {"remove-node", "add-node", "reboot", "link-down", "link-up"}) {
        tree.begin_count();
        tree.settle(fmt::format("{} \"{}\"", event, event.rfind("link", 0) == 0 ? host + "/1" : host));
        tree.lab.advance(seconds{70});
        EXPECT_EQ(tree.lab.routings, routed) << event;
        EXPECT_EQ(tree.lab.sets(Attribute::linear_forwarding_table), 0U) << event;
        EXPECT_LE(tree.lab.sets(Attribute::switch_info), 4U) << event << ": LinearFDBTop stays";
        EXPECT_EQ(tree.lab.sweeps("full"), 0U) << event;
        EXPECT_EQ(wrong(tree.lab), "") << event;
    }
}

// While it is away a cable is lost: its entries are mended like all others, and its return changes nothing.
TEST(HostDown, ItsRoutesAreKeptGoodWhileItIsAway) {
    Lab lab(leaf_spine(4, 2, 4, mad::LinkSpeed::edr), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{70});
    lab.inject("remove-node h16");
    lab.advance(seconds{70});
    const std::uint32_t routed = lab.routings;
    lab.inject("link-down leaf4/5");
    lab.advance(seconds{70});
    EXPECT_EQ(lab.routings, routed + 1);
    lab.forget_counts();
    lab.inject("add-node h16");
    lab.advance(seconds{70});
    EXPECT_EQ(lab.routings, routed + 1);
    EXPECT_EQ(lab.sets(Attribute::linear_forwarding_table), 0U);
    EXPECT_EQ(wrong(lab), "");
    const auto steps = lab.sim.walk(lab.node("h1"), PortNum{1}, lab.lid(lab.node("h16"), 1));
    EXPECT_TRUE(steps);
}

TEST(HostDown, AnotherHostAtItsPortIsRouted) {
    Lab lab(leaf_spine(2, 2, 2, mad::LinkSpeed::edr), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    lab.advance(seconds{70});
    const std::uint32_t routed = lab.routings;
    lab.inject("remove-node h4");
    lab.advance(seconds{70});
    EXPECT_EQ(lab.routings, routed);
    lab.sim.set_node_guid(lab.node("h4"), mad::Guid{0x77});
    lab.inject("add-node h4");
    lab.advance(seconds{70});
    EXPECT_EQ(lab.routings, routed + 1);
    EXPECT_EQ(wrong(lab), "");
}

}  // namespace
}  // namespace ibf::test
