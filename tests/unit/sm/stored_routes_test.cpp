#include "daemon/sm/stored_routes.hpp"

#include <gtest/gtest.h>

namespace ibf::sm {
namespace {

using mad::Guid;

db::TableRecord table(std::uint64_t guid, const std::string& origin) {
    return {Guid{guid}, 10, std::make_shared<const std::vector<std::uint8_t>>(64, std::uint8_t{1}), origin};
}

TEST(StoredRoutes, AnOriginComesBackAsItWas) {
    for (const std::uint64_t preferred : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
        routing::Routes routes;
        routes.engine = "torus-2qos";
        routes.preferred = preferred;
        const auto back = stored_routes({{Guid{1}, table(1, table_origin(routes))}});
        EXPECT_EQ(back->engine, "torus-2qos");
        EXPECT_EQ(back->preferred, preferred);
        ASSERT_EQ(back->rows.size(), 1U);
    }
    routing::Routes plain;
    plain.engine = "ftree";
    EXPECT_EQ(table_origin(plain), "ftree");
}

TEST(StoredRoutes, OnlyTablesOfOneOriginAreTaken) {
    const auto routes = stored_routes({{Guid{1}, table(1, "ftree 00000000000000ff")},
                                       {Guid{2}, table(2, "ftree")},
                                       {Guid{3}, table(3, "ftree 00000000000000ff")},
                                       {Guid{4}, db::TableRecord{Guid{4}, 0, nullptr, "ftree"}}});
    EXPECT_EQ(routes->switch_guids, (std::vector<Guid>{Guid{1}, Guid{3}}));
    EXPECT_EQ(routes->preferred, 0xFFU);
}

}  // namespace
}  // namespace ibf::sm
