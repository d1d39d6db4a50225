#include "routing/links.hpp"

namespace ibf::routing {

Links::Links(const Graph& graph) : by_port_(std::size_t{graph.switch_count()} * 256, kNoIndex) {
    for (std::uint32_t at = 0; at < graph.switch_count(); ++at) {
        first_.push_back(count());
        for (const PortGroup& group : graph.groups_of(at)) {
            for (const std::uint8_t port : graph.ports_of(group)) {
                by_port_[std::size_t{at} * 256 + port] = count();
                from_.push_back(at);
                peer_.push_back(group.peer);
            }
        }
    }
    first_.push_back(count());
    first_turn_.push_back(0);
    for (const std::uint32_t peer : peer_) {
        first_turn_.push_back(first_turn_.back() + first_[peer + 1] - first_[peer]);
    }
}

}  // namespace ibf::routing
