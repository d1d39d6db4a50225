#include "daemon/sm/lane_survey.hpp"

#include <algorithm>
#include <utility>

#include "mad/codec.hpp"

namespace ibf::sm {
namespace {

using fabric::LaneTables;
using mad::Completion;

/// A switch may take long to fill all its mappings (C37); asking again would be the second of two at once.
constexpr base::Duration kSetTimeout = std::chrono::seconds{2};
constexpr std::uint16_t kBusyMost = 1000;  ///< at kPace: four seconds
constexpr unsigned kSitOutMost = 64;       ///< sweeps

/// Where this agent is asked.
const mad::DrPath& path_to(const fabric::Fabric& fabric, fabric::PortRef at) {
    const fabric::Node& node = fabric.nodes[at.node];
    return node.is_switch() ? node.path : node.ports[at.port.value()].path;
}

/// How many mappings a port is asked for.
std::size_t mappings_of(const LaneDevice& device) {
    return device.has_maps ? device.ports.size() : 0;
}

}  // namespace

// --- what there is to read
// ---------------------------------------------------------------------------------------

void LaneSurvey::follow(const fabric::Fabric& fabric) {
    std::set<mad::Guid> present;
    for (std::uint32_t n = 0; n < fabric.nodes.size(); ++n) {
        const fabric::Node& node = fabric.nodes[n];
        for (auto [p, end] = fabric::addressed_ports(node); p < end; ++p) {
            const mad::PortNum port{static_cast<std::uint8_t>(p)};
            if (node.ports[p].known && fabric::lids_of(node, port).base != mad::kLidNone) {
                const mad::Guid owner = fabric::lid_owner(node, port);
                present.insert(owner);
                follow_device(owner, lane_device(fabric, {n, port}));
                devices_.at(owner).path = path_to(fabric, {n, port});
            }
        }
    }
    std::vector<mad::Guid> gone;
    for (const auto& [owner, device] : devices_) {
        if (!present.contains(owner)) {
            gone.push_back(owner);
        }
    }
    for (const mad::Guid owner : gone) {
        forget(owner);
    }
    std::erase_if(pool_, [](const Tables& tables) { return tables.use_count() == 1; });
    news_ = true;
}

void LaneSurvey::follow_device(mad::Guid owner, LaneDevice lanes) {
    const auto held = devices_.find(owner);
    if (held != devices_.end() && held->second.lanes.ports.size() != lanes.ports.size()) {
        forget(owner);  // another device under an old name
    }
    Device& device = devices_[owner];
    const bool fresh = device.lanes.ports.empty();
    bool passed_now = false;  // it holds what it held, but packets pass where none did
    std::bitset<256> other;
    for (std::size_t p = 0; p < lanes.ports.size(); ++p) {
        const LanePort& now = lanes.ports[p];
        const LanePort before = fresh ? LanePort{} : device.lanes.ports[p];
        other.set(p, fresh || !now.same_lanes(before));
        passed_now = passed_now || (now.sends && !before.sends) || (now.receives && !before.receives);
    }
    lanes.optimised = lanes.optimised && !row_by_row_.contains(owner);
    device.lanes = std::move(lanes);
    const bool due = device.silent ? --device.sits_out == 0 : passed_now;
    if (other.none() && !due) {
        return;
    }
    reread(device, other);
    device.silent = false;
    if (device.work) {
        device.work->planned = false;
        device.work->writes.clear();
    } else {
        waiting_.insert(owner);
    }
}

/// What these ports held counts no longer.
void LaneSurvey::reread(Device& device, const std::bitset<256>& ports) {
    device.unread |= ports;
    if (device.tables && ports.any()) {
        LaneTables rest = *device.tables;
        for (std::size_t p = 0; p < rest.ports; ++p) {
            if (ports.test(p)) {
                rest.forget(p);
            }
        }
        keep(device, rest);
    }
    if (device.work && ports.test(device.work->exit)) {
        device.work->step = 0;
    }
}

void LaneSurvey::forget(mad::Guid owner) {
    if (devices_.erase(owner) == 0) {
        return;
    }
    waiting_.erase(owner);
    for (Slot& slot : slots_) {
        slot.device = slot.device == owner ? mad::Guid{} : slot.device;
    }
    news_ = true;
}

// --- asking
// ------------------------------------------------------------------------------------------------------

bool LaneSurvey::busy() const {
    return !waiting_.empty() || std::any_of(slots_.begin(), slots_.end(),
                                            [](const Slot& slot) { return slot.device != mad::Guid{}; });
}

std::optional<base::Instant> LaneSurvey::due() const {
    const bool can_ask = std::any_of(slots_.begin(), slots_.end(), [this](const Slot& slot) {
        return !slot.open && (slot.device != mad::Guid{} || !waiting_.empty());
    });
    return can_ask ? std::optional{not_before_} : std::nullopt;
}

void LaneSurvey::ask(std::uint16_t epoch, base::Instant now, std::vector<mad::Request>& out) {
    if (now < not_before_) {
        return;
    }
    not_before_ = now + kPace;
    for (std::uint32_t index = 0; index < slots_.size(); ++index) {
        Slot& slot = slots_[index];
        auto request = slot.open ? std::nullopt : next_of(slot);
        if (!request) {
            continue;
        }
        const Device& device = devices_.at(slot.device);
        slot.open = true;
        request->tag = Tag{Ask::lanes, 0, epoch, index}.pack();
        request->target = device_target(device.lanes.at.node);
        request->path = device.path;
        out.push_back(std::move(*request));
    }
    tell_silent();
}

/// The next question to the slot's device, or to the next one when that has none left.
std::optional<mad::Request> LaneSurvey::next_of(Slot& slot) {
    while (slot.device != mad::Guid{} || take_device(slot)) {
        Device& device = devices_.at(slot.device);
        if (auto request = question(device)) {
            return request;
        }
        finish(device);
        slot.device = {};
    }
    return std::nullopt;
}

bool LaneSurvey::take_device(Slot& slot) {
    if (waiting_.empty()) {
        return false;
    }
    slot = Slot{*waiting_.begin(), false, false};
    waiting_.erase(waiting_.begin());
    Device& device = devices_.at(slot.device);
    device.work = std::make_unique<Work>();
    device.work->tables = device.tables ? *device.tables : LaneTables::of_ports(device.lanes.ports.size());
    return true;
}

/// Reading first, port by port, then what is to be mended.
std::optional<mad::Request> LaneSurvey::question(Device& device) {
    Work& work = *device.work;
    while (device.unread.any()) {
        if (work.step == 0) {
            work.exit = 0;
            while (!device.unread.test(work.exit)) {
                ++work.exit;
            }
            work.tables.forget(work.exit);
        }
        if (auto request = next_of_port(device)) {
            return request;
        }
        device.unread.reset(work.exit);
        work.step = 0;
    }
    if (!work.planned) {
        start_writing(device);
    }
    if (work.writes.empty()) {
        return std::nullopt;
    }
    const LaneWrite& write = work.writes.front();
    mad::Request request;
    request.method = mad::Method::set;
    request.attribute = write.attribute;
    request.modifier = write.modifier;
    request.data = write.data;
    request.timeout = kSetTimeout;
    return request;
}

/// The next question about the port being read. Blocks that it cannot hold are not asked for: they are empty.
std::optional<mad::Request> LaneSurvey::next_of_port(Device& device) {
    Work& work = *device.work;
    const std::size_t mappings = mappings_of(device.lanes);
    mad::Request request;
    if (work.step < mappings) {
        request.attribute = mad::Attribute::sl2vl_table;
        request.modifier = map_modifier(device.lanes, work.step, work.exit);
        return request;
    }
    for (; work.step < mappings + fabric::kArbitrationBlocks; ++work.step) {
        const std::size_t block = work.step - mappings + 1;
        if (device.lanes.ports[work.exit].has_arbitration_block(block)) {
            request.attribute = mad::Attribute::vl_arbitration;
            request.modifier = arbitration_modifier(device.lanes, work.exit, block);
            return request;
        }
        work.tables.set_arbitration_block(work.exit, block, {});
    }
    return std::nullopt;
}

/// All is read: readers may have it, as it is, and what would lose packets is to be written.
void LaneSurvey::start_writing(Device& device) {
    Work& work = *device.work;
    keep(device, work.tables);
    LanePlan plan = plan_lanes(device.lanes, work.tables);
    work.planned = true;
    work.writes = std::move(plan.writes);
    if (!plan.wrong.empty()) {  // else it was mended before a sweep came between
        work.wrong = std::move(plan.wrong);
    }
}

void LaneSurvey::finish(Device& device) {
    const Work& work = *device.work;
    const auto tell = [&](LaneFinding::Kind kind, const std::string& outcome) {
        findings_.push_back(
            {kind, {device.lanes.node}, device.lanes.at.port, fmt::format("{}: {}", work.wrong, outcome)});
    };
    if (work.written > 0) {
        keep(device, work.tables);
    }
    if (work.refused) {
        tell(LaneFinding::Kind::refused, fmt::format("a Set was refused with status 0x{:04x} ({})",
                                                     *work.refused, mad::status_text(*work.refused)));
    } else if (work.written > 0) {
        tell(LaneFinding::Kind::mended,
             fmt::format("mended by {} Set{}", work.written, work.written == 1 ? "" : "s"));
    }
    device.work.reset();
    device.silences = 0;
}

void LaneSurvey::keep(Device& device, const LaneTables& tables) {
    device.tables = *pool_.insert(std::make_shared<const LaneTables>(tables.canonical())).first;
    news_ = true;
}

// --- answers
// -----------------------------------------------------------------------------------------------------

void LaneSurvey::on(const Completion& completion, Validity validity) {
    Slot& slot = slots_.at(Tag::unpack(completion.tag).index);
    slot.open = false;
    const bool silent = completion.kind == Completion::Kind::timeout;  // all the while, sweep or not
    if (slot.device == mad::Guid{} || (validity == Validity::overtaken && !silent) ||
        completion.kind == Completion::Kind::send_error) {
        return;  // nobody's any more, or asked again
    }
    Device& device = devices_.at(slot.device);
    switch (completion.kind) {
        case Completion::Kind::reply:
            slot.refused = false;
            slot.busy = 0;
            return take(device, completion);
        case Completion::Kind::timeout:
            if (completion.request.path != device.path) {
                return;  // the way broke, not the device: asked again on the one that a sweep found since
            }
            if (device.silences == 0) {
                fell_silent_.push_back(slot.device);
            }
            slot = {};
            leave_out(device);
            return tell_silent();
        default:
            // Busy is no word on the question, as after a large Set (C37): asked again, some seconds long.
            if ((completion.status & mad::kStatusBusy) != 0 && slot.busy < kBusyMost) {
                ++slot.busy;
                return;
            }
            if (std::exchange(slot.refused, true)) {
                slot.refused = false;
                pass_over(slot.device, completion);
            }
    }
}

/// Until its lanes change, or some sweeps have set the fabric up: a live device may have been out of reach.
/// Each time in a row it sits out twice as many, since one that never answers about lanes is asked in vain.
void LaneSurvey::leave_out(Device& device) {
    device.silent = true;
    device.sits_out = std::min(1U << std::min(device.silences, 16U), kSitOutMost);
    ++device.silences;
    device.work.reset();
    device.tables.reset();
    for (std::size_t p = 0; p < device.lanes.ports.size(); ++p) {
        device.unread.set(p);
    }
    news_ = true;
}

void LaneSurvey::take(Device& device, const Completion& completion) {
    Work& work = *device.work;
    if (completion.request.method == mad::Method::set) {
        if (!work.writes.empty()) {
            apply(work.writes.front(), device.lanes, work.tables);
            work.writes.erase(work.writes.begin());
            ++work.written;
        }
        return;
    }
    const std::size_t mappings = mappings_of(device.lanes);
    if (work.step < mappings) {
        work.tables.set_map(work.step, work.exit, mad::decode_sl2vl(completion.data));
    } else {
        work.tables.set_arbitration_block(work.exit, work.step - mappings + 1,
                                          mad::decode_vl_arb(completion.data));
    }
    ++work.step;
}

/// Refused twice. Of a question that is the word on all further ones of its kind about this port; of an
/// optimised Set, on all of these: what is left is planned again, row by row; of another Set, on all of its
/// kind.
void LaneSurvey::pass_over(mad::Guid owner, const Completion& completion) {
    Device& device = devices_.at(owner);
    Work& work = *device.work;
    if (completion.request.method == mad::Method::set) {
        if (!work.writes.empty() && work.writes.front().optimised()) {
            go_row_by_row(owner);
            device.lanes.optimised = false;
            work.writes = plan_lanes(device.lanes, work.tables).writes;
            return;
        }
        work.refused = completion.status;
        std::erase_if(work.writes, [&](const LaneWrite& write) {
            return write.attribute == completion.request.attribute;
        });
        return;
    }
    const std::size_t mappings = mappings_of(device.lanes);
    work.step = work.step < mappings ? mappings : mappings + fabric::kArbitrationBlocks;
}

/// One word about all of them, once a round.
void LaneSurvey::tell_silent() {
    if (busy()) {
        return;
    }
    LaneFinding finding{LaneFinding::Kind::unread, {}, {}, {}};
    for (const mad::Guid owner : std::exchange(fell_silent_, {})) {
        if (const auto device = devices_.find(owner); device != devices_.end()) {
            finding.nodes.push_back(device->second.lanes.node);
        }
    }
    if (!finding.nodes.empty()) {
        finding.text = "no answer about lane tables: left out, and asked again after later sweeps";
        findings_.push_back(std::move(finding));
    }
}

std::shared_ptr<const fabric::Lanes> LaneSurvey::news(base::Instant now) {
    if (!news_ || (busy() && shown_at_ && now < *shown_at_ + kShowEvery)) {
        return nullptr;
    }
    news_ = false;
    shown_at_ = now;
    auto lanes = std::make_shared<fabric::Lanes>();
    lanes->devices = devices_.size();
    for (const auto& [owner, device] : devices_) {
        lanes->left_out += device.silent ? 1U : 0U;
        lanes->read += device.unread.none() ? 1U : 0U;
        if (device.tables) {
            lanes->tables.emplace_hint(lanes->tables.end(), owner, device.tables);
        }
    }
    return lanes;
}

}  // namespace ibf::sm
