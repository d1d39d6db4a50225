#include "sim/agent_table.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ibf::sim {
namespace {

constexpr std::uint8_t kSubnLid = 0x01;
constexpr std::uint8_t kDeviceAdm = 0x10;
constexpr std::uint8_t kBoardInformation = 0x12;
constexpr std::uint8_t kVendorFirst = 0x30;  // the range that carries an OUI
constexpr std::uint8_t kVendorLast = 0x4F;
constexpr std::uint8_t kClassEnd = 0x50;
constexpr std::uint8_t kVersionEnd = 8;
constexpr std::uint8_t kResponseBit = 0x80;
constexpr std::size_t kOuiAt = 37;  // behind the MAD and RMPP headers and a reserved byte

bool is_vendor(std::uint8_t mgmt_class) {
    return mgmt_class >= kVendorFirst && mgmt_class <= kVendorLast;
}

std::string contradiction(const AgentRequest& request) {
    if (request.rmpp_version > 1) {
        return fmt::format("RMPP version {} does not exist", request.rmpp_version);
    }
    if (request.mgmt_class == 0) {
        return request.user_rmpp ? "user-space RMPP needs a class" : "";
    }
    if (request.class_version >= kVersionEnd) {
        return fmt::format("class version {} is above 7", request.class_version);
    }
    if (request.mgmt_class >= kClassEnd && request.mgmt_class != kSubnDirected) {
        return fmt::format("class 0x{:02x} cannot be registered", request.mgmt_class);
    }
    if (is_vendor(request.mgmt_class) && request.oui == 0) {
        return fmt::format("vendor class 0x{:02x} needs an OUI", request.mgmt_class);
    }
    if (request.rmpp_version != 0 && !has_rmpp_header(request.mgmt_class)) {
        return fmt::format("class 0x{:02x} has no RMPP", request.mgmt_class);
    }
    return {};
}

bool same_kind(const AgentRequest& a, const AgentRequest& b) {
    return a.mgmt_class == b.mgmt_class && a.class_version == b.class_version &&
           (!is_vendor(a.mgmt_class) || a.oui == b.oui);
}

std::uint32_t read_oui(const mad::MadBuffer& bytes) {
    return std::uint32_t{bytes[kOuiAt]} << 16U | std::uint32_t{bytes[kOuiAt + 1]} << 8U | bytes[kOuiAt + 2];
}

}  // namespace

bool is_response(const mad::MadBuffer& bytes) {
    return (bytes[3] & kResponseBit) != 0 || bytes[3] == static_cast<std::uint8_t>(mad::Method::trap_repress);
}

bool has_rmpp_header(std::uint8_t mgmt_class) {
    return mgmt_class == kSubnAdm || mgmt_class == kDeviceAdm || mgmt_class == kBoardInformation ||
           is_vendor(mgmt_class);
}

base::Result<AgentId> AgentTable::add(const AgentRequest& request) {
    if (const std::string wrong = contradiction(request); !wrong.empty()) {
        return base::fail(base::ErrorKind::usage, wrong);
    }
    if (request.mgmt_class != 0) {
        for (const auto& [id, other] : agents_) {
            const std::bitset<128> taken = other.methods & request.methods;
            if (same_kind(other, request) && taken.any()) {
                return base::fail(
                    base::ErrorKind::refused,
                    fmt::format("class 0x{:02x} version {}: another program at this port has "
                                "registered the same methods: does another subnet manager run here?",
                                request.mgmt_class, request.class_version));
            }
        }
    }
    agents_.emplace(next_, request);
    return next_++;
}

void AgentTable::remove(AgentId agent) {
    agents_.erase(agent);
}

const AgentRequest* AgentTable::find(AgentId agent) const {
    const auto found = agents_.find(agent);
    return found == agents_.end() ? nullptr : &found->second;
}

std::optional<AgentId> AgentTable::receiver(const mad::MadBuffer& bytes) const {
    if (is_response(bytes)) {
        AgentId upper = 0;
        for (std::size_t at = 8; at < 12; ++at) {
            upper = upper << 8U | bytes[at];
        }
        return agents_.contains(upper) ? std::optional{upper} : std::nullopt;
    }
    AgentRequest wanted;
    wanted.mgmt_class = bytes[1];
    wanted.class_version = bytes[2];
    wanted.oui = is_vendor(bytes[1]) ? read_oui(bytes) : 0;
    for (const auto& [id, agent] : agents_) {
        if (agent.mgmt_class != 0 && same_kind(agent, wanted) && agent.methods.test(bytes[3])) {
            return id;
        }
    }
    return std::nullopt;
}

}  // namespace ibf::sim
