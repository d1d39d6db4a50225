#include "daemon/shell/route_worker.hpp"

#include <algorithm>

#include "base/heap.hpp"
#include "base/log.hpp"

namespace ibf::shell {
namespace {

core::RoutesReady answer(const sm::ComputeRoutes& job) {
    return {job.epoch, sm::carry_out(job)};
}

core::RebalanceReady answer(const sm::Rebalance& job) {
    return {job.question, routing::rebalance_step(job.view->topology, job.in_force->routes, job.plan,
                                                  job.options, job.limits)};
}

/// What the tables of a change may take at once, beside those in force.
std::size_t next_bytes(const core::RoutesReady& ready) {
    std::size_t bytes = 0;
    if (ready.result) {
        for (const auto& row : ready.result->routes.rows) {
            bytes += row ? row->size() : 0;
        }
    }
    return bytes;
}

std::size_t next_bytes(const core::RebalanceReady&) {
    return 0;  // nobody waits for it
}

}  // namespace

template <class Job, class Ready>
JobWorker<Job, Ready>::JobWorker(std::function<void(Ready)> done) : jobs_(16), done_(std::move(done)) {
    thread_ = std::thread([this] {
        std::vector<Job> batch;
        std::size_t had_ready = 0;
        while (jobs_.wait(batch)) {
            Ready ready = answer(batch.back());
            const std::size_t bytes = next_bytes(ready);
            done_(std::move(ready));
            batch.clear();
            if (bytes > had_ready) {  // else it is there: tables of before that were freed
                base::have_ready(bytes);
                had_ready = bytes;
            }
        }
    });
}

template <class Job, class Ready>
JobWorker<Job, Ready>::~JobWorker() {
    jobs_.close();
    thread_.join();
}

template <class Job, class Ready>
void JobWorker<Job, Ready>::post(Job job) {
    if (!jobs_.push(std::move(job))) {
        base::log(base::LogLevel::error, "the routing thread does not keep up: a job was refused");
    }
}

template class JobWorker<sm::ComputeRoutes, core::RoutesReady>;
template class JobWorker<sm::Rebalance, core::RebalanceReady>;

}  // namespace ibf::shell
