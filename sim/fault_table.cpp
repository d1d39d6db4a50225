#include "sim/fault_table.hpp"

#include <algorithm>

namespace ibf::sim {
namespace {

constexpr mad::MadStatus kDefaultStatus = 0x001C;
constexpr base::Duration kReorderWindow = std::chrono::microseconds{100};

}  // namespace

void FaultTable::add(const Fault& fault, std::optional<std::uint32_t> node) {
    standing_.push_back({.fault = fault, .node = node, .left = fault.count});
}

bool FaultTable::matches(const Standing& item, std::uint32_t node, const mad::MadHeader& header) {
    const Fault& fault = item.fault;
    const bool is_set = header.method == static_cast<std::uint8_t>(mad::Method::set);
    if (fault.kind == Fault::Kind::slow_set && !is_set) {
        return false;
    }
    // The attributes that a script names are those of SMPs; other classes use the same numbers for their own.
    const bool is_smp =
        header.mgmt_class == mad::MgmtClass::subn_directed || header.mgmt_class == mad::MgmtClass::subn_lid;
    const bool right_attribute = !fault.attribute || (is_smp && *fault.attribute == header.attribute);
    return (!item.node || *item.node == node) && right_attribute &&
           (!fault.method || static_cast<std::uint8_t>(*fault.method) == header.method);
}

void FaultTable::strike(const Fault& fault, Verdict& verdict, base::Prng& prng) {
    switch (fault.kind) {
        case Fault::Kind::drop:
            // Lost on the way there or on the way back: for a Set the difference is whether it took effect.
            (prng.below(2) == 0 ? verdict.drop_request : verdict.drop_answer) = true;
            break;
        case Fault::Kind::delay: verdict.delay += fault.delay; break;
        case Fault::Kind::duplicate: verdict.duplicate = true; break;
        case Fault::Kind::reorder: {
            const base::Duration window = fault.delay.count() > 0 ? fault.delay : kReorderWindow;
            verdict.delay += base::Duration{
                static_cast<base::Duration::rep>(prng.below(static_cast<std::uint64_t>(window.count())))};
            break;
        }
        case Fault::Kind::wrong_tid: verdict.wrong_tid = true; break;
        case Fault::Kind::error_status:
            verdict.status = fault.number == 0 ? kDefaultStatus : fault.number;
            break;
        case Fault::Kind::slow_set: verdict.slow += fault.delay; break;
        default: break;
    }
}

Verdict FaultTable::judge(std::uint32_t node, const mad::MadHeader& header, base::Prng& prng) {
    Verdict verdict;
    bool spent = false;
    for (Standing& item : standing_) {
        if (!matches(item, node, header) ||
            (item.fault.probability < 1.0 && prng.unit() >= item.fault.probability)) {
            continue;
        }
        strike(item.fault, verdict, prng);
        spent = spent || (item.fault.count > 0 && --item.left == 0);
    }
    if (spent) {
        std::erase_if(standing_, [](const Standing& item) { return item.fault.count > 0 && item.left == 0; });
    }
    return verdict;
}

}  // namespace ibf::sim
