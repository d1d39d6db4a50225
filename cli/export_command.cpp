// export: the fabric in other programs' formats, streamed from the daemon into files that are whole or not
// there.
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "cli/output_file.hpp"
#include "cli/table.hpp"

namespace ibf::cli {
namespace {

constexpr double kMegabyte = 1e6;
constexpr std::uint64_t kProgressBytes = 4'000'000;

tl::unexpected<base::Error> stopped() {
    return base::fail(base::ErrorKind::io, "interrupted: nothing was written");
}

/// Streams one export into a file, not yet committed.
base::Result<void> fetch(const Client& client, const Params& params, const std::string& path,
                         OutputFile& out) {
    std::uint64_t next_mark = kProgressBytes;
    const auto done = client.get("/v1/export", params, [&](std::string_view piece) -> base::Result<void> {
        if (interrupted()) {
            return stopped();
        }
        if (out.bytes() >= next_mark) {
            progress(fmt::format("{}: {:.0f} MB", path, static_cast<double>(out.bytes()) / kMegabyte));
            next_mark = out.bytes() + kProgressBytes;
        }
        return out.write(piece);
    });
    progress("");
    return !done && interrupted() ? stopped() : done;
}

base::Result<std::vector<WrittenFile>> export_file(const Client& client, const std::string& format,
                                                   const std::string& path) {
    auto file = OutputFile::create(path);
    if (!file) {
        return tl::unexpected(file.error());
    }
    const auto done =
        fetch(client, {{"format", format}}, path, *file).and_then([&] { return file->commit(); });
    return done.map([&] { return std::vector<WrittenFile>{{path, file->bytes()}}; });
}

base::Result<std::vector<WrittenFile>> export_folder(const Client& client, const std::string& format,
                                                     const std::string& folder) {
    const auto contents = client.get_json("/v1/export", {{"format", format}});
    if (!contents) {
        return tl::unexpected(contents.error());
    }
    return write_folder(
        folder, (*contents)["files"].get<std::vector<std::string>>(),
        [&](const std::string& name, OutputFile& file) {
            return fetch(client, {{"format", format}, {"file", name}}, folder + "/" + name, file);
        });
}

Exit to_standard_output(const Client& client, const std::string& format) {
    const auto done =
        client.get("/v1/export", {{"format", format}}, [](std::string_view piece) { return print(piece); });
    return done ? Exit::ok : failure(done.error());
}

Exit run_export(const std::string& format, const std::string& path, const Session& session) {
    const Client client(session.socket);
    const bool folder = format == "opensm-dumps";
    if (path.empty() || path == "-") {
        if (folder) {
            complain("opensm-dumps is a folder of files: name it with -o");
            return Exit::usage;
        }
        return to_standard_output(client, format);
    }
    catch_interrupts();
    const auto written = folder ? export_folder(client, format, path) : export_file(client, format, path);
    if (!written) {
        return failure(written.error());
    }
    const Json report{{"format", format}, {"files", files_json(*written)}};
    std::string text;
    for (const WrittenFile& file : *written) {
        text += fmt::format("{} ({} bytes)\n", file.path, grouped(file.bytes));
    }
    const auto done = print(session.json ? report.dump(2) + "\n" : text);
    return done ? Exit::ok : failure(done.error());
}

}  // namespace

void add_export_command(CLI::App& app, Action& chosen) {
    struct Options {
        std::string format;
        std::string path;
    };
    const auto options = std::make_shared<Options>();
    CLI::App* sub = app.add_subcommand("export", "Write the fabric in another program's format");
    sub->add_option("--format", options->format, "Which")
        ->required()
        ->check(CLI::IsMember({"ibnetdiscover", "ibsim", "json", "guid2lid", "opensm-dumps"}));
    sub->add_option("-o,--output", options->path,
                    "File to write (opensm-dumps: folder); '-' or none: standard output")
        ->type_name("PATH");
    sub->footer(
        "An existing file is replaced only when the new one is complete.\n\n"
        "Examples:\n  ibfabric export --format ibnetdiscover -o fabric.topo\n"
        "  ibfabric export --format opensm-dumps -o dumps && ibdmchk -s dumps/opensm-subnet.lst "
        "-f dumps/opensm.fdbs -m dumps/opensm.mcfdbs");
    sub->callback([options, &chosen] {
        chosen = [options](const Session& session) {
            return run_export(options->format, options->path, session);
        };
    });
}

}  // namespace ibf::cli
