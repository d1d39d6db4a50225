#include "probe/messages.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/words.hpp"
#include "probe/json_fields.hpp"

namespace ibf::probe {
namespace {

using base::ErrorKind;
using base::Result;

constexpr std::uint32_t kGeneralServices = 1;      ///< QP1; 0 says that librdmacm has the number
constexpr std::uint32_t kQueuePairMax = 0xFFFFFE;  ///< 0xFFFFFF stands for those of a multicast group
constexpr int kNestedMax = 8;                      ///< a peer that nests deeper means no message of ours

std::string cut(const std::string& text, std::size_t most = kTextMax) {
    std::size_t length = std::min(text.size(), most);
    while (length < text.size() && length > 0 &&
           (static_cast<unsigned char>(text[length]) & 0xC0U) == 0x80U) {
        --length;  // not within a character
    }
    return text.substr(0, length);
}

template <class Enum, std::size_t kCount>
using Names = std::array<std::pair<Enum, std::string_view>, kCount>;

constexpr Names<Test, 5> kTests{{{Test::ping, "ping"},
                                 {Test::send, "send"},
                                 {Test::write, "write"},
                                 {Test::read, "read"},
                                 {Test::ud, "ud"}}};
constexpr Names<Side, 2> kSides{{{Side::initiator, "initiator"}, {Side::target, "target"}}};
constexpr Names<LinkLayer, 2> kLayers{
    {{LinkLayer::infiniband, "InfiniBand"}, {LinkLayer::ethernet, "Ethernet"}}};

template <class Enum, std::size_t kCount>
std::string_view name_in(const Names<Enum, kCount>& names, Enum value) {
    for (const auto& [one, name] : names) {
        if (one == value) {
            return name;
        }
    }
    return "?";
}

template <class Enum, std::size_t kCount>
void take_name(Fields& fields, std::string_view field, const Names<Enum, kCount>& names, Enum& value) {
    std::string word;
    fields.required_text(field, word);
    for (const auto& [one, name] : names) {
        if (name == word) {
            value = one;
            return;
        }
    }
    fields.blame(field, fmt::format("{} is none of its words", base::quote(word)));
}

std::string gid_text(const GidOctets& octets) {
    mad::Gid gid;
    std::uint64_t low = 0;
    for (std::size_t i = 0; i < 8; ++i) {
        gid.prefix = gid.prefix << 8U | octets[i];
        low = low << 8U | octets[i + 8];
    }
    gid.interface_id = mad::Guid{low};
    return mad::to_string(gid);
}

GidOctets gid_octets(const mad::Gid& gid) {
    GidOctets octets{};
    for (unsigned i = 0; i < 8; ++i) {
        const unsigned shift = 56 - 8 * i;
        octets[i] = static_cast<std::uint8_t>(gid.prefix >> shift);
        octets[i + 8] = static_cast<std::uint8_t>(gid.interface_id.value() >> shift);
    }
    return octets;
}

/// Multicast, also as IPv4 has it in a GID of RoCE, with its broadcast address.
bool is_of_many(const GidOctets& octets) {
    constexpr GidOctets kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
    const bool is_mapped = std::equal(octets.begin(), octets.begin() + 12, kMapped.begin());
    return octets[0] == 0xFF || (is_mapped && octets[12] >= 224);
}

Json counts_json(const std::map<std::string, std::uint64_t>& counts) {
    Json out = Json::object();
    for (const auto& [name, count] : counts) {
        if (out.size() < kEntriesMax) {
            out[cut(name)] = count;
        }
    }
    return out;
}

constexpr std::size_t kDoubtsMax = 64;  ///< sentences are long, and a frame has an end

Json sentences_json(const std::vector<std::string>& sentences) {
    Json out = Json::array();
    for (const std::string& sentence : sentences) {
        if (out.size() < kDoubtsMax) {
            out.push_back(cut(sentence, kSentenceMax));
        }
    }
    return out;
}

void take_sentences(Fields& fields, std::string_view field, std::vector<std::string>& sentences) {
    fields.each(field, kDoubtsMax, [&](const Json& one) -> std::string {
        if (!one.is_string() || one.get_ref<const std::string&>().size() > kSentenceMax) {
            return fmt::format("is no text of at most {} octets", kSentenceMax);
        }
        sentences.push_back(one.get<std::string>());
        return {};
    });
}

void take_counts(Fields& fields, std::string_view field, std::map<std::string, std::uint64_t>& counts) {
    const Json* const object = fields.object(field);
    if (object == nullptr) {
        return;
    }
    if (object->size() > kEntriesMax) {
        return fields.blame(field, fmt::format("more than {} entries", kEntriesMax));
    }
    for (const auto& [name, count] : object->items()) {
        const auto number = Fields::whole(count);
        if (name.size() > kTextMax || !number) {
            return fields.blame(field, "an entry is no name and count");
        }
        counts[name] = *number;
    }
}

void take_sl(Fields& fields, std::optional<mad::Sl>& sl) {
    if (fields.has("sl")) {
        mad::Sl given{};
        fields.strong("sl", given, 15);
        sl = given;
    }
}

template <class Value, class Read>
void take_part(Fields& fields, std::string_view field, Value& value, Read read) {
    const Json* const object = fields.object(field);
    if (object == nullptr) {
        return fields.blame(field, "is missing");
    }
    if (auto taken = read(*object)) {
        value = std::move(*taken);
    } else {
        fields.blame(field, taken.error().message);
    }
}

// ---- values of the messages

Json json_of(const AgentLimits& limits) {
    return {{"seconds", limits.seconds},
            {"bits_per_second", limits.bits_per_second},
            {"message_bytes", limits.message_bytes},
            {"queue_pairs", limits.queue_pairs}};
}

Result<AgentLimits> limits_from(const Json& json) {
    Fields fields(json);
    AgentLimits limits;
    fields.number("seconds", limits.seconds);
    fields.number("bits_per_second", limits.bits_per_second);
    fields.number("message_bytes", limits.message_bytes);
    fields.number("queue_pairs", limits.queue_pairs);
    return fields.result(std::move(limits));
}

Result<PortDescription> port_from(const Json& json) {
    Fields fields(json);
    PortDescription port;
    fields.required_text("device", port.device);
    fields.number("port", port.port);
    take_name(fields, "layer", kLayers, port.layer);
    fields.text("state", port.state);
    fields.strong("lid", port.lid);
    fields.number("lmc", port.lmc, 0, 7);
    fields.number("mtu_bytes", port.mtu_bytes);
    fields.number("bits_per_second", port.bits_per_second);
    fields.each("gids", kEntriesMax, [&](const Json& one) {
        Fields entry(one);
        GidEntry gid;
        entry.number("index", gid.index);
        entry.required_text("gid", gid.gid);
        entry.text("type", gid.type);
        port.gids.push_back(std::move(gid));
        return entry.trouble();
    });
    fields.text("problem", port.problem, kSentenceMax);
    return fields.result(std::move(port));
}

Result<Progress> progress_from(const Json& json) {
    Fields fields(json);
    Progress progress;
    fields.number("messages", progress.messages);
    fields.number("bytes", progress.bytes);
    fields.duration("elapsed_ns", progress.elapsed);
    return fields.result(std::move(progress));
}

// ---- messages

void put(Json& out, const Hello& hello) {
    out["protocol"] = hello.protocol;
    out["program"] = cut(hello.program);
    out["host"] = cut(hello.host);
}
void put(Json& out, const Description& description) {
    out["limits"] = json_of(description.limits);
    out["ports"] = Json::array();
    for (const PortDescription& port : description.ports) {
        if (out["ports"].size() < kEntriesMax) {
            out["ports"].push_back(probe::json_of(port));
        }
    }
    out["trouble"] = cut(description.trouble, kSentenceMax);
}
void put(Json& out, const Prepare& prepare) {
    out["run"] = cut(prepare.run);
    out["spec"] = probe::json_of(prepare.spec);
    out["side"] = to_string(prepare.side);
    out["way"] = probe::json_of(prepare.way);
}
void put(Json& out, const Prepared& prepared) {
    out["address"] = probe::json_of(prepared.address);
}
void put(Json& out, const Connect& connect) {
    out["peer"] = probe::json_of(connect.peer);
}
void put(Json& out, const ProgressTold& told) {
    out["progress"] = probe::json_of(told.progress);
}
void put(Json& out, const Connected& connected) {
    out["path"] = probe::json_of(connected.path);
}
void put(Json& out, const Ended& ended) {
    out["outcome"] = probe::json_of(ended.outcome);
}
void put(Json& out, const Refused& refused) {
    out["code"] = cut(refused.code);
    out["text"] = cut(refused.text, kSentenceMax);
}
template <class Empty>
void put(Json&, const Empty&) {}

void take(Fields& fields, Hello& hello) {
    fields.required_number("protocol", hello.protocol);
    fields.text("program", hello.program);
    fields.text("host", hello.host);
}
void take(Fields& fields, Description& description) {
    take_part(fields, "limits", description.limits, limits_from);
    fields.each("ports", kEntriesMax, [&](const Json& one) {
        auto port = port_from(one);
        if (!port) {
            return port.error().message;
        }
        description.ports.push_back(std::move(*port));
        return std::string{};
    });
    fields.text("trouble", description.trouble, kSentenceMax);
}
void take(Fields& fields, Prepare& prepare) {
    fields.text("run", prepare.run);
    take_part(fields, "spec", prepare.spec, spec_from);
    take_name(fields, "side", kSides, prepare.side);
    take_part(fields, "way", prepare.way, way_from);
}
void take(Fields& fields, Prepared& prepared) {
    take_part(fields, "address", prepared.address, address_from);
}
void take(Fields& fields, Connect& connect) {
    take_part(fields, "peer", connect.peer, address_from);
}
void take(Fields& fields, Connected& connected) {
    if (fields.has("path")) {  // an older agent does not tell
        take_part(fields, "path", connected.path, path_from);
    }
}
void take(Fields& fields, ProgressTold& told) {
    take_part(fields, "progress", told.progress, progress_from);
}
void take(Fields& fields, Ended& ended) {
    take_part(fields, "outcome", ended.outcome, outcome_from);
}
void take(Fields& fields, Refused& refused) {
    fields.required_text("code", refused.code);
    fields.text("text", refused.text, kSentenceMax);
}
template <class Empty>
void take(Fields&, Empty&) {}

/// In the order of Message.
constexpr std::array<std::string_view, std::variant_size_v<Message>> kMessageNames{
    "hello", "describe",      "description", "prepare", "prepared", "connect",  "connected",
    "run",   "progress-told", "ended",       "stop",    "release",  "released", "refused"};

template <std::size_t kIndex = 0>
Message empty_message(std::size_t index) {
    if constexpr (kIndex + 1 < std::variant_size_v<Message>) {
        if (index != kIndex) {
            return empty_message<kIndex + 1>(index);
        }
    }
    return Message(std::in_place_index<kIndex>);
}

}  // namespace

std::string_view to_string(Test test) {
    return name_in(kTests, test);
}
std::string_view to_string(Side side) {
    return name_in(kSides, side);
}
std::string_view to_string(LinkLayer layer) {
    return name_in(kLayers, layer);
}

// ---- parts

Json json_of(const TestSpec& spec) {
    return {{"test", to_string(spec.test)},
            {"message_bytes", spec.message_bytes},
            {"messages", spec.messages},
            {"duration_ns", spec.duration.count()},
            {"queue_pairs", spec.queue_pairs},
            {"depth", spec.depth},
            {"bits_per_second", spec.bits_per_second},
            {"seed", spec.seed},
            {"mtu_bytes", spec.mtu_bytes},
            {"ack_timeout", spec.ack_timeout},
            {"retries", spec.retries},
            {"rnr_retries", spec.rnr_retries},
            {"rnr_timer", spec.rnr_timer},
            {"use_cm", spec.use_cm},
            {"check_payload", spec.check_payload},
            {"huge_pages", spec.huge_pages}};
}

Result<TestSpec> spec_from(const Json& json) {
    Fields fields(json);
    TestSpec spec;
    take_name(fields, "test", kTests, spec.test);
    fields.number("message_bytes", spec.message_bytes, 1, kMessageBytesMax);
    fields.number("messages", spec.messages);
    fields.duration("duration_ns", spec.duration, kDurationMax);
    fields.number("queue_pairs", spec.queue_pairs, 1, kQueuePairsMax);
    fields.number("depth", spec.depth, 1, kDepthMax);
    fields.number("bits_per_second", spec.bits_per_second);
    fields.number("seed", spec.seed);
    fields.number("mtu_bytes", spec.mtu_bytes, 0, 4096);
    fields.number("ack_timeout", spec.ack_timeout, 0, 31);
    fields.number("retries", spec.retries, 0, 7);
    fields.number("rnr_retries", spec.rnr_retries, 0, 7);
    fields.number("rnr_timer", spec.rnr_timer, 0, 31);
    fields.boolean("use_cm", spec.use_cm);
    fields.boolean("check_payload", spec.check_payload);
    fields.boolean("huge_pages", spec.huge_pages);
    if (spec.mtu_bytes != 0 && mad::mtu_from_bytes(spec.mtu_bytes) == mad::Mtu::none) {
        fields.blame("mtu_bytes", "neither 0 nor 256, 512, 1024, 2048 or 4096");
    }
    if (spec.messages == 0 && spec.duration <= base::Duration::zero()) {
        fields.blame("messages", "0, and no duration_ns either: it would never end");
    }
    return fields.result(std::move(spec));
}

Json json_of(const Way& way) {
    Json out{{"device", cut(way.device)},
             {"port", way.port},
             {"pkey_index", way.pkey_index},
             {"path_bits", way.path_bits},
             {"traffic_class", way.traffic_class}};
    if (way.sl) {
        out["sl"] = way.sl->value();
    }
    if (way.gid_index) {
        out["gid_index"] = *way.gid_index;
    }
    if (way.dlid) {
        out["dlid"] = way.dlid->value();
    }
    return out;
}

Result<Way> way_from(const Json& json) {
    Fields fields(json);
    Way way;
    fields.text("device", way.device);
    fields.number("port", way.port);
    fields.number("pkey_index", way.pkey_index);
    take_sl(fields, way.sl);
    fields.number("path_bits", way.path_bits, 0, 127);
    fields.number("traffic_class", way.traffic_class);
    if (fields.has("gid_index")) {
        way.gid_index = 0;
        fields.number("gid_index", *way.gid_index);
    }
    if (fields.has("dlid")) {
        std::uint16_t dlid = 0;
        fields.number("dlid", dlid, 1, mad::kLidUnicastMax);
        way.dlid = mad::Lid{dlid};
    }
    return fields.result(std::move(way));
}

Json json_of(const PathTaken& path) {
    Json out{{"mtu_bytes", path.mtu_bytes},
             {"bits_per_second", path.bits_per_second},
             {"is_recorded", path.is_recorded},
             {"trouble", cut(path.trouble, kSentenceMax)}};
    if (path.sl) {
        out["sl"] = path.sl->value();
    }
    return out;
}

Result<PathTaken> path_from(const Json& json) {
    Fields fields(json);
    PathTaken path;
    take_sl(fields, path.sl);
    fields.number("mtu_bytes", path.mtu_bytes);
    fields.number("bits_per_second", path.bits_per_second);
    fields.boolean("is_recorded", path.is_recorded);
    fields.text("trouble", path.trouble, kSentenceMax);
    return fields.result(std::move(path));
}

Json json_of(const EndpointAddress& address) {
    Json pairs = Json::array();
    for (const QueuePairAddress& pair : address.queue_pairs) {
        pairs.push_back({{"number", pair.number}, {"packet_sequence", pair.packet_sequence}});
    }
    return {{"layer", to_string(address.layer)},
            {"lid", address.lid.value()},
            {"gid", gid_text(address.gid)},
            {"mtu_bytes", address.mtu_bytes},
            {"queue_pairs", std::move(pairs)},
            {"memory", address.memory},
            {"memory_bytes", address.memory_bytes},
            {"memory_key", address.memory_key},
            {"q_key", address.q_key},
            {"reads_in", address.reads_in},
            {"cm_host", cut(address.cm_host)},
            {"cm_port", address.cm_port},
            {"device", cut(address.device)}};
}

Result<EndpointAddress> address_from(const Json& json) {
    constexpr std::uint32_t kSequenceMax = 0xFFFFFF;  // 24 bits
    constexpr std::uint32_t kQKeyMax = 0x7FFFFFFF;    // those above are of privileged consumers (IBA 10.2.5)
    Fields fields(json);
    EndpointAddress address;
    take_name(fields, "layer", kLayers, address.layer);
    fields.strong("lid", address.lid, mad::kLidUnicastMax);
    std::string gid;
    fields.text("gid", gid);
    if (const auto parsed = mad::parse_gid(gid)) {
        address.gid = gid_octets(*parsed);
        if (is_of_many(address.gid)) {
            fields.blame("gid", fmt::format("{} is of more than one port", gid));
        }
    } else if (fields.has("gid")) {
        fields.blame("gid", parsed.error().message);
    }
    fields.number("mtu_bytes", address.mtu_bytes, 0, 65536);
    fields.each("queue_pairs", kQueuePairsMax, [&](const Json& one) {
        Fields entry(one);
        QueuePairAddress pair;
        entry.number("number", pair.number, 0, kQueuePairMax);
        entry.number("packet_sequence", pair.packet_sequence, 0, kSequenceMax);
        if (pair.number == kGeneralServices) {
            entry.blame("number", "1 is of the general services");
        }
        address.queue_pairs.push_back(pair);
        return entry.trouble();
    });
    fields.number("memory", address.memory);
    fields.number("memory_bytes", address.memory_bytes);
    fields.number("memory_key", address.memory_key);
    fields.number("q_key", address.q_key, 0, kQKeyMax);
    fields.number("reads_in", address.reads_in);
    fields.text("cm_host", address.cm_host);
    fields.number("cm_port", address.cm_port);
    fields.text("device", address.device);
    return fields.result(std::move(address));
}

Json json_of(const Histogram& histogram) {
    Json buckets = Json::array();
    for (const auto& [number, count] : histogram.buckets()) {
        buckets.push_back({number, count});
    }
    return {{"count", histogram.count()},
            {"sum_ns", histogram.sum()},
            {"min_ns", histogram.minimum()},
            {"max_ns", histogram.maximum()},
            {"buckets", std::move(buckets)}};
}

Result<Histogram> histogram_from(const Json& json) {
    constexpr std::size_t kBucketsMax = std::size_t{64} * 32;
    constexpr std::uint64_t kCountMax = std::uint64_t{1} << 50U;  // so that the sum of all fits
    Fields fields(json);
    std::uint64_t sum = 0;
    std::uint64_t minimum = 0;
    std::uint64_t maximum = 0;
    fields.number("sum_ns", sum);
    fields.number("min_ns", minimum);
    fields.number("max_ns", maximum);
    std::map<std::uint32_t, std::uint64_t> buckets;
    fields.each("buckets", kBucketsMax, [&](const Json& one) -> std::string {
        if (!one.is_array() || one.size() != 2) {
            return "is no pair";
        }
        const auto number = Fields::whole(one[0]);
        const auto count = Fields::whole(one[1]);
        if (!number || !count || *number >= kBucketsMax || *count > kCountMax) {
            return "is no bucket and count";
        }
        buckets[static_cast<std::uint32_t>(*number)] = *count;
        return {};
    });
    return fields.result(Histogram::of(buckets, sum, minimum, maximum));
}

Json json_of(const Progress& progress) {
    return {
        {"messages", progress.messages}, {"bytes", progress.bytes}, {"elapsed_ns", progress.elapsed.count()}};
}

Json json_of(const Outcome& outcome) {
    return {{"messages", outcome.messages},
            {"bytes", outcome.bytes},
            {"lost", outcome.lost},
            {"checked", outcome.checked},
            {"corrupt", outcome.corrupt},
            {"elapsed_ns", outcome.elapsed.count()},
            {"latency", json_of(outcome.latency)},
            {"was_stopped", outcome.was_stopped},
            {"used_huge_pages", outcome.used_huge_pages},
            {"failure", cut(outcome.failure)},
            {"failure_text", cut(outcome.failure_text, kSentenceMax)},
            {"errors", counts_json(outcome.errors)},
            {"counters", counts_json(outcome.counters)},
            {"doubts", sentences_json(outcome.doubts)}};
}

Result<Outcome> outcome_from(const Json& json) {
    Fields fields(json);
    Outcome outcome;
    fields.number("messages", outcome.messages);
    fields.number("bytes", outcome.bytes);
    fields.number("lost", outcome.lost);
    fields.number("checked", outcome.checked);
    fields.number("corrupt", outcome.corrupt);
    fields.duration("elapsed_ns", outcome.elapsed);
    if (fields.has("latency")) {
        take_part(fields, "latency", outcome.latency, histogram_from);
    }
    fields.boolean("was_stopped", outcome.was_stopped);
    fields.boolean("used_huge_pages", outcome.used_huge_pages);
    fields.text("failure", outcome.failure);
    fields.text("failure_text", outcome.failure_text, kSentenceMax);
    take_counts(fields, "errors", outcome.errors);
    take_counts(fields, "counters", outcome.counters);
    take_sentences(fields, "doubts", outcome.doubts);
    return fields.result(std::move(outcome));
}

Json json_of(const PortDescription& port) {
    Json gids = Json::array();
    for (const GidEntry& entry : port.gids) {
        if (gids.size() < kEntriesMax) {
            gids.push_back({{"index", entry.index}, {"gid", cut(entry.gid)}, {"type", cut(entry.type)}});
        }
    }
    return {{"device", cut(port.device)},     {"port", port.port},
            {"layer", to_string(port.layer)}, {"state", cut(port.state)},
            {"lid", port.lid.value()},        {"lmc", port.lmc},
            {"mtu_bytes", port.mtu_bytes},    {"bits_per_second", port.bits_per_second},
            {"gids", std::move(gids)},        {"problem", cut(port.problem, kSentenceMax)}};
}

// ---- messages as octets

std::string_view name_of(const Message& message) {
    return kMessageNames[message.index()];
}

std::string encode(const Message& message) {
    Json out{{"type", name_of(message)}};
    std::visit([&out](const auto& one) { put(out, one); }, message);
    // A device's or host's name may be any octets: what is no UTF-8 is left out, so that nothing grows.
    const std::string body = out.dump(-1, ' ', false, Json::error_handler_t::ignore);
    std::string frame;
    frame.reserve(kFrameHeaderBytes + body.size());
    for (const unsigned shift : {24U, 16U, 8U, 0U}) {
        frame.push_back(static_cast<char>(body.size() >> shift & 0xFFU));
    }
    return frame + body;
}

Result<std::size_t> decode_length(std::string_view header) {
    std::size_t length = 0;
    for (std::size_t i = 0; i < kFrameHeaderBytes; ++i) {
        length = length << 8U | static_cast<unsigned char>(header[i]);
    }
    if (length == 0 || length > kFrameBytesMax) {
        return base::fail(ErrorKind::parse,
                          fmt::format("a frame of {} octets: 1 to {} are a frame", length, kFrameBytesMax));
    }
    return length;
}

Result<Message> decode(std::string_view body) {
    const auto shallow = [](int depth, Json::parse_event_t, const Json&) { return depth <= kNestedMax; };
    const Json json = Json::parse(body, shallow, false);
    if (json.is_discarded() || !json.is_object()) {
        return base::fail(ErrorKind::parse, "what came is no JSON object");
    }
    Fields fields(json);
    std::string type;
    fields.required_text("type", type);
    const auto known = std::find(kMessageNames.begin(), kMessageNames.end(), type);
    if (known == kMessageNames.end()) {
        fields.blame("type",
                     fmt::format("{} is no message of protocol {}", base::quote(type), kProtocolVersion));
        return base::fail(ErrorKind::parse, fields.trouble());
    }
    Message message = empty_message(static_cast<std::size_t>(known - kMessageNames.begin()));
    std::visit([&fields](auto& one) { take(fields, one); }, message);
    return fields.result(std::move(message));
}

// ---- errors

namespace {

constexpr std::array<std::pair<ErrorKind, const char*>, 7> kKinds{
    {{ErrorKind::usage, refusal::kUsage},
     {ErrorKind::parse, refusal::kFailed},
     {ErrorKind::not_found, refusal::kNotFound},
     {ErrorKind::unavailable, refusal::kUnavailable},
     {ErrorKind::io, refusal::kFailed},
     {ErrorKind::unsupported, refusal::kUnsupported},
     {ErrorKind::refused, refusal::kRefused}}};

}  // namespace

Refused refused_of(const base::Error& error) {
    for (const auto& [kind, code] : kKinds) {
        if (kind == error.kind) {
            return {code, error.message};
        }
    }
    return {refusal::kFailed, error.message};
}

ErrorKind kind_of(const Refused& refused) {
    if (refused.code == refusal::kFailed) {
        return ErrorKind::io;
    }
    if (refused.code == refusal::kVersion) {
        return ErrorKind::unsupported;
    }
    for (const auto& [kind, code] : kKinds) {
        if (refused.code == code) {
            return kind;
        }
    }
    return ErrorKind::refused;  // busy, a limit, and what a newer agent may say
}

}  // namespace ibf::probe
