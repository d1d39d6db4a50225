#include "probe/tool/ports.hpp"

namespace ibf::probe::tool {

PortDescription told(const verbs::PortDescription& port) {
    PortDescription out;
    out.device = port.device;
    out.port = port.port;
    out.layer = port.layer;
    out.state = port.state;
    out.lid = port.lid;
    out.lmc = port.lmc;
    out.mtu_bytes = port.mtu_bytes;
    out.bits_per_second = port.bits_per_second;
    out.problem = port.problem;
    for (const verbs::GidEntry& entry : port.gids) {
        out.gids.push_back({entry.index, verbs::to_text(entry.gid), entry.type});
    }
    return out;
}

base::Result<std::vector<PortDescription>> describe_ports() {
    return verbs::describe().map([](const std::vector<verbs::PortDescription>& ports) {
        std::vector<PortDescription> out;
        for (const verbs::PortDescription& port : ports) {
            out.push_back(told(port));
        }
        return out;
    });
}

}  // namespace ibf::probe::tool
