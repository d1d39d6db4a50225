#include "cli/session.hpp"

#include <signal.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace ibf::cli {
namespace {

volatile std::sig_atomic_t g_interrupted = 0;

void on_signal(int) {
    g_interrupted = 1;
}

}  // namespace

std::string default_socket() {
    const char* from_environment = std::getenv("IBFABRIC_SOCKET");
    return from_environment != nullptr && *from_environment != '\0' ? from_environment
                                                                    : "/run/ibfabric/ibfabric.sock";
}

void complain(const std::string& text) {
    progress("");
    std::fprintf(stderr, "ibfabric: %s\n", text.c_str());
}

Exit failure(const base::Error& error) {
    complain(error.message);
    switch (error.kind) {
        case base::ErrorKind::usage:
        case base::ErrorKind::parse:
        case base::ErrorKind::not_found: return Exit::usage;
        case base::ErrorKind::unavailable: return Exit::no_daemon;
        case base::ErrorKind::unsupported:
        case base::ErrorKind::refused: return Exit::finding;
        case base::ErrorKind::io: return Exit::failed;
    }
    return Exit::failed;
}

bool shows_progress() {
    static const bool kWatched = ::isatty(STDERR_FILENO) == 1;
    return kWatched;
}

void progress(const std::string& text) {
    static bool shown = false;
    if (!shows_progress() || (text.empty() && !shown)) {
        return;
    }
    std::fprintf(stderr, "\r\033[K%s", text.c_str());
    std::fflush(stderr);
    shown = !text.empty();
}

void catch_interrupts() {
    struct sigaction action {};
    action.sa_handler = &on_signal;  // no SA_RESTART: a blocking read must come back
    ::sigemptyset(&action.sa_mask);
    ::sigaction(SIGINT, &action, nullptr);
    ::sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() {
    return g_interrupted != 0;
}

}  // namespace ibf::cli
