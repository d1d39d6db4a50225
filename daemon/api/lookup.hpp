// DOC: what an operator's word means.
//
// Operators name things as they see them: by description ("leaf-01", or a part of it that fits one node
// only), by node or port GUID (with or without 0x, or as ibnetdiscover's "S-..."/"H-..."), or by LID
// ("lid:12", "12", "0xc"); "/N" at the end picks a port. A word that fits several things is an error that
// lists them. Pure; built per request, a few milliseconds for 70,000 ports.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "daemon/fabric/fabric.hpp"

namespace ibf::api {

/// A node, and a port or LID of it if the word said so.
struct Target {
    std::uint32_t node = fabric::kNoNode;
    std::optional<mad::PortNum> port;
    std::optional<mad::Lid> lid;
};

class Directory {
public:
    /// Keeps a reference: the fabric must outlive it.
    explicit Directory(const fabric::Fabric& fabric);

    /// Errors: not_found; refused when several fit (the message lists them).
    [[nodiscard]] base::Result<Target> resolve(std::string_view word) const;
    /// Node by node GUID; fabric::kNoNode if absent.
    [[nodiscard]] std::uint32_t find(mad::Guid node_guid) const;
    [[nodiscard]] std::optional<fabric::PortRef> find(mad::Lid lid) const;
    /// The port with this GUID; of a switch, whose port 0 has the node's, that.
    [[nodiscard]] std::optional<fabric::PortRef> find_port(mad::Guid port_guid) const;

private:
    [[nodiscard]] std::optional<Target> by_guid(mad::Guid guid) const;
    [[nodiscard]] std::optional<Target> by_number(std::string_view word) const;
    [[nodiscard]] base::Result<std::optional<Target>> by_description(std::string_view word) const;
    [[nodiscard]] base::Result<std::optional<Target>> with_port(std::string_view word) const;
    [[nodiscard]] base::Result<Target> by_part(std::string_view word) const;

    const fabric::Fabric& fabric_;
    std::vector<std::pair<mad::Guid, std::uint32_t>> nodes_;         ///< sorted by GUID
    std::vector<std::pair<mad::Guid, fabric::PortRef>> port_guids_;  ///< sorted
    std::vector<std::pair<mad::LidRange, fabric::PortRef>> lids_;    ///< sorted by base
};

/// ASCII case-insensitive "contains".
[[nodiscard]] bool contains_word(std::string_view text, std::string_view part);

}  // namespace ibf::api
