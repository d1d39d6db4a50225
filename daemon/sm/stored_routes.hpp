// DOC: the tables of the last completed run as the database keeps them, made into routes again. Pure.
//
// A stored table names what it came from: the engine, and a fingerprint of the preferences that it was made
// by, if there were any. Tables of another origin are not mixed in (decision 8).
#pragma once

#include <map>
#include <memory>
#include <string>

#include "db/records.hpp"
#include "routing/routes.hpp"

namespace ibf::sm {

/// "ftree", or "ftree 00c0ffee00c0ffee" where preferences had a say.
[[nodiscard]] std::string table_origin(const routing::Routes& routes);

/// REQUIRES: there is a table. The origin is that of the first.
[[nodiscard]] std::shared_ptr<const routing::Routes> stored_routes(
    const std::map<mad::Guid, db::TableRecord>& tables);

}  // namespace ibf::sm
