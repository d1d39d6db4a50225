#include "daemon/shell/replica.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <list>
#include <thread>
#include <utility>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "base/log.hpp"
#include "daemon/shell/replica_giver.hpp"
#include "daemon/shell/replica_tls.hpp"
#include "db/record_codec.hpp"

namespace ibf::shell {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using base::log;
using base::LogLevel;
using boost::system::error_code;

constexpr std::size_t kStrangersMost = 32;  ///< connections that have not introduced themselves
constexpr std::size_t kGiversMost = 32;     ///< that have
constexpr std::chrono::seconds kCallAgain{1};
constexpr std::chrono::seconds kCallTimeout{5};
constexpr std::chrono::minutes kTryAgain{1};
constexpr std::chrono::milliseconds kFlushPoll{2};

struct Address {
    std::string host;
    std::string port;
};

/// "HOST:PORT", "[V6]:PORT"; the configuration's reader has checked it.
Address split(const std::string& text) {
    const std::size_t colon = std::min(text.rfind(':'), text.size());
    std::string host = text.substr(0, colon);
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    }
    return {host, text.substr(std::min(colon + 1, text.size()))};
}

std::string text_of(const tcp::endpoint& endpoint) {
    const std::string address = endpoint.address().to_string();
    return endpoint.address().is_v6() ? fmt::format("[{}]:{}", address, endpoint.port())
                                      : fmt::format("{}:{}", address, endpoint.port());
}

/// Lines about others, so many a minute: who knocks at the door all day does not fill the log.
class DoorLog {
public:
    void say(const std::string& line) {
        const auto now = std::chrono::steady_clock::now();
        if (now - since_ >= std::chrono::minutes{1}) {
            if (said_ > kMost) {
                log(LogLevel::warning, "replica: {} more lines like these", said_ - kMost);
            }
            since_ = now;
            said_ = 0;
        }
        if (++said_ <= kMost) {
            log(LogLevel::warning, "replica: {}", line);
        }
    }

private:
    static constexpr std::uint32_t kMost = 100;
    std::chrono::steady_clock::time_point since_{};
    std::uint32_t said_ = 0;
};

}  // namespace

struct Replica::Impl {
    explicit Impl(Hub&& with) : hub(std::move(with)) {}
    ~Impl();

    /// A peer of the configuration, and the connection to it.
    struct Callee {
        std::string address;
        asio::steady_timer again;
        std::optional<tcp::resolver> resolver;
        std::optional<tcp::socket> socket;
        std::shared_ptr<Taker> taker;
        Taker::Place place;
        std::string last_trouble;
    };

    void load();
    void listen();
    void accept();
    void on_accept(tcp::socket&& socket, const tcp::endpoint& from);
    void make_room();
    void call(Callee& callee);
    void on_connected(Callee& callee, const error_code& error);
    void on_call_ended(Callee& callee, const std::string& why);
    void trouble(const std::string& text);
    void for_each_giver(const std::function<void(Giver&)>& action);
    [[nodiscard]] bool idle();
    void answer_when_idle(const std::shared_ptr<std::promise<void>>& done);
    void end();

    template <class Action>
    void post(Action&& action) {
        asio::post(context, std::forward<Action>(action));
    }

    Hub hub;  // before the context: its handlers hold connections, which refer to it
    DoorLog door;
    std::shared_ptr<asio::ssl::context> tls;
    std::string said_trouble;
    std::list<std::weak_ptr<Giver>> givers;  ///< oldest first
    asio::io_context context{1};
    std::list<Callee> callees;
    std::optional<tcp::acceptor> acceptor;
    asio::steady_timer retry{context};
    asio::steady_timer accept_again{context};
    asio::steady_timer flush_poll{context};
    std::atomic<std::uint16_t> port{0};
    bool ending = false;
    std::thread thread;
};

// --- files and the listener

void Replica::Impl::trouble(const std::string& text) {
    if (std::exchange(said_trouble, text) != text) {
        static_cast<void>(hub.sink(core::CopyTrouble{text}));
    }
}

/// With files that are wrong, connections that there are go on as they are.
void Replica::Impl::load() {
    auto loaded = load_tls(hub.config);
    if (loaded) {
        tls = std::move(*loaded);
    }
    std::string wrong = loaded ? std::string{} : loaded.error().message;
    if (tls && !acceptor && !hub.config.listen.empty()) {
        try {
            listen();
        } catch (const boost::system::system_error& error) {
            acceptor.reset();
            wrong = fmt::format("replica.listen: {}: {}", hub.config.listen, error.code().message());
        }
    }
    trouble(wrong.empty() ? wrong : wrong + "; no copy is given or taken by that until it is mended");
    if (tls) {
        for (Callee& callee : callees) {
            if (!callee.taker && !callee.socket) {
                call(callee);
            }
        }
    }
    if (!wrong.empty()) {
        retry.expires_after(kTryAgain);
        retry.async_wait([this](const error_code& error) {
            if (!error) {
                load();
            }
        });
    }
}

void Replica::Impl::listen() {
    const Address at = split(hub.config.listen);
    tcp::resolver resolver(context);
    const auto found = resolver.resolve(at.host, at.port, tcp::resolver::passive);
    const tcp::endpoint endpoint = *found.begin();
    acceptor.emplace(context);
    acceptor->open(endpoint.protocol());
    acceptor->set_option(tcp::acceptor::reuse_address(true));
    acceptor->bind(endpoint);
    acceptor->listen();
    port = acceptor->local_endpoint().port();
    log(LogLevel::info, "replica: listening at {}", text_of(acceptor->local_endpoint()));
    accept();
}

void Replica::Impl::accept() {
    auto from = std::make_shared<tcp::endpoint>();
    acceptor->async_accept(*from, [this, from](const error_code& error, tcp::socket socket) {
        if (error == asio::error::operation_aborted || ending) {
            return;
        }
        if (!error) {
            on_accept(std::move(socket), *from);
            return accept();
        }
        // Out of descriptors, most likely: wait a little instead of spinning.
        accept_again.expires_after(std::chrono::milliseconds{100});
        accept_again.async_wait([this](const error_code& stopped) {
            if (!stopped && !ending) {
                accept();
            }
        });
    });
}

/// A stranger has a few seconds to introduce itself; where there are too many of them, the oldest goes. So
/// nobody keeps a peer out by knocking.
void Replica::Impl::make_room() {
    std::size_t strangers = 0;
    std::shared_ptr<Giver> oldest;
    for (auto it = givers.begin(); it != givers.end();) {
        const auto giver = it->lock();
        if (!giver) {
            it = givers.erase(it);
            continue;
        }
        strangers += giver->greeted() ? 0U : 1U;
        oldest = oldest || giver->greeted() ? oldest : giver;
        ++it;
    }
    if (strangers >= kStrangersMost) {
        oldest->close("too many connections at once");
    }
}

void Replica::Impl::on_accept(tcp::socket&& socket, const tcp::endpoint& from) {
    make_room();
    const auto known = std::count_if(givers.begin(), givers.end(), [](const auto& weak) {
        const auto giver = weak.lock();
        return giver && giver->greeted();
    });
    const std::string address = text_of(from);
    if (static_cast<std::size_t>(known) >= kGiversMost) {
        return door.say(fmt::format("{} is turned away: {} standbys are connected already", address, known));
    }
    const auto giver =
        std::make_shared<Giver>(std::move(socket), Channel::Terms{tls, hub.config.names}, hub,
                                [this, address](const std::string& why) {
                                    if (!ending) {
                                        door.say(fmt::format("{}, who called: {}", address, why));
                                    }
                                });
    givers.push_back(giver);
    giver->start();
}

void Replica::Impl::for_each_giver(const std::function<void(Giver&)>& action) {
    for (const auto& weak :
         std::list<std::weak_ptr<Giver>>(givers)) {  // one that is closed stays in the list
        if (const auto giver = weak.lock()) {
            action(*giver);
        }
    }
}

// --- calls

void Replica::Impl::call(Callee& callee) {
    if (ending || !tls) {
        return;
    }
    const Address to = split(callee.address);
    callee.socket.emplace(context);
    callee.resolver.emplace(context);
    callee.again.expires_after(kCallTimeout);
    callee.again.async_wait([this, &callee](const error_code& error) {
        if (!error && callee.socket) {
            callee.resolver->cancel();
            error_code ignored;
            callee.socket->close(ignored);
        }
    });
    callee.resolver->async_resolve(
        to.host, to.port, [this, &callee](const error_code& error, const tcp::resolver::results_type& found) {
            if (error) {
                return on_connected(callee, error);
            }
            asio::async_connect(
                *callee.socket, found,
                [this, &callee](const error_code& failed, const auto&) { on_connected(callee, failed); });
        });
}

void Replica::Impl::on_connected(Callee& callee, const error_code& error) {
    callee.again.cancel();
    if (ending) {
        return;
    }
    if (error) {
        callee.socket.reset();
        return on_call_ended(
            callee, error == asio::error::operation_aborted ? "it does not answer" : error.message());
    }
    callee.taker =
        std::make_shared<Taker>(std::move(*callee.socket), Channel::Terms{tls, hub.config.names}, hub,
                                callee.place, [this, &callee](const std::string& why, bool itself) {
                                    if (callee.taker->greeted()) {
                                        callee.last_trouble.clear();
                                    }
                                    callee.taker.reset();
                                    if (itself) {
                                        log(LogLevel::debug, "replica: {} is this SM itself", callee.address);
                                    } else {
                                        on_call_ended(callee, why);
                                    }
                                });
    callee.socket.reset();
    callee.taker->start();
}

/// Once for each reason: a peer that is switched off is called for as long as it is.
void Replica::Impl::on_call_ended(Callee& callee, const std::string& why) {
    if (ending) {
        return;
    }
    if (std::exchange(callee.last_trouble, why) != why) {
        door.say(fmt::format("peer {}: {}; it is called again and again", callee.address, why));
    }
    callee.again.expires_after(kCallAgain);
    callee.again.async_wait([this, &callee](const error_code& stopped) {
        if (!stopped) {
            call(callee);
        }
    });
}

// --- the end

bool Replica::Impl::idle() {
    bool all = true;
    for_each_giver([&all](Giver& giver) { all = all && giver.idle(); });
    return all;
}

void Replica::Impl::answer_when_idle(const std::shared_ptr<std::promise<void>>& done) {
    if (idle()) {
        return done->set_value();
    }
    flush_poll.expires_after(kFlushPoll);
    flush_poll.async_wait([this, done](const error_code& error) {
        if (!error) {
            answer_when_idle(done);
        }
    });
}

void Replica::Impl::end() {
    ending = true;
    error_code ignored;
    if (acceptor) {
        acceptor->close(ignored);
    }
    for_each_giver([](Giver& giver) { giver.close("this SM ends"); });
    for (Callee& callee : callees) {
        callee.again.cancel();
        if (const auto taker = callee.taker) {
            taker->close("this SM ends");
        }
    }
    context.stop();
}

Replica::Impl::~Impl() {
    post([this] { end(); });
    thread.join();
}

// --- from the loop

Replica::Replica(const ReplicaConfig& config, ReplicaIdentity identity, db::Batch held, std::uint64_t told,
                 Sink sink) {
    Hub hub;
    hub.config = config;
    hub.identity = std::move(identity);
    hub.told = told;
    hub.sink = std::move(sink);
    const bool fresh = std::none_of(held.begin(), held.end(), db::is_history);
    hub.remember(std::move(held));
    impl_ = std::make_unique<Impl>(std::move(hub));
    for (const std::string& peer : config.peers) {
        constexpr Want kFromNowOn{~std::uint64_t{0}, ~std::uint64_t{0}};
        impl_->callees.push_back({peer,
                                  asio::steady_timer(impl_->context),
                                  {},
                                  {},
                                  {},
                                  {{}, {}, fresh ? Want{} : kFromNowOn},
                                  {}});
    }
    impl_->post([impl = impl_.get()] { impl->load(); });
    impl_->thread = std::thread([impl = impl_.get()] {
        const auto work = asio::make_work_guard(impl->context);
        impl->context.run();
    });
}

Replica::~Replica() = default;

void Replica::changed(const db::Batch& batch) {
    db::Batch copied;
    std::copy_if(batch.begin(), batch.end(), std::back_inserter(copied), db::is_copied);
    if (copied.empty()) {
        return;
    }
    impl_->post([impl = impl_.get(), copied = std::move(copied)]() mutable {
        impl->for_each_giver([&copied](Giver& giver) { giver.changed(copied); });
        impl->hub.remember(std::move(copied));
    });
}

void Replica::told(std::uint64_t edition, mad::Guid client) {
    impl_->post([impl = impl_.get(), edition, client] {
        impl->hub.told = edition;
        impl->for_each_giver([client](Giver& giver) { giver.told(client); });
    });
}

void Replica::stand(ReplicaStanding standing) {
    impl_->post([impl = impl_.get(), standing] {
        const bool master_changed = impl->hub.standing.is_master != standing.is_master;
        impl->hub.standing = standing;
        if (master_changed) {
            impl->for_each_giver([](Giver& giver) { giver.standing_changed(); });
        }
        for (auto& callee : impl->callees) {
            if (const auto taker = callee.taker) {
                taker->standing_changed();
            }
        }
    });
}

void Replica::reload(core::ConfigDigests digests) {
    impl_->post([impl = impl_.get(), digests = std::move(digests)]() mutable {
        impl->hub.identity.digests = std::move(digests);
        impl->load();
        impl->for_each_giver([](Giver& giver) { giver.compare_again(); });
        for (auto& callee : impl->callees) {
            if (const auto taker = callee.taker) {
                taker->compare_again();
            }
        }
    });
}

bool Replica::flush(base::Duration timeout) {
    const auto done = std::make_shared<std::promise<void>>();
    auto future = done->get_future();
    impl_->post([impl = impl_.get(), done] { impl->answer_when_idle(done); });
    return future.wait_for(timeout) == std::future_status::ready;
}

std::uint16_t Replica::port() const {
    return impl_->port;
}

db::Batch held_by(const db::Stored& stored) {
    db::Batch held;
    if (!stored.lids.empty()) {
        held.emplace_back(db::LidsRecord{stored.lids});
    }
    for (const auto& [guid, table] : stored.tables) {
        held.emplace_back(table);
    }
    if (!stored.sa_state.empty()) {
        held.emplace_back(db::SaStateRecord{stored.sa_state});
    }
    held.emplace_back(stored.drains);  // nothing, too: a standby may remember what is no longer drained
    held.insert(held.end(), stored.events.rbegin(), stored.events.rend());
    return held;
}

}  // namespace ibf::shell
