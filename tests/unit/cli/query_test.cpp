#include "cli/query.hpp"

#include <gtest/gtest.h>

#include "cli/record_text.hpp"
#include "tests/unit/cli/run_cli.hpp"

namespace ibf::cli {
namespace {

using mad::SaAttribute;

std::uint64_t bit(const sa::RecordType& type, const char* field) {
    return std::uint64_t{1} << type.component(field);
}

TEST(Query, EveryKindHasAFieldTable) {
    EXPECT_GE(query_kinds().size(), 14U);
    for (const QueryKind& kind : query_kinds()) {
        EXPECT_NE(sa::record_type(kind.attribute), nullptr) << kind.word;
        EXPECT_EQ(find_kind(kind.word)->attribute, kind.attribute);
        const mad::SaMad question = ask_for(kind, 5);
        EXPECT_EQ(question.attribute(), kind.attribute);
        EXPECT_EQ(question.sm_key, 5U);
        EXPECT_EQ(question.method(),
                  kind.word == "classportinfo" ? mad::SaMethod::get : mad::SaMethod::get_table);
    }
    EXPECT_NE(find_kind("nodes").error().message.find("'node'"), std::string::npos);
}

TEST(Query, FiltersBecomeComponents) {
    const sa::RecordType& type = sa::record_type_of(SaAttribute::port_info_record);
    mad::SaMad question = ask_for(*find_kind("port"), 0);
    ASSERT_TRUE(narrow(question, "PortState=init"));
    ASSERT_TRUE(narrow(question, "EndportLID=7"));
    EXPECT_EQ(question.component_mask, bit(type, "PortState") | bit(type, "EndportLID"));
    EXPECT_EQ(type.get(question.data, "PortState"), 2U);
    EXPECT_EQ(type.get(question.data, "EndportLID"), 7U);
    const auto twice = narrow(question, "endportlid=8");
    ASSERT_FALSE(twice);
    EXPECT_NE(twice.error().message.find("given twice"), std::string::npos);
    EXPECT_FALSE(narrow(question, "=8"));
    EXPECT_FALSE(narrow(question, "NoSuch=8"));
    mad::SaMad by_name = ask_for(*find_kind("node"), 0);
    EXPECT_TRUE(narrow(by_name, "NodeDescription=a=b")) << "the first sign divides";
}

TEST(Query, AStatusIsARefusalButNoRecordsAreAnAnswer) {
    EXPECT_EQ(judge(mad::SaReply{.status = mad::kSaNoRecords})->count(), 0U);
    const auto refused = judge(mad::SaReply{.status = mad::kSaRequestInvalid});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, base::ErrorKind::refused);
    const auto silent = judge(base::fail(base::ErrorKind::unavailable, "no answer"));
    ASSERT_FALSE(silent);
    EXPECT_EQ(silent.error().kind, base::ErrorKind::unavailable);
}

/// An SA that knows some ports and counts the questions.
class PathEndTest : public ::testing::Test {
protected:
    struct Port {
        const char* lid;
        const char* node_guid;
        const char* port_guid;
        const char* number;
        const char* name;
    };

    base::Result<mad::SaReply> ask(const mad::SaMad& question) {
        ++asked;
        const sa::RecordType& type = sa::record_type_of(SaAttribute::node_record);
        std::vector<std::uint8_t> data;
        for (const Port& port : ports) {
            std::vector<std::uint8_t> record(type.size());
            for (const auto& [field, word] : {std::pair{"LID", port.lid},
                                              {"NodeGUID", port.node_guid},
                                              {"PortGUID", port.port_guid},
                                              {"LocalPortNum", port.number},
                                              {"NodeDescription", port.name}}) {
                EXPECT_TRUE(set_value(type, type.component(field), word, record));
            }
            if (type.matches(question.component_mask, question.data, record)) {
                data.insert(data.end(), record.begin(), record.end());
            }
        }
        return mad::SaReply{.status = 0,
                            .record_bytes = type.size(),
                            .data = std::make_shared<const std::vector<std::uint8_t>>(std::move(data))};
    }
    /// "SLID=5", or the error.
    std::string source(const char* word) {
        asked = 0;
        mad::SaMad question = ask_for(*find_kind("path"), 0);
        const sa::RecordType& type = sa::record_type_of(SaAttribute::path_record);
        const auto done =
            set_path_end(question, PathEnd::source, word, [this](const mad::SaMad& mad) { return ask(mad); });
        if (!done) {
            kind = done.error().kind;
            return done.error().message;
        }
        const char* field = question.component_mask == bit(type, "SLID") ? "SLID" : "SGID";
        EXPECT_EQ(question.component_mask, bit(type, field));
        return fmt_field(type, field, question);
    }
    static std::string fmt_field(const sa::RecordType& type, const char* field, const mad::SaMad& question) {
        return std::string(field) + "=" + value_text(type, type.component(field), question.data);
    }

    std::vector<Port> ports{{"5", "0x0002c90300000010", "0x0002c90300000011", "1", "gpu-07 mlx5_0   "},
                            {"6", "0x0002c90300000010", "0x0002c90300000012", "2", "gpu-07 mlx5_0   "},
                            {"7", "0x0002c90300000020", "0x0002c90300000021", "1", "gpu-08"},
                            {"9", "0x0002c90300000030", "0x0002c90300000030", "0", "MF0;sw-01:MQM8700/U1"}};
    unsigned asked = 0;
    base::ErrorKind kind{};
};

TEST_F(PathEndTest, GidsAndLidsGoInAsTheyAre) {
    EXPECT_EQ(source("fe80::2:c903:0:11"), "SGID=fe80:0:0:0:2:c903:0:11");
    EXPECT_EQ(source("12"), "SLID=12");
    EXPECT_EQ(source("0xc"), "SLID=12");
    EXPECT_EQ(source("lid:12"), "SLID=12");
    EXPECT_EQ(asked, 0U);
}

TEST_F(PathEndTest, GuidsAndNamesAreLookedUp) {
    EXPECT_EQ(source("0x0002c90300000012"), "SLID=6") << "a port's";
    EXPECT_EQ(asked, 1U);
    EXPECT_EQ(source("0002c90300000010"), "SLID=5") << "a node's: its first port";
    EXPECT_EQ(source("gpu-08"), "SLID=7");
    EXPECT_EQ(asked, 1U) << "an exact name is one question";
    EXPECT_EQ(source("gpu-07 mlx5_0"), "SLID=5") << "blanks that pad a description are none of it";
    EXPECT_EQ(source("GPU-07"), "SLID=5") << "a part that fits one node";
    EXPECT_EQ(source("MF0;sw-01:MQM8700/U1"), "SLID=9");
}

TEST_F(PathEndTest, APortIsPickedByItsNumber) {
    EXPECT_EQ(source("gpu-07/2"), "SLID=6");
    EXPECT_EQ(source("0x0002c90300000010/2"), "SLID=6");
    EXPECT_NE(source("gpu-07/3").find("knows no port 'gpu-07/3'"), std::string::npos);
    EXPECT_EQ(kind, base::ErrorKind::not_found);
}

TEST_F(PathEndTest, WhatFitsSeveralOrNoneIsRefused) {
    EXPECT_NE(source("gpu-").find("'gpu-' fits 3 ports"), std::string::npos);
    EXPECT_EQ(kind, base::ErrorKind::usage);
    EXPECT_NE(source("nobody").find("knows no port 'nobody'"), std::string::npos);
}

TEST(QueryCommand, WrongWordsAreFoundBeforeAnythingIsAsked) {
    const auto query = [](std::vector<std::string> words) {
        words.insert(words.begin(), "query");
        return run_cli(std::move(words)).code;
    };
    EXPECT_EQ(query({}), 2);
    EXPECT_EQ(query({"--help"}), 0);
    EXPECT_EQ(query({"nodes"}), 2);
    EXPECT_EQ(query({"node", "gpu-07"}), 2) << "only paths have ends";
    EXPECT_EQ(query({"path", "1", "2", "3"}), 2);
    EXPECT_EQ(query({"node", "LIDD=3"}), 2);
    EXPECT_EQ(query({"node", "--fields", "LID,Nme"}), 2);
    EXPECT_EQ(query({"node", "--sa-key", "secret"}), 2);
    EXPECT_EQ(query({"node", "--timeout", "0"}), 2);
    EXPECT_EQ(query({"node", "--port", "mlx5_0/x"}), 2);
    EXPECT_EQ(query({"node", "--list-fields"}), 0);
}

}  // namespace
}  // namespace ibf::cli
