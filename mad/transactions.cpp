#include "mad/transactions.hpp"

#include <algorithm>
#include <bit>
#include <compare>
#include <limits>
#include <set>
#include <utility>

#include "base/check.hpp"

namespace ibf::mad {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kTargetsMax = 1U << 24;  ///< targets are dense ids: a larger one is the owner's bug

/// One request, from submit to completion.
struct Slot {
    Request request;
    std::uint32_t tid = 0;       ///< valid once sent
    std::uint32_t next = kNone;  ///< in its queue
    std::uint8_t sends = 0;
    bool used = false;
    bool in_flight = false;
    base::Instant sent_at{};  ///< of the last send
    std::optional<base::Instant>
        silent_at;  ///< of the first send that timed out, if the device showed no life since
    base::Instant deadline{};
    std::uint64_t send_number = 0;
    base::Duration timeout{};  ///< of the next send, or of the one in flight
};

/// FIFO of slots, linked through Slot::next.
struct Queue {
    std::uint32_t head = kNone;
    std::uint32_t tail = kNone;
};

struct Target {
    Queue retries;  ///< before the fresh ones, in the order in which they expired
    Queue fresh;
    std::uint32_t in_flight = 0;
    std::uint32_t next_ready = kNone;
    bool ready = false;  ///< in the ready list
    base::Instant last_reply{};
    bool replied = false;
    bool silent = false;  ///< let a request expire and answered nothing since its first send

    [[nodiscard]] bool waiting() const { return retries.head != kNone || fresh.head != kNone; }
};

/// What became of a TID. Cells are indexed by the TID's low bits and remember its last user.
struct Cell {
    enum class State : std::uint8_t { empty, live, answered, given_up };
    std::uint32_t tid = 0;
    std::uint32_t slot = kNone;
    State state = State::empty;
};

struct Deadline {
    base::Instant at;
    std::uint64_t send_number = 0;  ///< ties: first sent, first expired
    std::uint32_t slot = 0;
    auto operator<=>(const Deadline&) const = default;
};

/// The total window. A request that was lost, though its device lives, is a sign of congestion; a silent
/// device is none. The window is halved where such losses reach 1 in 128 over a round of replies and concern
/// more than one device: sparse loss on a bad cable does not count (0.1 % makes 8 of 1,024 once in 100,000
/// rounds), and what a full buffer drops does. A loss shows a time-out late, so losses of sends from before
/// the last cut are its cause, not a reason for another.
class AdaptiveWindow {
public:
    AdaptiveWindow(std::uint32_t total, std::uint32_t minimum)
        : total_(total), minimum_(std::min(minimum, total)), size_(total) {}

    [[nodiscard]] std::uint32_t size() const { return size_; }

    void on_reply() {
        if (++growth_ >= size_) {
            growth_ = 0;
            size_ = std::min(size_ + 1, total_);
        }
        if (++replies_ >= kRoundReplies) {
            start_round();
        }
    }

    /// True if the window was cut.
    [[nodiscard]] bool on_loss(std::uint32_t target, base::Instant sent_at, base::Instant now) {
        if (last_cut_ && sent_at <= *last_cut_) {
            return false;
        }
        several_targets_ = several_targets_ || (losses_ > 0 && target != loss_target_);
        loss_target_ = target;
        if (++losses_ < kRoundLosses || !several_targets_) {
            return false;
        }
        start_round();
        growth_ = 0;
        last_cut_ = now;
        const std::uint32_t before = std::exchange(size_, std::max(size_ / 2, minimum_));
        return size_ < before;
    }

private:
    static constexpr std::uint32_t kRoundReplies = 1024;
    static constexpr std::uint32_t kRoundLosses = kRoundReplies / 128;

    void start_round() {
        replies_ = 0;
        losses_ = 0;
        several_targets_ = false;
    }

    std::uint32_t total_;
    std::uint32_t minimum_;
    std::uint32_t size_;
    std::uint32_t growth_ = 0;   ///< replies since the window last grew
    std::uint32_t replies_ = 0;  ///< in this round, as the next two
    std::uint32_t losses_ = 0;
    bool several_targets_ = false;
    std::uint32_t loss_target_ = 0;
    std::optional<base::Instant> last_cut_;
};

}  // namespace

struct Transactions::Impl {
    Impl(const TransactionLimits& table_limits, Tid first_tid)
        : limits(table_limits),
          cells(std::bit_ceil(std::size_t{2} *
                              (std::size_t{table_limits.window_total} + table_limits.queue_max))),
          next_tid(first_tid.value()),
          window(table_limits.window_total, table_limits.window_min) {
        IBF_CHECK(limits.window_total > 0 && limits.window_target > 0,
                  "a transaction window of 0 sends nothing");
        IBF_CHECK(limits.timeout > base::Duration::zero(), "a time-out of 0 expires at once");
    }

    // --- queues ---

    void push(Queue& queue, std::uint32_t slot) {
        slots[slot].next = kNone;
        (queue.head == kNone ? queue.head : slots[queue.tail].next) = slot;
        queue.tail = slot;
        ++queued;
    }

    std::uint32_t pop(Queue& queue) {
        const std::uint32_t slot = queue.head;
        queue.head = slots[slot].next;
        --queued;
        return slot;
    }

    /// Puts the target at the end of the ready list if it may send and isn't there.
    void make_ready(std::uint32_t id) {
        Target& target = targets[id];
        if (target.ready || !target.waiting() || target.in_flight >= limits.window_target) {
            return;
        }
        target.ready = true;
        target.next_ready = kNone;
        (ready_head == kNone ? ready_head : targets[ready_tail].next_ready) = id;
        ready_tail = id;
    }

    std::uint32_t pop_ready() {
        const std::uint32_t id = ready_head;
        ready_head = targets[id].next_ready;
        targets[id].ready = false;
        return id;
    }

    // --- slots and TIDs ---

    std::uint32_t take_slot() {
        if (free_slots.empty()) {
            free_slots.push_back(static_cast<std::uint32_t>(slots.size()));
            slots.emplace_back();
        }
        const std::uint32_t slot = free_slots.back();
        free_slots.pop_back();
        return slot;
    }

    Cell& cell_of(std::uint32_t tid) { return cells[tid & (cells.size() - 1)]; }

    /// TIDs count upward and step over cells that are in use: there are at least twice as many cells as
    /// requests.
    void assign_tid(std::uint32_t slot) {
        while (cell_of(next_tid).state == Cell::State::live) {
            ++next_tid;
        }
        slots[slot].tid = next_tid;
        cell_of(next_tid) = {.tid = next_tid, .slot = slot, .state = Cell::State::live};
        ++next_tid;
        issued = std::min<std::uint64_t>(issued + 1, kIssuedMemory);
    }

    /// The slot in flight, or waiting for its retry, under this TID.
    std::uint32_t find(std::uint32_t tid) {
        const Cell& cell = cell_of(tid);
        return cell.tid == tid && cell.state == Cell::State::live ? cell.slot : kNone;
    }

    // --- life of a request ---

    void send(std::uint32_t slot, base::Instant now, WireMad& out);
    void leave_flight(std::uint32_t slot);
    void remove_waiting(std::uint32_t slot);
    void finish(std::uint32_t slot, Cell::State state, Completion::Kind kind, std::vector<Completion>& out);
    void release(std::uint32_t slot);
    void expire(std::uint32_t slot, base::Instant now, std::vector<Completion>& out);
    void count_loss(std::uint32_t target, base::Instant sent_at, base::Instant now);
    void count_unmatched(std::uint32_t tid);

    static constexpr std::uint64_t kIssuedMemory = std::uint64_t{1} << 31U;

    TransactionLimits limits;
    std::vector<Slot> slots;
    std::vector<std::uint32_t> free_slots;
    std::vector<Target> targets;
    std::vector<Cell> cells;       ///< a power of two
    std::set<Deadline> deadlines;  ///< one for each request in flight
    std::uint32_t ready_head =
        kNone;  ///< targets with something to send and room in their window, round robin
    std::uint32_t ready_tail = kNone;
    std::uint32_t next_tid;
    std::uint64_t issued = 0;  ///< TIDs below next_tid that may have been ours
    std::size_t queued = 0;
    AdaptiveWindow window;
    TransactionCounters counters;
};

void Transactions::Impl::send(std::uint32_t slot_index, base::Instant now, WireMad& out) {
    Slot& slot = slots[slot_index];
    if (slot.sends == 0) {
        assign_tid(slot_index);
    } else {
        ++counters.retried;
    }
    ++slot.sends;
    slot.in_flight = true;
    slot.sent_at = now;
    slot.deadline = now + slot.timeout;
    slot.send_number = counters.sent++;
    ++targets[slot.request.target].in_flight;
    deadlines.insert({.at = slot.deadline, .send_number = slot.send_number, .slot = slot_index});

    const Request& request = slot.request;
    const bool directed = request.lid == kLidNone;
    Smp smp;
    smp.header.mgmt_class = directed ? MgmtClass::subn_directed : MgmtClass::subn_lid;
    smp.header.method = static_cast<std::uint8_t>(request.method);
    smp.header.tid = slot.tid;
    smp.header.attribute = request.attribute;
    smp.header.modifier = request.modifier;
    smp.mkey = request.mkey;
    smp.path = request.path;
    smp.data = request.data;
    out.bytes = encode_smp(smp);
    out.address.lid = directed ? kLidPermissive : request.lid;
    out.response_timeout = slot.timeout;
}

void Transactions::Impl::leave_flight(std::uint32_t slot_index) {
    Slot& slot = slots[slot_index];
    slot.in_flight = false;
    --targets[slot.request.target].in_flight;
    deadlines.erase({.at = slot.deadline, .send_number = slot.send_number, .slot = slot_index});
}

/// Takes a slot out of its target's queues: a late answer to an earlier send overtook the next one, or nobody
/// wants the answer any more.
void Transactions::Impl::remove_waiting(std::uint32_t slot_index) {
    Target& target = targets[slots[slot_index].request.target];
    for (Queue* queue : {&target.retries, &target.fresh}) {
        Queue kept;
        while (queue->head != kNone) {
            const std::uint32_t slot = pop(*queue);
            if (slot != slot_index) {
                push(kept, slot);
            }
        }
        *queue = kept;
    }
}

/// Ends a request that is neither queued nor in flight any more.
void Transactions::Impl::finish(std::uint32_t slot_index, Cell::State state, Completion::Kind kind,
                                std::vector<Completion>& out) {
    Slot& slot = slots[slot_index];
    cell_of(slot.tid).state = state;
    Completion& completion = out.emplace_back();
    completion.tag = slot.request.tag;
    completion.kind = kind;
    completion.request = slot.request;
    completion.sends = slot.sends;
    release(slot_index);
}

void Transactions::Impl::release(std::uint32_t slot_index) {
    Slot& slot = slots[slot_index];
    const std::uint32_t target = slot.request.target;
    slot.used = false;
    free_slots.push_back(slot_index);
    make_ready(target);
    if (!targets[target].waiting() && targets[target].in_flight == 0) {
        targets[target].silent = false;  // the owner may use the id for another device next
    }
}

void Transactions::Impl::expire(std::uint32_t slot_index, base::Instant now, std::vector<Completion>& out) {
    leave_flight(slot_index);
    Slot& slot = slots[slot_index];
    Target& target = targets[slot.request.target];
    if (target.replied && target.last_reply >= slot.sent_at) {
        count_loss(slot.request.target, slot.sent_at, now);
    } else if (!slot.silent_at) {
        slot.silent_at = slot.sent_at;
    }
    const std::uint8_t retries = slot.request.retries == 0xFF ? limits.retries : slot.request.retries;
    const bool spent = slot.sends > retries;
    if (spent && slot.silent_at && !(target.replied && target.last_reply >= *slot.silent_at)) {
        target.silent = true;
    }
    if (spent || target.silent) {
        ++counters.timeouts;
        finish(slot_index, Cell::State::given_up, Completion::Kind::timeout, out);
        return;
    }
    // A first time-out above the maximum is the owner's wish and stays.
    slot.timeout = std::max(slot.timeout, std::min(slot.timeout * 2, limits.timeout_max));
    push(target.retries, slot_index);
    make_ready(slot.request.target);
}

void Transactions::Impl::count_loss(std::uint32_t target, base::Instant sent_at, base::Instant now) {
    if (window.on_loss(target, sent_at, now)) {
        ++counters.window_cuts;
    }
}

void Transactions::Impl::count_unmatched(std::uint32_t tid) {
    const Cell& cell = cell_of(tid);
    if (cell.tid == tid && cell.state == Cell::State::answered) {
        ++counters.duplicates;
    } else if ((cell.tid == tid && cell.state == Cell::State::given_up) ||
               (cell.tid != tid && static_cast<std::uint32_t>(next_tid - 1U - tid) < issued)) {
        ++counters.late;
    } else {
        ++counters.foreign;
    }
}

Transactions::Transactions(const TransactionLimits& limits, Tid first_tid)
    : impl_(std::make_unique<Impl>(limits, first_tid)) {}
Transactions::~Transactions() = default;
Transactions::Transactions(Transactions&&) noexcept = default;
Transactions& Transactions::operator=(Transactions&&) noexcept = default;

bool Transactions::submit(Request request) {
    if (room() == 0) {
        return false;
    }
    const std::uint32_t target = request.target;
    IBF_CHECK(target < kTargetsMax, "transaction target {} is no dense id", target);
    if (target >= impl_->targets.size()) {
        impl_->targets.resize(target + 1U);
    }
    const std::uint32_t index = impl_->take_slot();
    Slot& slot = impl_->slots[index];
    slot = {};
    slot.used = true;
    slot.timeout = request.timeout > base::Duration::zero() ? request.timeout : impl_->limits.timeout;
    slot.request = std::move(request);
    impl_->push(impl_->targets[target].fresh, index);
    impl_->make_ready(target);
    ++impl_->counters.requests;
    return true;
}

std::size_t Transactions::room() const {
    const std::size_t limit = impl_->limits.queue_max;
    return limit - std::min(limit, impl_->queued);
}

void Transactions::poll_send(base::Instant now, std::vector<WireMad>& out) {
    while (impl_->ready_head != kNone && impl_->deadlines.size() < impl_->window.size()) {
        const std::uint32_t id = impl_->pop_ready();
        Target& target = impl_->targets[id];
        if (!target.waiting()) {
            continue;  // its retry was answered meanwhile
        }
        const std::uint32_t slot = impl_->pop(target.retries.head != kNone ? target.retries : target.fresh);
        impl_->send(slot, now, out.emplace_back());
        impl_->make_ready(id);
    }
}

void Transactions::on_send_error(const WireMad& mad, base::Instant, std::vector<Completion>& out) {
    const base::Result<MadHeader> header = parse_header(mad.bytes);
    const std::uint32_t slot = header ? impl_->find(static_cast<std::uint32_t>(header->tid)) : kNone;
    if (slot == kNone || !impl_->slots[slot].in_flight) {
        return;
    }
    impl_->leave_flight(slot);
    impl_->finish(slot, Cell::State::given_up, Completion::Kind::send_error, out);
}

namespace {

bool answers(const Smp& smp, const Request& request) {
    const bool directed = request.lid == kLidNone;
    return smp.header.mgmt_class == (directed ? MgmtClass::subn_directed : MgmtClass::subn_lid) &&
           smp.header.attribute == request.attribute && smp.header.modifier == request.modifier &&
           (!directed || smp.path == request.path);
}

}  // namespace

bool Transactions::on_receive(const WireMad& mad, base::Instant now, std::vector<Completion>& out) {
    const base::Result<Smp> smp = parse_smp(mad.bytes);
    if (!smp || smp->header.method != static_cast<std::uint8_t>(Method::get_resp)) {
        ++impl_->counters.foreign;
        return false;
    }
    const auto tid = static_cast<std::uint32_t>(smp->header.tid);
    const std::uint32_t index = impl_->find(tid);
    if (index == kNone) {
        impl_->count_unmatched(tid);
        return false;
    }
    Slot& slot = impl_->slots[index];
    if (!answers(*smp, slot.request)) {
        ++impl_->counters.foreign;
        return false;
    }
    const bool in_flight = slot.in_flight;
    in_flight ? impl_->leave_flight(index) : impl_->remove_waiting(index);
    Target& target = impl_->targets[slot.request.target];
    target.last_reply = now;
    target.replied = true;
    target.silent = false;
    // The device lives: its earlier silence was loss. One count for the request, whatever its number of
    // sends.
    if (slot.silent_at) {
        impl_->count_loss(slot.request.target, *slot.silent_at, now);
    }
    impl_->window.on_reply();
    const bool fine = smp->header.status == 0;
    ++(fine ? impl_->counters.replies : impl_->counters.error_statuses);
    const base::Duration round_trip = now - slot.sent_at;
    impl_->finish(index, Cell::State::answered,
                  fine ? Completion::Kind::reply : Completion::Kind::error_status, out);
    Completion& completion = out.back();
    completion.status = smp->header.status;
    completion.data = smp->data;
    completion.return_path = smp->return_path;
    completion.round_trip = round_trip;
    return true;
}

void Transactions::on_time(base::Instant now, std::vector<Completion>& out) {
    while (!impl_->deadlines.empty() && impl_->deadlines.begin()->at <= now) {
        impl_->expire(impl_->deadlines.begin()->slot, now, out);
    }
}

std::optional<base::Instant> Transactions::next_deadline() const {
    if (impl_->deadlines.empty()) {
        return std::nullopt;
    }
    return impl_->deadlines.begin()->at;
}

void Transactions::abandon_if(const std::function<bool(const Request&)>& unwanted) {
    for (std::uint32_t index = 0; index < impl_->slots.size(); ++index) {
        Slot& slot = impl_->slots[index];
        if (!slot.used || !unwanted(slot.request)) {
            continue;
        }
        slot.in_flight ? impl_->leave_flight(index) : impl_->remove_waiting(index);
        if (slot.sends > 0) {
            impl_->cell_of(slot.tid).state = Cell::State::given_up;
        }
        impl_->release(index);
    }
}

void Transactions::abandon_all() {
    impl_->free_slots.clear();
    for (std::size_t i = impl_->slots.size(); i > 0; --i) {
        Slot& slot = impl_->slots[i - 1];
        if (slot.used && slot.sends > 0) {
            impl_->cell_of(slot.tid).state = Cell::State::given_up;
        }
        slot.used = false;
        impl_->free_slots.push_back(static_cast<std::uint32_t>(i - 1));
    }
    for (Target& target : impl_->targets) {
        target =
            Target{.retries = {}, .fresh = {}, .last_reply = target.last_reply, .replied = target.replied};
    }
    impl_->deadlines.clear();
    impl_->ready_head = kNone;
    impl_->queued = 0;
}

std::size_t Transactions::in_flight() const {
    return impl_->deadlines.size();
}
std::size_t Transactions::queued() const {
    return impl_->queued;
}
std::uint32_t Transactions::window() const {
    return impl_->window.size();
}
const TransactionCounters& Transactions::counters() const {
    return impl_->counters;
}

}  // namespace ibf::mad
