// DOC: copies of the master's memory, between the ibfabricds of a fabric.
//
// One thread with sockets. Each SM node lists the others (and itself, if that makes the file the same
// everywhere), keeps a connection to each of them, and takes from the one that its election follows; whoever
// is master gives. What is given is what the loop stores: changed() with each batch, told() with each edition
// before clients hear of it. What is taken goes to the loop as events. Records for a slow standby are merged
// while they wait (db::Waiting): it costs as much memory as the fabric, and no more.
//
// Nothing is sent or read before both sides have shown certificates (replica_tls.hpp). What is wrong with
// the files or the address is told and tried again each minute: the fabric is served without copies.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/time.hpp"
#include "daemon/core/config_digest.hpp"
#include "daemon/core/core.hpp"
#include "daemon/shell/config_file.hpp"
#include "db/records.hpp"

namespace ibf::shell {

/// Who we are for peers.
struct ReplicaIdentity {
    core::Peer self;
    core::ConfigDigests digests;
};
/// What the election says.
struct ReplicaStanding {
    bool is_master = false;
    mad::Guid followed{};  ///< whose copy is wanted; 0: nobody's
    bool operator==(const ReplicaStanding&) const = default;
};

class Replica {
public:
    /// Called from the replica's thread. False: there is no room, and the connection begins anew.
    using Sink = std::function<bool(core::Event&&)>;

    /// `held`: what this SM remembers as it starts, `told`: the edition of what its clients were told last.
    Replica(const ReplicaConfig& config, ReplicaIdentity identity, db::Batch held, std::uint64_t told,
            Sink sink);
    ~Replica();
    Replica(const Replica&) = delete;
    Replica& operator=(const Replica&) = delete;

    // From the loop's thread; none of them waits.
    void changed(const db::Batch& batch);
    void told(std::uint64_t edition, mad::Guid client);
    void stand(ReplicaStanding standing);
    /// The configuration was read anew: certificates may be others, too.
    void reload(core::ConfigDigests digests);
    /// Waits until what was said so far is on its way to every standby that reads. False after `timeout`.
    [[nodiscard]] bool flush(base::Duration timeout);
    /// Where peers are listened for; 0: nowhere (yet).
    [[nodiscard]] std::uint16_t port() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// What of a start's memory goes to standbys.
[[nodiscard]] db::Batch held_by(const db::Stored& stored);

}  // namespace ibf::shell
