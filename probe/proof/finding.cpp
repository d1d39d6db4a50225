#include "probe/proof/finding.hpp"

#include <algorithm>

namespace ibf::probe {

std::string_view to_string(Finding::Kind kind) {
    switch (kind) {
        case Finding::Kind::wrong_entry: return "wrong-entry";
        case Finding::Kind::miswired_cable: return "miswired-cable";
        case Finding::Kind::dead_link: return "dead-link";
        case Finding::Kind::port_errors: return "port-errors";
        case Finding::Kind::throttled_link: return "throttled-link";
        case Finding::Kind::dead_agent: return "dead-agent";
        case Finding::Kind::ended_early: return "ended-early";
        case Finding::Kind::dead_device: return "dead-device";
        case Finding::Kind::not_read: return "not-read";
        case Finding::Kind::corrupt_data: return "corrupt-data";
        case Finding::Kind::lost_traffic: return "lost-traffic";
    }
    return "unknown";
}

void add_finding(std::vector<Finding>& findings, Finding finding) {
    const bool known = std::any_of(findings.begin(), findings.end(), [&](const Finding& other) {
        return other.kind == finding.kind && other.at == finding.at && other.lid == finding.lid;
    });
    if (!known) {
        findings.push_back(std::move(finding));
    }
}

}  // namespace ibf::probe
