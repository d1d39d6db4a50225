#include "mad/smp.hpp"

#include <gtest/gtest.h>

#include "base/prng.hpp"
#include "random_bytes.hpp"

namespace ibf::mad {
namespace {

Smp sample_smp() {
    Smp smp;
    smp.header.method = static_cast<std::uint8_t>(Method::get);
    smp.header.tid = 0x1122334455667788;
    smp.header.attribute = Attribute::port_info;
    smp.header.modifier = 3;
    smp.mkey = MKey{0xA1A2A3A4A5A6A7A8};
    smp.path = DrPath{}.then(PortNum{1}).then(PortNum{18});
    smp.data[63] = 0x99;
    return smp;
}

TEST(Smp, DirectedRouteLayout) {
    const MadBuffer bytes = encode_smp(sample_smp());
    // IBA 14.2.1.2, octet by octet.
    EXPECT_EQ(bytes[0], 1);     // base version
    EXPECT_EQ(bytes[1], 0x81);  // class
    EXPECT_EQ(bytes[2], 1);     // class version
    EXPECT_EQ(bytes[3], 0x01);  // method
    EXPECT_EQ(bytes[6], 0);     // hop pointer
    EXPECT_EQ(bytes[7], 2);     // hop count
    EXPECT_EQ(bytes[8], 0x11);  // TID
    EXPECT_EQ(bytes[15], 0x88);
    EXPECT_EQ(bytes[17], 0x15);  // attribute
    EXPECT_EQ(bytes[23], 3);     // modifier
    EXPECT_EQ(bytes[24], 0xA1);  // M_Key
    for (std::size_t i = 32; i < 36; ++i) {
        EXPECT_EQ(bytes[i], 0xFF);  // DrSLID, DrDLID permissive
    }
    EXPECT_EQ(bytes[64 + 63], 0x99);  // data
    EXPECT_EQ(bytes[128], 0);         // initial path
    EXPECT_EQ(bytes[129], 1);
    EXPECT_EQ(bytes[130], 18);
    EXPECT_EQ(bytes[193], 0);  // return path
}

TEST(Smp, RoundTrip) {
    Smp smp = sample_smp();
    smp.header.method = static_cast<std::uint8_t>(Method::get_resp);
    smp.header.status = 0x001C;
    smp.returning = true;
    smp.hop_pointer = 1;
    smp.return_path = DrPath{}.then(PortNum{7}).then(PortNum{8});
    const MadBuffer bytes = encode_smp(smp);
    EXPECT_EQ(bytes[4], 0x80) << "direction bit";
    const auto back = parse_smp(bytes);
    ASSERT_TRUE(back.has_value());
    EXPECT_TRUE(back->header.is_response());
    EXPECT_EQ(back->header.status, 0x001C) << "without the direction bit";
    EXPECT_TRUE(back->returning);
    EXPECT_EQ(back->hop_pointer, 1);
    EXPECT_EQ(back->path, smp.path);
    EXPECT_EQ(back->return_path, smp.return_path);
    EXPECT_EQ(back->mkey, smp.mkey);
    EXPECT_EQ(back->data, smp.data);
    EXPECT_EQ(back->header.tid, smp.header.tid);
    EXPECT_EQ(encode_smp(*back), bytes);
}

TEST(Smp, LidRoutedHasNoPath) {
    Smp smp = sample_smp();
    smp.header.mgmt_class = MgmtClass::subn_lid;
    smp.header.status = 0x8000;  // no direction bit in this class
    const MadBuffer bytes = encode_smp(smp);
    EXPECT_EQ(bytes[1], 0x01);
    EXPECT_EQ(bytes[7], 0);
    EXPECT_EQ(bytes[129], 0);
    const auto back = parse_smp(bytes);
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->header.status, 0x8000);
    EXPECT_FALSE(back->returning);
    EXPECT_EQ(back->path.hops, 0);
}

TEST(Smp, TheLongestPathFits) {
    Smp smp = sample_smp();
    smp.path = {};
    for (std::uint8_t hop = 1; hop <= kHopsMax; ++hop) {
        smp.path = smp.path.then(PortNum{hop});
    }
    const auto back = parse_smp(encode_smp(smp));
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->path, smp.path);
}

TEST(Smp, PortZeroOfThePathIsIgnored) {
    MadBuffer bytes = encode_smp(sample_smp());
    bytes[128] = 77;
    EXPECT_EQ(parse_smp(bytes)->path, sample_smp().path);
}

// C40: what is no SMP is refused, never a crash.
TEST(Smp, Refusals) {
    const MadBuffer good = encode_smp(sample_smp());
    ASSERT_TRUE(parse_smp(good).has_value());
    const auto refused = [&](std::size_t octet, std::uint8_t value) {
        MadBuffer bytes = good;
        bytes[octet] = value;
        const auto parsed = parse_smp(bytes);
        return !parsed && parsed.error().kind == base::ErrorKind::parse && !parsed.error().message.empty();
    };
    EXPECT_TRUE(refused(0, 2)) << "base version";
    EXPECT_TRUE(refused(1, 0x03)) << "class";
    EXPECT_TRUE(refused(2, 2)) << "class version";
    EXPECT_TRUE(refused(7, 64)) << "hop count";
    EXPECT_TRUE(refused(7, 255)) << "hop count";
    EXPECT_TRUE(refused(6, 4)) << "hop pointer beyond the path";
    for (const std::size_t length :
         {std::size_t{0}, std::size_t{1}, std::size_t{23}, std::size_t{24}, std::size_t{255}}) {
        EXPECT_FALSE(parse_smp(std::span(good).first(length)).has_value()) << length;
    }
    EXPECT_FALSE(parse_smp(std::vector<std::uint8_t>(2048, 1)).has_value());
    EXPECT_FALSE(parse_header(std::span(good).first(23)).has_value());
    EXPECT_TRUE(parse_header(std::span(good).first(24)).has_value());
}

TEST(Smp, RandomBytesParseOrAreRefused) {
    base::Prng prng{40};
    unsigned accepted = 0;
    for (int round = 0; round < 20000; ++round) {
        auto bytes = random_bytes<MadBuffer>(prng);
        bytes[0] = 1;
        bytes[1] = prng.below(2) == 0 ? 0x81 : 0x01;
        bytes[2] = 1;
        if (const auto smp = parse_smp(bytes)) {
            ++accepted;
            EXPECT_LE(smp->path.hops, kHopsMax);
            const auto again = parse_smp(encode_smp(*smp));
            ASSERT_TRUE(again.has_value());
            EXPECT_EQ(again->path, smp->path);
            EXPECT_FALSE(to_line(*smp).empty());
        }
    }
    EXPECT_GT(accepted, 1000U);
}

TEST(Smp, OneLine) {
    Smp smp = sample_smp();
    smp.header.tid = 0x2a;
    EXPECT_EQ(to_line(smp), "Get PortInfo mod 0x3 tid 0x2a path 0,1,18");
    smp.header.method = static_cast<std::uint8_t>(Method::get_resp);
    smp.header.status = 0x000C;
    smp.header.modifier = 0;
    EXPECT_EQ(
        to_line(smp),
        "GetResp PortInfo tid 0x2a path 0,1,18 status 0x000c (method and attribute not supported together)");
    smp.header.mgmt_class = MgmtClass::subn_lid;
    smp.header.status = 0;
    smp.header.method = 0x42;
    smp.header.attribute = static_cast<Attribute>(0xBEEF);
    EXPECT_EQ(to_line(smp), "method-0x42 attribute-0xbeef tid 0x2a");
}

TEST(Smp, StatusText) {
    EXPECT_EQ(status_text(0), "ok");
    EXPECT_EQ(status_text(0x0001), "busy");
    EXPECT_EQ(status_text(0x001D), "busy, invalid attribute value or modifier");
    EXPECT_EQ(status_text(0x0104), "bad version, class status 0x0100");
}

TEST(Smp, EveryAttributeHasAName) {
    EXPECT_EQ(attribute_name(Attribute::node_info), "NodeInfo");
    EXPECT_EQ(attribute_name(Attribute::mlnx_extended_port_info), "MlnxExtendedPortInfo");
    EXPECT_EQ(attribute_name(static_cast<Attribute>(0x1234)), "attribute-0x1234");
}

}  // namespace
}  // namespace ibf::mad
