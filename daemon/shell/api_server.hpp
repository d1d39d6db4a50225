// DOC: the API's socket.
//
// HTTP/1.1 over a unix socket (Boost.Beast), on threads of its own. What a request means is api::handle();
// here are only bytes, limits and time-outs: at most kConnectionsMax clients, kRequestBytesMax a request,
// kClientTimeout for a client that neither reads nor writes. Replies that are produced in pieces leave
// chunked, so a table of any size costs one piece of memory. One slow request (a proof of all tables) does
// not hold up the others.
//
// The two functions are called from the server's threads: `snapshot` must be cheap and thread-safe and may
// return null before the first one exists; `command` hands an AdminCommand on (into a mailbox) and must not
// block. Where it returns false, too many commands wait, and the client is told so: 503 in place of 202.
// `probes` outlives the server and may block its threads for as long as the disk does. Thread owner: whoever
// called start(); the destructor closes every connection and joins.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"
#include "daemon/api/api.hpp"
#include "daemon/api/probe_history.hpp"
#include "daemon/fabric/snapshot.hpp"

namespace ibf::shell {

class ApiServer {
public:
    using SnapshotSource = std::function<std::shared_ptr<const fabric::Snapshot>()>;
    using CommandSink = std::function<bool(api::AdminCommand)>;

    static constexpr std::size_t kConnectionsMax = 64;
    static constexpr std::size_t kRequestBytesMax = 64 * 1024;  ///< api::body_bytes_max() lets some be larger
    static constexpr std::chrono::seconds kClientTimeout{30};

    /// Binds `path` (mode 0660) and serves. A socket file that nobody answers at is replaced. Errors:
    /// unavailable (a living daemon answers there), usage (path too long, or a file that is no socket), io.
    [[nodiscard]] static base::Result<std::unique_ptr<ApiServer>> start(const std::string& path,
                                                                        SnapshotSource snapshot,
                                                                        CommandSink command,
                                                                        api::ProbeHistory& probes);
    /// Stops accepting, closes every connection, removes the socket file, joins the threads.
    ~ApiServer();
    ApiServer(const ApiServer&) = delete;
    ApiServer& operator=(const ApiServer&) = delete;

    [[nodiscard]] const std::string& path() const;

private:
    struct Impl;
    explicit ApiServer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace ibf::shell
