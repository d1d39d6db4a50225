// DOC: who at a port asked for which MADs: the registrations that Linux's ib_mad keeps.
//
// An agent is a program's interest in a management class. It gets the responses to its own requests, known by
// the upper half of the transaction ID, which is the agent's number; and the requests of those methods that
// it registered for, of its class and version (vendor classes 0x30-0x4F: and OUI). A method that is taken
// can't be taken again: that is how two subnet managers on one port are kept apart. Class 0 registers for
// nothing and may only ask. Linux: drivers/infiniband/core/mad.c, ib_register_mad_agent and find_mad_agent.
#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <optional>

#include "base/result.hpp"
#include "mad/smp.hpp"
#include "mad/transport.hpp"

namespace ibf::sim {

// Management classes (IBA 13.4.4) as octets: here they come unchecked from a client.
inline constexpr auto kSubnAdm = static_cast<std::uint8_t>(mad::MgmtClass::subn_adm);
inline constexpr auto kSubnDirected = static_cast<std::uint8_t>(mad::MgmtClass::subn_directed);

/// The upper half of the transaction IDs of an agent's requests. Never 0, never used again.
using AgentId = std::uint32_t;

struct AgentRequest {
    std::uint8_t mgmt_class = 0;
    std::uint8_t class_version = 0;
    std::uint8_t rmpp_version = 0;  ///< 0 or 1
    bool user_rmpp = false;         ///< the program does RMPP itself, though it says version 1
    std::uint32_t oui = 0;          ///< 24 bits; vendor classes 0x30-0x4F
    std::bitset<128> methods;       ///< requests that it wants
};

class AgentTable {
public:
    /// Errors: usage where the request contradicts itself, refused where a method is taken.
    [[nodiscard]] base::Result<AgentId> add(const AgentRequest& request);
    void remove(AgentId agent);

    [[nodiscard]] const AgentRequest* find(AgentId agent) const;
    /// Whom an incoming MAD is for; empty: nobody.
    [[nodiscard]] std::optional<AgentId> receiver(const mad::MadBuffer& bytes) const;
    [[nodiscard]] std::size_t size() const { return agents_.size(); }

private:
    std::map<AgentId, AgentRequest> agents_;
    AgentId next_ = 1;
};

/// ib_response_mad(): the response bit, or TrapRepress, which answers a trap.
[[nodiscard]] bool is_response(const mad::MadBuffer& bytes);
/// Classes that have an RMPP header: subnet administration, device administration, BIS, vendor 0x30-0x4F.
[[nodiscard]] bool has_rmpp_header(std::uint8_t mgmt_class);
/// Whether the kernel itself segments and reassembles for the agent.
[[nodiscard]] inline bool kernel_rmpp(const AgentRequest& agent) {
    return agent.rmpp_version != 0 && !agent.user_rmpp;
}

}  // namespace ibf::sim
