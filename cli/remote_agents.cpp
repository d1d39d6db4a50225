#include "cli/remote_agents.hpp"

#include <algorithm>
#include <condition_variable>
#include <initializer_list>
#include <list>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace ibf::cli {
namespace {

using probe::FlowOrder;
using probe::FlowResult;
using routing::EndPortIndex;

/// The port of the host that has the LID; null: none has.
const probe::PortDescription* port_with(const probe::Description& description, mad::Lid lid) {
    for (const probe::PortDescription& port : description.ports) {
        const unsigned last = port.lid.value() + (1U << port.lmc) - 1U;
        if (port.layer == probe::LinkLayer::infiniband && port.lid.value() != 0 &&
            lid.value() >= port.lid.value() && lid.value() <= last) {
            return &port;
        }
    }
    return nullptr;
}

/// 0 is no limit, and what is left where there is none.
std::uint64_t least_limit(std::initializer_list<std::uint64_t> limits) {
    std::uint64_t least = 0;
    for (const std::uint64_t limit : limits) {
        least = limit != 0 && (least == 0 || limit < least) ? limit : least;
    }
    return least;
}

}  // namespace

/// What the threads of one run() share.
struct RemoteAgents::Batch {
    std::span<const FlowOrder> orders;
    const probe::TestSpec& spec;
    const std::function<void(std::size_t)>& done;
    std::vector<std::pair<std::string, std::string>> hosts;  ///< of each order; empty: not known
    std::vector<FlowResult> results;

    std::mutex mutex;  ///< of the rest, and of calls of `done`
    std::condition_variable freed;
    std::list<std::size_t> waiting;
    std::set<std::string> in_use;
    std::size_t over = 0;

    /// The first whose hosts are free, which are taken with it; null while none is and some wait.
    [[nodiscard]] std::optional<std::size_t> take() {
        for (auto next = waiting.begin(); next != waiting.end(); ++next) {
            const auto& [from, to] = hosts[*next];
            if (!in_use.contains(from) && !in_use.contains(to)) {
                in_use.insert(from);
                in_use.insert(to);
                const std::size_t taken = *next;
                waiting.erase(next);
                return taken;
            }
        }
        return std::nullopt;
    }
};

RemoteAgents::RemoteAgents(const routing::Topology& topology, const routing::Routes& routes,
                           const AgentBook& book, Connect connect, unsigned parallel)
    : topology_(topology), routes_(routes), book_(book), connect_(std::move(connect)), parallel_(parallel) {}

base::Result<RemoteAgents::End> RemoteAgents::open_end(EndPortIndex index, FlowResult& result) {
    const routing::TopologyEndPort& end = topology_.end_ports[index.value()];
    const auto where = book_.find(end);
    if (!where) {
        return tl::unexpected(where.error());
    }
    const std::string address = where->text();
    const auto known = [&]() -> std::optional<base::Error> {
        const std::lock_guard lock(mutex_);
        const auto found = silent_.find(address);
        return found == silent_.end() ? std::nullopt : std::optional(found->second);
    }();
    auto endpoint = known ? base::Result<std::unique_ptr<probe::RemoteEndpoint>>{tl::unexpected(*known)}
                          : connect_(*where);
    if (!endpoint) {
        if (endpoint.error().kind == base::ErrorKind::unavailable) {
            result.silent_agent = index;
            const std::lock_guard lock(mutex_);
            silent_.emplace(address, endpoint.error());
        }
        return tl::unexpected(endpoint.error());
    }
    const auto description = (*endpoint)->describe();
    if (!description) {
        return tl::unexpected(description.error());
    }
    const probe::PortDescription* port = port_with(*description, end.lids.base);
    if (port == nullptr) {
        return base::fail(
            base::ErrorKind::not_found,
            fmt::format("the agent at {} has no InfiniBand port with LID {}: is it the host of {}? "
                        "--agents says where each host's agent is",
                        address, end.lids.base, end.name));
    }
    End out{std::move(*endpoint), {}, description->limits.bits_per_second};
    out.way.device = port->device;
    out.way.port = port->port;
    return out;
}

FlowResult RemoteAgents::run_one(const FlowOrder& order, const probe::TestSpec& spec, std::stop_token stop) {
    FlowResult result;
    auto from = open_end(order.flow.from, result);
    auto to = from ? open_end(order.flow.to, result) : base::Result<End>{tl::unexpected(from.error())};
    if (!to) {
        result.text = to.error().message;
        return result;
    }
    from->way.dlid = order.flow.lid;
    from->way.sl = order.sl;
    const routing::TopologyEndPort& target = topology_.end_ports[order.flow.to.value()];
    to->way.dlid = topology_.end_ports[order.flow.from.value()].lids.base;
    to->way.sl = mad::Sl{};
    if (target.switch_index != routing::kNoIndex) {
        to->way.sl = mad::Sl{routes_.sl(routing::SwitchIndex{target.switch_index}, *to->way.dlid)};
    }
    probe::TestSpec own = spec;
    own.bits_per_second = least_limit({spec.bits_per_second, from->bits_per_second, to->bits_per_second});
    result.bits_per_second = own.bits_per_second == spec.bits_per_second ? 0 : own.bits_per_second;
    auto outcome = probe::run_pair(
        *from->endpoint, *to->endpoint, own, from->way, to->way, [](const probe::Progress&) {},
        std::move(stop));
    if (!outcome) {
        result.text = outcome.error().message;
        return result;
    }
    result.ran = true;
    result.initiator = std::move(outcome->initiator);
    result.target = std::move(outcome->target);
    return result;
}

void RemoteAgents::work(Batch& batch, std::stop_token stop) {
    std::unique_lock lock(batch.mutex);
    while (!batch.waiting.empty()) {
        const auto taken = batch.take();
        if (!taken) {
            batch.freed.wait(lock);
            continue;
        }
        FlowResult& result = batch.results[*taken];
        lock.unlock();
        if (stop.stop_requested()) {
            result.text = "interrupted before it began";
        } else {
            result = run_one(batch.orders[*taken], batch.spec, stop);
        }
        lock.lock();
        batch.in_use.erase(batch.hosts[*taken].first);
        batch.in_use.erase(batch.hosts[*taken].second);
        batch.done(++batch.over);
        batch.freed.notify_all();
    }
}

std::vector<FlowResult> RemoteAgents::run(std::span<const FlowOrder> orders, const probe::TestSpec& spec,
                                          const std::function<void(std::size_t)>& done,
                                          std::stop_token stop) {
    Batch batch{orders, spec, done, {}, std::vector<FlowResult>(orders.size()), {}, {}, {}, {}, 0};
    for (std::size_t i = 0; i < orders.size(); ++i) {
        const auto host_of = [&](EndPortIndex index) {
            const auto where = book_.find(topology_.end_ports[index.value()]);
            return where ? where->text() : fmt::format("end port {}", index.value());
        };
        batch.hosts.emplace_back(host_of(orders[i].flow.from), host_of(orders[i].flow.to));
        batch.waiting.push_back(i);
    }
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < std::min<std::size_t>(parallel_, orders.size()); ++i) {
        threads.emplace_back([&] { work(batch, stop); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    return std::move(batch.results);
}

}  // namespace ibf::cli
