#include "campaign.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "mad/codec.hpp"
#include "sa_judge.hpp"

namespace ibf::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// After the last fault was taken back: what was under way has ended, and been looked at.
constexpr base::Duration kCalm = seconds{60};

/// What routing sees, against one drawn anew. Ports that refused their set-up were left out after it was
/// drawn.
bool view_is_true(const fabric::Snapshot& snapshot) {
    if (!snapshot.view || !snapshot.fabric ||
        std::any_of(snapshot.fabric->nodes.begin(), snapshot.fabric->nodes.end(), [](const auto& node) {
            return std::any_of(node.ports.begin(), node.ports.end(),
                               [](const auto& port) { return !port.usable; });
        })) {
        return true;
    }
    fabric::LidMap lids;
    for (const auto& item : snapshot.view->topology.switches) {
        lids.emplace(item.guid, item.lids);
    }
    for (const auto& item : snapshot.view->topology.end_ports) {
        lids.emplace(item.port_guid, item.lids);
    }
    const auto plain = [](fabric::TopologyView view) {
        for (auto& item : view.topology.switches) {
            for (auto& peer : item.peers) {  // what a link offers may have been read since
                peer = {peer.kind, peer.port, peer.index};
            }
        }
        return view.topology;
    };
    const fabric::TopologyView anew = fabric::topology_of(*snapshot.fabric, lids);
    return plain(anew) == plain(*snapshot.view) && anew.end_ports == snapshot.view->end_ports &&
           anew.switch_nodes == snapshot.view->switch_nodes;
}

std::string random_spec(base::Prng& prng) {
    const std::uint64_t own = prng.below(1000);
    switch (prng.below(9)) {
        case 0: return "fat-tree:radix=4,levels=2";
        case 1: return fmt::format("fat-tree:radix=4,levels=3,missing-links=0.05,seed={}", own);
        case 2: return "fat-tree:radix=6,levels=2";
        case 3: return fmt::format("ring:{},hosts=1", 3 + prng.below(5));
        case 4: return fmt::format("torus:{}x{},hosts=1", 3 + prng.below(2), 3 + prng.below(2));
        case 5: return fmt::format("star:leaves={},hosts=2", 2 + prng.below(4));
        case 6: return "hypercube:dim=3,hosts=1";
        case 7: return fmt::format("random:switches={},degree=3,hosts=2,seed={}", 6 + 2 * prng.below(4), own);
        default: return "single:6";
    }
}

/// The nodes that cables connect with this one.
std::set<std::uint32_t> connected_with(const routing::Netlist& net, std::uint32_t node) {
    std::set<std::uint32_t> found{node};
    std::vector<std::uint32_t> open{node};
    while (!open.empty()) {
        const std::uint32_t at = open.back();
        open.pop_back();
        for (const routing::NetlistPort& port : net.nodes[at].ports) {
            if (port.peer_node && found.insert(*port.peer_node).second) {
                open.push_back(*port.peer_node);
            }
        }
    }
    return found;
}

/// Of one part of the fabric, if it has several (damaged ones may have), in random order.
std::vector<std::string> hosts_of(const routing::Netlist& net, base::Prng& prng) {
    std::vector<std::uint32_t> hosts;
    for (std::uint32_t n = 0; n < net.nodes.size(); ++n) {
        if (net.nodes[n].type == mad::NodeType::ca && net.nodes[n].ports[1].peer_node) {
            hosts.push_back(n);
        }
    }
    prng.shuffle(hosts);
    const std::set<std::uint32_t> part = connected_with(net, hosts[0]);
    std::vector<std::string> names;
    for (const std::uint32_t host : hosts) {
        if (part.contains(host)) {
            names.push_back(net.nodes[host].id);
        }
    }
    return names;
}

/// SMInfo between managers, which the faults of devices do not touch.
std::optional<mad::SmInfo> sm_talk(const mad::WireMad& wire) {
    const auto smp = mad::parse_smp(wire.bytes);
    return smp && smp->header.attribute == mad::Attribute::sm_info
               ? std::optional(mad::decode_sm_info(smp->data))
               : std::nullopt;
}

}  // namespace

// --- the cast

Campaign::Campaign(std::uint64_t seed, const Told& told)
    : prng_(seed), seed_(seed), told_(told), spec_(random_spec(prng_)) {
    cast();
}

void Campaign::cast() {
    const std::vector<std::string> hosts = hosts_of(netlist(spec_), prng_);
    const std::uint64_t dice = prng_.below(10);
    const std::size_t ours = std::min<std::size_t>(hosts.size(), dice < 4    ? 1
                                                                 : dice < 7  ? 2
                                                                 : dice == 7 ? 3
                                                                             : dice - 7);
    const bool foreign = dice > 7 && hosts.size() > ours;
    const std::vector<std::string> engines = pick_engines();
    const std::uint8_t lmc = prng_.below(8) == 0 ? 1 : 0;
    for (std::size_t i = 0; i < ours; ++i) {
        add_manager(hosts[i], engines, lmc);
    }
    judge_ = std::make_unique<FabricJudge>(base().sim);
    judge_->set_dead(&base().dead);
    base().on_mad = [this](base::Instant at, std::uint32_t node, const mad::Smp& request,
                           mad::MadStatus status) {
        const std::size_t rings = judge_->credit_cycles().size();
        judge_->on_mad(at, node, request, status);
        if (rings != judge_->credit_cycles().size()) {
            tell("  credits wait in a ring: " + judge_->credit_cycles().back().second);
            const bool told = ring_told_ && at - *ring_told_ < seconds{60};
            untold_ring_ = untold_ring_ || (one_lane_ && !told);
        }
        if (told_.sets && request.header.method == static_cast<std::uint8_t>(mad::Method::set)) {
            tell(fmt::format("  client {} set {} {:#x} of {}: status {}", sender_of(request),
                             mad::attribute_name(request.header.attribute), request.header.modifier,
                             net().nodes[node].description, status));
        }
    };
    for (const auto& manager : managers_) {
        Manager* who = manager.get();
        judge_->add_manager(who->lab->client,
                            {who->name, base().node(who->host), [this, who] { return alive(*who); },
                             [who] { return who->lab->sm->role() == sm::Role::master; }});
    }
    if (foreign) {
        const auto priority = static_cast<std::uint8_t>(prng_.below(4));
        foreign_ = std::make_unique<ForeignSm>(base(), hosts[ours], priority);
        judge_->add_manager(foreign_->client(),
                            {"the foreign SM", base().node(hosts[ours]), [this] { return foreign_->alive(); },
                             [this] { return foreign_->is_master(); }});
        note(fmt::format("a foreign SM at {}, priority {}", hosts[ours], priority));
    }
    if (managers_.size() > 1 || foreign) {
        become_forgetful();
    }
}

std::vector<std::string> Campaign::pick_engines() {
    static const std::vector<std::string> kOneLane{"updn", "dnup", "ftree", "auto"};
    static const std::vector<std::string> kLanes{"dfsssp", "lash", "nue"};
    const std::uint64_t dice = prng_.below(10);
    if (dice < 6) {
        return {"minhop", "updn"};
    }
    one_lane_ = dice < 8;
    const std::vector<std::string>& from = one_lane_ ? kOneLane : kLanes;
    const std::string& engine = from[prng_.below(from.size())];
    one_lane_ = one_lane_ && engine != "auto";  // which may choose any
    return {engine};
}

void Campaign::add_manager(const std::string& host, const std::vector<std::string>& engines,
                           std::uint8_t lmc) {
    auto manager = std::make_unique<Manager>();
    LabOptions options;
    options.sim.seed = seed_;
    options.at = host;
    options.config.priority = static_cast<std::uint8_t>(prng_.below(4));
    options.config.lmc = lmc;
    options.config.routing.engines = engines;
    options.config.separate_arm = prng_.below(4) == 0;
    options.config.hand_over_hold = prng_.below(2) == 0 ? base::Duration{} : seconds{60};
    manager->name = std::string(1, static_cast<char>('A' + managers_.size()));
    manager->host = host;
    manager->lab = managers_.empty() ? std::make_unique<Lab>(netlist(spec_), options)
                                     : std::make_unique<Lab>(base(), options);
    note(fmt::format("{} at {}, priority {}, engines {}, LMC {}", manager->name, host,
                     options.config.priority, fmt::join(engines, " "), lmc));
    Manager* who = manager.get();
    who->lab->on_line = [this, who](const std::string& line) {
        if (line.find("credit-cycle-in-transit") != std::string::npos) {
            ring_told_ = base().now;
        }
        tell(fmt::format("{} {}", who->name, line));
    };
    who->lab->on_sweep = [this, who](const fabric::SweepReport& report) {
        if (!view_is_true(who->lab->snapshot())) {
            found_.push_back(fmt::format("{}: after its sweep {} its topology is not that of its fabric",
                                         who->name, report.id));
        }
        if (report.scope == "full" && report.outcome == "subnet up" &&
            who->lab->snapshot().mode_text == "subnet up") {  // no device with trouble
            judge_->on_settled(who->lab->client, base().now - report.time);
        }
    };
    who->lab->on_deliver = [this, who](mad::WireMad& wire) {
        const auto shown = sm_talk(wire);
        if (shown && who->losing > 0) {
            --who->losing;
            return false;
        }
        if (shown) {
            judge_->on_sm_info(base().now, who->lab->client, *shown);
        }
        return true;
    };
    managers_.push_back(std::move(manager));
}

bool Campaign::alive(const Manager& manager) const {
    return manager.lab->sm != nullptr && !manager.frozen;
}

void Campaign::start(Manager& manager) {
    judge_->reborn(manager.lab->client);
    manager.lab->start();
}

bool Campaign::is_manager_host(std::uint32_t node) const {
    const auto here = [&](sim::Simulator::ClientId client) {
        return managers_[0]->lab->sim.local_port(client).node_guid ==
               managers_[0]->lab->sim.netlist().nodes[node].guid;
    };
    return std::any_of(managers_.begin(), managers_.end(),
                       [&](const auto& manager) { return here(manager->lab->client); }) ||
           (foreign_ && here(foreign_->client()));
}

// --- the history

std::vector<std::string> Campaign::run() {
    begin();
    const std::uint64_t faults = 3 + prng_.below(12);
    for (std::uint64_t i = 0; i < faults; ++i) {
        strike();
        pass(pause());
    }
    make_peace();
    judge_rest();
    return found_;
}

void Campaign::begin() {
    for (std::uint64_t absent = prng_.below(4) == 0 ? 1 + prng_.below(2) : 0; absent > 0; --absent) {
        const std::uint32_t node = victim();
        act("remove-node " + quoted(node));
        reset(node);
        undo_.emplace_back("add-node " + quoted(node),
                           [this, node] { base().inject("add-node " + quoted(node)); });
    }
    for (const auto& manager : managers_) {
        start(*manager);
        pass(prng_.below(2) == 0 ? base::Duration{std::chrono::microseconds{prng_.below(200)}} : pause());
    }
    if (prng_.below(3) != 0) {
        static_cast<void>(base().run_until_up(seconds{60}));  // whoever it is that is up then
    }
    if (foreign_) {
        foreign_->start();
    }
}

void Campaign::strike() {
    const std::uint64_t dice = prng_.below(managers_.size() > 1 || foreign_ ? 10 : 13);
    if (dice < 4) {
        strike_fabric();
    } else if (dice < 7) {
        strike_node();
    } else if (dice < 10) {
        strike_managers();
    } else {
        dice == 10 ? strike_fabric() : strike_node();
    }
}

void Campaign::strike_fabric() {
    const std::uint32_t node = victim();
    const std::string cable = cable_of(node);
    switch (prng_.below(10)) {
        case 0: return act(fmt::format("drop * probability=0.05 count={}", 1 + prng_.below(40)));
        // Few: what is not used up meets the rare questions to a silent device, one by one.
        case 1:
            return act(fmt::format("drop {} count={}", quoted(node), 1 + prng_.below(forgetful_ ? 2 : 4)));
        case 2: return act(fmt::format("delay * probability=0.1 delay={}ms count=30", 1 + prng_.below(400)));
        case 3: return act("reorder * probability=0.5 delay=2ms count=80");
        case 4: return act("duplicate * probability=0.3 count=60");
        case 5: return act(fmt::format("wrong-tid * probability=0.1 count={}", 1 + prng_.below(20)));
        case 6:
            return act(fmt::format("error-status {} method=Set number=0x1c count={}", quoted(node),
                                   1 + prng_.below(4)));
        case 7:
            return act(
                fmt::format("flap {} delay={}ms count={}", cable, 5 + prng_.below(400), 1 + prng_.below(20)));
        case 8: return split();
        default: return act_and_back("link-down " + cable, "link-up " + cable);
    }
}

void Campaign::strike_node() {
    const std::uint32_t node = victim();
    const std::string who = quoted(node);
    const std::string cable = cable_of(node);
    switch (prng_.below(5)) {
        case 0:
            // A second reboot cuts the first one short and leaves the agent dead.
            undo_.emplace_back("alive " + who, [this, who] { base().inject("alive " + who); });
            reset(node);
            return act(fmt::format("reboot {} delay={}ms", who, prng_.below(2) == 0 ? 0 : prng_.below(4000)));
        case 1: return act_and_back("dead " + who, "alive " + who);
        case 2: return act_and_back("link-down " + cable, "link-up " + cable);
        case 3: return clone_guid();
        default: reset(node); return act_and_back("remove-node " + who, "add-node " + who);
    }
}

/// The fabric falls in two: every cable between some switches and the others.
void Campaign::split() {
    std::vector<std::string> cables;
    const std::uint64_t side = prng_.next();
    for (std::uint32_t n = 0; n < net().nodes.size(); ++n) {
        const routing::NetlistNode& node = net().nodes[n];
        for (std::size_t p = 1; node.type == mad::NodeType::switch_ && p < node.ports.size(); ++p) {
            const auto peer = node.ports[p].peer_node;
            const bool between = peer && *peer > n && net().nodes[*peer].type == mad::NodeType::switch_;
            if (between && ((side >> (n % 64U)) & 1U) != ((side >> (*peer % 64U)) & 1U)) {
                cables.push_back(fmt::format("\"{}/{}\"", node.id, p));
            }
        }
    }
    for (const std::string& cable : cables) {
        act("link-down " + cable);
    }
    take_back("the halves are joined", [this, cables] {
        for (const std::string& cable : cables) {
            act("link-up " + cable);
        }
    });
}

/// A node that says it is another one of its kind, as after a mistake with a flash tool.
void Campaign::clone_guid() {
    const std::uint32_t node = victim();
    const std::uint32_t model = victim();
    if (node == model || net().nodes[node].type != net().nodes[model].type) {
        return;
    }
    const auto bounce = [this, node](mad::Guid guid) {
        act("link-down " + quoted(node));
        base().sim.set_node_guid(node, guid);
        act("link-up " + quoted(node));
    };
    judge_->release_lids(base().now, node);
    judge_->release_lids(base().now, model);
    note(fmt::format("{} passes for {}", quoted(node), quoted(model)));
    judge_->hide(node);
    judge_->hide(model);
    bounce(net().nodes[model].guid);
    take_back("it is itself again", [this, node, model, bounce] {
        bounce(net().nodes[node].guid);
        judge_->release_lids(base().now, node);
        judge_->release_lids(base().now, model);
        judge_->show(node);
        judge_->show(model);
    });
}

void Campaign::strike_managers() {
    Manager& manager = any_manager();
    const bool several = managers_.size() > 1 || foreign_;
    switch (prng_.below(several ? 8 : 4)) {
        case 0:
        case 1: return stop_or_kill(manager);
        case 2: return disk(manager);
        case 3: {
            note(manager.name + " hangs");
            manager.lab->freeze();
            manager.frozen = true;
            return take_back(manager.name + " goes on", [&manager] {
                manager.frozen = false;
                manager.lab->thaw();
            });
        }
        case 4: {
            const std::string host = fmt::format("\"{}\"", manager.host);
            return act_and_back("link-down " + host, "link-up " + host);
        }
        case 5:
            // Two in a row: what polling bears.
            manager.losing = 1 + static_cast<std::uint32_t>(prng_.below(2));
            return note(fmt::format("{} loses {} SMInfo MADs", manager.name, manager.losing));
        case 6:
            if (foreign_) {
                note(foreign_->alive() ? "the foreign SM dies" : "the foreign SM starts");
                return foreign_->alive() ? foreign_->kill() : foreign_->start();
            }
            [[fallthrough]];
        default: return stop_or_kill(manager);
    }
}

void Campaign::stop_or_kill(Manager& manager) {
    if (!manager.lab->sm) {
        return;
    }
    const bool clean = prng_.below(2) == 0 && !manager.frozen;
    const bool forgets = prng_.below(5) == 0;
    note(fmt::format("{} is {}{}", manager.name, clean ? "stopped" : "killed",
                     forgets ? ", its database lost" : ""));
    clean ? manager.lab->stop() : manager.lab->kill();
    manager.frozen = false;
    if (forgets) {
        manager.lab->lose_disk();
        become_forgetful();
    }
    take_back(manager.name + " is started", [this, &manager] {
        if (!manager.lab->sm) {
            start(manager);
        }
    });
}

void Campaign::disk(Manager& manager) {
    const Disk what = prng_.below(2) == 0 ? Disk::slow : Disk::refuses;
    note(fmt::format("{}'s disk {}", manager.name, what == Disk::slow ? "is slow" : "refuses"));
    manager.lab->set_disk(what);
    become_forgetful();
    take_back(manager.name + "'s disk is good", [&manager] { manager.lab->set_disk(Disk::good); });
}

/// From here on a master may not know the LID of a node that has lost it, or that it does not see.
void Campaign::become_forgetful() {
    forgetful_ = true;
    judge_->expect_clashes();
    for (const std::uint32_t node : reset_) {
        judge_->release_lids(base().now, node);
    }
}

/// The node loses its LIDs.
void Campaign::reset(std::uint32_t node) {
    reset_.insert(node);
    judge_->forget_lids(node);
    if (forgetful_) {
        judge_->release_lids(base().now, node);
    }
}

void Campaign::act(const std::string& fault) {
    note(fault);
    base().inject(fault);
    judge_->look_around(base().now);
}

void Campaign::note(const std::string& line) {
    const base::Duration at = managers_.empty() ? base::Duration{} : base().now.time_since_epoch();
    done_.push_back(fmt::format("at {} {}", base::format_duration(at), line));
    tell("* " + line);
}

void Campaign::tell(const std::string& line) {
    constexpr std::size_t kLinesMost = 50'000;
    const base::Duration at = managers_.empty() ? base::Duration{} : base().now.time_since_epoch();
    lines_.push_back(
        fmt::format("{:>12} {}", fmt::format("{:.6f}", std::chrono::duration<double>(at).count()), line));
    if (lines_.size() > kLinesMost) {
        lines_.pop_front();
    }
}

void Campaign::take_back(const std::string& what, Undo undo) {
    if (prng_.below(2) == 0) {
        pass(pause());
        note(what);
        undo();
    } else {
        undo_.emplace_back(what, std::move(undo));
    }
}

void Campaign::act_and_back(const std::string& fault, const std::string& undo) {
    act(fault);
    take_back(undo, [this, undo] { base().inject(undo); });
}

// --- time, and the end

void Campaign::pass(base::Duration time) {
    static_cast<void>(base().run_until(
        [this] {
            constexpr base::Duration kLookAround = milliseconds{20};
            if (judge_->has_several() && base().now - looked_ >= kLookAround) {
                looked_ = base().now;
                judge_->look_around(looked_);
            }
            return false;
        },
        time));
}

base::Duration Campaign::pause() {
    switch (prng_.below(3)) {
        case 0: return std::chrono::microseconds{prng_.below(3000)};
        case 1: return milliseconds{prng_.below(2000)};
        default: return seconds{prng_.below(40)};
    }
}

void Campaign::make_peace() {
    for (const auto& [what, undo] : undo_) {
        note(what);
        undo();
    }
    if (foreign_ && foreign_->alive()) {
        note("the foreign SM dies");
        foreign_->kill();
    }
    // Who wrote while the last faults were taken back may have met ports in another state than it had read.
    pass(kCalm);
    raced_ = base().sim.counters().by_rule;
    pass(seconds{400} - kCalm);
}

Campaign::Manager* Campaign::the_master() {
    Manager* master = nullptr;
    for (const auto& manager : managers_) {
        if (!manager->lab->sm || mad::SmState::master != sm_state(manager->lab->sm->role())) {
            continue;
        }
        if (master != nullptr) {
            found_.push_back(fmt::format("{} and {} are both master", master->name, manager->name));
        }
        master = manager.get();
    }
    return master;
}

/// Ports that name another SM as theirs.
std::vector<std::string> Campaign::strangers_to(const Manager& master) {
    const sim::Simulator& sim = base().sim;
    const mad::PortNum own = sim.local_port(master.lab->client).port;
    const mad::Lid lid = sim.port_info(base().node(master.host), own).lid;
    const std::vector<bool> reached = judge_->reach(base().node(master.host));
    std::vector<std::string> found;
    for (std::uint32_t n = 0; n < net().nodes.size(); ++n) {
        const bool is_switch = net().nodes[n].type == mad::NodeType::switch_;
        for (std::size_t p = is_switch ? 0 : 1;
             reached[n] && p < (is_switch ? 1 : net().nodes[n].ports.size()); ++p) {
            const mad::PortInfo info = sim.port_info(n, mad::PortNum{static_cast<std::uint8_t>(p)});
            if ((is_switch || info.state == mad::PortState::active) && info.sm_lid != lid) {
                found.push_back(fmt::format("{} port {} names LID {} as its SM's, not {}",
                                            net().nodes[n].description, p, info.sm_lid, lid));
            }
        }
    }
    return found;
}

void Campaign::judge_rest() {
    const auto take = [this](const std::vector<std::string>& found) {
        found_.insert(found_.end(), found.begin(), found.end());
    };
    take(judge_->findings());
    const Manager* master = the_master();
    if (master == nullptr || master->lab->sm->mode() != fabric::SmMode::up) {
        found_.push_back(master == nullptr ? "nobody is master"
                                           : "the master is not up: " + master->lab->snapshot().mode_text);
        return;
    }
    take(problems(*master->lab, CheckOptions{{}, raced_, 1500}));
    take(sa_disagreements(*master->lab));
    TableWalk tables(base().sim);
    const std::string ring = one_lane_ ? tables.credit_cycle() : std::string{};
    if (!ring.empty()) {
        found_.push_back("at rest, credits wait in a ring: " + ring);
    }
    take(judge_->moved());
    take(strangers_to(*master));
    base().forget_counts();
    pass(seconds{60});
    if (base().all_sets() != 0) {
        found_.push_back(fmt::format("it does not come to rest: {} Sets in a minute", base().all_sets()));
    }
}

// --- places

/// Any node but those that SMs run on.
std::uint32_t Campaign::victim() {
    for (;;) {
        const auto node = static_cast<std::uint32_t>(prng_.below(net().nodes.size()));
        if (!is_manager_host(node)) {
            return node;
        }
    }
}

std::string Campaign::quoted(std::uint32_t node) {
    return fmt::format("\"{}\"", net().nodes[node].id);
}

std::string Campaign::cable_of(std::uint32_t node) {
    const auto& ports = net().nodes[node].ports;
    std::vector<std::size_t> cabled;
    for (std::size_t p = 1; p < ports.size(); ++p) {
        if (ports[p].peer_node) {
            cabled.push_back(p);
        }
    }
    return fmt::format("\"{}/{}\"", net().nodes[node].id, cabled[prng_.below(cabled.size())]);
}

Campaign::Statistics Campaign::statistics() const {
    const sim::SimCounters& counters = managers_[0]->lab->sim.counters();
    return {counters.mads, counters.sets, judge_->credit_cycles().empty() ? 0U : 1U, untold_ring_ ? 1U : 0U,
            judge_->writers_followed()};
}

std::string Campaign::story() const {
    return spec_ + "\n" + join_lines(done_);
}

std::string Campaign::transcript() const {
    return spec_ + "\n" + join_lines({lines_.begin(), lines_.end()});
}

}  // namespace ibf::test
