#include "routing/drained.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "routing/engine_tables.hpp"
#include "routing/routes.hpp"

namespace ibf::routing {

namespace {

/// Sets of switches that hold together.
class Parts {
public:
    explicit Parts(std::size_t switches) : above_(switches) { std::iota(above_.begin(), above_.end(), 0U); }

    std::uint32_t of(std::uint32_t at) {
        while (above_[at] != at) {
            at = above_[at] = above_[above_[at]];
        }
        return at;
    }
    /// False: they were one before.
    bool join(std::uint32_t a, std::uint32_t b) {
        const std::uint32_t low = std::min(of(a), of(b));
        const std::uint32_t high = std::max(of(a), of(b));
        above_[high] = low;
        return low != high;
    }

private:
    std::vector<std::uint32_t> above_;
};

/// Drained cables between the same two switches: they stay or go together.
struct Bundle {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    bool named = false;  ///< drained by themselves, not only with a switch
    unsigned drained_ends = 0;
    std::vector<std::uint8_t> ports;  ///< of a
};

class Mask {
public:
    Mask(const Topology& topology, const Elements& drained)
        : drained_(drained), parts_(topology.switches.size()), out_{topology, {}} {}

    MaskedTopology make() {
        for (std::uint32_t at = 0; at < out_.topology.switches.size(); ++at) {
            sort_cables(at);
        }
        // Rather the cables that only a switch's draining is about than those named themselves; rather to a
        // switch in service than to another drained one; rather more cables than fewer; then by GUID.
        std::vector<const Bundle*> order;
        for (const auto& [key, bundle] : bundles_) {
            order.push_back(&bundle);
        }
        std::stable_sort(order.begin(), order.end(), [](const Bundle* x, const Bundle* y) {
            return std::tuple(x->named, x->drained_ends, y->ports.size()) <
                   std::tuple(y->named, y->drained_ends, x->ports.size());
        });
        for (const Bundle* bundle : order) {
            const bool stays = parts_.join(bundle->a, bundle->b);
            for (const std::uint8_t port : bundle->ports) {
                stays ? spare(bundle->a, port) : unplug(bundle->a, port);
            }
        }
        std::sort(out_.spared.begin(), out_.spared.end());
        return std::move(out_);
    }

private:
    /// Cables in service join the parts; drained ones are gathered, each once.
    void sort_cables(std::uint32_t at) {
        const TopologySwitch& here = out_.topology.switches[at];
        for (std::size_t port = 1; port < here.peers.size(); ++port) {
            const PortPeer& peer = here.peers[port];
            if (peer.kind != PortPeer::Kind::switch_ || peer.index == at) {
                continue;
            }
            if (!is_gone(out_.topology, drained_, at, port)) {
                parts_.join(at, peer.index);
            } else if (at < peer.index) {
                const mad::Guid far = out_.topology.switches[peer.index].guid;
                const auto number = static_cast<std::uint8_t>(port);
                const bool named = drained_.has(SwitchPort{here.guid, mad::PortNum{number}}) ||
                                   drained_.has(SwitchPort{far, peer.port});
                Bundle& bundle = bundles_[{at, peer.index, named}];
                bundle.a = at;
                bundle.b = peer.index;
                bundle.named = named;
                bundle.drained_ends = (drained_.has(here.guid) ? 1U : 0U) + (drained_.has(far) ? 1U : 0U);
                bundle.ports.push_back(number);
            }
        }
    }

    void spare(std::uint32_t at, std::uint8_t port) {
        const PortPeer& peer = out_.topology.switches[at].peers[port];
        out_.spared.push_back({out_.topology.switches[at].guid, mad::PortNum{port}});
        out_.spared.push_back({out_.topology.switches[peer.index].guid, peer.port});
    }

    void unplug(std::uint32_t at, std::uint8_t port) {
        PortPeer& peer = out_.topology.switches[at].peers[port];
        out_.topology.switches[peer.index].peers[peer.port.value()] = PortPeer{};
        peer = PortPeer{};
    }

    const Elements& drained_;
    Parts parts_;
    std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, Bundle> bundles_;
    MaskedTopology out_;
};

/// By LID: somebody has it.
std::vector<char> lids_in_use(const Topology& topology) {
    std::vector<char> used(topology.max_lid + std::size_t{1}, 0);
    const auto mark = [&used](const mad::LidRange& lids) {
        std::fill(used.begin() + lids.base.value(), used.begin() + static_cast<std::ptrdiff_t>(lids.end()),
                  char{1});
    };
    for (const TopologySwitch& item : topology.switches) {
        if (item.lids.count() != 0) {
            mark(item.lids);
        }
    }
    for (const TopologyEndPort& end : topology.end_ports) {
        if (end.lids.count() != 0) {
            mark(end.lids);
        }
    }
    return used;
}

}  // namespace

MaskedTopology mask_drained(const Topology& topology, const Elements& drained) {
    return Mask(topology, drained).make();
}

void keep_entries(const Topology& topology, const std::vector<mad::LidRange>& away, const Routes& previous,
                  Routes& out) {
    const std::vector<char> used = lids_in_use(topology);
    std::vector<std::size_t> kept;
    for (const mad::LidRange& lids : away) {
        for (std::size_t lid = lids.base.value(); lid < lids.end() && lid < used.size(); ++lid) {
            if (used[lid] == 0) {
                kept.push_back(lid);
            }
        }
    }
    const std::vector<std::shared_ptr<const LftRow>> old = old_rows(topology, &previous);
    for (std::size_t at = 0; at < out.rows.size() && !kept.empty(); ++at) {
        std::shared_ptr<LftRow> row;
        for (const std::size_t lid : kept) {
            const bool had = old[at] != nullptr && lid < old[at]->size() && lid < out.rows[at]->size();
            if (had && (*out.rows[at])[lid] != (*old[at])[lid]) {
                row = row != nullptr ? row : std::make_shared<LftRow>(*out.rows[at]);
                (*row)[lid] = (*old[at])[lid];
            }
        }
        if (row != nullptr) {
            out.rows[at] = *row == *old[at] ? old[at] : std::move(row);
        }
    }
}

std::string crossings(const Topology& whole, const Topology& masked, const Routes& routes) {
    std::uint64_t entries = 0;
    for (std::size_t at = 0; at < whole.switches.size(); ++at) {
        std::array<bool, 256> leads_off{};
        bool any = false;
        for (std::size_t port = 1; port < whole.switches[at].peers.size(); ++port) {
            leads_off[port] = whole.switches[at].peers[port].kind != masked.switches[at].peers[port].kind;
            any = any || leads_off[port];
        }
        if (any) {
            const LftRow& row = *routes.rows[at];
            entries += static_cast<std::uint64_t>(
                std::count_if(row.begin(), row.end(), [&](std::uint8_t port) { return leads_off[port]; }));
        }
    }
    return entries == 0 ? std::string()
                        : fmt::format("takes no heed of what is drained: {} entries lead there", entries);
}

}  // namespace ibf::routing
