// DOC: what every command shares.
//
// The options given before or after any command, the exit codes that scripts rely on, and the one way of
// saying what went wrong (standard error, with the remedy).
#pragma once

#include <string>

#include "base/result.hpp"

namespace ibf::cli {

/// Exit codes are part of the interface (ibfabric(1)).
enum class Exit : int {
    ok = 0,
    finding = 1,    ///< the question was answered, and the answer is not what one wants
    usage = 2,      ///< wrong words: command, flag, name, value
    no_daemon = 3,  ///< nobody answers: no daemon at the socket, no subnet manager in band
    failed = 4,     ///< could not be done: disk full, connection lost
};

struct Session {
    bool json = false;
    std::string socket;
};

/// $IBFABRIC_SOCKET, else the daemon's own default.
[[nodiscard]] std::string default_socket();

/// "ibfabric: text" on standard error.
void complain(const std::string& text);
/// Says it, and picks the exit code of its kind.
[[nodiscard]] Exit failure(const base::Error& error);

/// True when people watch: progress goes to standard error only then.
[[nodiscard]] bool shows_progress();
/// One line that replaces the previous one; empty ends it. Only when shows_progress().
void progress(const std::string& text);

/// From now on SIGINT and SIGTERM set a flag instead of ending the program, so that unfinished files are
/// removed.
void catch_interrupts();
[[nodiscard]] bool interrupted();

}  // namespace ibf::cli
