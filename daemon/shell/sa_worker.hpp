// DOC: the SA's thread.
//
// Owns the Desk and drives it: MADs of class SubnAdm come in through a mailbox, answers go straight to the
// transport, what changes something is handed on. Queries never wait for a sweep: the thread works on the
// newest snapshot it was shown, and makes a View of it when fabric or tables are new.
//
// Thread owner: whoever made it; the destructor joins. post() and show() may be called from any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "base/mailbox.hpp"
#include "daemon/sa/desk.hpp"

namespace ibf::shell {

class SaWorker {
public:
    using Send = std::function<void(const mad::WireMad&)>;
    /// A request that changes something, with the View it was received under.
    using Forward = std::function<void(mad::WireMad&&, std::shared_ptr<const sa::View>)>;

    SaWorker(const sa::SaConfig& config, Send send, Forward forward);
    ~SaWorker();
    SaWorker(const SaWorker&) = delete;
    SaWorker& operator=(const SaWorker&) = delete;

    /// Ends the thread; what is posted from then on is lost. Before the transport goes, which the thread
    /// sends by.
    void stop();
    /// Full: the MAD is lost, as on the wire; its sender asks again.
    void post(mad::WireMad&& mad);
    void show(std::shared_ptr<const fabric::Snapshot> snapshot);
    void replace_config(const sa::SaConfig& config);
    /// As of now: the thread is asked for it, and busy with a large table for a moment may be late, in which
    /// case it is as of when it was last asked for.
    [[nodiscard]] fabric::SaActivity activity();

private:
    void run();
    void look();
    void send_all(sa::DeskOutputs& out);
    void publish();

    static constexpr std::size_t kInboxMax = 1U << 16U;
    const Send send_;
    const Forward forward_;
    base::Mailbox<mad::WireMad> inbox_{kInboxMax};
    std::atomic<bool> stopping_{false};

    std::mutex mutex_;  ///< of the next four
    std::shared_ptr<const fabric::Snapshot> newest_;
    std::optional<sa::SaConfig> new_config_;
    fabric::SaActivity activity_;
    std::uint64_t told_ = 0;  ///< the question that activity_ answers
    std::condition_variable activity_told_;
    std::atomic<std::uint64_t> asked_{0};  ///< questions for it

    // The thread's alone.
    std::uint64_t answered_ = 0;  ///< questions
    sa::Desk desk_;
    std::shared_ptr<const fabric::Snapshot> shown_;
    std::shared_ptr<const sa::View> view_;
    std::thread thread_;
};

}  // namespace ibf::shell
