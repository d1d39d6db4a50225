#include "daemon/fabric/forwarding.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.hpp"

namespace ibf::fabric {
namespace {

using Kind = routing::PortPeer::Kind;

/// Where a packet goes next, or that it stops.
struct Next {
    enum class What : std::uint8_t {
        arrived,
        on,
        dropped,
        no_link,
        wrong_host,
        to_itself
    } what = What::dropped;
    std::uint8_t out = 0;
    routing::PortPeer peer;
};

Next next_of(const Forwarding& tables, std::uint32_t at, mad::Lid lid, Forwarding::Owner owner) {
    if (owner == Forwarding::Owner{Kind::switch_, at}) {
        return {Next::What::arrived, 0, {}};
    }
    const std::uint8_t out = tables.exit(at, lid);
    const auto& peers = tables.topology().switches[at].peers;
    if (out == mad::kLftDrop || out == 0) {
        return {out == 0 ? Next::What::to_itself : Next::What::dropped, out, {}};
    }
    if (out >= peers.size() || peers[out].kind == Kind::none) {
        return {Next::What::no_link, out, {}};
    }
    if (peers[out].kind == Kind::switch_) {
        return {Next::What::on, out, peers[out]};
    }
    const bool right = owner == Forwarding::Owner{Kind::end_port, peers[out].index};
    return {right ? Next::What::arrived : Next::What::wrong_host, out, peers[out]};
}

std::string why_stopped(const Forwarding& tables, std::uint32_t at, mad::Lid lid, const Next& next) {
    const auto& here = tables.topology().switches[at];
    const std::string where = fmt::format("switch '{}' {}", here.name, here.guid);
    switch (next.what) {
        case Next::What::dropped:
            return tables.has_table(at) ? fmt::format("{} has no entry for LID {}", where, lid)
                                        : fmt::format("{} has acknowledged no forwarding table yet", where);
        case Next::What::to_itself:
            return fmt::format("{} keeps LID {} for itself, but it is not its own", where, lid);
        case Next::What::no_link:
            return fmt::format("{} sends LID {} out of port {}, which has no link", where, lid, next.out);
        default:
            return fmt::format("{} sends LID {} out of port {} to '{}', which does not own it", where, lid,
                               next.out, tables.topology().end_ports[next.peer.index].name);
    }
}

}  // namespace

Forwarding::Forwarding(const Snapshot& snapshot) : view_(snapshot.view), rows_(snapshot.programmed) {
    IBF_CHECK(view_ != nullptr, "forwarding needs a topology");
    rows_.resize(view_->topology.switches.size());
    if (snapshot.routes != nullptr) {
        wanted_ = std::shared_ptr<const routing::Routes>(snapshot.routes, &snapshot.routes->routes);
    }
    const auto claim = [this](mad::LidRange lids, Owner owner) {
        for (std::uint32_t lid = lids.base.value(); lid < lids.end(); ++lid) {
            owners_.resize(std::max<std::size_t>(owners_.size(), lid + 1));
            owners_[lid] = owner;
        }
    };
    for (std::uint32_t i = 0; i < topology().switches.size(); ++i) {
        claim(topology().switches[i].lids, {Kind::switch_, i});
    }
    for (std::uint32_t i = 0; i < topology().end_ports.size(); ++i) {
        claim(topology().end_ports[i].lids, {Kind::end_port, i});
    }
}

Forwarding::Owner Forwarding::owner(mad::Lid lid) const {
    return lid.value() < owners_.size() ? owners_[lid.value()] : Owner{};
}

std::uint8_t Forwarding::exit(std::uint32_t at, mad::Lid lid) const {
    const auto& row = rows_[at];
    return row != nullptr && lid.value() < row->size() ? (*row)[lid.value()] : mad::kLftDrop;
}

bool Forwarding::has_table(std::uint32_t at) const {
    return rows_[at] != nullptr;
}

base::Result<std::vector<routing::PathHop>> Forwarding::walk(std::uint32_t from, mad::PortNum in,
                                                             mad::Lid lid) const {
    const Owner target = owner(lid);
    std::vector<routing::PathHop> way;
    for (std::uint32_t at = from; way.size() <= topology().switches.size();) {
        const Next next = next_of(*this, at, lid, target);
        way.push_back({routing::SwitchIndex{at}, in, mad::PortNum{next.out}});
        if (next.what == Next::What::arrived) {
            return way;
        }
        if (next.what != Next::What::on) {
            return base::fail(base::ErrorKind::not_found, why_stopped(*this, at, lid, next));
        }
        at = next.peer.index;
        in = next.peer.port;
    }
    return base::fail(base::ErrorKind::not_found,
                      fmt::format("the tables send LID {} round in a loop that starts at switch '{}'", lid,
                                  topology().switches[from].name));
}

std::optional<std::uint32_t> Forwarding::hops(std::uint32_t from, mad::Lid lid) const {
    const Owner target = owner(lid);
    std::uint32_t at = from;
    for (std::uint32_t count = 0; count <= topology().switches.size(); ++count) {
        const Next next = next_of(*this, at, lid, target);
        if (next.what == Next::What::arrived) {
            return target.kind == Kind::switch_ ? count : count + 1;
        }
        if (next.what != Next::What::on) {
            return std::nullopt;
        }
        at = next.peer.index;
    }
    return std::nullopt;
}

routing::Routes Forwarding::routes() const {
    routing::Routes out = routing::in_order_of(topology(), wanted_ != nullptr ? *wanted_ : routing::Routes{});
    for (std::uint32_t i = 0; i < topology().switches.size(); ++i) {
        // A switch that acknowledged nothing forwards nothing: an empty row is all drops.
        out.rows[i] = rows_[i] != nullptr ? rows_[i] : std::make_shared<const routing::LftRow>();
    }
    return out;
}

}  // namespace ibf::fabric
