// DOC: verbs objects that give themselves back, and the pinned memory of a test.
//
// What is made here says in its error what to do: the memory lock limit as it is, the device's limit that a
// value is above.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <infiniband/verbs.h>

#include "base/result.hpp"
#include "base/time.hpp"

namespace ibf::probe::verbs {

template <auto kGiveBack>
struct GiveBack {
    template <class T>
    void operator()(T* thing) const {
        static_cast<void>(kGiveBack(thing));  // nobody is left who could do anything about a failure
    }
};

using ProtectionDomain = std::unique_ptr<ibv_pd, GiveBack<ibv_dealloc_pd>>;
using QueuePair = std::unique_ptr<ibv_qp, GiveBack<ibv_destroy_qp>>;
using AddressHandle = std::unique_ptr<ibv_ah, GiveBack<ibv_destroy_ah>>;

[[nodiscard]] base::Result<ProtectionDomain> make_protection_domain(ibv_context* context);

/// Pages of our own, registered with a device. On huge pages where there are some and it is worth it.
class PinnedMemory {
public:
    [[nodiscard]] static base::Result<std::unique_ptr<PinnedMemory>> make(ibv_pd* domain, std::size_t bytes,
                                                                          bool huge_pages, unsigned access);
    PinnedMemory(const PinnedMemory&) = delete;
    PinnedMemory& operator=(const PinnedMemory&) = delete;
    ~PinnedMemory();

    [[nodiscard]] std::span<std::uint8_t> bytes() const { return bytes_; }
    [[nodiscard]] std::uint64_t address() const { return reinterpret_cast<std::uintptr_t>(bytes_.data()); }
    [[nodiscard]] std::uint32_t local_key() const { return region_->lkey; }
    [[nodiscard]] std::uint32_t remote_key() const { return region_->rkey; }
    [[nodiscard]] bool is_huge() const { return is_huge_; }

private:
    PinnedMemory(std::span<std::uint8_t> bytes, std::size_t mapped, bool is_huge)
        : bytes_(bytes), mapped_(mapped), is_huge_(is_huge) {}

    std::span<std::uint8_t> bytes_;
    std::size_t mapped_ = 0;
    bool is_huge_ = false;
    ibv_mr* region_ = nullptr;
};

/// The completion queue of a side, and how to wait for it without turning.
class Completions {
public:
    [[nodiscard]] static base::Result<std::unique_ptr<Completions>> make(ibv_context* context, int entries);
    Completions(const Completions&) = delete;
    Completions& operator=(const Completions&) = delete;
    ~Completions();

    [[nodiscard]] ibv_cq* queue() const { return queue_; }
    /// What is there now, none if nothing is. Errors: io (the device is lost).
    [[nodiscard]] base::Result<std::span<const ibv_wc>> poll();
    /// As poll(); sleeps up to `patience` until something is there.
    [[nodiscard]] base::Result<std::span<const ibv_wc>> wait(base::Duration patience);

private:
    Completions() = default;
    [[nodiscard]] base::Result<void> sleep(base::Duration patience);

    static constexpr std::size_t kBatch = 64;
    ibv_comp_channel* channel_ = nullptr;
    ibv_cq* queue_ = nullptr;
    bool is_armed_ = false;
    unsigned unacknowledged_ = 0;  ///< events; acknowledged by many at once, each costs a lock
    ibv_wc batch_[kBatch] = {};
};

}  // namespace ibf::probe::verbs
