// DOC: where the probe's agents are: from end ports to HOST:PORT.
//
// By default a host is called by the first word of its node description ("host-01 mlx5_0" is host-01), as
// Linux sets it. A file says otherwise where that is not so: one line for each, NAME-or-GUID and then
// HOST[:PORT]; '#' begins a comment. A GUID is the port's or the node's and comes before a name.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "net/address.hpp"
#include "routing/topology.hpp"

namespace ibf::cli {

class AgentBook {
public:
    explicit AgentBook(std::uint16_t default_port) : default_port_(default_port) {}

    /// Errors: usage, "origin:line: what is wrong".
    [[nodiscard]] base::Result<void> add(std::string_view text, const std::string& origin);
    /// Errors: usage: it has no name that could be a host's.
    [[nodiscard]] base::Result<net::HostPort> find(const routing::TopologyEndPort& end) const;

private:
    std::uint16_t default_port_;
    std::map<std::string, net::HostPort, std::less<>> by_name_;
    std::map<mad::Guid, net::HostPort> by_guid_;
};

}  // namespace ibf::cli
