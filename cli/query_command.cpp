// query: the subnet administrator's records, asked for in band.
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/commands.hpp"
#include "cli/query.hpp"
#include "cli/record_text.hpp"
#include "cli/table.hpp"
#include "mad/sa_client.hpp"

namespace ibf::cli {
namespace {

constexpr unsigned kPathsMost = 127;  ///< NumbPath

struct QueryOptions {
    std::string type;
    std::vector<std::string> words;
    std::vector<std::string> fields;
    std::string port;
    std::string sa_key;
    unsigned timeout_ms = 1000;
    unsigned retries = 3;
    bool list_fields = false;
};

using Components = std::vector<unsigned>;

/// Those that are shown: the given ones in their order, else all.
base::Result<Components> shown_fields(const sa::RecordType& type, const std::vector<std::string>& names) {
    Components shown;
    for (const std::string& name : names) {
        const auto component = find_field(type, name);
        if (!component) {
            return tl::unexpected(component.error());
        }
        shown.push_back(*component);
    }
    for (unsigned i = 0; names.empty() && i < type.fields().size(); ++i) {
        if (!type.fields()[i].name.empty()) {
            shown.push_back(i);
        }
    }
    return shown;
}

std::string field_list(const sa::RecordType& type) {
    std::string out;
    for (const sa::Field& field : type.fields()) {
        out += field.name.empty() ? "" : fmt::format("{}\n", field.name);
    }
    return out;
}

/// The words that are filters go into the question; the ends of a path are left.
base::Result<std::vector<std::string>> apply_filters(const std::vector<std::string>& words,
                                                     mad::SaMad& question) {
    std::vector<std::string> ends;
    for (const std::string& word : words) {
        if (!is_filter(word)) {
            ends.push_back(word);
        } else if (const auto done = narrow(question, word); !done) {
            return tl::unexpected(done.error());
        }
    }
    const bool is_path = question.attribute() == mad::SaAttribute::path_record;
    if (ends.size() > (is_path ? 2U : 0U)) {
        return base::fail(base::ErrorKind::usage,
                          fmt::format("'{}': {}", printable(ends.back()),
                                      is_path ? "a path has two ends" : "narrow the answer by FIELD=VALUE"));
    }
    return ends;
}

base::Result<void> apply_ends(const std::vector<std::string>& ends, const Ask& ask, mad::SaMad& question) {
    for (std::size_t i = 0; i < ends.size(); ++i) {
        const auto done =
            set_path_end(question, i == 0 ? PathEnd::source : PathEnd::destination, ends[i], ask);
        if (!done) {
            return done;
        }
    }
    const sa::RecordType& type = sa::record_type_of(question.attribute());
    const bool counted = ends.empty() || (question.component_mask >> type.component("NumbPath") & 1U) != 0;
    return counted ? base::Result<void>{} : narrow(question, fmt::format("NumbPath={}", kPathsMost));
}

// --- the answer

/// Output in pieces: a table of any length is not held as text beside itself, and is not written line by
/// line.
class Printer {
public:
    base::Result<void> add(std::string_view text) {
        piece_ += text;
        return piece_.size() < kPieceBytes ? base::Result<void>{} : flush();
    }
    base::Result<void> flush() { return print(std::exchange(piece_, {})); }

private:
    static constexpr std::size_t kPieceBytes = 64 * 1024;
    std::string piece_;
};

base::Result<void> print_json(const sa::RecordType& type, const Components& shown,
                              const mad::SaReply& reply) {
    Printer printer;
    auto done = printer.add(fmt::format("{{\"type\":\"{}\",\"records\":[", type.name()));
    for (std::size_t i = 0; done && i < reply.count(); ++i) {
        Json row = Json::object();
        for (const unsigned component : shown) {
            row[std::string(type.fields()[component].name)] = value_json(type, component, reply.record(i));
        }
        done =
            printer.add((i == 0 ? "\n" : ",\n") + row.dump(-1, ' ', false, Json::error_handler_t::replace));
    }
    return done.and_then([&] { return printer.add("]}\n"); }).and_then([&] { return printer.flush(); });
}

base::Result<void> print_lines(const sa::RecordType& type, const Components& shown,
                               const mad::SaReply& reply) {
    Json rows = Json::array();
    std::vector<Column> columns;
    for (const unsigned component : shown) {
        const std::string name(type.fields()[component].name);
        columns.push_back(text_column(name, name));
    }
    for (std::size_t i = 0; i < reply.count(); ++i) {
        Json row = Json::object();
        for (const unsigned component : shown) {
            row[std::string(type.fields()[component].name)] = value_text(type, component, reply.record(i));
        }
        rows.push_back(std::move(row));
    }
    return print(render_table(rows, columns));
}

base::Result<void> print_blocks(const sa::RecordType& type, const mad::SaReply& reply) {
    Printer printer;
    base::Result<void> done;
    for (std::size_t i = 0; done && i < reply.count(); ++i) {
        done = printer.add((i == 0 ? "" : "\n") + record_text(type, reply.record(i)));
    }
    return done.and_then([&] { return printer.flush(); });
}

base::Result<void> print_reply(const Session& session, const QueryOptions& options,
                               const sa::RecordType& type, const Components& shown,
                               const mad::SaReply& reply) {
    if (session.json) {
        return print_json(type, shown, reply);
    }
    if (reply.count() == 0) {
        return print("none\n");
    }
    return options.fields.empty() && !fits_a_line(type) ? print_blocks(type, reply)
                                                        : print_lines(type, shown, reply);
}

// --- the command

base::Result<mad::SaReply> ask_sa(const QueryOptions& options, const std::vector<std::string>& ends,
                                  mad::SaMad question) {
    const mad::SaQueryLimits limits{.timeout = std::chrono::milliseconds{options.timeout_ms},
                                    .retries = options.retries};
    auto client = mad::SaClient::open(options.port, limits);
    if (!client) {
        return tl::unexpected(client.error());
    }
    const Ask ask = [&](const mad::SaMad& asked) { return judge((*client)->ask(asked)); };
    if (const auto done = apply_ends(ends, ask, question); !done) {
        return tl::unexpected(done.error());
    }
    return ask(question);
}

Exit run_query(const QueryOptions& options, const Session& session) {
    const auto kind = find_kind(options.type);
    if (!kind) {
        return failure(kind.error());
    }
    const sa::RecordType& type = sa::record_type_of(kind->attribute);
    if (options.list_fields) {
        const auto done = print(field_list(type));
        return done ? Exit::ok : failure(done.error());
    }
    const auto key = parse_key(options.sa_key);
    if (!key) {
        return failure(key.error());
    }
    mad::SaMad question = ask_for(*kind, *key);
    const auto ends = apply_filters(options.words, question);
    const auto shown = shown_fields(type, options.fields);
    if (!ends || !shown) {
        return failure(ends ? shown.error() : ends.error());
    }
    const auto reply = ask_sa(options, *ends, question);
    if (!reply) {
        return failure(reply.error());
    }
    if (const auto done = print_reply(session, options, type, *shown, *reply); !done) {
        return failure(done.error());
    }
    return reply->count() == 0 ? Exit::finding : Exit::ok;
}

std::string footer() {
    std::string out = "Types:\n";
    for (const QueryKind& kind : query_kinds()) {
        out += fmt::format("  {:<15}{}\n", kind.word, kind.about);
    }
    return out +
           "\nFields have the IBA's names; --list-fields shows them. A path's ends are GIDs, LIDs, or GUIDs "
           "and names\n"
           "that the SA knows; NODE/N is a port; without DST the paths go to everywhere.\n\n"
           "Exit codes: 0 records, 1 none or refused by the SA, 2 wrong usage, 3 no subnet manager "
           "answers.\n\n"
           "Examples:\n"
           "  ibfabric query path host-01 host-17\n"
           "  ibfabric query node NodeType=Switch --fields LID,NodeGUID,NodeDescription\n"
           "  ibfabric query port PortState=Init --json\n"
           "  ibfabric query group MGID=ff12:401b:ffff::ffff:ffff --sa-key 0x1\n"
           "  ibfabric-sim run sim.sock host-0001 ibfabric query link";
}

}  // namespace

void add_query_command(CLI::App& app, Action& chosen) {
    const auto options = std::make_shared<QueryOptions>();
    CLI::App* query =
        app.add_subcommand("query", "Ask the subnet administrator in band, as any client would");
    query->add_option("TYPE", options->type, "What records, see below")->required();
    query->add_option("WORD", options->words,
                      "FIELD=VALUE: only records with this value; of a path SRC and DST");
    query->add_option("--fields", options->fields, "Only these fields, as a table")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("A,B,...");
    query->add_flag("--list-fields", options->list_fields, "The names of the type's fields, and no question");
    query->add_option("--port", options->port, "The port to ask by")->type_name("DEVICE[/PORT]");
    query->add_option("--sa-key", options->sa_key, "Shows what is for its holders only")
        ->type_name("KEY")
        ->envname("IBFABRIC_SA_KEY");
    query->add_option("--timeout", options->timeout_ms, "Until the question is sent again")
        ->type_name("MS")
        ->check(CLI::Range(1, 600'000))
        ->capture_default_str();
    query->add_option("--retries", options->retries, "How often it is")
        ->check(CLI::Range(0, 100))
        ->capture_default_str();
    query->footer(footer());
    query->callback([options, &chosen] {
        chosen = [options](const Session& session) { return run_query(*options, session); };
    });
}

}  // namespace ibf::cli
