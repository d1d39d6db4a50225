// DOC: the simulator's agenda.
//
// A binary heap of small values ordered by (time, sequence): events of one instant run in the order in which
// they were pushed, so a run is a pure function of its input. An event is a kind and two numbers, whose
// meaning is the kind's; nothing is allocated per event.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/check.hpp"
#include "base/time.hpp"

namespace ibf::sim {

struct Event {
    enum class Kind : std::uint8_t {
        depart,        ///< a: packet; it leaves its source
        arrive,        ///< a: packet; it reaches the device that shall serve it
        serve,         ///< a: packet; the device's agent answers it
        deliver,       ///< a: packet; it reaches a client
        trained,       ///< a: node, b: generation << 8 | port; the link comes up
        trap_due,      ///< a: slot of the trap; sent, or sent again
        fault_due,     ///< a: index of the scheduled fault
        fault_repeat,  ///< a: index of the periodic fault
        agent_back,    ///< a: node, b: generation; its agent answers again after a reboot
    };
    base::Instant at{};
    std::uint64_t sequence = 0;
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    Kind kind = Kind::depart;
};

class EventQueue {
public:
    void push(base::Instant at, Event::Kind kind, std::uint32_t a, std::uint32_t b) {
        heap_.push_back(Event{.at = at, .sequence = next_sequence_++, .a = a, .b = b, .kind = kind});
        std::push_heap(heap_.begin(), heap_.end(), later);
    }
    [[nodiscard]] bool empty() const { return heap_.empty(); }
    [[nodiscard]] base::Instant next() const {
        IBF_CHECK(!heap_.empty(), "next() of an empty agenda");
        return heap_.front().at;
    }
    [[nodiscard]] Event pop() {
        IBF_CHECK(!heap_.empty(), "pop() of an empty agenda");
        std::pop_heap(heap_.begin(), heap_.end(), later);
        const Event event = heap_.back();
        heap_.pop_back();
        return event;
    }

private:
    static bool later(const Event& x, const Event& y) {
        return x.at != y.at ? x.at > y.at : x.sequence > y.sequence;
    }

    std::vector<Event> heap_;
    std::uint64_t next_sequence_ = 0;
};

}  // namespace ibf::sim
