#include "daemon/sm/link_memory.hpp"

#include <utility>

namespace ibf::sm {

HoldDown::Subject subject_of(fabric::PortId port) {
    return {port.node.value(), port.port.value()};
}

void LinkMemory::note_speaker(fabric::PortId port, fabric::PortId speaker, const HoldDown& gates) {
    if (!gates.knows(subject_of(port))) {
        return;  // thousands in one look: the gates are taken, and nothing is held against it
    }
    speakers_.insert_or_assign(port, speaker);
    if (speakers_.size() > HoldDown::kSubjectsMax) {
        std::erase_if(speakers_, [&](const auto& item) { return !gates.knows(subject_of(item.first)); });
    }
}

bool LinkMemory::speaks_for_its_link(fabric::PortId port) const {
    const auto found = speakers_.find(port);
    return found == speakers_.end() || found->second == port;
}

bool LinkMemory::note_held(fabric::PortId port, mad::PortState state) {
    const auto [seen, first] = held_.try_emplace(port, state);
    return !first && std::exchange(seen->second, state) != state;
}

void LinkMemory::forget_held(mad::Guid node) {
    held_.erase(held_.lower_bound({node, mad::PortNum{0}}), held_.upper_bound({node, mad::PortNum{0xFF}}));
}

}  // namespace ibf::sm
