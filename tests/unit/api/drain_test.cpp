// Drain and undrain: what is taken, what is refused and with which words, what is shown.
#include "tests/unit/api/operator_fixture.hpp"

namespace ibf::api {
namespace {

using DrainApiTest = OperatorTest;

TEST_F(DrainApiTest, ASpineIsTakenAndShownUntilItIsInForce) {
    EXPECT_EQ(ask("GET", "/v1/drain").body["drained"], nlohmann::json::array());
    const Answer answer = ask("POST", "/v1/drain?element=spine-001");
    EXPECT_EQ(answer.status, 202) << answer.body;
    ASSERT_TRUE(answer.command);
    EXPECT_EQ(answer.command->kind, AdminCommand::Kind::drain);
    EXPECT_EQ(answer.command->element.node, guid("spine-001"));
    EXPECT_FALSE(answer.command->element.forced);
    take(*answer.command, false);
    EXPECT_EQ(ask("GET", "/v1/drain").body["drained"][0]["state"], "draining");
    EXPECT_EQ(ask("GET", "/v1/check").body["findings"][0]["kind"], "drained-in-use")
        << "not in the tables yet";
    const Answer again = ask("POST", "/v1/drain?element=spine-001");
    EXPECT_EQ(again.status, 202);
    EXPECT_FALSE(again.command) << "it is drained already";
}

TEST_F(DrainApiTest, InForceNoWayLeadsOverIt) {
    take(*ask("POST", "/v1/drain?element=spine-001").command, true);
    const Answer list = ask("GET", "/v1/drain");
    EXPECT_EQ(list.body["drained"][0]["state"], "drained");
    EXPECT_EQ(list.body["drained"][0]["hosts"].size(), 0U);
    EXPECT_EQ(list.body["drained"][0]["spared_ports"].size(), 1U) << "the way to its own LID";
    EXPECT_EQ(ask("GET", "/v1/check").body["findings"], nlohmann::json::array());
    EXPECT_EQ(ask("GET", "/v1/status").body["drained"][0]["name"], "spine-001");
    const Answer links = ask("GET", "/v1/links?show=drained");
    ASSERT_EQ(links.body["links"].size(), 4U);
    EXPECT_EQ(links.body["links"][0]["drained"], true);
    EXPECT_EQ(ask("GET", "/v1/links").body["links"].size(), 16U);
}

TEST_F(DrainApiTest, ALeafIsRefusedWithItsHostsByName) {
    const Answer refused = ask("POST", "/v1/drain?element=leaf-002");
    EXPECT_EQ(refused.status, 409);
    EXPECT_EQ(refused.body["error"]["kind"], "refused");
    EXPECT_NE(refused.message().find("2 hosts (host-0003, host-0004)"), std::string::npos)
        << refused.message();
    EXPECT_NE(refused.message().find("--force"), std::string::npos);
    EXPECT_FALSE(refused.command);
    const Answer forced = ask("POST", "/v1/drain?element=leaf-002&force=yes");
    EXPECT_EQ(forced.status, 202);
    ASSERT_TRUE(forced.command);
    EXPECT_TRUE(forced.command->element.forced);
    take(*forced.command, true);
    EXPECT_EQ(ask("GET", "/v1/drain").body["drained"][0]["hosts"].size(), 2U);
    EXPECT_EQ(ask("GET", "/v1/check").body["findings"][0]["kind"], "drained-in-use");
}

TEST_F(DrainApiTest, AHostsCableIsRefused) {
    const Answer refused = ask("POST", "/v1/drain?element=leaf-001/1");
    EXPECT_EQ(refused.status, 409);
    EXPECT_NE(refused.message().find("1 host (host-0001)"), std::string::npos) << refused.message();
}

/// Either spine can go, not both.
TEST_F(DrainApiTest, TogetherWithWhatIsDrainedItMayBeTooMuch) {
    take(*ask("POST", "/v1/drain?element=spine-001").command, true);
    const Answer second = ask("POST", "/v1/drain?element=spine-002");
    EXPECT_EQ(second.status, 409) << second.body;
    EXPECT_NE(second.message().find("6 hosts"), std::string::npos) << second.message();
    EXPECT_EQ(ask("POST", "/v1/drain?element=leaf-001/3").status, 202) << "a cable of the drained one";
}

TEST_F(DrainApiTest, UndrainNamesWhatIsThereAndWhatIsAway) {
    EXPECT_EQ(ask("POST", "/v1/undrain?element=spine-001").status, 404);
    take(*ask("POST", "/v1/drain?element=spine-001").command, true);
    for (const std::string& word : {std::string("spine-001"), fmt::format("{}", guid("spine-001"))}) {
        const Answer answer = ask("POST", "/v1/undrain?element=" + word);
        EXPECT_EQ(answer.status, 202);
        ASSERT_TRUE(answer.command);
        EXPECT_EQ(answer.command->kind, AdminCommand::Kind::undrain);
        EXPECT_EQ(answer.command->element.node, guid("spine-001"));
    }
    // Out of the fabric it is known by what it was called.
    auto drains = std::make_shared<fabric::Drains>(*snapshot_.drains);
    drains->asked[0].node = mad::Guid{0x77};
    drains->asked[0].name = "old-spine";
    snapshot_.drains = drains;
    EXPECT_EQ(ask("POST", "/v1/undrain?element=old-spine").status, 202);
    EXPECT_EQ(ask("POST", "/v1/undrain?element=0x0000000000000077").status, 202);
    const auto swapped = ask("GET", "/v1/drain").body;
    EXPECT_EQ(swapped["undraining"].size(), 1U) << "spine-001: the tables keep off it still";
}

TEST_F(DrainApiTest, ASubstituteIsShown) {
    take(*ask("POST", "/v1/drain?element=spine-001").command, true);
    auto fabric = std::make_shared<fabric::Fabric>(*snapshot_.fabric);
    for (fabric::Node& node : fabric->nodes) {
        if (node.description == "spine-001") {
            node.info.node_guid = mad::Guid{0xABCDEF};
        }
    }
    snapshot_.fabric = fabric;
    const auto row = ask("GET", "/v1/drain").body["drained"][0];
    EXPECT_EQ(row["state"], "swapped");
    EXPECT_EQ(row["substitute"]["guid"], "0x0000000000abcdef");
    bool told = false;
    const Json findings = ask("GET", "/v1/check").body["findings"];
    for (const Json& finding : findings) {
        told = told || finding["kind"] == "drain-swapped";
    }
    EXPECT_TRUE(told);
}

TEST_F(DrainApiTest, AStandbySendsToTheMaster) {
    take(*ask("POST", "/v1/drain?element=spine-001").command, true);
    snapshot_.mode = fabric::SmMode::standby;
    EXPECT_EQ(ask("GET", "/v1/drain").body["drained"][0]["state"], "standby");
    const Answer answer = ask("POST", "/v1/drain?element=spine-001");
    EXPECT_EQ(answer.status, 503);
    EXPECT_NE(answer.message().find("ibfabric sms"), std::string::npos);
}

TEST_F(DrainApiTest, WrongWordsAreUsage) {
    EXPECT_EQ(ask("POST", "/v1/drain").status, 400);
    EXPECT_EQ(ask("POST", "/v1/drain?element=spine-001&force=maybe").status, 400);
    EXPECT_EQ(ask("POST", "/v1/drain?element=leaf").status, 409);
    EXPECT_EQ(ask("GET", "/v1/undrain").status, 405);
}

}  // namespace
}  // namespace ibf::api
