// DOC: the SA's thread.
//
// Owns the Desk and drives it: MADs of class SubnAdm come in through a mailbox, answers go straight to the
// transport, what changes something is handed on. Queries never wait for a sweep: the thread works on the
// newest snapshot it was shown, and makes a View of it when fabric or tables are new.
//
// Thread owner: whoever made it; the destructor joins. post() and show() may be called from any thread.
#pragma once

#include <atomic>
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
    /// As it was a quarter of a second ago at most.
    [[nodiscard]] std::shared_ptr<const fabric::SaActivity> activity() const;

private:
    void run();
    void look();
    void send_all(sa::DeskOutputs& out);
    void wait() const;
    void publish(base::Instant now);

    static constexpr std::size_t kInboxMax = 1U << 16U;
    const Send send_;
    const Forward forward_;
    base::Mailbox<mad::WireMad> inbox_{kInboxMax};
    std::atomic<bool> stopping_{false};

    mutable std::mutex mutex_;  ///< of the next three
    std::shared_ptr<const fabric::Snapshot> newest_;
    std::optional<sa::SaConfig> new_config_;
    std::shared_ptr<const fabric::SaActivity> activity_ = std::make_shared<const fabric::SaActivity>();

    // The thread's alone.
    sa::Desk desk_;
    std::shared_ptr<const fabric::Snapshot> shown_;
    std::shared_ptr<const sa::View> view_;
    std::optional<base::Instant> publish_at_;  ///< set: something happened that readers were not told
    std::thread thread_;
};

}  // namespace ibf::shell
