#include "daemon/sm/stored_routes.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

namespace ibf::sm {

std::string table_origin(const routing::Routes& routes) {
    return routes.preferred == 0 ? routes.engine : fmt::format("{} {:016x}", routes.engine, routes.preferred);
}

std::shared_ptr<const routing::Routes> stored_routes(const std::map<mad::Guid, db::TableRecord>& tables) {
    auto routes = std::make_shared<routing::Routes>();
    const std::string_view origin = tables.begin()->second.engine;
    const std::size_t blank = std::min(origin.find(' '), origin.size());
    routes->engine = origin.substr(0, blank);
    const std::string_view digits = origin.substr(std::min(blank + 1, origin.size()));
    std::from_chars(digits.data(), digits.data() + digits.size(), routes->preferred, 16);
    for (const auto& [guid, record] : tables) {
        if (record.lft && record.engine == origin) {
            routes->switch_guids.push_back(guid);
            routes->rows.push_back(record.lft);
        }
    }
    return routes;
}

}  // namespace ibf::sm
