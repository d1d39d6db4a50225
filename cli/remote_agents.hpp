// DOC: the probe's agents on the hosts, driven over TLS.
//
// Each flow takes two connections for as long as it lasts: to the sender's agent and to the receiver's. An
// agent does one test at a time, so flows whose hosts are in use wait, and others go first; `parallel` bounds
// how many are under way. An agent that cannot be reached is said once to be silent, and what else would need
// it does not wait for it again. A flow is held to
// the rates that its agents allow.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cli/agent_book.hpp"
#include "probe/agent/remote_endpoint.hpp"
#include "probe/conduct/agents.hpp"
#include "routing/routes.hpp"

namespace ibf::cli {

class RemoteAgents final : public probe::Agents {
public:
    /// Errors as of probe::connect_agent.
    using Connect = std::function<base::Result<std::unique_ptr<probe::RemoteEndpoint>>(const net::HostPort&)>;

    /// All outlive this.
    RemoteAgents(const routing::Topology& topology, const routing::Routes& routes, const AgentBook& book,
                 Connect connect, unsigned parallel);

    [[nodiscard]] std::vector<probe::FlowResult> run(std::span<const probe::FlowOrder> orders,
                                                     const probe::TestSpec& spec,
                                                     const std::function<void(std::size_t)>& done,
                                                     std::stop_token stop) override;

private:
    struct Batch;
    void work(Batch& batch, std::stop_token stop);
    [[nodiscard]] probe::FlowResult run_one(const probe::FlowOrder& order, const probe::TestSpec& spec,
                                            std::stop_token stop);
    /// An end of a flow, connected, with the port of the host that it is.
    struct End {
        std::unique_ptr<probe::RemoteEndpoint> endpoint;
        probe::Way way;
        std::uint64_t bits_per_second = 0;  ///< the agent allows no more; 0: no limit
    };
    [[nodiscard]] base::Result<End> open_end(routing::EndPortIndex index, probe::FlowResult& result);

    const routing::Topology& topology_;
    const routing::Routes& routes_;
    const AgentBook& book_;
    const Connect connect_;
    const unsigned parallel_;
    std::mutex mutex_;                           ///< of the next
    std::map<std::string, base::Error> silent_;  ///< by address: why it cannot be reached
};

}  // namespace ibf::cli
