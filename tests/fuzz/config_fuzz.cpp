// Any bytes as a configuration file and as the files of GUIDs and ports that it names: read or refused with a
// position, never a crash; what was read survives being written and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "daemon/shell/config_file.hpp"
#include "routing/preference_files.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace ibf;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto config = shell::parse_config(text, "fuzz")) {
        const std::string dump = shell::dump_config(*config);
        const auto again = shell::parse_config(dump, "dump");
        IBF_CHECK(again.has_value(), "the dump is refused: {}", again.error().message);
        IBF_CHECK(shell::dump_config(*again) == dump || !config->sm.root_guid_file.empty(),
                  "the dump changed");
    } else {
        IBF_CHECK(config.error().message.starts_with("fuzz:"), "an error without a position");
    }
    for (const routing::PreferenceFile& file : routing::preference_files()) {
        routing::Preferences preferences;
        if (const auto read = file.read(text, "fuzz", preferences); !read) {
            IBF_CHECK(read.error().message.starts_with("fuzz:"), "an error without a position");
        }
    }
    return 0;
}
