// TraceRecord (IBA 15.2.5): the devices that a path runs through, one record each, from its source on.
//
// The question is a PathRecord in GetTraceTable, whose mask it is, though the attribute says TraceRecord; the
// answer is a GetTableResp. NodeID and the like are names that mean something within one GIDPrefix and
// IDGeneration only; ours are GUIDs, which never change their meaning, so the generation is always the same.
#include <vector>

#include "daemon/sa/reader.hpp"
#include "mad/octets.hpp"

namespace ibf::sa {
namespace {

using fabric::PortRef;

constexpr std::uint64_t kIdGeneration = 1;
constexpr std::size_t kDlidAt = 40;
constexpr std::size_t kSlidAt = 42;

const RecordType& trace_type() {
    static const RecordType& type = record_type_of(mad::SaAttribute::trace_record);
    return type;
}

/// A device on the way. Port 0 at an end: the path does not enter or leave there.
struct Hop {
    std::uint32_t node = 0;
    mad::PortNum entry{};
    mad::PortNum exit{};
};

/// From the links that are taken, each by its exit port.
std::vector<Hop> hops_of(const fabric::Fabric& fabric, const End& source, const std::vector<PortRef>& links) {
    std::vector<Hop> hops{{source.at.node, {}, {}}};
    for (const PortRef& link : links) {
        hops.back().exit = link.port;
        const PortRef peer = fabric.port(link).peer;
        if (peer.node == fabric::kNoNode) {
            break;  // gone since the tables were read
        }
        hops.push_back({peer.node, peer.port, {}});
    }
    return hops;
}

void add_record(const Query& query, const Hop& hop, std::vector<std::uint8_t>& out) {
    const RecordType& type = trace_type();
    const fabric::Node& node = query.view.fabric().nodes[hop.node];
    const auto port_id = [&](mad::PortNum port) {
        return port == mad::PortNum{} ? std::uint64_t{0} : fabric::lid_owner(node, port).value();
    };
    const std::size_t at = out.size();
    out.resize(at + type.size());
    const mad::MutableOctets record = mad::MutableOctets(out).subspan(at);
    type.set(record, "GIDPrefix", query.config.subnet_prefix);
    type.set(record, "IDGeneration", kIdGeneration);
    type.set(record, "NodeType", static_cast<std::uint64_t>(node.info.type));
    type.set(record, "NodeID", node.guid().value());
    type.set(record, "ChassisID", node.info.system_guid.value());
    type.set(record, "EntryPortID", port_id(hop.entry));
    type.set(record, "ExitPortID", port_id(hop.exit));
    type.set(record, "EntryPort", hop.entry.value());
    type.set(record, "ExitPort", hop.exit.value());
}

}  // namespace

Answer read_trace(const Query& query) {
    const RecordType& path = record_type_of(mad::SaAttribute::path_record);
    const auto given = [&](std::string_view field) {
        return ((query.request.component_mask >> path.component(field)) & 1U) != 0;
    };
    Answer answer{0, &trace_type(), {}};
    if (!(given("SGID") || given("SLID")) || !(given("DGID") || given("DLID"))) {
        answer.status = mad::kSaInsufficientComponents;
        return answer;
    }
    mad::SaMad one = query.request;
    one.header.method = static_cast<std::uint8_t>(mad::SaMethod::get);
    one.header.attribute = static_cast<mad::Attribute>(mad::SaAttribute::path_record);
    const Answer found = read_paths({one, query.view, query.tables, query.config, query.asker});
    if (found.status != 0 || found.count() == 0) {
        answer.status = found.status != 0 ? found.status : mad::kSaNoRecords;
        return answer;
    }
    const std::uint32_t source = query.view.by_lid(mad::Lid{mad::load16(found.records, kSlidAt)});
    const mad::Lid to{mad::load16(found.records, kDlidAt)};
    if (source == kNoEnd || query.view.by_lid(to) == kNoEnd) {
        answer.status = mad::kSaRequestInvalid;  // a group: its packets take many ways
        return answer;
    }
    const End& from = query.view.ends()[source];
    for (const Hop& hop : hops_of(query.view.fabric(), from, query.view.trace(from, to))) {
        add_record(query, hop, answer.records);
    }
    return answer;
}

}  // namespace ibf::sa
