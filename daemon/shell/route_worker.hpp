// DOC: routes are computed here, off the loop: one thread that takes jobs and posts results; a newer job
// makes an older one that has not begun pointless, and it is dropped.
#pragma once

#include <functional>
#include <thread>

#include "base/mailbox.hpp"
#include "daemon/core/core.hpp"
#include "daemon/sm/effects.hpp"

namespace ibf::shell {

class RouteWorker {
public:
    /// `done` is called from the worker's thread and must only pass the result on.
    explicit RouteWorker(std::function<void(core::RoutesReady)> done);
    ~RouteWorker();  ///< waits for the job under way
    RouteWorker(const RouteWorker&) = delete;
    RouteWorker& operator=(const RouteWorker&) = delete;

    void post(sm::ComputeRoutes job);

private:
    base::Mailbox<sm::ComputeRoutes> jobs_;
    std::function<void(core::RoutesReady)> done_;
    std::thread thread_;
};

}  // namespace ibf::shell
