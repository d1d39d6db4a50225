#include "daemon/shell/route_worker.hpp"

#include "base/log.hpp"

namespace ibf::shell {

RouteWorker::RouteWorker(std::function<void(core::RoutesReady)> done) : jobs_(16), done_(std::move(done)) {
    thread_ = std::thread([this] {
        std::vector<sm::ComputeRoutes> batch;
        while (jobs_.wait(batch)) {
            const sm::ComputeRoutes& job = batch.back();
            done_({job.epoch, routing::route(job.view->topology, job.previous.get(), job.options)});
            batch.clear();
        }
    });
}

RouteWorker::~RouteWorker() {
    jobs_.close();
    thread_.join();
}

void RouteWorker::post(sm::ComputeRoutes job) {
    if (!jobs_.push(std::move(job))) {
        base::log(base::LogLevel::error, "the routing thread does not keep up: a job was refused");
    }
}

}  // namespace ibf::shell
