// DOC: the configuration file.
//
// TOML text in, a DaemonConfig out, or every error in it. One table of options (config_options) drives the
// reading, the range checks, the example file docs/ibfabricd.toml, the dump of the configuration in force and
// the test that ibfabricd.conf(5) names every key. parse_config is pure: a caller that keeps its old value on
// an error has lost nothing, which is how a reload with a broken file leaves the running state alone. Not
// here: command line flags, and what to do with the values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "base/result.hpp"
#include "daemon/sm/config.hpp"
#include "db/database.hpp"

namespace ibf::shell {

inline constexpr std::string_view kConfigPath = "/etc/ibfabric/ibfabricd.toml";
inline constexpr std::size_t kConfigBytesMax = 256 * 1024;
inline constexpr std::size_t kLftsFileBytesMax = 2'000'000'000;

/// What is done about a peer whose configuration differs in what should be the same.
enum class OnDifference : std::uint8_t { warn, refuse };

/// [replica]: copies of the master's memory, over TLS.
struct ReplicaConfig {
    std::string listen;  ///< "HOST:PORT"; empty: nothing listens
    std::vector<std::string>
        peers;  ///< "HOST:PORT" of the other SMs, in any order; our own may be among them
    std::string certificate;
    std::string key;
    std::string ca;
    std::vector<std::string> names;  ///< of peers' certificates; empty: any that the CA certified
    OnDifference on_difference = OnDifference::warn;
    bool operator==(const ReplicaConfig&) const = default;

    [[nodiscard]] bool used() const { return !listen.empty() || !peers.empty(); }
};

struct DaemonConfig {
    // [daemon]
    std::string port;       ///< "mlx5_0/1"; empty: the first that can serve
    mad::Guid port_guid{};  ///< 0: not asked for
    std::string state_dir = "/var/lib/ibfabric";
    std::string socket = "/run/ibfabric/ibfabric.sock";
    base::LogLevel log_level = base::LogLevel::info;
    std::uint32_t hold_after_aborts = 3;  ///< within ten minutes; 0: never

    // [database]
    std::uint32_t database_queue_max = 4096;  ///< sweeps and events that may wait for the disk
    db::HistoryLimits history;

    ReplicaConfig replica;

    // [sm] [ports] [routing] [mads]
    sm::SmConfig sm;
};

/// What is known of one key, as text.
struct OptionInfo {
    std::string section;
    std::string key;
    std::string type;            ///< "integer", "duration", "list of GUIDs", ...
    std::string range;           ///< "0..15", "256, 512, 1024, 2048, 4096 bytes"
    std::string standard;        ///< the default, as TOML
    std::string help;            ///< one sentence
    bool at_start_only = false;  ///< a reload does not change it
};

/// Every key there is, in the order of the documentation.
[[nodiscard]] std::vector<OptionInfo> config_options();

/// Text to configuration. `origin` is the name in messages. Errors: parse, one "origin:line:column: text" for
/// each thing that is wrong, in the order of the file. Does not open the files that it names.
[[nodiscard]] base::Result<DaemonConfig> parse_config(std::string_view text, const std::string& origin);

/// The same from a file; the files that it names are read too (a relative name is taken from the folder of
/// `path`): root_guid_file into sm.routing.root_guids, those of routing/preference_files.hpp into
/// sm.routing.preferences. Errors: io (not readable, too large), parse.
[[nodiscard]] base::Result<DaemonConfig> load_config(const std::string& path);

/// The configuration in force as TOML that parse_config reads back to the same values.
[[nodiscard]] std::string dump_config(const DaemonConfig& config);
/// docs/ibfabricd.toml: every key with its help, type, range and default, commented out.
[[nodiscard]] std::string example_config();

/// "section.key" of what differs but takes a restart to come into force.
[[nodiscard]] std::vector<std::string> changed_at_start_only(const DaemonConfig& running,
                                                             const DaemonConfig& next);

}  // namespace ibf::shell
