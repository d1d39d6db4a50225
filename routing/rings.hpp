// DOC: rings in the hops to one LID, where every switch may have two: an old one and a new one.
//
// Tarjan's strongly connected components (1972), iterative, from the switches that the caller names: a hop
// lies on a ring if both of its ends are of one component. Work is that of the switches reached, so one
// finder may be asked for thousands of LIDs.
#pragma once

#include <cstdint>
#include <vector>

#include "routing/topology.hpp"

namespace ibf::routing {

class RingFinder {
public:
    explicit RingFinder(std::size_t switches)
        : order_(switches, 0), low_(switches, 0), component_(switches, 0), pending_(switches, 0) {}

    /// next(at, 0 or 1): where a switch's hop leads; kNoIndex: nowhere.
    template <class Next>
    void find(const std::vector<std::uint32_t>& starts, const Next& next) {
        begun_ = count_;
        any_ = false;
        for (const std::uint32_t start : starts) {
            if (!reached(start)) {
                search(start, next);
            }
        }
    }
    [[nodiscard]] bool any() const { return any_; }
    /// The hop from one switch to another, of the last find(), lies on a ring.
    [[nodiscard]] bool on_ring(std::uint32_t from, std::uint32_t to) const {
        return reached(from) && reached(to) && component_[from] == component_[to];
    }

private:
    struct Frame {
        std::uint32_t at;
        int tried;
    };

    [[nodiscard]] bool reached(std::uint32_t at) const { return order_[at] > begun_; }

    void enter(std::uint32_t at) {
        low_[at] = order_[at] = ++count_;
        pending_[at] = 1;
        path_.push_back(at);
        frames_.push_back({at, 0});
    }

    template <class Next>
    void search(std::uint32_t start, const Next& next) {
        enter(start);
        while (!frames_.empty()) {
            Frame& frame = frames_.back();
            if (frame.tried == 2) {
                leave(frame.at);
                continue;
            }
            const std::uint32_t from = frame.at;
            const std::uint32_t to = next(from, frame.tried++);
            if (to == kNoIndex) {
                continue;
            }
            if (!reached(to)) {
                enter(to);
            } else if (pending_[to] != 0) {
                low_[from] = low_[from] < order_[to] ? low_[from] : order_[to];
            }
        }
    }

    void leave(std::uint32_t at) {
        frames_.pop_back();
        if (!frames_.empty()) {
            std::uint64_t& low = low_[frames_.back().at];
            low = low < low_[at] ? low : low_[at];
        }
        if (low_[at] != order_[at]) {
            return;
        }
        any_ = any_ || path_.back() != at;
        for (std::uint32_t member = kNoIndex; member != at;) {
            member = path_.back();
            path_.pop_back();
            pending_[member] = 0;
            component_[member] = order_[at];
        }
    }

    std::vector<std::uint64_t> order_;  ///< by switch; above begun_: reached by the last find()
    std::vector<std::uint64_t> low_;
    std::vector<std::uint64_t> component_;
    std::vector<char> pending_;
    std::vector<std::uint32_t> path_;
    std::vector<Frame> frames_;
    std::uint64_t count_ = 0;
    std::uint64_t begun_ = 0;
    bool any_ = false;
};

}  // namespace ibf::routing
