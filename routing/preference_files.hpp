// DOC: preferences as operators write them down: files as OpenSM reads them.
//
// One entry a line, '#' begins a comment, blank lines are skipped. A list of GUIDs has one a line; a list of
// ports a switch's node GUID and a port number; hop weights those two and a number of hops. GUIDs are in
// hexadecimal, with or without 0x. One table (preference_files) says which files there are: it makes the
// options of the configuration and the flags of `ibfabric plan`.
//
// Not here: whether what a file names is there; a host that is switched off is no error.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "routing/preferences.hpp"

namespace ibf::routing {

inline constexpr std::size_t kGuidFileBytesMax = std::size_t{16} << 20U;

/// GUIDs in the order of the text, each once. Errors of all below: parse, one "origin:line:column: text" for
/// each line that is wrong.
[[nodiscard]] base::Result<std::vector<mad::Guid>> parse_guid_list(std::string_view text,
                                                                   const std::string& origin);
/// Sorted, each once.
[[nodiscard]] base::Result<std::vector<SwitchPort>> parse_port_list(std::string_view text,
                                                                    const std::string& origin);
/// Sorted. Errors: also a port with two weights.
[[nodiscard]] base::Result<std::vector<HopWeight>> parse_hop_weights(std::string_view text,
                                                                     const std::string& origin);

/// What is said of a word that should be a GUID.
[[nodiscard]] std::string not_a_guid(std::string_view word);

/// Where the files are; empty: none given.
struct PreferencePaths {
    std::string hop_weights;
    std::string ignored_ports;
    std::string compute_nodes;
    std::string io_nodes;
    std::string order;
    friend bool operator==(const PreferencePaths&, const PreferencePaths&) = default;
};

struct PreferenceFile {
    std::string_view option;  ///< key in [routing], as OpenSM calls it
    std::string_view flag;    ///< of `ibfabric plan`
    std::string_view help;    ///< one sentence
    std::string PreferencePaths::*path;
    /// Puts what the text says into its place. Errors: parse, also where it says nothing.
    base::Result<void> (*read)(std::string_view text, const std::string& origin, Preferences& out);
};
[[nodiscard]] std::span<const PreferenceFile> preference_files();

}  // namespace ibf::routing
