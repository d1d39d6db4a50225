// export: the fabric in other programs' formats, streamed from the daemon into files that are whole or not there.
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/client.hpp"
#include "cli/commands.hpp"
#include "cli/output_file.hpp"
#include "cli/table.hpp"

namespace ibf::cli {
namespace {

constexpr double kMegabyte = 1e6;
constexpr std::uint64_t kProgressBytes = 4'000'000;

tl::unexpected<base::Error> stopped() { return base::fail(base::ErrorKind::io, "interrupted: nothing was written"); }

struct Written {
    std::string path;
    std::uint64_t bytes = 0;
};

/// Streams one export into an OutputFile, not yet committed.
base::Result<OutputFile> fetch(const Client& client, const Params& params, const std::string& path) {
    auto file = OutputFile::create(path);
    if (!file) {
        return file;
    }
    std::uint64_t next_mark = kProgressBytes;
    const auto done = client.get("/v1/export", params, [&](std::string_view piece) -> base::Result<void> {
        if (interrupted()) {
            return stopped();
        }
        if (file->bytes() >= next_mark) {
            progress(fmt::format("{}: {:.0f} MB", path, static_cast<double>(file->bytes()) / kMegabyte));
            next_mark = file->bytes() + kProgressBytes;
        }
        return file->write(piece);
    });
    progress("");
    if (!done) {
        return interrupted() ? base::Result<OutputFile>(stopped()) : tl::unexpected(done.error());
    }
    return file;
}

base::Result<std::vector<Written>> export_file(const Client& client, const std::string& format,
                                               const std::string& path) {
    auto file = fetch(client, {{"format", format}}, path);
    if (!file) {
        return tl::unexpected(file.error());
    }
    const auto done = file->commit();
    return done.map([&] { return std::vector<Written>{{path, file->bytes()}}; });
}

/// All files of a dump folder are fetched before the first takes its name, so that a folder is not half new.
base::Result<std::vector<Written>> export_folder(const Client& client, const std::string& format,
                                                 const std::string& folder) {
    const auto contents = client.get_json("/v1/export", {{"format", format}});
    if (!contents) {
        return tl::unexpected(contents.error());
    }
    const bool made = ::mkdir(folder.c_str(), 0777) == 0;
    if (!made && errno != EEXIST) {
        return base::fail(base::ErrorKind::io, fmt::format("{}: {}", folder, std::strerror(errno)));
    }
    std::vector<OutputFile> files;
    std::vector<Written> written;
    for (const Json& name : (*contents)["files"]) {
        const std::string path = folder + "/" + name.get<std::string>();
        auto file = fetch(client, {{"format", format}, {"file", name.get<std::string>()}}, path);
        if (!file) {
            files.clear();
            if (made) {
                ::rmdir(folder.c_str());
            }
            return tl::unexpected(file.error());
        }
        written.push_back({path, file->bytes()});
        files.push_back(std::move(*file));
    }
    for (OutputFile& file : files) {
        if (const auto done = file.commit(); !done) {
            return tl::unexpected(done.error());
        }
    }
    return written;
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
    Json report{{"format", format}, {"files", Json::array()}};
    std::string text;
    for (const Written& file : *written) {
        report["files"].push_back(Json{{"path", file.path}, {"bytes", file.bytes}});
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
    sub->add_option("-o,--output", options->path, "File to write (opensm-dumps: folder); '-' or none: standard output")
        ->type_name("PATH");
    sub->footer("An existing file is replaced only when the new one is complete.\n\n"
                "Examples:\n  ibfabric export --format ibnetdiscover -o fabric.topo\n"
                "  ibfabric export --format opensm-dumps -o dumps && ibdmchk -s dumps/opensm-subnet.lst "
                "-f dumps/opensm.fdbs -m dumps/opensm.mcfdbs");
    sub->callback([options, &chosen] {
        chosen = [options](const Session& session) { return run_export(options->format, options->path, session); };
    });
}

}  // namespace ibf::cli
