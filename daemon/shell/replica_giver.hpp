// DOC: the two ends of a copy, each a Channel (replica_channel.hpp): the giver's and the taker's.
//
// Inside of replica.cpp: what they share is the Hub, which owns none of them.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/shell/replica.hpp"
#include "daemon/shell/replica_batch.hpp"
#include "daemon/shell/replica_channel.hpp"
#include "db/waiting.hpp"

namespace ibf::shell {

inline constexpr std::size_t kReplicaHistory = 256;  ///< sweeps and events that a new standby is told

/// What every connection works on.
struct Hub {
    ReplicaConfig config;
    ReplicaIdentity identity;
    ReplicaStanding standing;
    db::Waiting memory{kReplicaHistory};  ///< all that there is; never taken from
    Want newest;                          ///< of its history
    std::uint64_t told = 0;
    Replica::Sink sink;

    void remember(db::Batch&& batch);
    /// Tells the loop how a peer's configuration compares; true: nothing may pass between us.
    [[nodiscard]] bool refuses(const core::Peer& peer, const core::ConfigDigests& theirs) const;
};

class Giver : public Channel {
public:
    Giver(boost::asio::ip::tcp::socket&& socket, Terms terms, std::string address, Hub& hub,
          std::function<void(const std::string&)> ended);

    void changed(const db::Batch& batch);
    /// 0: nobody in particular.
    void told(mad::Guid client);
    void standing_changed();
    void introduce();
    /// The configuration is another one now.
    void compare_again();
    /// Everything has gone out.
    [[nodiscard]] bool idle() const;

private:
    void opened() override { introduce(); }
    void received(Frame&& frame) override;
    void beat() override;
    std::optional<std::string> bulk() override;
    void closed(const std::string& why) override { ended_(why); }
    std::optional<std::string> bulk_told();

    void on_hello(const Hello& hello);
    void begin();
    void end();
    [[nodiscard]] std::string next_piece();

    Hub& hub_;
    std::function<void(const std::string&)> ended_;
    std::optional<Hello> hello_;  ///< the peer's
    bool refused_ = false;
    std::optional<Want> wanted_;
    bool giving_ = false;
    db::Waiting outbox_{kReplicaHistory};
    bool whole_due_ = false;
    std::uint64_t told_sent_ = 0;
    std::set<mad::Guid> told_clients_;  ///< not passed on yet
    bool told_anybody_ = false;
    // The batch that is on its way.
    std::optional<db::Batch> batch_;
    std::size_t record_ = 0;  ///< the next of it
    std::string octets_;      ///< of the one before
    std::size_t octets_sent_ = 0;
    std::uint64_t commits_ = 0;
};

class Taker : public Channel {
public:
    /// What outlives a connection: up to where a peer's history is known.
    struct Place {
        mad::Guid of{};
        Want known;
        Want unknown;  ///< what is asked of one whose place is not known
    };
    /// `itself`: the connection led to ourselves.
    using Ended = std::function<void(const std::string& why, bool itself)>;

    Taker(boost::asio::ip::tcp::socket&& socket, Terms terms, std::string address, Hub& hub, Place& place,
          Ended ended);

    void standing_changed();
    void introduce();
    /// The configuration is another one now.
    void compare_again();

private:
    void opened() override { introduce(); }
    void received(Frame&& frame) override;
    void beat() override { send(Beat{}); }
    void closed(const std::string& why) override;

    void on_hello(const Hello& hello);
    void on_piece(const Piece& piece);
    void on_commit(const Commit& commit);
    void want_if_followed();

    Hub& hub_;
    Place& place_;
    Ended ended_;
    std::optional<core::Peer> peer_;
    std::optional<Hello> hello_;  ///< the peer's
    bool refused_ = false;
    bool itself_ = false;
    bool master_ = false;  ///< it says so
    bool wanted_ = false;
    IncomingBatch batch_;
};

}  // namespace ibf::shell
