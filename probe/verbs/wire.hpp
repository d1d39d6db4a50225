// DOC: queue pairs that are connected, and what both roles do with them.
//
// Posts requests, compares what came, keeps the books of an Outcome: which completion failed and what that
// means in words, how long nothing has completed, whether to stop. The roles are in roles.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "probe/verbs/queue_pairs.hpp"

namespace ibf::probe::verbs {

/// A queue pair in use. Message numbers count from 0 on each.
struct Lane {
    ibv_qp* queue_pair = nullptr;
    ibv_ah* handle = nullptr;  ///< of ud
    std::uint32_t remote_number = 0;
    std::uint32_t inline_bytes = 0;     ///< sends up to here are taken along in the request
    std::uint64_t posted = 0;           ///< sends, writes or reads
    std::uint64_t completed = 0;        ///< of these
    std::uint64_t receives_posted = 0;  ///< numbers of the messages that they will take
    std::uint64_t received = 0;
    std::vector<std::uint32_t> free_slots{};
};

/// What a request was, carried through the device.
struct RequestId {
    enum class Kind : std::uint8_t { receive, send };
    static constexpr std::uint32_t kUnseen = 0xFFFFFFFF;

    Kind kind = Kind::receive;
    std::uint8_t lane = 0;
    std::uint32_t slot = kUnseen;

    [[nodiscard]] std::uint64_t packed() const {
        return std::uint64_t{static_cast<std::uint8_t>(kind)} << 40U | std::uint64_t{lane} << 32U | slot;
    }
    [[nodiscard]] static RequestId of(std::uint64_t packed) {
        return {static_cast<Kind>(packed >> 40U & 1U), static_cast<std::uint8_t>(packed >> 32U),
                static_cast<std::uint32_t>(packed)};
    }
};

class Wire {
public:
    Wire(const Setting& setting, const PinnedMemory& memory, Completions& completions)
        : setting_(setting), memory_(memory), completions_(completions) {}

    /// Patterns into the slots that we send from, or, of the target of a write, the contrary of what will
    /// come.
    void fill();
    /// A queue pair that is ours from now on; posts its receives. At least in INIT.
    [[nodiscard]] base::Result<void> take(ibv_qp* queue_pair, std::uint32_t number,
                                          std::uint32_t inline_bytes);
    /// After it: where the messages go. `handle` is of ud.
    void aim(std::uint32_t number, std::uint32_t remote_number, ibv_ah* handle) {
        lanes_[number].remote_number = remote_number;
        lanes_[number].handle = handle;
    }
    void set_peer(EndpointAddress peer) { peer_ = std::move(peer); }

    [[nodiscard]] const Setting& setting() const { return setting_; }
    [[nodiscard]] const Layout& layout() const { return setting_.layout; }
    [[nodiscard]] const TestSpec& spec() const { return setting_.spec; }
    [[nodiscard]] const EndpointAddress& peer() const { return peer_; }
    [[nodiscard]] std::vector<Lane>& lanes() { return lanes_; }
    [[nodiscard]] Completions& completions() { return completions_; }

    /// The next receive of a lane, into `slot` or, without, where its number's turn is.
    [[nodiscard]] base::Result<void> post_receive(std::uint8_t lane, std::optional<std::uint32_t> slot = {});
    /// The lane's next message, from the source; `sequence` is of ud.
    [[nodiscard]] base::Result<void> post_send(std::uint8_t lane, std::uint32_t sequence = 0);
    /// What came into `slot`, back.
    [[nodiscard]] base::Result<void> post_echo(std::uint8_t lane, std::uint32_t slot, std::uint32_t sequence);
    /// The lane's next write or read, of and to `peer`'s memory.
    [[nodiscard]] base::Result<void> post_one_sided(std::uint8_t lane, const Layout& theirs);

    /// Compares what lies in `slot` with that message.
    void compare(std::uint8_t lane, std::uint32_t slot, std::uint64_t message, std::uint64_t bytes,
                 Outcome& outcome) const;
    /// Before anything is received there again, and when nothing is sent from there any more.
    void mark(std::uint8_t lane, std::uint32_t slot) const;
    /// The slots of a write's target, in the end. Those that nobody wrote to are not counted.
    void compare_written(Outcome& outcome) const;

    /// Into the outcome's errors, and, of the first that is no consequence of another, its failure.
    void note_failure(const ibv_wc& completion, base::Duration quiet, Outcome& outcome) const;
    void note_timeout(base::Duration quiet, std::uint64_t outstanding, Outcome& outcome) const;
    void note_corrupt(Outcome& outcome) const;
    /// So long may nothing complete while something is under way: longer than the transport's own retries.
    [[nodiscard]] base::Duration patience() const;
    /// How long one try waits for its acknowledgement; 0: for ever.
    [[nodiscard]] base::Duration ack_timeout() const;

private:
    [[nodiscard]] std::span<std::uint8_t> payload(std::uint64_t offset) const {
        return memory_.bytes().subspan(offset, setting_.layout.message_bytes);
    }
    [[nodiscard]] base::Result<void> post(Lane& lane, ibv_send_wr& request);
    [[nodiscard]] ibv_sge part(std::uint64_t offset) const;

    const Setting& setting_;
    const PinnedMemory& memory_;
    Completions& completions_;
    EndpointAddress peer_;
    std::vector<Lane> lanes_;
    std::vector<std::uint32_t> expected_;   ///< CRC32C of each content
    std::vector<std::uint32_t> untouched_;  ///< of each slot that nobody wrote to
};

}  // namespace ibf::probe::verbs
