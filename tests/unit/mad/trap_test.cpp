// Golden notices, octet by octet as IBA 14.2.5.1 lays them out: what a trap says, and of whom.
#include "mad/trap.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

#include "mad/codec.hpp"

namespace ibf::mad {
namespace {

/// A generic notice of a channel adapter with LID 0x0021, with these details from octet `at` of them on.
class Golden {
public:
    explicit Golden(std::uint16_t trap) {
        data_ = {
            0x82, 0x00, 0x00, 0x01, static_cast<std::uint8_t>(trap >> 8), static_cast<std::uint8_t>(trap),
            0x00, 0x21, 0x80, 0x05};
    }
    Golden& put(std::size_t at, std::initializer_list<std::uint8_t> octets) {
        constexpr std::size_t kDetailsAt = 10;
        std::copy(octets.begin(), octets.end(), data_.begin() + static_cast<std::ptrdiff_t>(kDetailsAt + at));
        return *this;
    }
    [[nodiscard]] Notice notice() const { return decode_notice(data_); }
    template <class Kind>
    [[nodiscard]] Kind as() const {
        return std::get<Kind>(decode_trap(notice()));
    }

private:
    AttributeData data_{};
};

Golden& put_two_gids(Golden& golden, std::size_t at) {
    golden.put(at, {0xfe, 0x80, 0, 0, 0, 0, 0, 1, 0, 0x02, 0xc9, 0x03, 0, 0, 0x11, 0x11});
    return golden.put(at + 16, {0xfe, 0x80, 0, 0, 0, 0, 0, 2, 0, 0x02, 0xc9, 0x03, 0, 0, 0x22, 0x22});
}

constexpr Gid kFirstGid{0xfe80000000000001, Guid{0x0002c90300001111}};
constexpr Gid kSecondGid{0xfe80000000000002, Guid{0x0002c90300002222}};

TEST(Trap, TheHeadOfANotice) {
    const Notice notice = Golden(131).notice();
    EXPECT_TRUE(notice.generic);
    EXPECT_EQ(notice.type, 2);
    EXPECT_EQ(notice.producer, 1U);
    EXPECT_EQ(notice.issuer_lid, Lid{0x21});
    EXPECT_TRUE(notice.toggle);
    EXPECT_EQ(notice.count, 5);
}

TEST(Trap, LinkState) {
    Golden golden(128);
    golden.put(0, {0x12, 0x34});
    EXPECT_EQ(golden.as<LinkStateTrap>(), LinkStateTrap{Lid{0x1234}});
}

TEST(Trap, ErrorsOfAPort) {
    for (const std::uint16_t number : std::initializer_list<std::uint16_t>{129, 130, 131}) {
        Golden golden(number);
        golden.put(0, {0xAA, 0xAA, 0x12, 0x34, 0x11, 0xBB});
        const PortErrorTrap expected{Lid{0x1234}, PortNum{0x11}};
        EXPECT_EQ(golden.as<PortErrorTrap>(), expected);
    }
}

TEST(Trap, LocalChange) {
    Golden golden(144);
    golden.put(0, {0, 0, 0x12, 0x34, 0, 0x01, 0x02, 0x51, 0x08, 0x6a, 0x00, 0x29, 0x04, 0x02});
    const LocalChangeTrap trap = golden.as<LocalChangeTrap>();
    EXPECT_EQ(trap.lid, Lid{0x1234});
    EXPECT_TRUE(trap.other_local_changes);
    EXPECT_EQ(trap.capability_mask, 0x0251086aU);
    EXPECT_TRUE(trap.node_description && trap.sm_priority && trap.capability_mask2_changed);
    EXPECT_FALSE(trap.width_enabled || trap.speed_enabled || trap.hierarchy_info);
    EXPECT_EQ(trap.capability_mask2, 0x0402);
    golden.put(10, {0x00, 0x16});
    const LocalChangeTrap other = golden.as<LocalChangeTrap>();
    EXPECT_TRUE(other.width_enabled && other.speed_enabled && other.hierarchy_info);
    EXPECT_FALSE(other.node_description || other.sm_priority || other.capability_mask2_changed);
}

TEST(Trap, SystemGuid) {
    Golden golden(145);
    golden.put(0, {0, 0, 0x12, 0x34, 0, 0, 0x00, 0x02, 0xc9, 0x03, 0x00, 0x00, 0xab, 0xcd});
    const SystemGuidTrap expected{Lid{0x1234}, Guid{0x0002c9030000abcd}};
    EXPECT_EQ(golden.as<SystemGuidTrap>(), expected);
}

TEST(FieldCase, C30_a_bad_mkey_field_by_field) {
    Golden golden(256);
    golden.put(0, {0, 0, 0x12, 0x34, 0xff, 0xff, 0x02, 0x00, 0x00, 0x15, 0x80, 0x00, 0x00, 0x07});
    golden.put(14, {0xde, 0xad, 0xbe, 0xef, 0x01, 0x02, 0x03, 0x04, 0x00, 0xC3, 0x01, 0x11, 0x05});
    MKeyTrap expected{Lid{0x1234}, Lid{0xffff}, 2, 0x0015, 0x80000007, MKey{0xdeadbeef01020304},
                      true,        true,        3, {}};
    expected.return_path[0] = 0x01;
    expected.return_path[1] = 0x11;
    expected.return_path[2] = 0x05;
    EXPECT_EQ(golden.as<MKeyTrap>(), expected);
    golden.put(23, {0x05});
    EXPECT_FALSE(golden.as<MKeyTrap>().directed || golden.as<MKeyTrap>().truncated);
    EXPECT_EQ(golden.as<MKeyTrap>().hops, 5);
}

TEST(FieldCase, C30_a_bad_pkey_or_qkey_field_by_field) {
    for (const std::uint16_t number : std::initializer_list<std::uint16_t>{257, 258}) {
        Golden golden(number);
        golden.put(0, {0, 0, 0x12, 0x34, 0x56, 0x78, 0x80, 0x01, 0xab, 0xcd, 0x30, 0x00, 0x01, 0x02, 0xff,
                       0x03, 0x04, 0x05});
        put_two_gids(golden, 18);
        KeyTrap expected;
        expected.from = {Lid{0x1234}, 0x000102, kFirstGid};
        expected.to = {Lid{0x5678}, 0x030405, kSecondGid};
        expected.key = 0x8001abcd;
        expected.sl = 3;
        EXPECT_EQ(golden.as<KeyTrap>(), expected);
    }
}

TEST(FieldCase, C30_a_bad_pkey_at_a_switch_field_by_field) {
    Golden golden(259);
    golden.put(
        0, {0x00, 0x7f, 0x12, 0x34, 0x56, 0x78, 0x80, 0x01, 0xf0, 0x00, 0x01, 0x02, 0x00, 0x03, 0x04, 0x05});
    put_two_gids(golden, 16).put(48, {0x00, 0x42, 0x11});
    KeyTrap expected;
    expected.from = {Lid{0x1234}, 0x000102, kFirstGid};
    expected.to = {Lid{0x5678}, 0x030405, kSecondGid};
    expected.key = 0x8001;
    expected.sl = 15;
    expected.data_valid = 0x7f;
    expected.switch_lid = Lid{0x42};
    expected.switch_port = PortNum{17};
    EXPECT_EQ(golden.as<KeyTrap>(), expected);
}

TEST(Trap, NothingIsGuessed) {
    EXPECT_TRUE(std::holds_alternative<UnknownTrap>(decode_trap(Golden(132).notice())));
    Notice vendor = Golden(257).notice();
    vendor.generic = false;
    EXPECT_TRUE(std::holds_alternative<UnknownTrap>(decode_trap(vendor)));
    EXPECT_EQ(trap_name(vendor), "vendor-trap");
    EXPECT_EQ(trap_name(Golden(132).notice()), "trap");
    EXPECT_EQ(trap_name(Golden(256).notice()), "mkey-violation");
    EXPECT_EQ(trap_name(Golden(257).notice()), "pkey-violation");
    EXPECT_EQ(trap_name(Golden(258).notice()), "qkey-violation");
    EXPECT_EQ(trap_name(Golden(259).notice()), "pkey-violation");
}

}  // namespace
}  // namespace ibf::mad
