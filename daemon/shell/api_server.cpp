#include "daemon/shell/api_server.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "base/log.hpp"

namespace ibf::shell {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Local = asio::local::stream_protocol;
using Stream = beast::basic_stream<Local>;

constexpr int kThreads = 3;  ///< a proof of all tables may hold one; the others answer meanwhile
constexpr mode_t kSocketMode = 0660;
constexpr std::size_t kHeaderBytesMax = 16 * 1024;

/// What every session shares. Outlives them: the sessions die with the io_context.
struct Shared {
    ApiServer::SnapshotSource snapshot;
    ApiServer::CommandSink command;
    api::ProbeHistory& probes;
    std::atomic<std::size_t> connections{0};
    std::mutex heavy{};  ///< held while a heavy request is answered
};

api::HttpReply plain_error(int status, const std::string& kind, const std::string& message) {
    api::HttpReply reply;
    reply.status = status;
    reply.body = fmt::format("{{\"error\":{{\"kind\":\"{}\",\"message\":\"{}\"}}}}\n", kind, message);
    return reply;
}

/// One client: read a request, answer it, again while it keeps the connection. All its handlers run on the
/// strand of its stream, so it needs no lock; it lives as long as one of them is pending.
class Session : public std::enable_shared_from_this<Session> {
public:
    Session(Local::socket&& socket, Shared& shared) : stream_(std::move(socket)), shared_(shared) {
        ++shared_.connections;
    }
    ~Session() { --shared_.connections; }
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    void read() {
        parser_.emplace();
        parser_->body_limit(boost::none);  // which limit is in order, the header tells
        parser_->header_limit(kHeaderBytesMax);
        stream_.expires_after(ApiServer::kClientTimeout);
        http::async_read_header(
            stream_, buffer_, *parser_,
            [self = shared_from_this()](beast::error_code error, std::size_t) { self->on_header(error); });
    }

    /// More clients than we serve: says so and hangs up.
    void refuse() {
        reply_ = plain_error(503, "unavailable",
                             fmt::format("{} clients are connected already", ApiServer::kConnectionsMax));
        keep_alive_ = false;
        write_head();
    }

private:
    void on_header(beast::error_code error) {
        if (error) {
            return on_read(error);
        }
        const auto target = parser_->get().target();
        const std::size_t limit = api::body_bytes_max({target.data(), target.size()});
        if (parser_->content_length().value_or(0) > limit) {
            return on_read(http::error::body_limit);
        }
        parser_->body_limit(limit);  // of one that is chunked
        http::async_read(
            stream_, buffer_, *parser_,
            [self = shared_from_this()](beast::error_code failed, std::size_t) { self->on_read(failed); });
    }

    void on_read(beast::error_code error) {
        // Success is of the system category too: whether there was an error at all comes first.
        const bool gone = error == http::error::end_of_stream || error == beast::error::timeout ||
                          error.category() == asio::error::get_system_category();
        if (error && gone) {
            return close();
        }
        if (error) {
            reply_ = plain_error(
                error == http::error::body_limit || error == http::error::header_limit ? 413 : 400, "usage",
                "this is no HTTP request that we can read");
            keep_alive_ = false;
            return write_head();
        }
        answer();
        write_head();
    }

    void answer() {
        const auto& message = parser_->get();
        keep_alive_ = message.keep_alive();
        const std::shared_ptr<const fabric::Snapshot> snapshot = shared_.snapshot();
        if (snapshot == nullptr) {
            reply_ = plain_error(503, "unavailable", "starting: nothing is known yet");
            return;
        }
        const api::HttpRequest request{std::string(message.method_string()), std::string(message.target()),
                                       message.body(), base::monotonic_now(), peer_uid()};
        std::unique_lock alone(shared_.heavy, std::defer_lock);
        reply_ =
            api::is_heavy(request) && !alone.try_lock() ? api::busy_reply() : api::handle(request, *snapshot);
        // The reply is of the snapshot: the client's "last sweep" is older than whatever the command brings.
        if (reply_.command && !shared_.command(std::move(*reply_.command))) {
            reply_ = plain_error(503, "unavailable",
                                 "too many commands wait already: this one was not taken; ask again");
        }
        if (reply_.complete) {
            reply_ = std::exchange(reply_.complete, nullptr)(shared_.probes);
        }
    }

    /// Who is at the other end; nobody where the kernel does not say.
    [[nodiscard]] std::uint32_t peer_uid() {
        ucred who{};
        socklen_t size = sizeof who;
        constexpr std::uint32_t kNobody = 65534;
        return ::getsockopt(stream_.socket().native_handle(), SOL_SOCKET, SO_PEERCRED, &who, &size) == 0
                   ? who.uid
                   : kNobody;
    }

    void write_head() {
        head_ = {};
        head_.version(11);
        head_.result(static_cast<unsigned>(reply_.status));
        head_.set(http::field::content_type, reply_.content_type);
        head_.set(http::field::cache_control, "no-store");
        head_.keep_alive(keep_alive_);
        if (reply_.stream) {
            head_.chunked(true);
        } else {
            head_.content_length(reply_.body.size());
        }
        serializer_.emplace(head_);
        stream_.expires_after(ApiServer::kClientTimeout);
        http::async_write_header(stream_, *serializer_,
                                 [self = shared_from_this()](beast::error_code error, std::size_t) {
                                     self->on_head_written(error);
                                 });
    }

    void on_head_written(beast::error_code error) {
        if (error) {
            return close();
        }
        if (reply_.stream) {
            return write_piece();
        }
        asio::async_write(
            stream_, asio::buffer(reply_.body),
            [self = shared_from_this()](beast::error_code failed, std::size_t) { self->on_done(failed); });
    }

    void write_piece() {
        reply_.body.clear();
        while (reply_.body.empty() && reply_.stream(reply_.body)) {
        }
        stream_.expires_after(ApiServer::kClientTimeout);
        if (reply_.body.empty()) {
            asio::async_write(
                stream_, http::make_chunk_last(),
                [self = shared_from_this()](beast::error_code error, std::size_t) { self->on_done(error); });
            return;
        }
        asio::async_write(stream_, http::make_chunk(asio::buffer(reply_.body)),
                          [self = shared_from_this()](beast::error_code error, std::size_t) {
                              if (error) {
                                  return self->close();
                              }
                              self->write_piece();
                          });
    }

    void on_done(beast::error_code error) {
        reply_ = {};
        if (error || !keep_alive_) {
            return close();
        }
        read();
    }

    void close() {
        beast::error_code ignored;
        stream_.socket().shutdown(Local::socket::shutdown_both, ignored);
        stream_.close();
    }

    Stream stream_;
    Shared& shared_;
    beast::flat_buffer buffer_{ApiServer::kRequestBytesMax + kHeaderBytesMax};
    std::optional<http::request_parser<http::string_body>> parser_;
    api::HttpReply reply_;
    http::response<http::empty_body> head_;
    std::optional<http::response_serializer<http::empty_body>> serializer_;
    bool keep_alive_ = false;
};

base::Result<void> check_length(const std::string& path) {
    constexpr std::size_t kMax = sizeof(sockaddr_un::sun_path) - 1;
    if (path.empty() || path.size() > kMax) {
        return base::fail(
            base::ErrorKind::usage,
            fmt::format("socket path '{}' has {} characters, 1 to {} fit: choose a shorter --socket", path,
                        path.size(), kMax));
    }
    return {};
}

/// Makes room at `path`: nothing there is fine, a socket nobody answers at is removed, anything else is an
/// error.
base::Result<void> clear_stale(const std::string& path) {
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0) {
        return {};
    }
    if (!S_ISSOCK(info.st_mode)) {
        return base::fail(base::ErrorKind::usage,
                          fmt::format("{} exists and is no socket: choose another --socket", path));
    }
    asio::io_context context;
    Local::socket probe(context);
    beast::error_code error;
    probe.connect(Local::endpoint(path), error);
    if (!error || error == asio::error::try_again) {
        return base::fail(
            base::ErrorKind::unavailable,
            fmt::format("another ibfabricd answers at {}: stop it, or give this one its own --socket", path));
    }
    if (error != asio::error::connection_refused) {
        return base::fail(base::ErrorKind::io, fmt::format("{}: {}", path, error.message()));
    }
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
        return base::fail(base::ErrorKind::io,
                          fmt::format("cannot remove the stale socket {}: {}", path, std::strerror(errno)));
    }
    return {};
}

}  // namespace

struct ApiServer::Impl {
    Impl(std::string socket_path, SnapshotSource snapshot, CommandSink command, api::ProbeHistory& probes)
        : path(std::move(socket_path)), shared{std::move(snapshot), std::move(command), probes} {}

    base::Result<void> bind() {
        beast::error_code error;
        const Local::endpoint endpoint(path);
        const auto step = [&](auto&& action) {
            if (!error) {
                action();
            }
        };
        step([&] { acceptor.open(endpoint.protocol(), error); });
        step([&] { acceptor.bind(endpoint, error); });
        step([&] { bound = true; });
        step([&] {
            if (::chmod(path.c_str(), kSocketMode) != 0) {
                error.assign(errno, beast::system_category());
            }
        });
        step([&] { acceptor.listen(static_cast<int>(kConnectionsMax), error); });
        if (error) {
            return base::fail(base::ErrorKind::io,
                              fmt::format("cannot serve at {}: {} (does its directory exist, "
                                          "and may we write there?)",
                                          path, error.message()));
        }
        return {};
    }

    void accept() {
        acceptor.async_accept(
            asio::make_strand(context), [this](beast::error_code error, Local::socket socket) {
                if (error == asio::error::operation_aborted) {
                    return;
                }
                if (!error) {
                    const bool full = shared.connections >= kConnectionsMax;
                    const auto session = std::make_shared<Session>(std::move(socket), shared);
                    full ? session->refuse() : session->read();
                    return accept();
                }
                // Out of descriptors, most likely: wait a little instead of spinning.
                retry.expires_after(std::chrono::milliseconds{100});
                retry.async_wait([this](beast::error_code stopped) {
                    if (!stopped) {
                        accept();
                    }
                });
            });
    }

    void run() {
        accept();
        for (int i = 0; i < kThreads; ++i) {
            threads.emplace_back([this] { context.run(); });
        }
    }

    ~Impl() {
        context.stop();
        for (std::thread& thread : threads) {
            thread.join();
        }
        if (bound) {
            ::unlink(path.c_str());
        }
    }

    std::string path;
    Shared shared;  // before the context: pending handlers hold sessions, which refer to it
    asio::io_context context{kThreads};
    Local::acceptor acceptor{context};
    asio::steady_timer retry{context};
    std::vector<std::thread> threads;
    bool bound = false;
};

base::Result<std::unique_ptr<ApiServer>> ApiServer::start(const std::string& path, SnapshotSource snapshot,
                                                          CommandSink command, api::ProbeHistory& probes) {
    auto impl = std::make_unique<Impl>(path, std::move(snapshot), std::move(command), probes);
    const auto ready =
        check_length(path).and_then([&] { return clear_stale(path); }).and_then([&] { return impl->bind(); });
    if (!ready) {
        return tl::unexpected(ready.error());
    }
    impl->run();
    base::log(base::LogLevel::info, "API at {}", path);
    return std::unique_ptr<ApiServer>(new ApiServer(std::move(impl)));
}

ApiServer::ApiServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ApiServer::~ApiServer() = default;
const std::string& ApiServer::path() const {
    return impl_->path;
}

}  // namespace ibf::shell
