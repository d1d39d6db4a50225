#include "probe/tool/common.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace ibf::probe::tool {
namespace {

using base::ErrorKind;
using base::Result;

sigset_t interrupt_set() {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGINT);
    ::sigaddset(&set, SIGTERM);
    return set;
}

}  // namespace

void complain(const std::string& text) {
    progress("");
    std::fprintf(stderr, "ibfabric-probe: %s\n", printable(text).c_str());
}

Exit failure(const base::Error& error) {
    complain(error.message);
    switch (error.kind) {
        case ErrorKind::usage:
        case ErrorKind::not_found: return Exit::usage;
        case ErrorKind::unavailable: return Exit::nobody;
        case ErrorKind::parse:
        case ErrorKind::unsupported:
        case ErrorKind::refused:
        case ErrorKind::io: return Exit::failed;
    }
    return Exit::failed;
}

void progress(const std::string& text) {
    static const bool kWatched = ::isatty(STDERR_FILENO) == 1;
    static bool shown = false;
    if (!kWatched || (text.empty() && !shown)) {
        return;
    }
    std::fprintf(stderr, "\r\033[K%s", printable(text).c_str());
    std::fflush(stderr);
    shown = !text.empty();
}

Exit print(std::string_view text, Exit verdict) {
    progress("");
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
        complain("standard output is full or gone");
        return Exit::failed;
    }
    return verdict;
}

std::string printable(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        const auto octet = static_cast<unsigned char>(c);
        if ((octet < 0x20 && c != '\n') || octet == 0x7F) {
            c = '?';
        }
    }
    return out;
}

void add_access_options(CLI::App& app, Access& access) {
    app.add_option("--key", access.key,
                   "File with the key that both sides hold ('ibfabric-probe key FILE' makes one)")
        ->type_name("FILE")
        ->envname("IBFABRIC_PROBE_KEY");
    app.add_option("--ca", access.ca, "Instead of a key: certificate of the CA that certifies all hosts")
        ->type_name("FILE");
    app.add_option("--cert", access.certificate, "This host's certificate")->type_name("FILE");
    app.add_option("--cert-key", access.certificate_key, "The certificate's private key")->type_name("FILE");
}

Result<std::shared_ptr<const net::Tls>> open_access(const Access& access) {
    const bool by_certificates =
        !access.ca.empty() || !access.certificate.empty() || !access.certificate_key.empty();
    if (by_certificates) {
        return net::Tls::by_certificates({.certificate = {access.certificate, "--cert"},
                                          .key = {access.certificate_key, "--cert-key"},
                                          .ca = {access.ca, "--ca"}});
    }
    if (access.key.empty() && ::access(kDefaultKey, F_OK) != 0) {
        return base::fail(
            ErrorKind::usage,
            fmt::format("both sides have to know each other: --key FILE with the same key on every host "
                        "('ibfabric-probe key FILE' makes one; {} is taken where it is there), or --ca, "
                        "--cert and --cert-key",
                        kDefaultKey));
    }
    return net::Tls::by_shared_key(access.key.empty() ? kDefaultKey : access.key);
}

Interrupts::Interrupts(std::function<void()> on_first) : on_first_(std::move(on_first)) {
    const sigset_t set = interrupt_set();
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    watcher_ = std::jthread([this](const std::stop_token& over) {
        const sigset_t awaited = interrupt_set();
        constexpr timespec kGlance{0, 100'000'000};
        while (!over.stop_requested()) {
            if (::sigtimedwait(&awaited, nullptr, &kGlance) < 0) {
                continue;
            }
            if (!stop_.request_stop()) {
                std::_Exit(
                    static_cast<int>(Exit::failed));  // asked twice: whoever asks does not want to wait
            }
            if (on_first_) {
                on_first_();
            }
        }
    });
}

Interrupts::~Interrupts() {
    watcher_.request_stop();
    watcher_.join();
    const sigset_t set = interrupt_set();
    ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace ibf::probe::tool
