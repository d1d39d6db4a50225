// DOC: routes are computed here, off the loop: threads that take jobs and post results; a newer job makes an
// older one that has not begun pointless, and it is dropped. What traffic waits for and what nobody waits for
// are two workers: a lost link does not queue behind the measuring of drift.
#pragma once

#include <functional>
#include <thread>

#include "base/mailbox.hpp"
#include "daemon/core/core.hpp"
#include "daemon/sm/effects.hpp"

namespace ibf::shell {

/// One thread that turns jobs into results. REQUIRES an `answer(const Job&)` in route_worker.cpp.
template <class Job, class Ready>
class JobWorker {
public:
    /// `done` is called from the worker's thread and must only pass the result on.
    explicit JobWorker(std::function<void(Ready)> done);
    ~JobWorker();  ///< waits for the job under way
    JobWorker(const JobWorker&) = delete;
    JobWorker& operator=(const JobWorker&) = delete;

    void post(Job job);

private:
    base::Mailbox<Job> jobs_;
    std::function<void(Ready)> done_;
    std::thread thread_;
};

using RouteWorker = JobWorker<sm::ComputeRoutes, core::RoutesReady>;
using RebalanceWorker = JobWorker<sm::Rebalance, core::RebalanceReady>;

extern template class JobWorker<sm::ComputeRoutes, core::RoutesReady>;
extern template class JobWorker<sm::Rebalance, core::RebalanceReady>;

}  // namespace ibf::shell
