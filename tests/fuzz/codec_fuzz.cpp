// Bytes from the wire: headers, SMPs, every attribute codec, and the transaction table's receive path.
//
// The input is a run of MADs. The first octet of each says what to do with its 256 bytes; a short last one is
// padded.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "mad/codec.hpp"
#include "mad/transactions.hpp"

namespace {

using namespace ibf;
using namespace ibf::mad;

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

/// encode() of what was decoded, decoded again, is the same value; with `wire` it is the same bytes.
void round_trips(const AttributeData& data) {
    require(decode_node_info(encode(decode_node_info(data))) == decode_node_info(data));
    require(decode_node_description(encode(decode_node_description(data))) == decode_node_description(data));
    require(encode(decode_switch_info(data)) == data);
    require(encode(decode_port_info(data)) == data);
    require(encode(decode_guid_info(data)) == data);
    require(encode(decode_pkey_block(data)) == data);
    require(decode_sl2vl(encode(decode_sl2vl(data))) == decode_sl2vl(data));
    require(decode_vl_arb(encode(decode_vl_arb(data))) == decode_vl_arb(data));
    require(encode(decode_lft(data)) == data);
    require(encode(decode_mft(data)) == data);
    require(decode_sm_info(encode(decode_sm_info(data))) == decode_sm_info(data));
    require(encode(decode_notice(data)) == data);
    require(decode_port_counters(encode(decode_port_counters(data))) == decode_port_counters(data));
    PerfData perf{};
    std::copy(data.begin(), data.end(), perf.begin() + 8);
    const PortCountersExtended counters = decode_port_counters_extended(perf);
    require(decode_port_counters_extended(encode(counters)) == counters);
}

/// What users derive from a value whose fields may hold anything.
void derived(const AttributeData& data) {
    (void)decode_node_info(data).valid();
    (void)to_string(decode_port_info(data).speed());
    (void)vl_count(decode_port_info(data).operational_vls);
    (void)decode_mlnx_fdr10_active(data);
    (void)to_string(decode_sm_info(data).state);
}

void parse(std::span<const std::uint8_t> bytes) {
    const auto smp = parse_smp(bytes);
    if (!smp) {
        require(!smp.error().message.empty());
        return;
    }
    require(smp->path.hops <= kHopsMax);
    const MadBuffer again = encode_smp(*smp);
    const auto reparsed = parse_smp(again);
    require(reparsed.has_value() && reparsed->path == smp->path && reparsed->data == smp->data);
    require(encode_smp(*reparsed) == again);
    require(!to_line(*smp).empty() && !status_text(smp->header.status).empty());
    round_trips(smp->data);
    derived(smp->data);
}

/// A small table under fire: requests, answers made of the input, answers that fit, time.
class Table {
public:
    void step(std::uint8_t action, const WireMad& mad) {
        now_ += std::chrono::milliseconds{action >> 3U};
        switch (action & 7U) {
            case 0: submit(mad); break;
            case 1: table_.on_time(now_, done_); break;
            case 2: table_.on_send_error(mad, now_, done_); break;
            case 3: answer_the_last(mad); break;
            case 4:
                if (action == 0xFC) {
                    table_.abandon_all();
                }
                break;
            default: table_.on_receive(mad, now_, done_); break;
        }
        table_.poll_send(now_, sent_);
        check();
    }

private:
    void submit(const WireMad& mad) {
        Request request;
        request.target = mad.bytes[8] % 4;
        request.attribute = static_cast<Attribute>(mad.bytes[17]);
        request.modifier = mad.bytes[23];
        request.path.hops = mad.bytes[7] % 64;
        request.lid = Lid{static_cast<std::uint16_t>(mad.bytes[9] % 2)};
        request.retries = mad.bytes[10] % 3;
        submitted_ += table_.submit(request) ? 1 : 0;
    }

    void answer_the_last(const WireMad& mad) {
        if (sent_.empty()) {
            return;
        }
        WireMad answer = sent_[mad.bytes[8] % sent_.size()];
        answer.bytes[3] = 0x81;
        answer.bytes[4 + mad.bytes[9] % 252] ^= static_cast<std::uint8_t>(mad.bytes[10] & 1);
        table_.on_receive(answer, now_, done_);
    }

    void check() {
        require(table_.in_flight() <= 8 && table_.queued() <= 24);
        require(done_.size() + table_.in_flight() + table_.queued() <= submitted_);
        require(table_.next_deadline().has_value() == (table_.in_flight() > 0));
        if (sent_.size() > 64) {
            sent_.erase(sent_.begin(), sent_.end() - 64);
        }
    }

    Transactions table_{{.window_total = 8, .window_min = 2, .window_target = 3, .queue_max = 16},
                        Tid{0xFFFFFFF0}};
    base::Instant now_{};
    std::size_t submitted_ = 0;
    std::vector<WireMad> sent_;
    std::vector<Completion> done_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::span<const std::uint8_t> rest(data, size);
    (void)parse_header(rest);
    (void)parse_smp(rest);
    Table table;
    while (!rest.empty()) {
        const std::uint8_t action = rest.front();
        rest = rest.subspan(1);
        const std::size_t length = std::min(rest.size(), sizeof(MadBuffer));
        parse(rest.first(length));
        WireMad mad;
        std::copy_n(rest.begin(), length, mad.bytes.begin());
        parse(mad.bytes);
        table.step(action, mad);
        rest = rest.subspan(length);
    }
    return 0;
}
