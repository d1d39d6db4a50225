#include "probe/flow.hpp"

#include "base/check.hpp"

namespace ibf::probe {

std::vector<std::uint32_t> channels_of(const routing::Topology& topology, const routing::TableView& view,
                                       const Flow& flow) {
    std::vector<std::uint32_t> channels;
    std::uint32_t at = topology.end_ports[flow.from.value()].switch_index;
    const std::uint32_t target = topology.end_ports[flow.to.value()].switch_index;
    while (at != target) {
        const routing::Exit& exit = view.exit(at, view.port(at, flow.lid.value()));
        IBF_CHECK(exit.next != routing::kNoNext && channels.size() < view.switch_count(),
                  "a flow that does not arrive");
        channels.push_back(view.first_channel(at) + exit.slot);
        at = exit.next;
    }
    return channels;
}

}  // namespace ibf::probe
