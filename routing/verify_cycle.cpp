#include "routing/verify_cycle.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

namespace ibf::routing {

void Dependencies::merge(const Dependencies& other) {
    for (std::size_t i = 0; i < bits_.size(); ++i) {
        bits_[i] |= other.bits_[i];
    }
}

void Dependencies::list(std::uint32_t vertex, std::vector<std::uint32_t>& out) const {
    out.clear();
    for (std::uint32_t word = 0; word < words_; ++word) {
        for (std::uint64_t bits = bits_[std::size_t{vertex} * words_ + word]; bits != 0; bits &= bits - 1) {
            out.push_back(word * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
        }
    }
}

namespace {

/// The lane channels that may be waited for while one is held.
class Successors {
public:
    Successors(const TableView& view, const Dependencies& dependencies)
        : view_(view), dependencies_(dependencies) {}

    const std::vector<std::uint32_t>& of(std::uint32_t vertex) {
        dependencies_.list(vertex, slots_);
        const std::uint32_t channel = vertex / dependencies_.lanes();
        const std::uint32_t base =
            dependencies_.lanes() *
            view_.first_channel(view_.exit(view_.channel_switch(channel), view_.channel_port(channel)).next);
        for (std::uint32_t& slot : slots_) {
            slot += base;
        }
        return slots_;
    }

private:
    const TableView& view_;
    const Dependencies& dependencies_;
    std::vector<std::uint32_t> slots_;
};

/// Kahn: takes away channels that nothing waits into; what is left holds every cycle. left[c] != 0: c is
/// left.
std::vector<std::uint32_t> strip(Successors& successors, std::uint32_t channels) {
    std::vector<std::uint32_t> left(channels, 0);
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
        for (const std::uint32_t next : successors.of(channel)) {
            ++left[next];
        }
    }
    std::vector<std::uint32_t> open;
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
        if (left[channel] == 0) {
            open.push_back(channel);
        }
    }
    while (!open.empty()) {
        const std::uint32_t channel = open.back();
        open.pop_back();
        for (const std::uint32_t next : successors.of(channel)) {
            if (--left[next] == 0) {
                open.push_back(next);
            }
        }
    }
    return left;
}

/// A channel that is on a cycle: from a channel that is left, back over predecessors that are left too (each
/// has one, or it would have been stripped) until one comes up again.
std::uint32_t on_a_cycle(Successors& successors, const std::vector<std::uint32_t>& left) {
    std::vector<std::uint32_t> before(left.size(), kNoIndex);
    std::uint32_t at = kNoIndex;
    for (std::uint32_t channel = 0; channel < left.size(); ++channel) {
        if (left[channel] != 0) {
            for (const std::uint32_t next : successors.of(channel)) {
                before[next] = std::min(before[next], channel);
            }
            at = std::min(at, channel);
        }
    }
    std::vector<char> seen(left.size(), 0);
    while (seen[at] == 0) {
        seen[at] = 1;
        at = before[at];
    }
    return at;
}

std::vector<std::uint32_t> shortest_cycle(Successors& successors, std::uint32_t channels,
                                          std::uint32_t start) {
    std::vector<std::uint32_t> from(channels, kNoIndex);
    std::vector<std::uint32_t> queue{start};
    for (std::size_t head = 0; from[start] == kNoIndex; ++head) {
        for (const std::uint32_t next : successors.of(queue[head])) {
            if (from[next] == kNoIndex) {
                from[next] = queue[head];
                queue.push_back(next);
            }
        }
    }
    std::vector<std::uint32_t> cycle{start};
    for (std::uint32_t at = from[start]; at != start; at = from[at]) {
        cycle.push_back(at);
    }
    std::reverse(cycle.begin() + 1, cycle.end());
    return cycle;
}

}  // namespace

std::vector<std::uint32_t> find_cycle(const TableView& view, const Dependencies& dependencies) {
    Successors successors(view, dependencies);
    const std::uint32_t vertices = view.channel_count() * dependencies.lanes();
    const std::vector<std::uint32_t> left = strip(successors, vertices);
    if (std::all_of(left.begin(), left.end(), [](std::uint32_t count) { return count == 0; })) {
        return {};
    }
    return shortest_cycle(successors, vertices, on_a_cycle(successors, left));
}

ChannelStep channel_step(const Topology& topology, const TableView& view, std::uint32_t channel,
                         std::uint32_t lane) {
    const auto name = [&](std::uint32_t at) {
        return fmt::format("{} ({})", topology.switches[at].name, topology.switches[at].guid);
    };
    const std::uint32_t at = view.channel_switch(channel);
    const std::uint8_t port = view.channel_port(channel);
    const PortPeer& peer = topology.switches[at].peers[port];
    return {name(at), mad::PortNum{port}, name(peer.index), peer.port, static_cast<std::uint8_t>(lane)};
}

}  // namespace ibf::routing
