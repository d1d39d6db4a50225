#include "sim/port_layer.hpp"

#include <algorithm>

namespace ibf::sim {
namespace {

constexpr std::size_t kMadBytes = mad::MadBuffer{}.size();
constexpr std::size_t kMadHeaderBytes = 24;
constexpr std::size_t kRmppHeaderEnd = 36;
constexpr std::size_t kTidAt = 8;
constexpr std::size_t kRmppAt = 24;  // version, type, response time and flags, status, segment, length
constexpr std::size_t kRmppFlagsAt = 26;
constexpr std::uint8_t kRmppActive = 0x01;
constexpr std::uint8_t kRmppFirst = 0x02;
constexpr std::uint8_t kRmppLast = 0x04;
constexpr std::uint8_t kRmppNoTime = 0x1FU << 3U;
constexpr std::uint16_t kUnsupportedMethodAttribute = 0x000C;
constexpr std::uint8_t kDirectionBit = 0x80;                                      // of an SMP's status
constexpr std::size_t kSaHeaderInSegment = mad::kSaHeaderBytes - kRmppHeaderEnd;  // PayloadLength counts it

std::uint64_t read_tid(std::span<const std::uint8_t> bytes) {
    std::uint64_t tid = 0;
    for (std::size_t i = 0; i < sizeof tid; ++i) {
        tid = tid << 8U | bytes[kTidAt + i];
    }
    return tid;
}

void write_32(std::uint8_t* to, std::uint32_t value) {
    for (unsigned i = 0; i < sizeof value; ++i) {
        to[i] = static_cast<std::uint8_t>(value >> (24U - 8U * i));
    }
}

bool rmpp_active(const mad::MadBuffer& bytes) {
    return has_rmpp_header(bytes[1]) && (bytes[kRmppFlagsAt] & kRmppActive) != 0;
}

mad::MadBuffer padded(std::span<const std::uint8_t> bytes) {
    mad::MadBuffer buffer{};
    std::copy_n(bytes.begin(), std::min(bytes.size(), buffer.size()), buffer.begin());
    return buffer;
}

/// Whether the kernel is to carry these bytes as an RMPP message. It knows where the data of other classes
/// begins as well, but no program of today asks it to.
bool is_message(const AgentRequest& agent, const mad::MadBuffer& first) {
    return kernel_rmpp(agent) && first[1] == kSubnAdm && rmpp_active(first);
}

/// A message as it was before it was cut: the first packet's header, RMPP fields and all, and the data.
std::vector<std::uint8_t> joined(const mad::RmppMessage& message) {
    const std::size_t size = message.data ? message.data->size() : 0;
    const std::size_t segments = std::max<std::size_t>(1, (size + mad::kSaDataBytes - 1) / mad::kSaDataBytes);
    std::vector<std::uint8_t> bytes(message.header.begin(), message.header.end());
    bytes[kRmppAt] = 1;
    bytes[kRmppAt + 1] = 1;  // data
    bytes[kRmppFlagsAt] =
        static_cast<std::uint8_t>(kRmppNoTime | kRmppActive | kRmppFirst | (segments == 1 ? kRmppLast : 0U));
    bytes[kRmppFlagsAt + 1] = 0;
    write_32(&bytes[kRmppAt + 4], 1);
    write_32(&bytes[kRmppAt + 8], static_cast<std::uint32_t>(size + segments * kSaHeaderInSegment));
    if (message.data) {
        bytes.insert(bytes.end(), message.data->begin(), message.data->end());
    }
    return bytes;
}

}  // namespace

base::Result<AgentId> PortLayer::add_agent(const AgentRequest& request) {
    base::Result<AgentId> agent = agents_.add(request);
    if (agent && kernel_rmpp(request)) {
        transfers_.emplace(*agent, Transfers{.rmpp = mad::Rmpp(mad::RmppLimits{}), .headers = {}});
    }
    return agent;
}

void PortLayer::remove_agent(AgentId agent) {
    agents_.remove(agent);
    transfers_.erase(agent);
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
        if (slots_[slot].agent == agent) {
            close(slot);
        }
    }
}

void PortLayer::send(AgentId agent, const SendRequest& request, base::Instant now, Sink& out) {
    const AgentRequest* registration = agents_.find(agent);
    if (registration == nullptr || request.bytes.size() < kRmppHeaderEnd) {
        ++counters_.refused;
        return;
    }
    std::vector<std::uint8_t> bytes(request.bytes.begin(), request.bytes.end());
    mad::MadBuffer first = padded(bytes);
    if (bytes.size() > kMadBytes && !is_message(*registration, first)) {
        ++counters_.refused;
        return;
    }
    if (!is_response(first)) {
        write_32(&bytes[kTidAt], agent);
    }
    ++counters_.sent;
    if (request.timeout > base::Duration::zero()) {
        open(agent, bytes, request, now, out);
    }
    emit(agent, bytes, request.address, request.timeout, now, out);
}

/// Puts a MAD or a message on the wire.
void PortLayer::emit(AgentId agent, std::span<const std::uint8_t> bytes, const mad::MadAddress& address,
                     base::Duration timeout, base::Instant now, Sink& out) {
    const AgentRequest* registration = agents_.find(agent);
    const mad::MadBuffer first = padded(bytes);
    if (registration == nullptr || !is_message(*registration, first)) {
        out.transmit({.bytes = first, .address = address, .response_timeout = timeout});
        return;
    }
    mad::RmppMessage message;
    message.peer = address;
    const std::size_t header = std::min(bytes.size(), message.header.size());
    std::copy_n(bytes.begin(), header, message.header.begin());
    message.data = std::make_shared<const std::vector<std::uint8_t>>(
        bytes.begin() + static_cast<std::ptrdiff_t>(header), bytes.end());
    Transfers& transfers = transfers_.at(agent);
    transfers.headers[read_tid(bytes)].assign(bytes.begin(), bytes.begin() + kMadHeaderBytes);
    mad::RmppOutputs outputs;
    transfers.rmpp.send(std::move(message), now, outputs);
    pass_on(agent, outputs, out);
}

void PortLayer::open(AgentId agent, std::span<const std::uint8_t> bytes, const SendRequest& request,
                     base::Instant now, Sink& out) {
    if (deadlines_.size() >= kOpenRequestsMax) {
        ++counters_.refused;
        time_out(agent, request.address, bytes, out);
        return;
    }
    std::uint32_t slot = static_cast<std::uint32_t>(slots_.size());
    if (free_.empty()) {
        slots_.emplace_back();
    } else {
        slot = free_.back();
        free_.pop_back();
    }
    Open& entry = slots_[slot];
    entry.agent = agent;
    entry.tid = read_tid(bytes);
    entry.address = request.address;
    entry.bytes.assign(bytes.begin(), bytes.end());
    entry.timeout = request.timeout;
    entry.deadline = now + request.timeout;
    entry.retries_left = request.retries;
    by_tid_.emplace(entry.tid, slot);
    deadlines_.emplace(entry.deadline, slot);
}

void PortLayer::close(std::uint32_t slot) {
    Open& entry = slots_[slot];
    deadlines_.erase({entry.deadline, slot});
    const auto [first, last] = by_tid_.equal_range(entry.tid);
    by_tid_.erase(std::find_if(first, last, [&](const auto& item) { return item.second == slot; }));
    entry.agent = 0;
    free_.push_back(slot);
}

/// ib_find_send_mad(): the same TID and class, and a global route both ways or none. The responder's LID is
/// not compared: it may answer from another of its LIDs.
std::optional<std::uint32_t> PortLayer::find_open(AgentId agent, std::uint64_t tid,
                                                  const mad::WireMad& response) const {
    const auto [first, last] = by_tid_.equal_range(tid);
    const auto found = std::find_if(first, last, [&](const auto& item) {
        const Open& entry = slots_[item.second];
        const bool is_directed = response.bytes[1] == kSubnDirected;
        return entry.agent == agent && entry.bytes[1] == response.bytes[1] &&
               (is_directed || entry.address.grh_gid.has_value() == response.address.grh_gid.has_value());
    });
    return found == last ? std::nullopt : std::optional{found->second};
}

void PortLayer::on_receive(const mad::WireMad& mad, base::Instant now, Sink& out) {
    const std::optional<AgentId> agent = agents_.receiver(mad.bytes);
    if (!agent) {
        refuse_unclaimed(mad, out);
        return;
    }
    if (is_message(*agents_.find(*agent), mad.bytes)) {
        mad::RmppOutputs outputs;
        transfers_.at(*agent).rmpp.on_receive(mad, now, outputs);
        pass_on(*agent, outputs, out);
        return;
    }
    complete(*agent, mad, mad.bytes, out);
}

/// Hands a whole MAD or message up; a response only while its request is open.
void PortLayer::complete(AgentId agent, const mad::WireMad& first, std::span<const std::uint8_t> bytes,
                         Sink& out) {
    if (is_response(first.bytes)) {
        const AgentRequest& registration = *agents_.find(agent);
        const std::optional<std::uint32_t> request = find_open(agent, read_tid(first.bytes), first);
        if (request) {
            close(*request);
        } else if (kernel_rmpp(registration) || !rmpp_active(first.bytes)) {
            // The packets of a transfer that the program does itself come after its request was answered.
            ++counters_.late;
            return;
        }
    }
    ++counters_.handed_up;
    out.hand_up({.agent = agent, .status = 0, .address = first.address, .bytes = bytes});
}

/// generate_unmatched_resp(): the kernel answers for a class that no program has registered.
void PortLayer::refuse_unclaimed(const mad::WireMad& mad, Sink& out) {
    if (is_response(mad.bytes)) {
        ++counters_.late;
        return;
    }
    ++counters_.unclaimed;
    const bool is_get = mad.bytes[3] == static_cast<std::uint8_t>(mad::Method::get);
    const bool is_set = mad.bytes[3] == static_cast<std::uint8_t>(mad::Method::set);
    if (!is_get && !is_set) {
        return;
    }
    mad::WireMad answer{.bytes = mad.bytes, .address = mad.address, .response_timeout = {}};
    answer.bytes[3] = static_cast<std::uint8_t>(mad::Method::get_resp);
    answer.bytes[4] = mad.bytes[1] == kSubnDirected ? kDirectionBit : std::uint8_t{0};
    answer.bytes[5] = kUnsupportedMethodAttribute;
    out.transmit(answer);
}

void PortLayer::time_out(AgentId agent, const mad::MadAddress& address, std::span<const std::uint8_t> bytes,
                         Sink& out) {
    ++counters_.timed_out;
    out.hand_up({.agent = agent,
                 .status = kTimedOut,
                 .address = address,
                 .bytes = bytes.first(std::min(bytes.size(), kMadHeaderBytes))});
}

void PortLayer::pass_on(AgentId agent, const mad::RmppOutputs& outputs, Sink& out) {
    for (const mad::WireMad& mad : outputs.wire) {
        out.transmit(mad);
    }
    for (const mad::RmppOutputs::Ended& end : outputs.ended) {
        if (!end.sending) {
            continue;
        }
        std::map<std::uint64_t, std::vector<std::uint8_t>>& headers = transfers_.at(agent).headers;
        const auto header = headers.find(end.tid);
        if (header == headers.end()) {
            continue;
        }
        if (end.how == mad::RmppEnd::timed_out) {
            time_out(agent, end.peer, header->second, out);
        }
        headers.erase(header);
    }
    for (const mad::RmppMessage& message : outputs.received) {
        const std::vector<std::uint8_t> bytes = joined(message);
        complete(agent, {.bytes = padded(bytes), .address = message.peer, .response_timeout = {}}, bytes,
                 out);
    }
}

void PortLayer::on_time(base::Instant now, Sink& out) {
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
        const std::uint32_t slot = deadlines_.begin()->second;
        Open& entry = slots_[slot];
        if (entry.retries_left > 0) {
            deadlines_.erase(deadlines_.begin());
            --entry.retries_left;
            entry.deadline = now + entry.timeout;
            deadlines_.emplace(entry.deadline, slot);
            const Open again = entry;
            emit(again.agent, again.bytes, again.address, again.timeout, now, out);
            continue;
        }
        const Open ended = entry;
        close(slot);
        time_out(ended.agent, ended.address, ended.bytes, out);
    }
    for (auto& [agent, transfers] : transfers_) {
        const std::optional<base::Instant> due = transfers.rmpp.next_deadline();
        if (due && *due <= now) {
            mad::RmppOutputs outputs;
            transfers.rmpp.on_time(now, outputs);
            pass_on(agent, outputs, out);
        }
    }
}

std::optional<base::Instant> PortLayer::next_deadline() const {
    std::optional<base::Instant> next;
    if (!deadlines_.empty()) {
        next = deadlines_.begin()->first;
    }
    for (const auto& [agent, transfers] : transfers_) {
        const std::optional<base::Instant> due = transfers.rmpp.next_deadline();
        if (due && (!next || *due < *next)) {
            next = due;
        }
    }
    return next;
}

}  // namespace ibf::sim
