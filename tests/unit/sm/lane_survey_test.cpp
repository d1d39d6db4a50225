// The survey of lane tables: what is asked, when, how often, and what is mended.
#include "daemon/sm/lane_survey.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness.hpp"
#include "mad/codec.hpp"

namespace ibf::test {
namespace {

using mad::Attribute;
using mad::PortNum;
using mad::Sl2VlTable;
using sm::LaneSurvey;
using std::chrono::milliseconds;
using std::chrono::seconds;

Sl2VlTable all_to(std::uint8_t vl) {
    Sl2VlTable table;
    table.vls.fill(mad::Vl{vl});
    return table;
}

bool surveyed(const Lab& lab) {
    const auto lanes = lab.snapshot().lanes;
    return lanes && lanes->read + lanes->left_out == lanes->devices;
}

/// Up, and every device read.
void survey(Lab& lab) {
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    ASSERT_TRUE(lab.run_until([&] { return surveyed(lab); }, seconds{60}));
}

std::uint64_t lane_sets(const Lab& lab) {
    return lab.sets(Attribute::sl2vl_table) + lab.sets(Attribute::vl_arbitration);
}

std::uint64_t lane_gets(const Lab& lab) {
    return lab.gets(Attribute::sl2vl_table) + lab.gets(Attribute::vl_arbitration);
}

std::size_t ports_of(const Lab& lab, std::uint32_t node) {
    const auto& item = lab.sim.netlist().nodes[node];
    return item.type == mad::NodeType::switch_ ? item.ports.size() : 1;
}

/// Questions that one reading of a node takes: simulated ports hold arbitration blocks 1 and 3.
std::uint64_t questions_of(const Lab& lab, std::uint32_t node) {
    const std::uint64_t ports = ports_of(lab, node);
    return ports * ports + 2 * ports;
}

std::uint64_t questions_of_all(const Lab& lab) {
    std::uint64_t sum = 0;
    for (std::uint32_t n = 0; n < lab.sim.netlist().nodes.size(); ++n) {
        sum += questions_of(lab, n);
    }
    return sum;
}

const fabric::LaneTables* tables_of(const fabric::Snapshot& snapshot, mad::Guid owner) {
    const auto found = snapshot.lanes->tables.find(owner);
    return found == snapshot.lanes->tables.end() ? nullptr : found->second.get();
}

/// What the SM knows of each switch is what the switch holds; the first difference, else "".
std::string differences(const Lab& lab) {
    const fabric::Snapshot snapshot = lab.snapshot();
    for (std::uint32_t n = 0; n < lab.sim.netlist().nodes.size(); ++n) {
        const auto& node = lab.sim.netlist().nodes[n];
        if (node.type != mad::NodeType::switch_) {
            continue;
        }
        const fabric::LaneTables* tables = tables_of(snapshot, node.guid);
        for (std::size_t pair = 0; pair < node.ports.size() * node.ports.size(); ++pair) {
            const std::size_t in = pair % node.ports.size();
            const std::size_t out = pair / node.ports.size();
            const Sl2VlTable* known = tables == nullptr ? nullptr : tables->map(in, out);
            if (known == nullptr || *known != lab.sim.sl2vl(n, PortNum{static_cast<std::uint8_t>(in)},
                                                            PortNum{static_cast<std::uint8_t>(out)})) {
                return fmt::format("{} from {} to {}", node.description, in, out);
            }
        }
        for (std::uint8_t port = 0; port < node.ports.size(); ++port) {
            for (std::uint8_t block = 1; block <= 4; ++block) {
                const mad::VlArbBlock* known = tables->arbitration_block(port, block);
                if (known == nullptr || *known != lab.sim.vl_arb(n, PortNum{port}, block)) {
                    return fmt::format("{} port {} block {}", node.description, port, block);
                }
            }
        }
    }
    return {};
}

/// Puts one mapping wherever a switch has one.
void fill_switch(Lab& lab, std::uint32_t node, const Sl2VlTable& table) {
    const std::size_t ports = ports_of(lab, node);
    for (std::size_t pair = 0; pair < ports * ports; ++pair) {
        lab.sim.set_sl2vl(node, PortNum{static_cast<std::uint8_t>(pair % ports)},
                          PortNum{static_cast<std::uint8_t>(pair / ports)}, table);
    }
}

// --- the pace
// ---------------------------------------------------------------------------------------------------

TEST(LaneSurvey, AsksAFewDevicesAtATimeAndEachOfThemOneQuestion) {
    Lab lab(leaf_spine(4, 2, 8, mad::LinkSpeed::edr));  // 38 agents
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    const auto fabric = lab.snapshot().fabric;
    LaneSurvey survey;
    EXPECT_FALSE(survey.due());
    survey.follow(*fabric);
    ASSERT_TRUE(survey.due());
    base::Instant now{};
    std::vector<mad::Request> open;
    survey.ask(1, now, open);
    ASSERT_EQ(open.size(), LaneSurvey::kWindow);
    std::set<std::uint32_t> targets;
    for (const mad::Request& request : open) {
        EXPECT_EQ(request.method, mad::Method::get);
        targets.insert(request.target);
    }
    EXPECT_EQ(targets.size(), open.size());
    EXPECT_FALSE(survey.due()) << "all are open";

    mad::Completion answer;
    answer.request = open.front();
    answer.tag = answer.request.tag;
    survey.on(answer, LaneSurvey::Validity::counts);
    ASSERT_TRUE(survey.due());
    EXPECT_EQ(*survey.due(), now + LaneSurvey::kPace);
    std::vector<mad::Request> next;
    survey.ask(1, now + LaneSurvey::kPace / 2, next);
    EXPECT_TRUE(next.empty()) << "too soon";
    now += LaneSurvey::kPace;
    survey.ask(1, now, next);
    ASSERT_EQ(next.size(), 1U) << "of the device that answered";
    EXPECT_EQ(next.front().target, open.front().target);
    EXPECT_NE(std::pair(next.front().attribute, next.front().modifier),
              std::pair(open.front().attribute, open.front().modifier));

    answer.request = next.front();
    answer.tag = answer.request.tag;
    survey.on(answer, LaneSurvey::Validity::overtaken);
    now += LaneSurvey::kPace;
    std::vector<mad::Request> again;
    survey.ask(2, now, again);
    ASSERT_EQ(again.size(), 1U);
    EXPECT_EQ(again.front().modifier, next.front().modifier) << "a sweep came between: the same once more";
}

TEST(LaneSurvey, BeginsWhenTheSubnetIsUpAndReadsEachTableOnce) {
    Lab lab(t2(), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    EXPECT_EQ(lane_gets(lab), 0U) << "the way up is as it was";
    ASSERT_TRUE(lab.run_until([&] { return surveyed(lab); }, seconds{60}));
    EXPECT_EQ(lane_gets(lab), questions_of_all(lab));
    EXPECT_EQ(differences(lab), "");
    lab.request_sweep(sm::SweepScope::full);
    lab.inject("link-down leaf1/5\nat 3s link-up leaf1/5");
    lab.advance(seconds{40});
    EXPECT_GE(lab.sweeps("full") + lab.sweeps("touched"), 3U);
    EXPECT_EQ(lane_gets(lab), questions_of_all(lab)) << "sweeps and a cable are no reason to ask again";
    EXPECT_EQ(lane_sets(lab), 0U);
    EXPECT_EQ(lab.events("lanes-mended") + lab.events("lanes-unread"), 0U);
}

TEST(LaneSurvey, AsksNothingBesideAnotherMaster) {
    Lab lab(t2(), at("h1"));
    Rival rival(lab, "h8", mad::SmState::master);
    lab.start();
    lab.advance(seconds{30});
    EXPECT_GT(rival.asked, 0U);
    EXPECT_EQ(lane_gets(lab) + lane_sets(lab), 0U);
}

TEST(LaneSurvey, EqualDevicesShareOneValue) {
    Lab lab(t2(), at("h1"));
    survey(lab);
    std::set<const fabric::LaneTables*> values;
    for (const auto& [owner, tables] : lab.snapshot().lanes->tables) {
        values.insert(tables.get());
    }
    EXPECT_EQ(lab.snapshot().lanes->tables.size(), 12U);
    EXPECT_EQ(values.size(), 3U) << "leaves, spines, hosts";
}

// C38: an unchanged fabric is written nothing at a restart; what is read is read again.
TEST(FieldCase, C38_a_restart_reads_the_lanes_and_writes_none) {
    Lab lab(t2(), at("h1"));
    survey(lab);
    lab.stop();
    lab.forget_counts();
    survey(lab);
    lab.advance(seconds{20});
    EXPECT_EQ(lane_gets(lab), questions_of_all(lab));
    EXPECT_EQ(lab.all_sets(), 0U);
}

// --- what goes wrong
// ------------------------------------------------------------------------------------------------

TEST(LaneSurvey, ASweepInTheMiddleComesFirstAndLosesNothing) {
    Lab lab(t2(), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    ASSERT_TRUE(lab.run_until([&] { return lane_gets(lab) > 100; }, seconds{10}));
    const std::uint64_t before = lab.sweeps("full");
    lab.request_sweep(sm::SweepScope::full);
    ASSERT_TRUE(lab.run_until([&] { return lab.sweeps("full") > before; }, milliseconds{100}));
    ASSERT_TRUE(lab.run_until([&] { return surveyed(lab); }, seconds{60}));
    EXPECT_GE(lane_gets(lab), questions_of_all(lab));
    EXPECT_LE(lane_gets(lab), questions_of_all(lab) + LaneSurvey::kWindow);
    EXPECT_EQ(differences(lab), "");
}

TEST(LaneSurvey, WhoDoesNotAnswerIsLeftOutAndToldOnce) {
    Lab lab(t2(), at("h1"));
    lab.inject("drop spine2 attr=SLtoVLMappingTable\ndrop h5 attr=VLArbitrationTable");
    survey(lab);
    lab.advance(seconds{60});
    const auto lanes = lab.snapshot().lanes;
    EXPECT_EQ(lanes->devices, 12U);
    EXPECT_EQ(lanes->read, 10U);
    EXPECT_EQ(lanes->left_out, 2U);
    EXPECT_EQ(tables_of(lab.snapshot(), lab.sim.netlist().nodes[lab.node("spine2")].guid), nullptr);
    ASSERT_EQ(lab.events("lanes-unread"), 1U);
    EXPECT_NE(lab.find_event("lanes-unread")->text.find("and 1 more"), std::string::npos);
}

/// Asks until nothing is left to be asked; all answer but `mute`. How often that one was asked.
std::size_t ask_all_but(LaneSurvey& survey, std::uint32_t mute, base::Instant& now) {
    std::size_t asked = 0;
    while (const auto due = survey.due()) {
        now = std::max(now, *due);
        std::vector<mad::Request> questions;
        survey.ask(1, now, questions);
        for (const mad::Request& question : questions) {
            mad::Completion end;
            end.request = question;
            end.tag = question.tag;
            end.kind =
                question.target == mute ? mad::Completion::Kind::timeout : mad::Completion::Kind::reply;
            asked += question.target == mute ? 1U : 0U;
            survey.on(end, LaneSurvey::Validity::counts);
        }
    }
    return asked;
}

TEST(LaneSurvey, WhoDidNotAnswerIsAskedAgainAfterMoreAndMoreSweeps) {
    Lab lab(t1(), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    const auto fabric = lab.snapshot().fabric;
    const std::uint32_t mute = sm::device_target(fabric->find(lab.sim.netlist().nodes[lab.node("h3")].guid));
    LaneSurvey survey;
    base::Instant now{};
    survey.follow(*fabric);
    EXPECT_EQ(ask_all_but(survey, mute, now), 1U);
    std::vector<int> asked_after;
    for (int sweep = 1; sweep <= 200; ++sweep) {
        survey.follow(*fabric);
        if (ask_all_but(survey, mute, now) > 0) {
            asked_after.push_back(sweep);
        }
    }
    EXPECT_EQ(asked_after, (std::vector<int>{1, 3, 7, 15, 31, 63, 127, 191}));
    EXPECT_EQ(survey.news(now)->left_out, 1U);
    const auto findings = survey.take_findings();
    EXPECT_EQ(
        std::count_if(findings.begin(), findings.end(),
                      [](const auto& finding) { return finding.kind == sm::LaneFinding::Kind::unread; }),
        1)
        << "said once";

    constexpr std::uint32_t kNobody = sm::stranger_target(0);
    for (int sweep = 0; sweep < 64; ++sweep) {
        survey.follow(*fabric);
        EXPECT_EQ(ask_all_but(survey, kNobody, now), 0U);
    }
    const auto lanes = survey.news(now + LaneSurvey::kShowEvery);
    EXPECT_EQ(lanes->left_out, 0U);
    EXPECT_EQ(lanes->read, lanes->devices) << "it speaks again";
}

// The way broke while a question was on it; a sweep found another before the question was given up.
TEST(LaneSurvey, ABrokenWayIsNoSilence) {
    Lab lab(t1(), at("h1"));
    lab.start();
    ASSERT_TRUE(lab.run_until_up(seconds{5}));
    fabric::Fabric fabric = *lab.snapshot().fabric;
    LaneSurvey survey;
    survey.follow(fabric);
    base::Instant now{};
    std::vector<mad::Request> open;
    survey.ask(1, now, open);
    for (const bool moved : {true, false}) {
        ASSERT_EQ(open.size(), 5U);
        const std::uint32_t host = fabric.find(lab.sim.netlist().nodes[lab.node("h3")].guid);
        const auto question = std::find_if(open.begin(), open.end(), [&](const mad::Request& request) {
            return request.target == sm::device_target(host);
        });
        ASSERT_NE(question, open.end());
        if (moved) {
            mad::DrPath& path = fabric.nodes[host].ports[1].path;
            path = path.then(mad::PortNum{1});
            survey.follow(fabric);
        }
        mad::Completion end;
        end.request = *question;
        end.tag = end.request.tag;
        end.kind = mad::Completion::Kind::timeout;
        survey.on(end, LaneSurvey::Validity::overtaken);
        EXPECT_EQ(survey.news(now)->left_out, moved ? 0U : 1U);
        now += LaneSurvey::kShowEvery;
        std::vector<mad::Request> again;
        survey.ask(2, now, again);
        ASSERT_EQ(again.size(), moved ? 1U : 0U);
        if (moved) {
            EXPECT_EQ(again.front().path, fabric.nodes[host].ports[1].path);
            *question = again.front();
        }
    }
}

TEST(LaneSurvey, ARefusalCountsForThePortOnly) {
    Lab lab(t2(), at("h1"));
    lab.inject("error-status leaf1 attr=SLtoVLMappingTable number=28 count=2");
    survey(lab);
    const mad::Guid leaf = lab.sim.netlist().nodes[lab.node("leaf1")].guid;
    const fabric::Snapshot snapshot = lab.snapshot();
    const fabric::LaneTables* tables = tables_of(snapshot, leaf);
    ASSERT_NE(tables, nullptr);
    EXPECT_EQ(tables->map(1, 0), nullptr) << "asked twice";
    EXPECT_NE(tables->arbitration_block(0, 1), nullptr);
    EXPECT_NE(tables->map(0, 1), nullptr);
    EXPECT_EQ(lab.events("lanes-unread"), 0U);
}

// Busy is no refusal (C37): nothing is passed over.
TEST(LaneSurvey, ABusySwitchIsAskedUntilItAnswers) {
    Lab lab(t2(), at("h1"));
    lab.inject("error-status leaf1 attr=SLtoVLMappingTable number=1 count=5");
    survey(lab);
    EXPECT_EQ(differences(lab), "");
    EXPECT_EQ(lab.events("lanes-unread"), 0U);
}

// --- reading again
// --------------------------------------------------------------------------------------------------

TEST(LaneSurvey, OtherLanesAreReadAnew) {
    Lab lab(t2(), at("h1"));
    survey(lab);
    lab.forget_counts();
    sm::SmConfig config;
    config.operational_vls_max = 2;
    lab.replace_config(config);
    lab.advance(seconds{60});
    EXPECT_EQ(lab.events("lanes-mended"), 0U);
    EXPECT_EQ(differences(lab), "") << "simulated mappings follow the lanes";
    const std::uint64_t leaf = ports_of(lab, lab.node("leaf1"));
    const std::uint64_t spine = ports_of(lab, lab.node("spine1"));
    EXPECT_EQ(lab.gets(Attribute::sl2vl_table), 2 * leaf * (leaf - 1) + 2 * spine * (spine - 1) + 8)
        << "the mappings toward each port that changed, not those toward port 0";
}

// C12, as far as lanes go: a switch that was reset is read anew, it alone, and mended if its tables lose
// packets.
TEST(FieldCase, C12_a_reset_switch_has_its_lanes_read_and_mended_again) {
    for (const bool in_mid_sweep : {false, true}) {
        Lab lab(t2(), at("h1"));
        survey(lab);
        const std::uint32_t spine = lab.node("spine1");
        lab.forget_counts();
        std::set<std::uint32_t> read;
        lab.on_mad = [&](base::Instant, std::uint32_t node, const mad::Smp& smp, mad::MadStatus) {
            if (smp.header.attribute == Attribute::sl2vl_table) {
                read.insert(node);
            }
        };
        if (in_mid_sweep) {
            lab.request_sweep(sm::SweepScope::full);
            lab.advance(std::chrono::microseconds{20});
            ASSERT_FALSE(lab.sm->at_rest());
        }
        lab.inject("reboot spine1");
        fill_switch(lab, spine, all_to(15));  // what it wakes up with
        lab.advance(seconds{40});
        ASSERT_TRUE(surveyed(lab));
        EXPECT_GE(lab.sets(Attribute::linear_forwarding_table), 1U);
        EXPECT_EQ(read, std::set<std::uint32_t>{spine}) << in_mid_sweep;
        EXPECT_EQ(lane_gets(lab), questions_of(lab, spine)) << in_mid_sweep;
        EXPECT_EQ(lab.events("lanes-mended"), 1U);
        EXPECT_EQ(lab.sim.sl2vl(spine, PortNum{1}, PortNum{2}).vls[0], mad::Vl{0});
        EXPECT_EQ(lab.sim.sl2vl(spine, PortNum{0}, PortNum{2}).vls[0], mad::Vl{0});
        EXPECT_EQ(differences(lab), "");
        EXPECT_EQ(lab.sim.counters().rule_breaks, 0U);
    }
}

// --- mending
// --------------------------------------------------------------------------------------------------------

TEST(LaneSurvey, MendsBySwitchAndTellsWhatWasWrong) {
    for (const bool optimised : {true, false}) {
        LabOptions options = at("h1");
        options.sim.optimized_sl2vl = optimised;
        Lab lab(t2(), options);
        const std::uint32_t spine = lab.node("spine2");
        const std::uint32_t host = lab.node("h3");
        fill_switch(lab, spine, all_to(15));
        lab.sim.set_sl2vl(host, PortNum{1}, PortNum{1}, all_to(14));
        survey(lab);
        const std::uint64_t outer = ports_of(lab, spine) - 1;
        const std::uint64_t by_row = outer * (outer - 1);
        EXPECT_EQ(lab.sets(Attribute::sl2vl_table), (optimised && by_row > 1 ? 1 : by_row) + outer + 1)
            << "the spine's cables, from port 0, and the host";
        EXPECT_EQ(lab.sim.counters().rule_breaks, 0U);
        EXPECT_EQ(differences(lab), "");
        EXPECT_EQ(lab.sim.sl2vl(host, PortNum{1}, PortNum{1}).vls[0], mad::Vl{0});
        ASSERT_EQ(lab.events("lanes-mended"), 2U);
        std::vector<std::string> texts;
        for (const fabric::EventRecord& event : lab.announced) {
            if (event.kind == "lanes-mended") {
                texts.push_back(event.text);
            }
        }
        std::sort(texts.begin(), texts.end());
        EXPECT_NE(texts[0].find("h3"), std::string::npos);
        EXPECT_NE(texts[0].find("SL 0 led to VL 14 of 8 operational"), std::string::npos) << texts[0];
        EXPECT_NE(texts[1].find(fmt::format("SL 0 led to VL 15 at exit ports 1-{}", outer)),
                  std::string::npos)
            << texts[1];
        lab.stop();
        lab.forget_counts();
        survey(lab);
        EXPECT_EQ(lab.all_sets(), 0U) << "mended is mended";
    }
}

TEST(LaneSurvey, GivesVl0AWeightWhereItHadNone) {
    Lab lab(t2(), at("h1"));
    const std::uint32_t leaf = lab.node("leaf2");
    lab.sim.set_vl_arb(leaf, PortNum{3}, 1, {});
    survey(lab);
    EXPECT_EQ(lab.sets(Attribute::vl_arbitration), 1U);
    EXPECT_EQ(lab.sim.vl_arb(leaf, PortNum{3}, 1).entries[0],
              (mad::VlArbBlock::Entry{mad::Vl{0}, std::uint8_t{64}}));
    EXPECT_EQ(lab.events("lanes-mended"), 1U);
    EXPECT_EQ(differences(lab), "");
}

TEST(LaneSurvey, ARefusedSetIsToldAndNotRepeated) {
    Lab lab(t2(), at("h1"));
    const std::uint32_t host = lab.node("h3");
    lab.sim.set_sl2vl(host, PortNum{1}, PortNum{1}, all_to(15));
    lab.inject("error-status h3 attr=SLtoVLMappingTable method=Set number=28");
    survey(lab);
    lab.request_sweep(sm::SweepScope::full);
    lab.advance(seconds{60});
    EXPECT_EQ(lab.sets(Attribute::sl2vl_table), 2U) << "once more, it might have been busy";
    EXPECT_EQ(lab.events("lanes-lossy"), 1U);
    EXPECT_EQ(lab.events("lanes-mended"), 0U);
    EXPECT_EQ(differences(lab), "");
}

// Who offers optimised Sets and takes none is written row by row, then and later.
TEST(LaneSurvey, WhereOptimisedSetsAreRefusedRowsAreWritten) {
    Lab lab(t2(), at("h1"));
    const std::uint32_t leaf = lab.node("leaf1");
    fill_switch(lab, leaf, all_to(15));
    std::uint64_t optimised = 0;
    lab.on_mad = [&](base::Instant, std::uint32_t, const mad::Smp& smp, mad::MadStatus) {
        const bool set = smp.header.attribute == Attribute::sl2vl_table && smp.header.method == 2;
        optimised += set && (smp.header.modifier & 0x30000U) != 0 ? 1U : 0U;
    };
    lab.inject("link-down leaf1/3\nerror-status leaf1 attr=SLtoVLMappingTable method=Set number=28 count=2");
    survey(lab);
    EXPECT_EQ(optimised, 2U) << "once more, it might have been busy";
    EXPECT_EQ(lab.sets(Attribute::sl2vl_table), 2U + 5U * 4U + 5U) << "five cables, and from port 0";
    lab.inject("link-up leaf1/3");
    lab.advance(seconds{30});
    EXPECT_EQ(optimised, 2U);
    EXPECT_EQ(lab.sets(Attribute::sl2vl_table), 2U + 6U * 5U + 6U);
    EXPECT_EQ(lab.events("lanes-lossy"), 0U);
    EXPECT_EQ(lab.events("lanes-mended"), 2U);
    EXPECT_EQ(differences(lab), "");
}

// A port that nothing passed is judged when its cable comes.
TEST(LaneSurvey, AMappingTowardANewCableIsMendedThen) {
    Lab lab(t2(), at("h1"));
    const std::uint32_t leaf = lab.node("leaf1");
    lab.inject("link-down leaf1/3");
    for (std::uint8_t in = 0; in < ports_of(lab, leaf); ++in) {
        lab.sim.set_sl2vl(leaf, PortNum{in}, PortNum{3}, all_to(15));
    }
    survey(lab);
    EXPECT_EQ(lab.sets(Attribute::sl2vl_table), 0U);
    lab.inject("link-up leaf1/3");
    lab.advance(seconds{30});
    EXPECT_EQ(lab.events("lanes-mended"), 1U);
    EXPECT_EQ(lab.sim.sl2vl(leaf, PortNum{1}, PortNum{3}).vls[0], mad::Vl{0});
    EXPECT_EQ(differences(lab), "");
}

// C37: an optimised Set that takes 400 ms, on a device that bears no second one meanwhile.
TEST(FieldCase, C37_slow_optimised_sets_come_one_at_a_time_and_are_waited_for) {
    LabOptions options = at("h1");
    options.config.sweep_interval = base::Duration{};  // no light sweep in between
    Lab lab(t2(), options);
    for (const char* name : {"leaf1", "leaf2"}) {
        fill_switch(lab, lab.node(name), all_to(15));
        lab.sim.set_sl2vl(lab.node(name), PortNum{2}, PortNum{2},
                          all_to(0));  // no two rows alike: port by port
    }
    lab.inject("slow-set * attr=SLtoVLMappingTable delay=400ms");
    survey(lab);
    lab.advance(seconds{30});
    EXPECT_GE(lab.sets(Attribute::sl2vl_table), 12U);
    EXPECT_EQ(lab.sim.counters().rule_breaks, 0U);
    EXPECT_EQ(lab.snapshot().mads.retried, 0U);
    EXPECT_EQ(lab.events("lanes-mended"), 2U);
    EXPECT_EQ(differences(lab), "");
}

}  // namespace
}  // namespace ibf::test
