#include "harness.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/overload.hpp"
#include "mad/codec.hpp"
#include "routing/routes.hpp"

namespace ibf::test {
namespace {

/// Any fixed moment: records carry real times, tests do not depend on them.
constexpr base::WallTime kWall{std::chrono::milliseconds{1'800'000'000'000}};

constexpr base::Duration kSlowDisk = std::chrono::seconds{10};

/// As ib_umad does with its agent's number: only the low half of a TID is the sender's (answers keep all of
/// it).
mad::WireMad with_sender(mad::WireMad wire, sim::Simulator::ClientId client) {
    constexpr std::size_t kTid = 8;
    for (std::size_t i = 0; i < sizeof(client); ++i) {
        wire.bytes[kTid + i] = static_cast<std::uint8_t>(client >> (8U * (sizeof(client) - 1 - i)));
    }
    return wire;
}

bool is_set(const mad::Smp& smp) {
    return smp.header.method == static_cast<std::uint8_t>(mad::Method::set);
}

}  // namespace

Lab::Lab(routing::Netlist netlist, LabOptions options)
    : Lab(std::make_shared<Shared>(std::move(netlist), options.sim), options) {
    sim.set_observer([shared = shared_.get()](base::Instant at, std::uint32_t node, const mad::Smp& request,
                                              mad::MadStatus status) {
        for (Lab* lab : shared->labs) {
            lab->observe(at, node, request, status);
        }
    });
}

Lab::Lab(Lab& beside, LabOptions options) : Lab(beside.shared_, std::move(options)) {}

Lab::Lab(std::shared_ptr<Shared> shared, LabOptions options)
    : shared_(std::move(shared)), sim(shared_->sim), now(shared_->now), options_(std::move(options)) {
    shared_->labs.push_back(this);
    options_.config.routing.threads = 1;
    trace_ = std::getenv("IBF_LAB_TRACE") != nullptr;
    client =
        sim.join(options_.at, options_.port, [this](mad::WireMad&& mad) { inbox_.push_back(std::move(mad)); })
            .value();
}

Lab::Lab(routing::Netlist netlist) : Lab(std::move(netlist), LabOptions{}) {}

Lab::~Lab() {
    sim.leave(client);
    std::erase(shared_->labs, this);
}

// --- the SM's life
// ----------------------------------------------------------------------------------------------

void Lab::start() {
    sm::SmStart begin;
    begin.config = std::make_shared<const sm::SmConfig>(options_.config);
    blind_ = disk_ == Disk::refuses;
    begin.stored = blind_ ? db::Stored{} : stored;
    begin.clients_known = begin.stored.sa_edition.has_value();
    begin.hold_because = hold_because;
    begin.local = sim.local_port(client);
    begin.now = now;
    begin.wall = kWall + std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch());
    stored.clean_stop = false;  // the marker goes before anything is written
    sim.set_is_sm(client, true);
    sweeps_seen_ = begin.stored.last_sweep_id;
    sm = std::make_unique<sm::SubnetManager>(std::move(begin));
    version_seen_ = 0;
    sm::Effects effects;
    sm->begin(now, effects);
    execute(effects);
}

void Lab::stop() {
    sm::Effects effects;
    sm->stop(now, effects);
    execute(effects);
    if (disk_ == Disk::slow) {
        write_due(base::Instant::max());
    }
    kill();
}

void Lab::kill() {
    sm.reset();
    frozen_ = false;
    inbox_.clear();
    write_due(now);
    waiting_.clear();
    sim.set_is_sm(client, false);
}

void Lab::freeze() {
    frozen_ = true;
}

void Lab::thaw() {
    frozen_ = false;
    take_inbox();
}

void Lab::set_disk(Disk disk) {
    if (disk == Disk::good) {
        if (std::exchange(blind_, false)) {  // of a run whose beginning was not recorded
            stored.tables.clear();
        }
        write_due(base::Instant::max());
    }
    disk_ = disk;
}

void Lab::lose_disk() {
    stored = db::Stored{};
    waiting_.clear();
}

void Lab::add_actor(Actor& actor) {
    shared_->actors.push_back(&actor);
}

void Lab::remove_actor(Actor& actor) {
    std::erase(shared_->actors, &actor);
}

void Lab::replace_config(const sm::SmConfig& config) {
    options_.config = config;
    options_.config.routing.threads = 1;
    sm::Effects effects;
    sm->replace_config(std::make_shared<const sm::SmConfig>(options_.config), now, effects);
    execute(effects);
}

void Lab::set_groups(const sm::MulticastGroups& groups) {
    sm::Effects effects;
    sm->set_groups(groups, now, effects);
    execute(effects);
}

void Lab::drain(const fabric::Drain& element) {
    sm::Effects effects;
    sm->drain(element, now, effects);
    execute(effects);
}

void Lab::undrain(const fabric::Drain& element) {
    sm::Effects effects;
    sm->undrain(element.node, element.port, now, effects);
    execute(effects);
}

void Lab::tell(const std::function<void(sm::SubnetManager&, base::Instant, sm::Effects&)>& what) {
    sm::Effects effects;
    what(*sm, now, effects);
    execute(effects);
}

void Lab::answer_routes() {
    routes_wait = false;
    sm::Effects effects;
    for (sm::ComputeRoutes& job : std::exchange(waiting_routes_, {})) {
        effects.emplace_back(std::move(job));
    }
    execute(effects);
}

void Lab::request_sweep(sm::SweepScope scope) {
    sm::Effects effects;
    sm->request_sweep(scope, "test", now, effects);
    execute(effects);
}

void Lab::execute(sm::Effects& effects) {
    // Executing one may bring more: routes are answered at once, and a sweep may go on from there.
    for (std::size_t i = 0; i < effects.size(); ++i) {
        sm::Effect effect = std::move(effects[i]);
        std::visit(
            base::Overload{
                [&](sm::SendMad& e) {
                    const auto header = mad::parse_header(e.mad.bytes);
                    if (header && (header->is_response() ||
                                   header->method == static_cast<std::uint8_t>(mad::Method::trap_repress))) {
                        sent_unasked.push_back(e.mad);
                    }
                    const bool set = header && header->method == static_cast<std::uint8_t>(mad::Method::set);
                    const bool get = header && header->method == static_cast<std::uint8_t>(mad::Method::get);
                    own_sets_ += set && header->attribute != mad::Attribute::sm_info ? 1U : 0U;
                    sim.send(client, set || get ? with_sender(std::move(e.mad), client) : e.mad, now);
                },
                [&](sm::ComputeRoutes& e) {
                    ++routings;
                    if (routes_wait) {
                        waiting_routes_.push_back(std::move(e));
                        return;
                    }
                    sm->on_routes(e.epoch, sm::carry_out(e), now, effects);
                },
                [&](sm::Rebalance& e) {
                    sm->on_rebalance(e.question,
                                     routing::rebalance_step(e.view->topology, e.in_force->routes, e.plan,
                                                             e.options, e.limits),
                                     now, effects);
                },
                [&](sm::Persist& e) { persist(e.batch); },
                [](sm::MarkEdition&) {},
                [&](sm::Announce& e) {
                    say(fmt::format("{} {}: {}", fabric::to_string(e.event.severity), e.event.kind,
                                    e.event.text));
                    announced.push_back(std::move(e.event));
                },
                [](sm::Progress&) {},
            },
            effect);
    }
    note_sweeps();
}

void Lab::persist(const db::Batch& batch) {
    ++persisted;
    if (disk_ == Disk::good) {
        return write(batch);
    }
    waiting_.push_back({disk_ == Disk::slow ? now + kSlowDisk : base::Instant::max(), batch});
}

void Lab::write_due(base::Instant until) {
    while (!waiting_.empty() && waiting_.front().due <= until) {
        write(waiting_.front().batch);
        waiting_.pop_front();
    }
}

void Lab::write(const db::Batch& batch) {
    for (const db::Record& record : batch) {
        std::visit(base::Overload{
                       [this](const db::FabricRecord&) { stored.sa_edition = 1; },
                       [&](const db::LidsRecord& r) { stored.lids = r.lids; },
                       [&](const db::TableRecord& r) { stored.tables.insert_or_assign(r.switch_guid, r); },
                       [&](const db::TableForgetRecord& r) { stored.tables.erase(r.switch_guid); },
                       [&](const db::SweepRecord& r) { stored.last_sweep_id = r.id; },
                       [&](const db::EventRow& r) { stored.last_event_id = r.id; },
                       [this](const db::LanesRecord& lanes) { stored.lanes = lanes.rows; },
                       [this](const db::DrainsRecord& drains) { stored.drains = drains; },
                       [this](const db::SaStateRecord& state) { stored.sa_state = state.text; },
                       [&](const db::CleanStopRecord& r) {
                           stored.clean_stop = r.clean;
                           stored.sm_lid = r.sm_lid;
                       },
                   },
                   record);
    }
}

void Lab::say(const std::string& line) {
    if (on_line) {
        on_line(line);
    }
    if (trace_) {
        fmt::print("{:>10} {}\n", base::format_duration(now.time_since_epoch()), line);
    }
}

void Lab::note_sweeps() {
    if (!sm || std::exchange(version_seen_, sm->version()) == sm->version()) {
        return;
    }
    const std::vector<fabric::SweepReport> reports = snapshot().sweeps;
    for (auto report = reports.rbegin(); report != reports.rend(); ++report) {
        if (report->id <= sweeps_seen_) {
            continue;
        }
        sweeps_seen_ = report->id;
        ++sweeps_[report->scope];
        if (on_sweep) {
            on_sweep(*report);
        }
        say(fmt::format("sweep {} ({}): {}", report->scope, fmt::join(report->reasons, "; "),
                        report->outcome));
    }
}

// --- time
// -------------------------------------------------------------------------------------------------------

/// Goes to the next instant at which anything happens; false where none comes up to `until`.
bool Lab::step(base::Instant until) {
    std::optional<base::Instant> next = sim.next_event();
    const auto consider = [&](std::optional<base::Instant> deadline) {
        next = next && deadline ? std::min(*next, *deadline) : next ? next : deadline;
    };
    for (const Lab* lab : shared_->labs) {
        consider(lab->sm && !lab->frozen_ ? lab->sm->next_deadline() : std::nullopt);
    }
    for (const Actor* actor : shared_->actors) {
        consider(actor->next_deadline());
    }
    if (!next || *next > until) {
        now = std::max(now, until);
        sim.advance(now);
        return false;
    }
    now = std::max(now, *next);
    sim.advance(now);
    for (Lab* lab : shared_->labs) {
        lab->take_inbox();
    }
    for (Actor* actor : shared_->actors) {
        if (const auto due = actor->next_deadline(); due && *due <= now) {
            actor->on_time();
        }
    }
    return true;
}

void Lab::take_inbox() {
    if (frozen_) {
        return;
    }
    sm::Effects effects;
    while (sm && !inbox_.empty()) {
        mad::WireMad mad = std::move(inbox_.front());
        inbox_.pop_front();
        if (on_deliver && !on_deliver(mad)) {
            continue;
        }
        sm->on_mad(mad, now, effects);
        execute(effects);
        effects.clear();
    }
    inbox_.clear();
    if (sm && sm->next_deadline() && *sm->next_deadline() <= now) {
        sm->on_time(now, effects);
        execute(effects);
    }
}

void Lab::advance(base::Duration duration) {
    const base::Instant until = now + duration;
    while (step(until)) {
    }
}

bool Lab::run_until(const std::function<bool()>& condition, base::Duration limit) {
    const base::Instant until = now + limit;
    while (!condition()) {
        if (!step(until)) {
            return condition();
        }
    }
    return true;
}

bool Lab::run_until_up(base::Duration limit) {
    return run_until([this] { return sm->at_rest() && sm->mode() == fabric::SmMode::up; }, limit);
}

// --- faults and observation
// -------------------------------------------------------------------------------------

void Lab::inject(const std::string& script) {
    auto faults = sim::parse_faults(script, "test");
    ASSERT_TRUE(faults) << faults.error().message;
    for (sim::Fault& fault : *faults) {
        const auto known = sim.check_target(fault);
        ASSERT_TRUE(known) << known.error().message;
        if (fault.kind == sim::Fault::Kind::dead || fault.kind == sim::Fault::Kind::alive) {
            const std::uint32_t index = node(fault.where);
            fault.kind == sim::Fault::Kind::dead ? static_cast<void>(dead.insert(index))
                                                 : static_cast<void>(dead.erase(index));
        }
        if (fault.at == base::Duration{}) {
            const auto done = sim.inject(fault, now);
            ASSERT_TRUE(done) << done.error().message;
        } else {
            fault.at += now.time_since_epoch();
            sim.schedule({fault});
        }
    }
}

void Lab::observe(base::Instant at, std::uint32_t node, const mad::Smp& request, mad::MadStatus status) {
    ++(is_set(request) ? sets_ : gets_)[request.header.attribute];
    if (watch_loops_ && is_set(request) && status == 0 &&
        request.header.attribute == mad::Attribute::linear_forwarding_table) {
        check_block(node, request.header.modifier);
    }
    if (on_mad) {
        on_mad(at, node, request, status);
    }
}

/// A loop that this write closed passes through the switch that was written.
void Lab::check_block(std::uint32_t node, std::uint32_t block) {
    const auto& nodes = sim.netlist().nodes;
    for (std::uint32_t i = 0; i < mad::kLftBlockEntries; ++i) {
        const std::uint32_t value = block * mad::kLftBlockEntries + i;
        std::uint32_t at = node;
        for (std::size_t hops = 0; nodes[at].type == mad::NodeType::switch_; ++hops) {
            const std::uint8_t out = sim.lft_entry(at, mad::Lid{static_cast<std::uint16_t>(value)});
            if (out == 0 || out == mad::kLftDrop || out >= nodes[at].ports.size() ||
                !nodes[at].ports[out].peer_node) {
                break;
            }
            at = *nodes[at].ports[out].peer_node;
            if (hops > nodes.size()) {
                loops_.push_back(fmt::format("LID {} loops after block {} of {} was written", value, block,
                                             nodes[node].description));
                break;
            }
        }
    }
}

std::uint64_t Lab::sets(mad::Attribute attribute) const {
    const auto found = sets_.find(attribute);
    return found == sets_.end() ? 0 : found->second;
}

std::uint64_t Lab::gets(mad::Attribute attribute) const {
    const auto found = gets_.find(attribute);
    return found == gets_.end() ? 0 : found->second;
}

std::uint64_t Lab::all_sets() const {
    std::uint64_t sum = 0;
    for (const auto& [attribute, count] : sets_) {
        sum += count;
    }
    return sum;
}

std::uint64_t Lab::sweeps(const std::string& scope) const {
    const auto found = sweeps_.find(scope);
    return found == sweeps_.end() ? 0 : found->second;
}

void Lab::forget_counts() {
    sets_.clear();
    gets_.clear();
    sweeps_.clear();
    announced.clear();
    sent_unasked.clear();
    own_sets_ = 0;
}

std::size_t Lab::events(const std::string& kind) const {
    return static_cast<std::size_t>(
        std::count_if(announced.begin(), announced.end(),
                      [&](const fabric::EventRecord& event) { return event.kind == kind; }));
}

const fabric::EventRecord* Lab::find_event(const std::string& kind) const {
    const auto found = std::find_if(announced.begin(), announced.end(),
                                    [&](const fabric::EventRecord& event) { return event.kind == kind; });
    return found == announced.end() ? nullptr : &*found;
}

fabric::Snapshot Lab::snapshot() const {
    fabric::Snapshot snapshot;
    sm->fill(snapshot);
    return snapshot;
}

bool Lab::has_isolation(fabric::IsolationReason reason) const {
    const auto fabric = snapshot().fabric;
    return fabric && std::any_of(fabric->isolations.begin(), fabric->isolations.end(),
                                 [&](const fabric::Isolation& item) { return item.reason == reason; });
}

std::uint32_t Lab::node(const std::string& description) const {
    const auto& nodes = sim.netlist().nodes;
    const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const routing::NetlistNode& item) {
        return item.description == description || item.id == description;
    });
    EXPECT_NE(found, nodes.end()) << description;
    return static_cast<std::uint32_t>(found - nodes.begin());
}

mad::Lid Lab::lid(std::uint32_t index, std::uint8_t port) const {
    return sim.port_info(index, mad::PortNum{port}).lid;
}

std::string Lab::tables_text() const {
    std::string text;
    const auto& nodes = sim.netlist().nodes;
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
        const bool is_switch = nodes[n].type == mad::NodeType::switch_;
        for (std::size_t p = is_switch ? 0 : 1; p < (is_switch ? 1 : nodes[n].ports.size()); ++p) {
            const mad::PortInfo info = sim.port_info(n, mad::PortNum{static_cast<std::uint8_t>(p)});
            text += fmt::format("{} port {} LID {} LMC {}\n", nodes[n].guid, p, info.lid, info.lmc);
        }
        for (std::uint32_t lid = 1; is_switch && lid <= sim.switch_info(n).linear_fdb_top; ++lid) {
            text += fmt::format("{} ", sim.lft_entry(n, mad::Lid{static_cast<std::uint16_t>(lid)}));
        }
        text += is_switch ? "\n" : "";
    }
    return text;
}

std::map<mad::Guid, mad::Lid> Lab::lids() const {
    std::map<mad::Guid, mad::Lid> all;
    const auto& nodes = sim.netlist().nodes;
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
        const bool is_switch = nodes[n].type == mad::NodeType::switch_;
        for (std::size_t p = is_switch ? 0 : 1; p < (is_switch ? 1 : nodes[n].ports.size()); ++p) {
            all.emplace(mad::Guid{nodes[n].guid.value() + p}, lid(n, static_cast<std::uint8_t>(p)));
        }
    }
    return all;
}

// --- another SM
// -------------------------------------------------------------------------------------------------

Rival::Rival(Lab& lab, const std::string& node, mad::SmState state) : lab_(lab), state_(state) {
    client_ = lab.sim.join(node, 0, [this](mad::WireMad&& wire) { answer(wire); }).value();
    lab.sim.set_is_sm(client_, true);
}

void Rival::answer(const mad::WireMad& wire) {
    const auto smp = mad::parse_smp(wire.bytes);
    if (!smp || smp->header.attribute != mad::Attribute::sm_info || smp->header.is_response()) {
        return;
    }
    mad::SmInfo info;
    info.guid = lab_.sim.local_port(client_).port_guid;
    info.sm_key = mad::SmKey{1};
    info.state = state_;
    info.act_count = ++asked;
    mad::Smp reply = *smp;
    reply.header.method = static_cast<std::uint8_t>(mad::Method::get_resp);
    reply.returning = true;
    reply.data = mad::encode(info);
    lab_.sim.send(client_, {mad::encode_smp(reply), wire.address, {}}, lab_.now);
}

// --- small fabrics
// ----------------------------------------------------------------------------------------------

routing::Netlist netlist(const std::string& spec) {
    auto loaded = routing::netlist_from_spec(spec);
    EXPECT_TRUE(loaded) << loaded.error().message;
    return loaded ? std::move(*loaded) : routing::Netlist{};
}

namespace {

std::uint32_t add(routing::Netlist& net, mad::NodeType type, const std::string& name, std::size_t ports) {
    routing::NetlistNode node;
    node.type = type;
    node.guid = mad::Guid{0x0002C90000000000ULL + 0x100 * (net.nodes.size() + 1)};
    node.system_guid = node.guid;
    node.id = "N-" + name;
    node.description = name;
    node.vendor_id = 0x0002C9;
    node.ports.resize(ports + 1);
    net.nodes.push_back(node);
    return static_cast<std::uint32_t>(net.nodes.size() - 1);
}

void connect(routing::Netlist& net, std::uint32_t a, std::size_t a_port, std::uint32_t b, std::size_t b_port,
             mad::LinkSpeed speed) {
    const auto end = [&](std::uint32_t node, std::size_t port, std::uint32_t peer, std::size_t peer_port) {
        routing::NetlistPort& item = net.nodes[node].ports[port];
        item.peer_node = peer;
        item.peer_port = mad::PortNum{static_cast<std::uint8_t>(peer_port)};
        item.speed = speed;
    };
    end(a, a_port, b, b_port);
    end(b, b_port, a, a_port);
}

}  // namespace

routing::Netlist t1() {
    routing::Netlist net;
    net.origin = "t1";
    const std::uint32_t hub = add(net, mad::NodeType::switch_, "sw", 4);
    for (std::size_t port = 1; port <= 4; ++port) {
        connect(net, hub, port, add(net, mad::NodeType::ca, fmt::format("h{}", port), 1), 1,
                mad::LinkSpeed::edr);
    }
    return net;
}

routing::Netlist leaf_spine(std::uint32_t leaves, std::uint32_t spines, std::uint32_t hosts,
                            mad::LinkSpeed speed) {
    routing::Netlist net;
    net.origin = "leaf_spine";
    for (std::uint32_t i = 1; i <= leaves; ++i) {
        add(net, mad::NodeType::switch_, fmt::format("leaf{}", i), hosts + spines);
    }
    for (std::uint32_t i = 1; i <= spines; ++i) {
        add(net, mad::NodeType::switch_, fmt::format("spine{}", i), leaves);
    }
    for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
        for (std::uint32_t h = 0; h < hosts; ++h) {
            connect(net, leaf, h + 1,
                    add(net, mad::NodeType::ca, fmt::format("h{}", leaf * hosts + h + 1), 1), 1, speed);
        }
        for (std::uint32_t s = 0; s < spines; ++s) {
            connect(net, leaf, hosts + s + 1, leaves + s, leaf + 1, speed);
        }
    }
    return net;
}

routing::Netlist t2() {
    routing::Netlist net = leaf_spine(2, 2, 4, mad::LinkSpeed::edr);
    net.origin = "t2";
    return net;
}

LabOptions at(const std::string& node) {
    LabOptions options;
    options.at = node;
    return options;
}

std::string join_lines(const std::vector<std::string>& lines) {
    return fmt::format("{}", fmt::join(lines, "\n"));
}

std::string wrong(const Lab& lab, std::set<std::uint32_t> left_out) {
    return join_lines(problems(lab, CheckOptions{std::move(left_out), {}, 4000}));
}

std::string wrong(const Lab& lab) {
    return wrong(lab, {});
}

}  // namespace ibf::test
