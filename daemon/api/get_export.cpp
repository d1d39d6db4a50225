// Exports: the fabric in other programs' formats (fabric/export), and as one JSON.
#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "daemon/api/endpoints.hpp"
#include "daemon/fabric/export.hpp"

namespace ibf::api {
namespace {

using fabric::Fabric;
using fabric::PortRef;

HttpReply text_reply(fabric::TextStream stream) {
    HttpReply reply;
    reply.content_type = "text/plain; charset=utf-8";
    reply.stream = std::move(stream);
    return reply;
}

/// A node with its ports: everything the fabric knows of it, in one row.
Json full_node(const Fabric& fabric, std::uint32_t index) {
    const fabric::Node& node = fabric.nodes[index];
    Json row = node.is_switch() ? switch_row(fabric, index) : node_row(fabric, index);
    row["port_list"] = Json::array();
    for (std::size_t p = node.is_switch() ? 0 : 1; p < node.ports.size(); ++p) {
        Json port = port_row(fabric, PortRef{index, mad::PortNum{static_cast<std::uint8_t>(p)}});
        for (const char* repeated : {"node", "guid", "type"}) {
            port.erase(repeated);
        }
        row["port_list"].push_back(std::move(port));
    }
    return row;
}

HttpReply json_export(const Call& call) {
    std::vector<std::uint32_t> order(call.snapshot.fabric->nodes.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return call.snapshot.fabric->nodes[a].guid() < call.snapshot.fabric->nodes[b].guid();
    });
    const std::size_t count = order.size();
    return row_stream("nodes", count,
                      [fabric = call.snapshot.fabric, order = std::move(order)](std::size_t i) {
                          return full_node(*fabric, order[i]);
                      });
}

/// SLs of paths where they are not all 0: a switch, then a hex digit for each LID from 0 on.
HttpReply sls_reply(const Call& call) {
    const std::shared_ptr<const fabric::Snapshot> snapshot = call.keep();
    const routing::Routes* routes = snapshot->routes ? &snapshot->routes->routes : snapshot->held.get();
    HttpReply reply;
    reply.content_type = "text/plain; charset=utf-8";
    reply.stream = [snapshot, routes, at = std::size_t{0}](std::string& out) mutable {
        constexpr std::string_view kDigits = "0123456789abcdef";
        const std::size_t count =
            routes == nullptr ? 0 : std::min(routes->sls.size(), routes->switch_guids.size());
        if (at == count) {
            return false;
        }
        for (const std::size_t full = out.size() + kPieceBytes; at < count && out.size() < full; ++at) {
            if (routes->sls[at] == nullptr || routes->sls[at]->empty()) {
                continue;
            }
            out += fmt::format("{} ", routes->switch_guids[at]);
            for (const std::uint8_t sl : *routes->sls[at]) {
                out += kDigits[sl & 0xFU];
            }
            out += '\n';
        }
        return true;
    };
    return reply;
}

/// A dump folder: its table of contents, or one of its files.
base::Result<HttpReply> dump_reply(const Call& call) {
    const std::string_view file = call.query.param("file");
    if (!file.empty()) {
        return fabric::opensm_dump(call.keep(), file).map(&text_reply);
    }
    if (call.snapshot.view == nullptr) {
        return base::fail(base::ErrorKind::unavailable, call.snapshot.mode_text);
    }
    return json_reply(Json{{"files", fabric::opensm_dump_files()}});
}

}  // namespace

base::Result<HttpReply> get_export(const Call& call) {
    const auto format =
        call.query.choice("format", {"json", "ibnetdiscover", "ibsim", "guid2lid", "opensm-dumps", "sls"});
    if (!format) {
        return tl::unexpected(format.error());
    }
    if (*format == "opensm-dumps") {
        return dump_reply(call);
    }
    if (!call.query.param("file").empty()) {
        return base::fail(base::ErrorKind::usage, "only format=opensm-dumps has files");
    }
    if (*format == "sls") {
        return sls_reply(call);
    }
    if (*format == "json") {
        return json_export(call);
    }
    const auto write = *format == "ibnetdiscover" ? &fabric::ibnetdiscover_text
                       : *format == "ibsim"       ? &fabric::ibsim_text
                                                  : &fabric::guid2lid_text;
    return text_reply(fabric::stream_of(write(call.snapshot)));
}

}  // namespace ibf::api
