// DOC: which group has which MLID.
//
// A switch forwards as many MLIDs as its MulticastFDBCap says, and the smallest of a fabric bounds them all:
// often 1024, where every host joins a group of its own for IPv6 neighbour discovery. So groups have an MLID
// each while there are plenty. From kScarce on, a group shares one with others of its partition and scope,
// never across partitions: who shares gets the others' packets at its port, where the adapter drops what it
// has not joined. The rest of the space is left to partitions and scopes that have none yet. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/fabric/sa_tables.hpp"
#include "mad/multicast.hpp"

namespace ibf::sa {

class MlidPool {
public:
    /// Of a hundred; also where the operator is told.
    static constexpr std::uint32_t kScarce = 80;

    MlidPool() : uses_(mad::kMlidsMost) {}

    /// The smallest multicast table. What was given out beyond it stays given.
    void limit(std::uint32_t room);
    /// Counts a group that has its MLID already. False: the MLID is that of another partition or scope.
    [[nodiscard]] bool adopt(const fabric::Group& group);
    /// An MLID for a group, counted. Empty: there is none, nor one to share.
    [[nodiscard]] std::optional<mad::Mlid> take(const fabric::Group& group);
    /// The group is no more; with the last of its groups an MLID is free.
    void release(const fabric::Group& group);

    [[nodiscard]] std::uint32_t room() const { return room_; }
    [[nodiscard]] std::uint32_t used() const { return used_; }
    [[nodiscard]] bool scarce() const;

private:
    /// The groups of one MLID.
    struct Use {
        std::uint32_t groups = 0;
        std::uint16_t partition = 0;
        std::uint8_t scope = 0;
        std::uint8_t mtu = 0;  ///< of its first group, as is the rate
        std::uint8_t rate = 0;
        bool well_known = false;
    };

    [[nodiscard]] static Use use_of(const fabric::Group& group);
    [[nodiscard]] std::optional<std::uint32_t> to_share(const Use& wanted) const;
    void count(std::uint32_t at, const Use& use);

    std::vector<Use> uses_;  ///< by MLID, from 0xC000 on
    std::uint32_t room_ = mad::kMlidsMost;
    std::uint32_t used_ = 0;
};

}  // namespace ibf::sa
