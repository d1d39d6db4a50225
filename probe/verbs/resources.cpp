#include "probe/verbs/resources.hpp"

#include <fcntl.h>
#include <linux/mman.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include <fmt/format.h>

namespace ibf::probe::verbs {
namespace {

constexpr std::size_t kHugePage = 2U << 20U;  ///< whatever the default size is: larger ones would be wasted
constexpr unsigned kAcknowledgeEvery = 64;

std::size_t rounded_up(std::size_t bytes, std::size_t to) {
    return (bytes + to - 1) / to * to;
}

base::Error registration_error(std::size_t bytes, int why) {
    rlimit limit{};
    const bool is_known = ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    if ((why == ENOMEM || why == EAGAIN || why == EPERM) && is_known) {
        return {base::ErrorKind::refused,
                fmt::format(
                    "{} KiB cannot be pinned: the memory lock limit (RLIMIT_MEMLOCK) is {} KiB. Raise it: "
                    "ulimit -l unlimited in the shell, LimitMEMLOCK=infinity in a systemd unit, memlock "
                    "in /etc/security/limits.conf",
                    (bytes + 1023) / 1024, limit.rlim_cur / 1024)};
    }
    return {
        base::ErrorKind::io,
        fmt::format("{} KiB cannot be registered with the device: {}{}", (bytes + 1023) / 1024,
                    std::strerror(why), why == ENOMEM ? ": use smaller messages or fewer queue pairs" : "")};
}

}  // namespace

base::Result<ProtectionDomain> make_protection_domain(ibv_context* context) {
    errno = 0;
    ProtectionDomain domain(ibv_alloc_pd(context));
    if (!domain) {
        return base::fail(base::ErrorKind::io,
                          fmt::format("the device gives no protection domain: {}", std::strerror(errno)));
    }
    return domain;
}

base::Result<std::unique_ptr<PinnedMemory>> PinnedMemory::make(ibv_pd* domain, std::size_t bytes,
                                                               bool huge_pages, unsigned access) {
    constexpr int kProtection = PROT_READ | PROT_WRITE;
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS;
    void* mapped = MAP_FAILED;
    std::size_t length = rounded_up(bytes, kHugePage);
    if (huge_pages && bytes >= kHugePage / 2) {
        mapped = ::mmap(nullptr, length, kProtection, kFlags | MAP_HUGETLB | MAP_HUGE_2MB, -1, 0);
    }
    const bool is_huge = mapped != MAP_FAILED;
    if (!is_huge) {
        length = rounded_up(bytes, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
        mapped = ::mmap(nullptr, length, kProtection, kFlags, -1, 0);
    }
    if (mapped == MAP_FAILED) {
        return base::fail(base::ErrorKind::io, fmt::format("no {} KiB of memory: {}: use smaller messages",
                                                           length / 1024, std::strerror(errno)));
    }
    if (!is_huge && huge_pages) {
        ::madvise(mapped, length, MADV_HUGEPAGE);  // a wish
    }
    std::unique_ptr<PinnedMemory> memory(
        new PinnedMemory({static_cast<std::uint8_t*>(mapped), bytes}, length, is_huge));
    errno = 0;
    memory->region_ = ibv_reg_mr(domain, mapped, bytes, static_cast<int>(access));
    if (memory->region_ == nullptr) {
        return tl::unexpected(registration_error(bytes, errno));
    }
    return memory;
}

PinnedMemory::~PinnedMemory() {
    if (region_ != nullptr) {
        ibv_dereg_mr(region_);
    }
    ::munmap(bytes_.data(), mapped_);
}

base::Result<std::unique_ptr<Completions>> Completions::make(ibv_context* context, int entries) {
    std::unique_ptr<Completions> made(new Completions());
    errno = 0;
    made->channel_ = ibv_create_comp_channel(context);
    if (made->channel_ == nullptr) {
        return base::fail(base::ErrorKind::io,
                          fmt::format("the device gives no completion channel: {}", std::strerror(errno)));
    }
    const int flags = ::fcntl(made->channel_->fd, F_GETFL);
    if (flags < 0 || ::fcntl(made->channel_->fd, F_SETFL, flags | O_NONBLOCK) < 0) {
        return base::fail(base::ErrorKind::io, fmt::format("completion channel: {}", std::strerror(errno)));
    }
    made->queue_ = ibv_create_cq(context, entries, nullptr, made->channel_, 0);
    if (made->queue_ == nullptr) {
        return base::fail(
            base::ErrorKind::io,
            fmt::format("the device gives no completion queue of {} entries: {}: use fewer queue "
                        "pairs or a smaller depth",
                        entries, std::strerror(errno)));
    }
    return made;
}

Completions::~Completions() {
    if (queue_ != nullptr) {
        ibv_ack_cq_events(queue_, unacknowledged_);
        ibv_destroy_cq(queue_);
    }
    if (channel_ != nullptr) {
        ibv_destroy_comp_channel(channel_);
    }
}

base::Result<std::span<const ibv_wc>> Completions::poll() {
    const int count = ibv_poll_cq(queue_, kBatch, batch_);
    if (count < 0) {
        return base::fail(base::ErrorKind::io, "the completion queue broke: the device was reset or removed");
    }
    return std::span<const ibv_wc>(batch_, static_cast<std::size_t>(count));
}

base::Result<std::span<const ibv_wc>> Completions::wait(base::Duration patience) {
    auto found = poll();
    if (!found || !found->empty()) {
        return found;
    }
    if (!is_armed_) {
        if (const int why = ibv_req_notify_cq(queue_, 0); why != 0) {
            return base::fail(base::ErrorKind::io,
                              fmt::format("the completion queue cannot be armed: {}", std::strerror(why)));
        }
        is_armed_ = true;
        // What came between the look and the arming makes no event.
        found = poll();
        if (!found || !found->empty()) {
            return found;
        }
    }
    if (auto slept = sleep(patience); !slept) {
        return tl::unexpected(slept.error());
    }
    return poll();
}

base::Result<void> Completions::sleep(base::Duration patience) {
    pollfd ready{.fd = channel_->fd, .events = POLLIN, .revents = 0};
    timespec limit{.tv_sec = patience.count() / 1'000'000'000, .tv_nsec = patience.count() % 1'000'000'000};
    const int count = ::ppoll(&ready, 1, &limit, nullptr);
    if (count < 0 && errno != EINTR) {
        return base::fail(base::ErrorKind::io, fmt::format("completion channel: {}", std::strerror(errno)));
    }
    ibv_cq* queue = nullptr;
    void* unused = nullptr;
    if (count > 0 && ibv_get_cq_event(channel_, &queue, &unused) == 0) {
        is_armed_ = false;
        if (++unacknowledged_ >= kAcknowledgeEvery) {
            ibv_ack_cq_events(queue_, unacknowledged_);
            unacknowledged_ = 0;
        }
    } else if (count > 0 && (ready.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0) {
        return base::fail(base::ErrorKind::io, "the completion channel broke: the device was removed");
    }
    return {};
}

}  // namespace ibf::probe::verbs
