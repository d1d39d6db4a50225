#include "routing/channel_order.hpp"

#include <algorithm>
#include <bit>

#include "base/check.hpp"

namespace ibf::routing {

Channels::Channels(const Topology& topology, const Graph& graph) : Links(graph) {
    for (std::uint32_t channel = 0; channel < count(); ++channel) {
        const PortPeer& peer = topology.switches[from(channel)].peers[graph.ports[channel]];
        reverse_.push_back(at(peer.index, peer.port.value()));
        slots_most_ = std::max(slots_most_, slot(channel) + 1);
    }
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
      next_(channels.count(), (channels.slots_most() + 63) / 64),
      before_(next_),
      kept_(next_),
      blocked_(next_),
      places_(order),
      seen_(channels.count(), 0),
      reached_from_(channels.count()) {
    IBF_CHECK(order.size() == channels.count(), "{} channels in an order of {}", channels.count(),
              order.size());
}

bool ChannelOrder::ordained(std::uint32_t c, std::uint32_t n) const {
    return home_.of(c) < home_.of(n) || next_.test(c, channels_.slot(n));
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
    places_.put_before(behind_, ahead_);
    return true;
}

/// Collects what n leads to before the place of c. False if c is among it.
bool ChannelOrder::search_ahead(std::uint32_t c, std::uint32_t n) {
    ahead_.assign(1, n);
    seen_[n] = search_;
    for (std::size_t head = 0; head < ahead_.size() && seen_[c] != search_; ++head) {
        const std::uint32_t at = ahead_[head];
        const std::uint32_t base = channels_.first(channels_.peer(at));
        next_.for_each(at, [&](std::uint32_t exit) {
            const std::uint32_t onward = base + exit;
            if (places_.of(onward) <= places_.of(c) && seen_[onward] != search_) {
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
        const std::uint32_t base = channels_.first(channels_.from(at));
        before_.for_each(at, [&](std::uint32_t input) {
            const std::uint32_t earlier = channels_.reverse(base + input);
            if (places_.of(earlier) >= places_.of(n) && seen_[earlier] != search_) {
                seen_[earlier] = search_;
                behind_.push_back(earlier);
            }
        });
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
