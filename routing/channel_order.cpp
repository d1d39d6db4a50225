#include "routing/channel_order.hpp"

#include <algorithm>
#include <bit>

#include "base/check.hpp"

namespace ibf::routing {

Channels make_channels(const Topology& topology, const Graph& graph) {
    Channels channels;
    channels.by_port.assign(std::size_t{graph.switch_count()} * 256, kNoIndex);
    for (std::uint32_t at = 0; at < graph.switch_count(); ++at) {
        channels.first.push_back(channels.count());
        for (const PortGroup& group : graph.groups_of(at)) {
            for (const std::uint8_t port : graph.ports_of(group)) {
                channels.by_port[std::size_t{at} * 256 + port] = channels.count();
                channels.from.push_back(at);
                channels.to.push_back(group.peer);
            }
        }
        channels.slots_most = std::max(channels.slots_most, channels.count() - channels.first.back());
    }
    channels.first.push_back(channels.count());
    for (std::uint32_t channel = 0; channel < channels.count(); ++channel) {
        const std::uint8_t port = graph.ports[channel];
        const PortPeer& peer = topology.switches[channels.from[channel]].peers[port];
        channels.reverse.push_back(channels.at(peer.index, peer.port.value()));
    }
    return channels;
}

template <class Each>
void ChannelOrder::Bits::for_each(std::uint32_t row, const Each& each) const {
    for (std::uint32_t word = 0; word < words_; ++word) {
        for (std::uint64_t bits = bits_[std::size_t{row} * words_ + word]; bits != 0; bits &= bits - 1) {
            each(word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
        }
    }
}

ChannelOrder::ChannelOrder(const Channels& channels, const std::vector<std::uint32_t>& order)
    : channels_(channels),
      next_(channels.count(), (channels.slots_most + 63) / 64),
      before_(next_),
      kept_(next_),
      blocked_(next_),
      place_(channels.count()),
      seen_(channels.count(), 0),
      reached_from_(channels.count()) {
    IBF_CHECK(order.size() == place_.size(), "{} channels in an order of {}", place_.size(), order.size());
    for (std::uint32_t place = 0; place < order.size(); ++place) {
        place_[order[place]] = place;
    }
    home_ = place_;
}

bool ChannelOrder::ordained(std::uint32_t c, std::uint32_t n) const {
    return home_[c] < home_[n] || next_.test(c, channels_.slot(n));
}

bool ChannelOrder::blocked(std::uint32_t c, std::uint32_t n) const {
    return blocked_.test(c, channels_.slot(n));
}

bool ChannelOrder::add(std::uint32_t c, std::uint32_t n) {
    const std::uint32_t exit = channels_.slot(n);
    if (next_.test(c, exit)) {
        return true;
    }
    if (blocked_.test(c, exit) || (!agrees(c, n) && !make_room(c, n))) {
        return false;
    }
    next_.set(c, exit);
    before_.set(n, input_slot(c));
    trials_.emplace_back(c, n);
    return true;
}

void ChannelOrder::keep(std::uint32_t c, std::uint32_t n) {
    IBF_CHECK(next_.test(c, channels_.slot(n)), "dependency {} -> {} is not in use", c, n);
    kept_.set(c, channels_.slot(n));
}

void ChannelOrder::drop_to(std::size_t mark) {
    for (; trials_.size() > mark; trials_.pop_back()) {
        const auto [c, n] = trials_.back();
        const std::uint32_t exit = channels_.slot(n);
        if (!kept_.test(c, exit)) {
            next_.clear(c, exit);
            before_.clear(n, input_slot(c));
        }
    }
}

/// Changes the order so that c comes before n. False if n leads to c.
bool ChannelOrder::make_room(std::uint32_t c, std::uint32_t n) {
    if (search_ == ~std::uint32_t{0}) {  // stamps begin anew
        std::fill(seen_.begin(), seen_.end(), 0U);
        search_ = 0;
    }
    ++search_;
    if (!search_ahead(c, n)) {
        if (all_kept(n, c)) {
            blocked_.set(c, channels_.slot(n));
        }
        return false;
    }
    search_behind(c, n);
    reorder();
    return true;
}

/// Collects what n leads to before the place of c. False if c is among it.
bool ChannelOrder::search_ahead(std::uint32_t c, std::uint32_t n) {
    ahead_.assign(1, n);
    seen_[n] = search_;
    for (std::size_t head = 0; head < ahead_.size() && seen_[c] != search_; ++head) {
        const std::uint32_t at = ahead_[head];
        const std::uint32_t base = channels_.first[channels_.to[at]];
        next_.for_each(at, [&](std::uint32_t exit) {
            const std::uint32_t onward = base + exit;
            if (place_[onward] <= place_[c] && seen_[onward] != search_) {
                seen_[onward] = search_;
                reached_from_[onward] = at;
                ahead_.push_back(onward);
            }
        });
    }
    return seen_[c] != search_;
}

/// Collects what leads to c after the place of n.
void ChannelOrder::search_behind(std::uint32_t c, std::uint32_t n) {
    behind_.assign(1, c);
    seen_[c] = search_;
    for (std::size_t head = 0; head < behind_.size(); ++head) {
        const std::uint32_t at = behind_[head];
        const std::uint32_t base = channels_.first[channels_.from[at]];
        before_.for_each(at, [&](std::uint32_t input) {
            const std::uint32_t earlier = channels_.reverse[base + input];
            if (place_[earlier] >= place_[n] && seen_[earlier] != search_) {
                seen_[earlier] = search_;
                behind_.push_back(earlier);
            }
        });
    }
}

/// The places of all that was found are dealt out anew: first to what leads to c, then to what n leads to,
/// each in its order so far.
void ChannelOrder::reorder() {
    const auto by_place = [&](std::uint32_t a, std::uint32_t b) { return place_[a] < place_[b]; };
    std::sort(behind_.begin(), behind_.end(), by_place);
    std::sort(ahead_.begin(), ahead_.end(), by_place);
    behind_.insert(behind_.end(), ahead_.begin(), ahead_.end());
    places_.clear();
    for (const std::uint32_t channel : behind_) {
        places_.push_back(place_[channel]);
    }
    std::sort(places_.begin(), places_.end());
    for (std::size_t i = 0; i < behind_.size(); ++i) {
        place_[behind_[i]] = places_[i];
    }
}

/// True if the way that the search took from `first` to `last` uses kept dependencies only.
bool ChannelOrder::all_kept(std::uint32_t first, std::uint32_t last) const {
    for (std::uint32_t at = last; at != first; at = reached_from_[at]) {
        if (!kept_.test(reached_from_[at], channels_.slot(at))) {
            return false;
        }
    }
    return true;
}

}  // namespace ibf::routing
