#include "probe/messages.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ibf::probe {
namespace {

TestSpec odd_spec() {
    TestSpec spec;
    spec.test = Test::write;
    spec.message_bytes = 1U << 30U;
    spec.messages = 0;
    spec.duration = std::chrono::milliseconds{1500};
    spec.queue_pairs = 64;
    spec.depth = 1024;
    spec.bits_per_second = 10'000'000'000;
    spec.seed = ~std::uint64_t{0};
    spec.mtu_bytes = 4096;
    spec.ack_timeout = 31;
    spec.retries = 0;
    spec.rnr_retries = 1;
    spec.rnr_timer = 31;
    spec.use_cm = true;
    spec.check_payload = false;
    spec.huge_pages = false;
    return spec;
}

Outcome odd_outcome() {
    Outcome outcome;
    outcome.messages = 3;
    outcome.bytes = std::uint64_t{1} << 60U;
    outcome.lost = 1;
    outcome.checked = 2;
    outcome.corrupt = 1;
    outcome.elapsed = std::chrono::seconds{7};
    outcome.latency.add(1234);
    outcome.latency.add(99'999'999);
    outcome.was_stopped = true;
    outcome.used_huge_pages = true;
    outcome.failure = failure::kRetryExceeded;
    outcome.failure_text = "host-17 does not answer";
    outcome.errors = {{"transport retry counter exceeded", 4}};
    outcome.counters = {{"out_of_sequence", 17}};
    outcome.doubts = {"symbol_error stands at its maximum of 65535", "hits wrapped at 32 bits"};
    return outcome;
}

/// Through octets and back.
template <class One>
One sent(const One& message) {
    const std::string frame = encode(message);
    const auto length = decode_length(frame);
    EXPECT_EQ(length, frame.size() - kFrameHeaderBytes);
    const auto decoded = decode(std::string_view(frame).substr(kFrameHeaderBytes));
    EXPECT_TRUE(decoded) << decoded.error().message;
    EXPECT_TRUE(std::holds_alternative<One>(*decoded)) << name_of(*decoded);
    return std::get<One>(*decoded);
}

TEST(Messages, GoAndComeBackWhole) {
    const Hello hello = sent(Hello{7, "0.1.0", "host-17"});
    EXPECT_EQ(hello.protocol, 7U);
    EXPECT_EQ(hello.program + hello.host, "0.1.0host-17");

    Prepare prepare{"nightly", odd_spec(), Side::initiator, {}};
    prepare.way = {.device = "mlx5_0",
                   .port = 2,
                   .gid_index = 3,
                   .pkey_index = 4,
                   .dlid = mad::Lid{5},
                   .sl = mad::Sl{15},
                   .path_bits = 127,
                   .traffic_class = 106};
    const Prepare got = sent(prepare);
    EXPECT_EQ(got.run, "nightly");
    EXPECT_EQ(got.side, Side::initiator);
    EXPECT_EQ(json_of(got.spec), json_of(prepare.spec));
    EXPECT_EQ(got.spec.seed, prepare.spec.seed);
    EXPECT_EQ(got.spec.duration, prepare.spec.duration);
    EXPECT_EQ(json_of(got.way), json_of(prepare.way));
    EXPECT_EQ(got.way.gid_index, 3);
    EXPECT_EQ(got.way.dlid, mad::Lid{5});
    EXPECT_FALSE(sent(Prepare{}).way.dlid) << "what is not given stays not given";

    EndpointAddress address{.layer = LinkLayer::ethernet,
                            .lid = mad::Lid{0xBFFF},
                            .gid = {0xFE, 0x80, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
                            .mtu_bytes = 1024,
                            .queue_pairs = {{0xFFFFFE, 1}, {2, 0xFFFFFF}},
                            .memory = ~std::uint64_t{0},
                            .memory_bytes = 1U << 30U,
                            .memory_key = ~0U,
                            .q_key = 0x7FFFFFFF,
                            .reads_in = 16,
                            .cm_host = "10.0.0.1",
                            .cm_port = 7174,
                            .device = "mlx5_0/1"};
    const Connect connect = sent(Connect{address});
    EXPECT_EQ(json_of(connect.peer), json_of(address));
    EXPECT_EQ(connect.peer.gid, address.gid);
    EXPECT_EQ(connect.peer.queue_pairs[1].packet_sequence, 0xFFFFFFU);
    EXPECT_EQ(connect.peer.reads_in, 16);
    EXPECT_EQ(json_of(sent(Prepared{address}).address), json_of(address));
}

TEST(Messages, OutcomesKeepEveryFigure) {
    const Ended ended = sent(Ended{odd_outcome()});
    EXPECT_EQ(json_of(ended.outcome), json_of(odd_outcome()));
    EXPECT_EQ(ended.outcome.latency.maximum(), 99'999'999U);
    EXPECT_EQ(ended.outcome.latency.count(), 2U);
    EXPECT_EQ(ended.outcome.counters.at("out_of_sequence"), 17U);
    EXPECT_EQ(ended.outcome.doubts, odd_outcome().doubts);
    EXPECT_TRUE(ended.outcome.used_huge_pages);
    const ProgressTold told = sent(ProgressTold{{5, 6, base::Duration{7}}});
    EXPECT_EQ(told.progress.messages + told.progress.bytes, 11U);
    EXPECT_EQ(told.progress.elapsed, base::Duration{7});
}

TEST(Messages, DescriptionsAndTheRestGoAsWell) {
    Description description;
    description.limits = {7, 8, 9, 10};
    description.ports = {{.device = "rxe0",
                          .port = 1,
                          .layer = LinkLayer::ethernet,
                          .state = "ACTIVE",
                          .lid = mad::Lid{3},
                          .lmc = 7,
                          .mtu_bytes = 1024,
                          .bits_per_second = 400'000'000'000,
                          .gids = {{1, "::ffff:10.0.0.1", "RoCE v2"}},
                          .problem = "it is down"}};
    description.trouble = "none";
    const Description got = sent(description);
    ASSERT_EQ(got.ports.size(), 1U);
    EXPECT_EQ(json_of(got.ports[0]), json_of(description.ports[0]));
    EXPECT_EQ(got.limits.queue_pairs + got.limits.seconds, 17U);
    EXPECT_EQ(got.limits.bits_per_second + got.limits.message_bytes, 17U);
    EXPECT_EQ(got.trouble, "none");
    EXPECT_EQ(sent(Refused{"busy", "with another"}).text, "with another");
    static_cast<void>(sent(Describe{}));
    static_cast<void>(sent(Connected{}));
    static_cast<void>(sent(probe::Run{}));
    static_cast<void>(sent(Stop{}));
    static_cast<void>(sent(Release{}));
    static_cast<void>(sent(Released{}));
}

TEST(Messages, ConnectedTellsThePath) {
    const PathTaken path{.sl = mad::Sl{3},
                         .mtu_bytes = 2048,
                         .bits_per_second = 100'000'000'000,
                         .is_recorded = true,
                         .trouble = "none"};
    const Connected got = sent(Connected{path});
    EXPECT_EQ(json_of(got.path), json_of(path));
    EXPECT_EQ(got.path.sl, mad::Sl{3});
    EXPECT_FALSE(sent(Connected{}).path.sl);
    const auto older = decode(R"({"type": "connected"})");
    ASSERT_TRUE(older) << older.error().message;
    EXPECT_FALSE(std::get<Connected>(*older).path.sl) << "an agent that tells nothing";
    EXPECT_FALSE(path_from(Json{{"sl", 16}}));
}

TEST(Messages, AWayWithoutAnSlLeavesItOpen) {
    EXPECT_FALSE(way_from(json_of(Way{}))->sl);
    EXPECT_EQ(way_from(json_of(Way{.sl = mad::Sl{}}))->sl, mad::Sl{}) << "0 is a word as well";
}

TEST(Messages, TextsThatAreTooLongAreCutWithinNoCharacter) {
    std::string umlauts;
    for (int i = 0; i < 200; ++i) {
        umlauts += "\xC3\xA4";
    }
    const Hello hello = sent(Hello{1, umlauts, std::string(10'000, 'x')});
    EXPECT_EQ(hello.program.size(), 254U) << "127 characters of two octets";
    EXPECT_EQ(hello.host.size(), kTextMax);
    Outcome outcome;
    outcome.failure_text = std::string(10'000, 'x');
    EXPECT_EQ(sent(Ended{outcome}).outcome.failure_text.size(), kSentenceMax);
    outcome.doubts.assign(2000, std::string(10'000, 'x'));
    EXPECT_EQ(sent(Ended{outcome}).outcome.doubts, std::vector(64, std::string(kSentenceMax, 'x')))
        << "a frame has an end";
    EXPECT_EQ(sent(Hello{1, "a\xFF\xFE b", ""}).program, "a b") << "octets that are no text are left out";
}

std::string refusal(std::string_view body) {
    const auto decoded = decode(body);
    return decoded ? "taken" : decoded.error().message;
}

TEST(Messages, WhatIsNoMessageIsRefusedByItsField) {
    EXPECT_EQ(refusal(""), "what came is no JSON object");
    EXPECT_EQ(refusal("[]"), "what came is no JSON object");
    EXPECT_EQ(refusal("{\"type\":\"run\"} x"), "what came is no JSON object");
    EXPECT_EQ(refusal("{}"), "type: is missing");
    EXPECT_EQ(refusal(R"({"type":1})"), "type: no text of at most 255 octets");
    EXPECT_NE(refusal(R"({"type":"shutdown"})").find("is no message of protocol 1"), std::string::npos);
    EXPECT_EQ(refusal(R"({"type":"hello"})"), "protocol: is missing");
    EXPECT_NE(refusal(R"({"type":"hello","protocol":-1})").find("protocol: "), std::string::npos);
    EXPECT_NE(refusal(R"({"type":"hello","protocol":4294967296})").find("protocol: "), std::string::npos);
    EXPECT_EQ(refusal(R"({"type":"hello","protocol":1,"more":[1,2,3]})"), "taken")
        << "newer ones may say more";
    EXPECT_EQ(refusal(R"({"type":"prepare"})"), "spec: is missing");
    EXPECT_EQ(refusal(R"({"type":"connect","peer":7})"), "peer: is no object");
    EXPECT_EQ(refusal(R"({"type":"ended"})"), "outcome: is missing");
    EXPECT_EQ(refusal(R"({"type":"ended","outcome":{"doubts":[7]}})"),
              "outcome: doubts[0]: is no text of at most 1024 octets");
    EXPECT_EQ(refusal(R"({"type":"refused"})"), "code: is missing");
}

/// A spec with one field replaced.
std::string with(const char* field, const Json& value) {
    Json json = json_of(TestSpec{});
    json[field] = value;
    const auto spec = spec_from(json);
    return spec ? "taken" : spec.error().message;
}

TEST(Messages, EachValueOfASpecHasItsRange) {
    EXPECT_EQ(with("test", "flood").substr(0, 5), "test:");
    for (const auto& [field, least, most] :
         std::vector<std::tuple<const char*, int, std::int64_t>>{{"message_bytes", 1, std::int64_t{1} << 30U},
                                                                 {"queue_pairs", 1, 64},
                                                                 {"depth", 1, 1024},
                                                                 {"ack_timeout", 0, 31},
                                                                 {"retries", 0, 7},
                                                                 {"rnr_retries", 0, 7},
                                                                 {"rnr_timer", 0, 31},
                                                                 {"duration_ns", 0, 86'400'000'000'000}}) {
        EXPECT_EQ(with(field, least), "taken") << field;
        EXPECT_EQ(with(field, most), "taken") << field;
        EXPECT_TRUE(with(field, least - 1).starts_with(std::string(field) + ": ")) << field;
        EXPECT_TRUE(with(field, most + 1).starts_with(std::string(field) + ": ")) << field;
        EXPECT_TRUE(with(field, "1").starts_with(std::string(field) + ": ")) << field;
        EXPECT_TRUE(with(field, 1.5).starts_with(std::string(field) + ": ")) << field;
    }
    EXPECT_EQ(with("mtu_bytes", 1024), "taken");
    EXPECT_TRUE(with("mtu_bytes", 1000).starts_with("mtu_bytes: "));
    EXPECT_TRUE(with("use_cm", 1).starts_with("use_cm: "));
    EXPECT_NE(with("messages", 0).find("would never end"), std::string::npos);
}

TEST(Messages, ListsAndTextsHaveBounds) {
    const auto address = [](const Json& pairs) {
        Json json = json_of(EndpointAddress{});
        json["queue_pairs"] = pairs;
        const auto read = address_from(json);
        return read ? "taken" : read.error().message;
    };
    const Json pair{{"number", 17}, {"packet_sequence", 2}};
    EXPECT_EQ(address(Json(64, pair)), "taken");
    EXPECT_EQ(address(Json(65, pair)), "queue_pairs: no list of at most 64");
    EXPECT_EQ(address(Json::array({{{"number", 0x1000000}}})),
              "queue_pairs[0]: number: not a whole number from 0 to 16777214");
    EXPECT_EQ(address(Json::array({7})), "queue_pairs[0]: is no object");
    Json way = json_of(Way{});
    way["device"] = std::string(256, 'x');
    EXPECT_EQ(way_from(way).error().message, "device: no text of at most 255 octets");
    Json gid = json_of(EndpointAddress{});
    gid["gid"] = "no gid";
    EXPECT_TRUE(address_from(gid).error().message.starts_with("gid: "));
    Json outcome = json_of(Outcome{});
    for (std::size_t i = 0; i <= kEntriesMax; ++i) {
        outcome["counters"][std::to_string(i)] = 1;
    }
    EXPECT_EQ(outcome_from(outcome).error().message, "counters: more than 1024 entries");
    outcome["counters"] = {{"x", -1}};
    EXPECT_EQ(outcome_from(outcome).error().message, "counters: an entry is no name and count");
    Json histogram = json_of(Histogram{});
    histogram["buckets"] = {{2048, 1}};
    EXPECT_FALSE(histogram_from(histogram));
    histogram["buckets"] = {{1, std::uint64_t{1} << 51U}};
    EXPECT_FALSE(histogram_from(histogram)) << "the sum of counts must fit";
}

/// An address with one field replaced.
std::string at(const char* field, const Json& value) {
    Json json = json_of(EndpointAddress{});
    json[field] = value;
    const auto read = address_from(json);
    return read ? "taken" : read.error().message.substr(0, read.error().message.find(':'));
}

TEST(Messages, NothingCanBeSentToMoreThanOnePort) {
    for (const char* gid : {"ff0e::1", "ff12:401b:ffff::1", "ffff::", "::ffff:224.0.0.1", "::ffff:e0ff:1",
                            "::ffff:ffff:ffff"}) {
        EXPECT_EQ(at("gid", gid), "gid") << gid;
    }
    for (const char* gid : {"fe80::1", "fec0::2:c903:0:1", "::ffff:a00:1", "::ffff:dfff:ffff", "::"}) {
        EXPECT_EQ(at("gid", gid), "taken") << gid;
    }
    EXPECT_EQ(at("lid", 0xBFFF), "taken");
    EXPECT_EQ(at("lid", 0xC000), "lid");
    EXPECT_EQ(at("lid", 0xFFFF), "lid");
    Json way = json_of(Way{});
    for (const auto& [dlid, is_taken] : std::vector<std::pair<int, bool>>{
             {0, false}, {1, true}, {0xBFFF, true}, {0xC000, false}, {0xFFFF, false}}) {
        way["dlid"] = dlid;
        EXPECT_EQ(way_from(way).has_value(), is_taken) << dlid;
    }
}

TEST(Messages, NorToQueuePairsAndByQKeysOfTheSubnet) {
    const auto number = [](std::uint32_t value) {
        return at("queue_pairs", Json::array({{{"number", value}}}));
    };
    EXPECT_EQ(number(0), "taken") << "of librdmacm; the agent looks whether it is";
    EXPECT_EQ(number(1), "queue_pairs[0]");
    EXPECT_EQ(number(2), "taken");
    EXPECT_EQ(number(0xFFFFFE), "taken");
    EXPECT_EQ(number(0xFFFFFF), "queue_pairs[0]");
    EXPECT_EQ(at("q_key", 0x7FFFFFFF), "taken");
    EXPECT_EQ(at("q_key", 0x80010000), "q_key") << "that of the general services";
}

TEST(Messages, DeepNestingIsNoMessage) {
    std::string deep(500'000, '[');
    EXPECT_NE(refusal(deep), "taken");
    EXPECT_EQ(refusal("{\"type\":\"run\",\"x\":" + deep + std::string(deep.size(), ']') + "}"), "taken")
        << "a field that nobody knows, and of which nothing is kept";
}

TEST(Messages, LengthsOfFramesHaveBounds) {
    EXPECT_FALSE(decode_length(std::string_view("\0\0\0\0", 4)));
    EXPECT_EQ(decode_length(std::string_view("\0\0\0\1", 4)), 1U);
    EXPECT_EQ(decode_length(std::string_view("\0\x10\0\0", 4)), kFrameBytesMax);
    EXPECT_FALSE(decode_length(std::string_view("\0\x10\0\1", 4)));
    EXPECT_FALSE(decode_length("GET "));
}

TEST(Messages, ErrorsTravelAsRefusalsAndBecomeErrorsAgain) {
    for (const auto kind : {base::ErrorKind::usage, base::ErrorKind::not_found, base::ErrorKind::unavailable,
                            base::ErrorKind::unsupported, base::ErrorKind::refused, base::ErrorKind::io}) {
        EXPECT_EQ(kind_of(refused_of({kind, "x"})), kind);
    }
    EXPECT_EQ(kind_of({refusal::kBusy, ""}), base::ErrorKind::refused);
    EXPECT_EQ(kind_of({refusal::kLimit, ""}), base::ErrorKind::refused);
    EXPECT_EQ(kind_of({refusal::kVersion, ""}), base::ErrorKind::unsupported);
    EXPECT_EQ(kind_of({"of a newer agent", ""}), base::ErrorKind::refused);
}

}  // namespace
}  // namespace ibf::probe
