// What-if: the answer is what would then be done, and nothing is.
#include "daemon/api/whatif.hpp"

#include "daemon/api/element.hpp"
#include "daemon/sm/lft_plan.hpp"
#include "tests/unit/api/operator_fixture.hpp"

namespace ibf::api {
namespace {

class WhatIfTest : public OperatorTest {
protected:
    [[nodiscard]] routing::Elements elements(std::initializer_list<const char*> words) const {
        fabric::DrainList list;
        for (const char* word : words) {
            list.push_back(element_of(*snapshot_.fabric, Directory(*snapshot_.fabric), word).value());
        }
        return fabric::elements_of(list);
    }
    [[nodiscard]] WhatIf answer(std::initializer_list<const char*> words) const {
        return what_if(snapshot_, {elements(words), {}, 10}).value();
    }
};

TEST_F(WhatIfTest, ASpineCostsNobodyAndLoadsTheOther) {
    const WhatIf spine = answer({"spine-001"});
    EXPECT_TRUE(spine.lost.cut_off.empty());
    EXPECT_EQ(spine.lost.pairs, 0U);
    EXPECT_EQ(spine.no_engine, "");
    EXPECT_EQ(spine.load_before.links, 16U);
    EXPECT_EQ(spine.load_after.links, 8U);
    // Two hosts of each of four leaves send to the six of the others; up and down, over one spine then.
    EXPECT_DOUBLE_EQ(spine.load_after.mean, 12.0);
    EXPECT_EQ(spine.load_after.worst, 12U);
    EXPECT_EQ(spine.load_before.worst, 6U);
    ASSERT_EQ(spine.hot.size(), 8U);
    for (const HotLink& link : spine.hot) {
        EXPECT_EQ(link.after, 12U);
        EXPECT_EQ(link.before, 6U);
        EXPECT_TRUE(link.from != guid("spine-001"));
    }
}

/// The same writes as a plan made by hand from what is then known.
TEST_F(WhatIfTest, WritesAreThoseThatWouldBeMade) {
    const WhatIf spine = answer({"spine-001"});
    const auto left = routing::without(snapshot_.view->topology, elements({"spine-001"}));
    const auto outcome = routing::route(left, &snapshot_.routes->routes, routing::RouteOptions{});
    ASSERT_TRUE(outcome);
    std::uint64_t differ = 0;
    for (std::size_t at = 0; at < left.switches.size(); ++at) {
        for (std::size_t was = 0; was < snapshot_.view->topology.switches.size(); ++was) {
            if (snapshot_.view->topology.switches[was].guid == left.switches[at].guid) {
                differ += *snapshot_.programmed[was] != *outcome->routes.rows[at] ? 1U : 0U;
            }
        }
    }
    EXPECT_EQ(spine.blocks, differ) << "all LIDs are in one block";
    EXPECT_EQ(spine.switches, differ);
    EXPECT_GT(spine.blocks, 0U);
    EXPECT_EQ(spine.outcome.routes.hash(), outcome->routes.hash());
}

TEST_F(WhatIfTest, ADrainedSwitchCostsNothingAtAll) {
    take(*ask("POST", "/v1/drain?element=spine-001").command, true);
    const WhatIf spine = answer({"spine-001"});
    EXPECT_EQ(spine.blocks, 0U);
    EXPECT_TRUE(spine.hot.empty());
    EXPECT_EQ(spine.lost.pairs, 0U);
}

TEST_F(WhatIfTest, ALeafTakesItsHostsAlong) {
    const WhatIf leaf = answer({"leaf-002"});
    EXPECT_EQ(leaf.lost.cut_off.size(), 2U);
    EXPECT_EQ(leaf.lost.pairs, 28U - 15U);
    EXPECT_FALSE(leaf.sm_cut_off);
    EXPECT_TRUE(answer({"leaf-001"}).sm_cut_off) << "the SM sits at host-0001";
}

TEST_F(WhatIfTest, NothingIsTouched) {
    const fabric::Snapshot before = snapshot_;
    static_cast<void>(answer({"spine-001", "leaf-002/1"}));
    EXPECT_EQ(snapshot_.routes, before.routes);
    EXPECT_EQ(snapshot_.programmed, before.programmed);
    EXPECT_EQ(snapshot_.version, before.version);
}

TEST_F(WhatIfTest, OverTheApi) {
    const Answer spine = ask("GET", "/v1/whatif?down=spine-001&top=3");
    ASSERT_EQ(spine.status, 200) << spine.body;
    EXPECT_FALSE(spine.command) << "a question is no command";
    EXPECT_EQ(spine.body["harmless"], true);
    EXPECT_EQ(spine.body["down"][0]["name"], "spine-001");
    EXPECT_EQ(spine.body["lost"]["hosts"], 0);
    EXPECT_EQ(spine.body["hot"].size(), 3U);
    EXPECT_EQ(spine.body["then"]["engine"], "minhop");
    EXPECT_EQ(spine.body["load"]["after"]["worst"], 12);
    const Answer both = ask("GET", "/v1/whatif?down=spine-001%0Aspine-002");
    EXPECT_EQ(both.body["harmless"], false);
    EXPECT_EQ(both.body["lost"]["hosts"], 6);
    EXPECT_EQ(both.body["lost"]["cut_off"].size(), 6U);
    const Answer cable = ask("GET", "/v1/whatif?down=leaf-001/3&engine=updn");
    EXPECT_EQ(cable.body["then"]["engine"], "updn");
    EXPECT_EQ(cable.body["now"]["engine"], "minhop");
}

TEST_F(WhatIfTest, WhyAnEngineWouldNotServe) {
    // Without one cable min-hop would deadlock on this tree: up/down takes over, and the reason is told.
    const Answer cable = ask("GET", "/v1/whatif?down=leaf-001/3");
    ASSERT_EQ(cable.body["then"]["attempts"].size(), 2U) << cable.body;
    EXPECT_EQ(cable.body["then"]["engine"], "updn");
    EXPECT_NE(cable.body["then"]["attempts"][0]["refused_because"].get<std::string>().find("credit loop"),
              std::string::npos);
}

TEST_F(WhatIfTest, WrongWordsAreUsage) {
    EXPECT_EQ(ask("GET", "/v1/whatif").status, 400);
    EXPECT_EQ(ask("GET", "/v1/whatif?down=nobody").status, 404);
    const Answer engine = ask("GET", "/v1/whatif?down=spine-001&engine=magic");
    EXPECT_EQ(engine.status, 400);
    EXPECT_NE(engine.message().find("there is no engine 'magic'"), std::string::npos);
    EXPECT_EQ(ask("GET", "/v1/whatif?down=leaf-001%0Aleaf-002%0Aleaf-003%0Aleaf-004").status, 400)
        << "no host would be left";
    std::string many = "/v1/whatif?down=spine-001";
    for (int i = 0; i < 64; ++i) {
        many += "%0Aspine-001";
    }
    EXPECT_EQ(ask("GET", many).status, 400);
    snapshot_.routes = nullptr;
    EXPECT_EQ(ask("GET", "/v1/whatif?down=spine-001").status, 503);
}

TEST_F(WhatIfTest, OneAtATimeIsEnough) {
    EXPECT_TRUE(is_heavy({"GET", "/v1/whatif?down=spine-001", ""}));
    EXPECT_TRUE(is_heavy({"GET", "/v1/what%69f?down=spine-001", ""})) << "however it is spelt";
    EXPECT_FALSE(is_heavy({"GET", "/v1/status", ""}));
    HttpReply busy = busy_reply();
    EXPECT_EQ(busy.status, 503);
    EXPECT_NE(take_body(busy).find("ask again"), std::string::npos);
}

}  // namespace
}  // namespace ibf::api
