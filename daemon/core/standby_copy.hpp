// DOC: what another ibfabricd tells, and what a standby makes of it.
//
// A master's memory is a stream: all that it has, then what changes, as the batches that it stores itself
// (db::Batch). A standby stores them too, and has them at hand when it takes over. Beside them goes the
// edition of what clients were told (db/edition_mark.hpp), and who was: the copy is current when nobody was
// told what is not in its SA state. Values and a small state machine, pure; connections are the shell's
// (shell/replica.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.hpp"
#include "daemon/fabric/snapshot.hpp"
#include "daemon/sm/subnet_manager.hpp"
#include "db/records.hpp"
#include "mad/ids.hpp"

namespace ibf::core {

/// Another ibfabricd.
struct Peer {
    mad::Guid guid{};  ///< its port's, as in SMInfo
    std::string name;
};
/// Records of the master. The first of each connection are all that it has.
struct CopyReceived {
    Peer from;
    sm::CopyExtent extent = sm::CopyExtent::changes;
    db::Batch batch;
};
enum class ToldTo : std::uint8_t { nobody, client, anybody };
/// It lives, and who of its clients was told something that will be in that edition of the SA's state.
struct CopyTold {
    Peer from;
    std::uint64_t edition = 0;
    ToldTo to = ToldTo::nobody;
    mad::Guid client{};  ///< whose port, where it was one
};
/// Nothing comes from it any more.
struct CopyEnded {
    Peer from;
    std::string why;
};
/// How its configuration differs from ours, in what should be the same.
struct PeerCompared {
    Peer peer;
    std::vector<std::string> differences;
};
/// Why there is no copy to be had or given at all; empty: there is one again.
struct CopyTrouble {
    std::string text;
};

/// The copy of one master at a time.
class HeldCopy {
public:
    static constexpr base::Duration kBeat = std::chrono::seconds{1};  ///< a master says something so often
    static constexpr std::size_t kLackingMost = mad::kLidUnicastMax;  ///< no fabric has more ports with LIDs

    /// False: changes to nothing that is here.
    [[nodiscard]] bool begin(const Peer& from, sm::CopyExtent extent, base::Instant now);
    /// The SA's state has come, of that edition; 0: it lacks something.
    void hold(std::uint64_t edition);
    void on_told(const CopyTold& news, base::Instant now);
    /// False: of another one.
    [[nodiscard]] bool on_ended(const Peer& from, const std::string& why, base::Instant now);

    [[nodiscard]] const Peer& of() const { return of_; }
    [[nodiscard]] std::uint64_t told() const { return told_; }
    [[nodiscard]] bool current() const { return whole_ && held_ != 0 && !anybody_ && lacking_.empty(); }
    [[nodiscard]] sm::ClientsCopy clients() const;
    [[nodiscard]] fabric::StandbyCopy::State state() const;
    [[nodiscard]] base::Instant heard() const { return heard_; }
    [[nodiscard]] const std::string& why() const { return why_; }

private:
    Peer of_;
    bool whole_ = false;
    std::uint64_t held_ = 0;                      ///< edition of the SA's state here; 0: it lacks something
    std::uint64_t told_ = 0;                      ///< edition of what clients were told
    std::map<mad::Guid, std::uint64_t> lacking_;  ///< who was told something of a later edition than is held
    std::optional<std::uint64_t> anybody_;  ///< there was more told of that edition, nobody knows to whom
    base::Instant heard_{};
    std::optional<base::Instant> ended_;
    std::string why_;
};

}  // namespace ibf::core
