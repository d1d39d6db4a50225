#include "foreign_sm.hpp"

#include <deque>

#include "mad/codec.hpp"
#include "sim/world.hpp"

namespace ibf::test {
namespace {

using mad::Attribute;
using mad::Method;
using mad::SmInfo;
using mad::SmState;

constexpr base::Duration kSweepInterval = std::chrono::seconds{5};
constexpr base::Duration kPollInterval = std::chrono::seconds{1};
constexpr base::Duration kPatience = std::chrono::milliseconds{100};  ///< until a look is over
constexpr std::uint32_t kMisses = 4;
constexpr std::uint32_t kTries = 4;  ///< of a question
constexpr mad::SmKey kKey{1};
constexpr std::uint32_t kHandover = 1;  ///< AttributeModifier (IBA 14.4.1)

bool outranks(const SmInfo& a, const SmInfo& b) {
    return a.priority != b.priority ? a.priority > b.priority : a.guid < b.guid;
}

}  // namespace

ForeignSm::ForeignSm(Lab& lab, const std::string& node, std::uint8_t priority)
    : lab_(lab), node_(lab.node(node)), priority_(priority) {
    client_ = lab.sim.join(node, 0, [this](mad::WireMad&& wire) { take(wire); }).value();
    lab_.add_actor(*this);
}

ForeignSm::~ForeignSm() {
    lab_.remove_actor(*this);
    lab_.sim.leave(client_);
}

void ForeignSm::start() {
    lab_.sim.set_is_sm(client_, true);
    become(SmState::discovering);
}

void ForeignSm::kill() {
    lab_.sim.set_is_sm(client_, false);
    state_.reset();
    decide_at_.reset();
}

void ForeignSm::become(SmState state) {
    state_ = state;
    missed_ = 0;
    poll_open_ = false;
    next_look_ = lab_.now;
    next_poll_ = lab_.now + kPollInterval;
    decide_at_.reset();
}

// --- time

std::optional<base::Instant> ForeignSm::next_deadline() const {
    if (!state_) {
        return std::nullopt;
    }
    if (decide_at_) {
        return decide_at_;
    }
    return *state_ == SmState::standby ? next_poll_ : next_look_;
}

void ForeignSm::on_time() {
    if (decide_at_) {
        decide_at_ = ask_again() ? std::optional(lab_.now + kPatience) : std::nullopt;
        if (!decide_at_) {
            decide();
        }
    } else if (*state_ == SmState::standby) {
        poll();
    } else {
        look();
    }
}

void ForeignSm::look() {
    peers_.clear();
    const auto& nodes = lab_.sim.netlist().nodes;
    for (const auto& [node, path] : reachable()) {
        for (std::size_t p = 1; node != node_ && p < nodes[node].ports.size(); ++p) {
            const sim::Port& port = lab_.sim.world().device(node).ports[p];
            if (port.info.is_sm()) {
                ask(peers_[port.guid] = Peer{path, std::nullopt, 0});
            }
        }
    }
    next_look_ = lab_.now + kSweepInterval;
    decide_at_ = lab_.now + kPatience;
    tries_left_ = kTries - 1;
}

/// Who has not answered is asked again. True: it is too early to decide.
bool ForeignSm::ask_again() {
    bool asked = false;
    for (auto& [guid, peer] : peers_) {
        if (tries_left_ > 0 && !peer.info) {
            ask(peer);
            asked = true;
        }
    }
    tries_left_ -= asked ? 1U : 0U;
    return asked;
}

/// What OpenSM does at the end of a sweep: osm_state_mgr.c and osm_sm_state_mgr.c.
void ForeignSm::decide() {
    const auto standing_by = [&](mad::Guid whom) {
        become(SmState::standby);
        polled_ = whom;
    };
    std::optional<SmInfo> highest;
    std::optional<SmInfo> master;
    for (const auto& [guid, peer] : peers_) {
        const auto& info = peer.info;
        if (!info || info->sm_key != kKey || info->state == SmState::not_active) {
            continue;
        }
        if (info->state == SmState::master) {
            master = info;
        }
        if (outranks_us(*info) && (!highest || outranks(*info, *highest))) {
            highest = info;
        }
    }
    if (*state_ == SmState::discovering) {
        const auto& whom = master ? master : highest;
        return whom ? standing_by(whom->guid) : become(SmState::master);
    }
    if (highest) {
        SmInfo shown = own_info();
        shown.sm_key = mad::SmKey{};  // OpenSM shows it to a master only
        send(Method::set, Attribute::sm_info, kHandover, peers_.at(highest->guid).path, mad::encode(shown));
        return standing_by(highest->guid);
    }
    if (!master) {
        configure();  // else it is for that one to hand over
    }
}

void ForeignSm::poll() {
    next_poll_ = lab_.now + kPollInterval;
    missed_ += poll_open_ ? 1U : 0U;
    const auto peer = peers_.find(polled_);
    if (missed_ >= kMisses || peer == peers_.end()) {
        return become(SmState::discovering);
    }
    poll_open_ = true;
    ask(peer->second);
}

// --- MADs

std::map<std::uint32_t, mad::DrPath> ForeignSm::reachable() const {
    const sim::World& world = lab_.sim.world();
    std::map<std::uint32_t, mad::DrPath> found{{node_, mad::DrPath{}}};
    std::deque<std::uint32_t> queue{node_};
    while (!queue.empty()) {
        const std::uint32_t at = queue.front();
        queue.pop_front();
        const bool onward = at == node_ || world.device(at).is_switch();
        for (std::size_t p = 1; onward && p < world.device(at).ports.size(); ++p) {
            const mad::PortNum port{static_cast<std::uint8_t>(p)};
            const auto peer = world.linked_peer({at, port});
            if (peer && !found.contains(peer->node)) {
                found.emplace(peer->node, found.at(at).then(port));
                queue.push_back(peer->node);
            }
        }
    }
    return found;
}

SmInfo ForeignSm::own_info() const {
    SmInfo info;
    info.guid = lab_.sim.local_port(client_).port_guid;
    info.sm_key = kKey;
    info.act_count = act_count_;
    info.priority = priority_;
    info.state = state_.value_or(SmState::not_active);
    return info;
}

bool ForeignSm::outranks_us(const SmInfo& other) const {
    return outranks(other, own_info());
}

std::uint64_t ForeignSm::send(Method method, Attribute attribute, std::uint32_t modifier,
                              const mad::DrPath& path, const mad::AttributeData& data) {
    mad::Smp smp;
    smp.header.method = static_cast<std::uint8_t>(method);
    smp.header.attribute = attribute;
    smp.header.modifier = modifier;
    smp.header.tid = std::uint64_t{client_} << 32U | next_tid_++;
    smp.path = path;
    smp.data = data;
    mad::WireMad wire{mad::encode_smp(smp), {}, {}};
    wire.address.lid = mad::kLidPermissive;
    lab_.sim.send(client_, wire, lab_.now);
    return smp.header.tid;
}

void ForeignSm::ask(Peer& peer) {
    ++act_count_;
    peer.asked_tid = send(Method::get, Attribute::sm_info, 0, peer.path, mad::encode(own_info()));
}

void ForeignSm::take(const mad::WireMad& wire) {
    const auto smp = mad::parse_smp(wire.bytes);
    if (!state_ || !smp || smp->header.attribute != Attribute::sm_info) {
        return;
    }
    smp->header.is_response() ? take_answer(*smp) : take_request(wire, *smp);
}

void ForeignSm::take_request(const mad::WireMad& wire, const mad::Smp& smp) {
    const bool handover =
        smp.header.method == static_cast<std::uint8_t>(Method::set) && smp.header.modifier == kHandover;
    if (handover && *state_ != SmState::not_active) {
        become(SmState::master);
    }
    ++act_count_;
    mad::Smp reply = smp;
    reply.header.method = static_cast<std::uint8_t>(Method::get_resp);
    reply.returning = true;
    reply.data = mad::encode(own_info());
    lab_.sim.send(client_, {mad::encode_smp(reply), wire.address, {}}, lab_.now);
}

void ForeignSm::take_answer(const mad::Smp& smp) {
    for (auto& [guid, peer] : peers_) {
        if (peer.asked_tid != smp.header.tid) {
            continue;
        }
        peer.info = mad::decode_sm_info(smp.data);
        if (guid == polled_ && *state_ == SmState::standby) {
            missed_ = 0;
            poll_open_ = false;
            if (peer.info->state != SmState::master && !outranks_us(*peer.info)) {
                become(SmState::discovering);
            }
        }
    }
}

/// Every port that has a LID shall name us.
void ForeignSm::configure() {
    const auto& nodes = lab_.sim.netlist().nodes;
    const mad::Lid own =
        lab_.sim.world().device(node_).ports[lab_.sim.local_port(client_).port.value()].info.lid;
    for (const auto& [node, path] : reachable()) {
        const bool is_switch = nodes[node].type == mad::NodeType::switch_;
        for (std::size_t p = is_switch ? 0 : 1; p < (is_switch ? 1 : nodes[node].ports.size()); ++p) {
            mad::PortInfo info = lab_.sim.port_info(node, mad::PortNum{static_cast<std::uint8_t>(p)});
            const bool linked = is_switch || info.state == mad::PortState::active;
            if (own == mad::kLidNone || info.lid == mad::kLidNone || info.sm_lid == own || !linked) {
                continue;
            }
            info.sm_lid = own;
            info.state = mad::PortState::no_change;
            info.phys_state = mad::PhysState::no_change;
            info.width_enabled = info.speed_enabled = 0;
            info.speed_ext_enabled = info.speed_ext2_enabled = 0;
            info.client_reregister = !is_switch && info.can_reregister();
            send(Method::set, Attribute::port_info, static_cast<std::uint32_t>(p), path, mad::encode(info));
        }
    }
}

}  // namespace ibf::test
