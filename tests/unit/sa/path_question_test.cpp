// What clients ask for paths with, held against the field table that the SA answers by.
#include <gtest/gtest.h>

#include "daemon/sa/record_type.hpp"
#include "mad/sa_path.hpp"

namespace ibf::sa {
namespace {

using mad::Gid;
using mad::Guid;
using mad::Lid;
using mad::PKey;

const RecordType& path_type() {
    return record_type_of(mad::SaAttribute::path_record);
}

std::uint64_t mask_of(std::initializer_list<std::string_view> fields) {
    std::uint64_t mask = 0;
    for (const std::string_view field : fields) {
        mask |= std::uint64_t{1} << path_type().component(field);
    }
    return mask;
}

TEST(PathQuestion, HasTheFieldsThatTheSaLooksAt) {
    const mad::SaMad by_lid =
        mad::path_question({.slid = Lid{7}, .dlid = Lid{0x1234}, .dgid = {}, .pkey = PKey{0x8005}});
    EXPECT_EQ(by_lid.method(), mad::SaMethod::get);
    EXPECT_EQ(by_lid.attribute(), mad::SaAttribute::path_record);
    EXPECT_EQ(by_lid.component_mask, mask_of({"SLID", "DLID", "P_Key", "Reversible", "NumbPath"}));
    EXPECT_EQ(path_type().get(by_lid.data, "SLID"), 7U);
    EXPECT_EQ(path_type().get(by_lid.data, "DLID"), 0x1234U);
    EXPECT_EQ(path_type().get(by_lid.data, "P_Key"), 0x8005U);
    EXPECT_EQ(path_type().get(by_lid.data, "Reversible"), 1U);
    EXPECT_EQ(path_type().get(by_lid.data, "NumbPath"), 1U);
    const mad::SaMad by_gid = mad::path_question(
        {.slid = Lid{7}, .dlid = {}, .dgid = Gid{0xfe80000000000000, Guid{0x42}}, .pkey = {}});
    EXPECT_EQ(by_gid.component_mask, mask_of({"SLID", "DGID", "Reversible", "NumbPath"}));
    EXPECT_EQ(by_gid.data[8], 0xfe);
    EXPECT_EQ(by_gid.data[23], 0x42);
}

TEST(PathQuestion, ReadsWhatTheSaWrites) {
    std::vector<std::uint8_t> record(path_type().size());
    for (const auto& [field, value] : {std::pair{"DLID", 9},
                                       {"SLID", 8},
                                       {"SL", 3},
                                       {"Mtu", 4},
                                       {"MtuSelector", 2},
                                       {"Rate", 16},
                                       {"RateSelector", 2},
                                       {"PacketLifeTime", 18},
                                       {"P_Key", 0xFFFF},
                                       {"Reversible", 1}}) {
        path_type().set(record, field, static_cast<std::uint64_t>(value));
    }
    record[8] = 0xfe;
    record[39] = 0x17;
    const auto path = mad::parse_path_record(record);
    ASSERT_TRUE(path);
    EXPECT_EQ(path->dlid, Lid{9});
    EXPECT_EQ(path->slid, Lid{8});
    EXPECT_EQ(path->sl, mad::Sl{3});
    EXPECT_EQ(path->mtu, mad::Mtu::b2048);
    EXPECT_EQ(path->rate, 16);
    EXPECT_EQ(path->bits_per_second, 100'000'000'000U);
    EXPECT_EQ(path->packet_life, 18);
    EXPECT_EQ(path->pkey, PKey{0xFFFF});
    EXPECT_TRUE(path->is_reversible);
    EXPECT_EQ(path->dgid.prefix, 0xfe00000000000000);
    EXPECT_EQ(path->sgid.interface_id, Guid{0x17});
}

}  // namespace
}  // namespace ibf::sa
