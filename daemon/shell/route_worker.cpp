#include "daemon/shell/route_worker.hpp"

#include "base/log.hpp"

namespace ibf::shell {
namespace {

core::RoutesReady answer(const sm::ComputeRoutes& job) {
    return {job.epoch, routing::route(job.view->topology, job.previous.get(), job.options)};
}

core::RebalanceReady answer(const sm::Rebalance& job) {
    return {job.question, routing::rebalance_step(job.view->topology, job.in_force->routes, job.plan,
                                                  job.options, job.limits)};
}

}  // namespace

template <class Job, class Ready>
JobWorker<Job, Ready>::JobWorker(std::function<void(Ready)> done) : jobs_(16), done_(std::move(done)) {
    thread_ = std::thread([this] {
        std::vector<Job> batch;
        while (jobs_.wait(batch)) {
            done_(answer(batch.back()));
            batch.clear();
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
