#include "cli/record_text.hpp"

#include <gtest/gtest.h>

namespace ibf::cli {
namespace {

using mad::SaAttribute;

const sa::RecordType& type_of(SaAttribute attribute) {
    return sa::record_type_of(attribute);
}

/// A record made of values as they are typed.
std::vector<std::uint8_t> record(const sa::RecordType& type,
                                 std::initializer_list<std::pair<const char*, const char*>> values) {
    std::vector<std::uint8_t> bytes(type.size());
    for (const auto& [field, word] : values) {
        const auto component = find_field(type, field);
        EXPECT_TRUE(component) << field;
        const auto done = set_value(type, *component, word, bytes);
        EXPECT_TRUE(done) << (done ? "" : done.error().message);
    }
    return bytes;
}

std::string text(const sa::RecordType& type, const char* field, RecordBytes bytes) {
    return value_text(type, type.component(field), bytes);
}

std::string refusal(const sa::RecordType& type, const char* field, std::string_view word) {
    std::vector<std::uint8_t> bytes(type.size());
    const auto done = set_value(type, type.component(field), word, bytes);
    EXPECT_FALSE(done) << field << "=" << word;
    EXPECT_EQ(bytes, std::vector<std::uint8_t>(type.size())) << "nothing half done";
    return done ? "" : done.error().message;
}

TEST(RecordText, FieldsLookAsTheirNamesSay) {
    const sa::RecordType& node = type_of(SaAttribute::node_record);
    const auto bytes = record(node, {{"LID", "0x1f"},
                                     {"NodeType", "switch"},
                                     {"nodeguid", "0002c90300a1b2c3"},
                                     {"VendorID", "0x2c9"},
                                     {"NodeDescription", "leaf\x1b-01"}});
    EXPECT_EQ(text(node, "LID", bytes), "31");
    EXPECT_EQ(text(node, "NodeType", bytes), "Switch");
    EXPECT_EQ(text(node, "NodeGUID", bytes), "0x0002c90300a1b2c3");
    EXPECT_EQ(text(node, "VendorID", bytes), "0x0002c9");
    EXPECT_EQ(text(node, "NodeDescription", bytes), "leaf?-01") << "no control characters";
    EXPECT_EQ(value_json(node, node.component("LID"), bytes), 31);
    EXPECT_EQ(value_json(node, node.component("NodeGUID"), bytes), "0x0002c90300a1b2c3");
    EXPECT_EQ(value_json(node, node.component("NodeType"), bytes), "Switch");
}

TEST(RecordText, CodesAreSaidInTheirUnits) {
    const sa::RecordType& path = type_of(SaAttribute::path_record);
    const auto bytes =
        record(path, {{"Mtu", "5"}, {"Rate", "16"}, {"SGID", "fe80::1"}, {"MtuSelector", "2"}});
    EXPECT_EQ(text(path, "Mtu", bytes), "5 (4096 bytes)");
    EXPECT_EQ(text(path, "Rate", bytes), "16 (100 Gb/s)");
    EXPECT_EQ(text(path, "SGID", bytes), "fe80:0:0:0:0:0:0:1");
    EXPECT_EQ(value_json(path, path.component("Mtu"), bytes), 5);
    EXPECT_EQ(text(path, "Rate", record(path, {{"Rate", "63"}})), "63") << "no rate has this code";
}

TEST(RecordText, TablesAreLists) {
    const sa::RecordType& lft = type_of(SaAttribute::lft_record);
    std::vector<std::uint8_t> bytes(lft.size());
    bytes[8] = 255;
    bytes[9] = 3;
    EXPECT_EQ(text(lft, "LinearForwardingTable", bytes).substr(0, 8), "255 3 0 ");
    EXPECT_EQ(value_json(lft, lft.component("LinearForwardingTable"), bytes).size(), 64U);
    const sa::RecordType& pkey = type_of(SaAttribute::pkey_table_record);
    std::vector<std::uint8_t> keys(pkey.size());
    keys[8] = 0x7f;
    keys[9] = 0xff;
    EXPECT_EQ(text(pkey, "P_KeyTable", keys).substr(0, 14), "0x7fff 0x0000 ");
    EXPECT_EQ(value_json(pkey, pkey.component("P_KeyTable"), keys)[0], 0x7fff);
}

TEST(RecordText, AShorterRecordReadsAsZero) {
    const sa::RecordType& node = type_of(SaAttribute::node_record);
    const std::vector<std::uint8_t> bytes{0, 9};
    EXPECT_EQ(text(node, "LID", bytes), "9");
    EXPECT_EQ(text(node, "NodeGUID", bytes), "0x0000000000000000");
    EXPECT_EQ(text(node, "NodeDescription", bytes), "");
}

// What is printed can be asked for, in every record that we know: fields of any kind, at any bit.
TEST(RecordText, WhatIsPrintedCanBeTyped) {
    unsigned fields = 0;
    for (unsigned attribute = 0; attribute < 256; ++attribute) {
        const sa::RecordType* type = sa::record_type(static_cast<SaAttribute>(attribute));
        for (unsigned i = 0; type != nullptr && i < type->fields().size(); ++i) {
            const sa::Field& field = type->fields()[i];
            if (field.name.empty()) {
                continue;
            }
            std::vector<std::uint8_t> bytes(type->size());
            const unsigned first = type->first_bit(i);
            for (unsigned bit = first; bit < first + field.bits; ++bit) {
                bytes[bit / 8] =
                    static_cast<std::uint8_t>(bytes[bit / 8] | ((bit % 3 == 0) ? 0x80U >> bit % 8 : 0U));
            }
            if (field.name == "NodeDescription" || field.name == "ServiceName") {
                bytes[first / 8] = 'x';
                bytes[first / 8 + 1] = 0;
                std::fill(bytes.begin() + first / 8 + 2, bytes.end(), std::uint8_t{0});
            }
            const std::string word = value_text(*type, i, bytes);
            if (word.find(' ') != std::string::npos) {
                continue;  // a table, or a code with its meaning
            }
            std::vector<std::uint8_t> typed(type->size());
            const auto done = set_value(*type, i, word, typed);
            ASSERT_TRUE(done) << type->name() << ": " << done.error().message;
            EXPECT_EQ(typed, bytes) << type->name() << ' ' << field.name << '=' << word;
            ++fields;
        }
    }
    EXPECT_GT(fields, 150U);
}

TEST(RecordText, WrongValuesAreRefusedWithWhatIsTaken) {
    const sa::RecordType& node = type_of(SaAttribute::node_record);
    EXPECT_NE(refusal(node, "LID", "65536").find("a number below 65536"), std::string::npos);
    EXPECT_NE(refusal(node, "LID", "").find("a number"), std::string::npos);
    EXPECT_NE(refusal(node, "LID", "-1").find("a number"), std::string::npos);
    EXPECT_NE(refusal(node, "LID", "0x").find("a number"), std::string::npos);
    EXPECT_NE(refusal(node, "NodeType", "hub").find("CA, Switch, Router or a number below 256"),
              std::string::npos);
    EXPECT_NE(refusal(node, "NodeGUID", "xyz").find("a GUID"), std::string::npos);
    EXPECT_NE(refusal(node, "NodeDescription", std::string(65, 'a')).find("64 octets"), std::string::npos);
    EXPECT_NE(refusal(type_of(SaAttribute::path_record), "SGID", "fe80").find("a GID"), std::string::npos);
    EXPECT_NE(refusal(type_of(SaAttribute::lft_record), "LinearForwardingTable", "ff").find("128 hex digits"),
              std::string::npos);
}

TEST(RecordText, FieldsAreFoundByNameOfAnyCase) {
    const sa::RecordType& node = type_of(SaAttribute::node_record);
    EXPECT_EQ(find_field(node, "portguid").value(), node.component("PortGUID"));
    const auto wrong = find_field(node, "PortGUIDD");
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().kind, base::ErrorKind::usage);
    EXPECT_NE(wrong.error().message.find("did you mean 'PortGUID'"), std::string::npos);
    EXPECT_FALSE(find_field(node, "")) << "reserved fields have no name";
}

TEST(RecordText, ABlockHasALineAFieldAndShortRecordsFitALine) {
    const sa::RecordType& link = type_of(SaAttribute::link_record);
    EXPECT_EQ(record_text(
                  link, record(link, {{"FromLID", "1"}, {"FromPort", "2"}, {"ToPort", "3"}, {"ToLID", "4"}})),
              "LinkRecord\n  FromLID   1\n  FromPort  2\n  ToPort    3\n  ToLID     4\n");
    EXPECT_TRUE(fits_a_line(link));
    EXPECT_FALSE(fits_a_line(type_of(SaAttribute::node_record)));
    EXPECT_FALSE(fits_a_line(type_of(SaAttribute::lft_record)));
}

TEST(RecordText, AKeyIsANumber) {
    EXPECT_EQ(parse_key("").value(), 0U);
    EXPECT_EQ(parse_key("0x1f").value(), 31U);
    EXPECT_EQ(parse_key("18446744073709551615").value(), ~std::uint64_t{0});
    EXPECT_FALSE(parse_key("secret"));
    EXPECT_FALSE(parse_key("18446744073709551616"));
}

}  // namespace
}  // namespace ibf::cli
