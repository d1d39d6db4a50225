// DOC: what every command of ibfabric-probe shares: exit codes, and the one way of saying things.
//
// Exit codes mean what they mean to ibfabric(1). Progress goes to standard error, and only when people watch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>

#include <CLI/App.hpp>
#include <nlohmann/json_fwd.hpp>

#include "base/result.hpp"
#include "net/tls.hpp"
#include "probe/amounts.hpp"

namespace ibf::probe::tool {

/// Keys in the order in which they were put: for people who read JSON.
using Rows = nlohmann::ordered_json;

enum class Exit : int {
    ok = 0,
    finding = 1,  ///< the test was run, and failed: errors, corruption, losses
    usage = 2,    ///< wrong words: command, flag, name, value
    nobody = 3,   ///< nobody answers: no agent, no device
    failed = 4,   ///< could not be done: busy, refused, connection lost, disk full
};

using Action = std::function<Exit()>;

/// "ibfabric-probe: text" on standard error.
void complain(const std::string& text);
/// Says it, and picks the exit code of its kind.
[[nodiscard]] Exit failure(const base::Error& error);
/// One line that replaces the previous one; empty ends it. Only when somebody watches.
void progress(const std::string& text);
/// Standard output, flushed; complains and is `failed` when that is full or gone, else `verdict`.
[[nodiscard]] Exit print(std::string_view text, Exit verdict);
/// Control characters replaced by '?': names come from strangers.
[[nodiscard]] std::string printable(std::string_view text);

/// Where a key is looked for if nothing else is said.
inline constexpr const char* kDefaultKey = "/etc/ibfabric/probe.key";

/// Flags that say how both sides of a connection know each other.
struct Access {
    std::string key;
    std::string ca;
    std::string certificate;
    std::string certificate_key;
};
void add_access_options(CLI::App& app, Access& access);
[[nodiscard]] base::Result<std::shared_ptr<const net::Tls>> open_access(const Access& access);

/// From here on SIGINT and SIGTERM request a stop; a second one ends the program. Before any other thread
/// begins.
class Interrupts {
public:
    explicit Interrupts(std::function<void()> on_first = {});
    ~Interrupts();
    Interrupts(const Interrupts&) = delete;
    Interrupts& operator=(const Interrupts&) = delete;
    [[nodiscard]] std::stop_token token() const { return stop_.get_token(); }

private:
    std::function<void()> on_first_;
    std::stop_source stop_;
    std::jthread watcher_;
};

}  // namespace ibf::probe::tool
