#include "cli/sa_text.hpp"

#include <fmt/format.h>

#include "cli/table.hpp"

namespace ibf::cli {
namespace {

void add_line(std::string& out, std::string_view title, const std::string& text) {
    fmt::format_to(std::back_inserter(out), "{:<16}{}\n", title, text);
}

std::string number(const Json& row, const char* key) {
    return grouped(row.value(key, std::uint64_t{0}));
}

std::string rate_text(const Json& group) {
    return fmt::format("{:g}G", group.value("rate_gbps", 0.0));
}

/// "gpu-07/1"; "port gone" for one that is not in the fabric.
std::string end_text(const Json& row) {
    return row.contains("node") ? fmt::format("{}/{}", field_text(row, "node"), field_text(row, "port"))
                                : std::string("port gone");
}

/// "gpu-07/1, gpu-09/1 and 4 more"; empty if no port holds the others back.
std::string limiters_text(const Json& group) {
    const Json shown = group.value("limited_by", Json::array());
    std::string out;
    for (const Json& port : shown) {
        out += (out.empty() ? "" : ", ") + end_text(port);
    }
    const auto all = group.value("limiters", std::uint64_t{0});
    return all > shown.size() ? fmt::format("{} and {} more", out, all - shown.size()) : out;
}

std::string join_text(const Json& member) {
    std::string out;
    for (const Json& word : member.value("join_states", Json::array())) {
        out += (out.empty() ? "" : ",") + printable(word.get<std::string>());
    }
    return (out.empty() ? std::string("-") : out) + (member.value("proxy", false) ? " (by proxy)" : "");
}

std::string lease_text(const Json& service) {
    const auto lease = service.find("lease_seconds");
    return lease == service.end() || lease->is_null() ? std::string("for ever")
                                                      : field_text(service, "lease_seconds") + "s";
}

std::string left_text(const Json& service) {
    return service.contains("remaining_seconds") && service["remaining_seconds"].is_number()
               ? seconds_text(service["remaining_seconds"].get<double>())
               : std::string("-");
}

std::string per_second_text(const Json& row) {
    return fmt::format("{:.1f}", row.value("per_second", 0.0));
}

/// A column of the latencies; nothing was measured where only changes were asked for.
Column latency_column(std::string title, const char* key) {
    return {std::move(title),
            [key](const Json& row) {
                const Json latency = row.value("latency", Json::object());
                return latency.value("count", std::uint64_t{0}) == 0 ? std::string("-")
                                                                     : seconds_text(latency.value(key, 0.0));
            },
            Align::right};
}

std::string latency_text(const Json& answer) {
    const auto cell = [&](const char* key) { return latency_column({}, key).cell(answer); };
    return fmt::format("median {}, p99 {}, max {}", cell("median_seconds"), cell("p99_seconds"),
                       cell("max_seconds"));
}

std::string kinds_text(const Json& kinds) {
    return render_table(
        kinds, {text_column("METHOD", "method"), text_column("ATTRIBUTE", "attribute"),
                number_column("REQUESTS", "requests"), Column{"PER S", &per_second_text, Align::right},
                latency_column("MEDIAN", "median_seconds"), latency_column("P99", "p99_seconds"),
                latency_column("MAX", "max_seconds")});
}

std::string clients_text(const Json& clients) {
    return render_table(
        clients,
        {number_column("LID", "lid"), Column{"CLIENT", &end_text, Align::left},
         number_column("REQUESTS", "requests"), Column{"PER S", &per_second_text, Align::right},
         number_column("DUPLICATES", "duplicates"), number_column("DROPPED", "dropped"),
         Column{"LAST SEEN",
                [](const Json& row) { return seconds_text(row.value("last_seen_seconds", 0.0)) + " ago"; },
                Align::right}});
}

/// "trap 64 of class-manager", "device 7 of 0x0002c9": a null number stands for all.
std::string wanted_text(const Json& row) {
    const bool generic = row.value("generic", false);
    const char* key = generic ? "trap" : "device_id";
    const std::string which = field_text(row, key);
    return fmt::format("{} {} of {}", generic ? "trap" : "device", which == "-" ? "any" : which,
                       field_text(row, generic ? "producer" : "vendor"));
}

/// The GID or the LIDs that the notices are to be about.
std::string about_text(const Json& row) {
    if (row.contains("about_gid")) {
        return field_text(row, "about_gid");
    }
    const std::string first = field_text(row, "about_first_lid");
    const std::string last = field_text(row, "about_last_lid");
    return first == "-" ? "all" : fmt::format("LID {}-{}", first, last);
}

}  // namespace

std::string groups_text(const Json& groups) {
    if (groups.empty()) {
        return "none\n";
    }
    return render_table(
        groups, {text_column("MGID", "mgid"), text_column("MLID", "mlid"), text_column("P_KEY", "pkey"),
                 text_column("Q_KEY", "qkey"), number_column("MTU", "mtu"),
                 Column{"RATE", &rate_text, Align::right}, number_column("SL", "sl"),
                 number_column("MEMBERS", "member_count"), text_column("WELL KNOWN", "well_known")});
}

std::string refused_text(const Json& refused) {
    if (refused.empty()) {
        return {};
    }
    return "\nrefused joins\n" +
           render_table(refused, {text_column("TIME", "time"), text_column("MGID", "mgid"),
                                  Column{"PORT", &end_text, Align::left}, number_column("TIMES", "times"),
                                  text_column("REASON", "reason")});
}

std::string group_text(const Json& group) {
    std::string out;
    add_line(out, "group", field_text(group, "mgid"));
    add_line(out, "MLID", field_text(group, "mlid"));
    add_line(out, "P_Key", field_text(group, "pkey"));
    add_line(out, "Q_Key", field_text(group, "qkey"));
    add_line(out, "MTU", field_text(group, "mtu"));
    add_line(out, "rate", rate_text(group));
    add_line(out, "SL", field_text(group, "sl"));
    add_line(out, "traffic class", field_text(group, "tclass"));
    add_line(out, "flow label", field_text(group, "flow_label"));
    add_line(out, "hop limit", field_text(group, "hop_limit"));
    add_line(out, "scope", field_text(group, "scope"));
    add_line(out, "well known", field_text(group, "well_known"));
    if (const std::string ports = limiters_text(group); !ports.empty()) {
        add_line(out, "limited by", ports);
    }
    add_line(out, "members", number(group, "member_count"));
    const Json members = group.value("members", Json::array());
    if (!members.empty()) {
        out += '\n' + render_table(members, {text_column("PORT GUID", "port_guid"),
                                             Column{"NODE", &end_text, Align::left},
                                             Column{"JOINED", &join_text, Align::left}});
    }
    return out;
}

std::string services_text(const Json& services) {
    if (services.empty()) {
        return "none\n";
    }
    return render_table(services, {text_column("SERVICE ID", "id"), text_column("NAME", "name"),
                                   text_column("GID", "gid"), Column{"NODE", &end_text, Align::left},
                                   text_column("P_KEY", "pkey"), Column{"LEASE", &lease_text, Align::right},
                                   Column{"LEFT", &left_text, Align::right}, text_column("KEY", "has_key")});
}

std::string sa_text(const Json& answer) {
    std::string out;
    add_line(out, "requests",
             fmt::format("{}, {} answered with {} records", number(answer, "requests"),
                         number(answer, "answered"), number(answer, "records")));
    add_line(out, "changes", number(answer, "changes") + " joins, registrations, subscriptions asked for");
    add_line(out, "tables",
             fmt::format("{} delivered by RMPP, {} failed", number(answer, "tables_delivered"),
                         number(answer, "tables_failed")));
    add_line(
        out, "not answered",
        fmt::format("{} duplicates of what was in hand, {} dropped (queue full), {} malformed",
                    number(answer, "duplicates"), number(answer, "dropped"), number(answer, "malformed")));
    const auto groups = answer.value("groups", std::uint64_t{0});
    const auto members = answer.value("members", std::uint64_t{0});
    const auto services = answer.value("services", std::uint64_t{0});
    const Json subscriptions = answer.value("subscriptions", Json::array());
    add_line(out, "kept",
             fmt::format("{} with {}, {}, {}", counted(groups, "group", "groups"),
                         counted(members, "member", "members"), counted(services, "service", "services"),
                         counted(subscriptions.size(), "subscription", "subscriptions")));
    if (const Json kinds = answer.value("by_kind", Json::array()); !kinds.empty()) {
        add_line(out, "answers after", latency_text(answer));
        out += '\n' + kinds_text(kinds);
    }
    if (const Json clients = answer.value("clients", Json::array()); !clients.empty()) {
        out += '\n' + clients_text(clients);
        if (const auto all = answer.value("client_count", std::uint64_t{0}); all > clients.size()) {
            out += fmt::format("and {} more\n", grouped(all - clients.size()));
        }
    }
    if (!subscriptions.empty()) {
        out +=
            '\n' + render_table(subscriptions,
                                {text_column("SUBSCRIBER", "subscriber"),
                                 Column{"NODE", &end_text, Align::left}, number_column("LID", "lid"),
                                 number_column("QPN", "qpn"), text_column("STATE", "state"),
                                 text_column("NOTICES", "type"), Column{"WHICH", &wanted_text, Align::left},
                                 Column{"ABOUT", &about_text, Align::left}});
    }
    return out;
}

}  // namespace ibf::cli
