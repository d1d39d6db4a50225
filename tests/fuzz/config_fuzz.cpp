// Any bytes as a configuration file and as a root GUID file: read or refused with a position, never a crash; what was
// read survives being written and read again.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.hpp"
#include "daemon/shell/config_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace ibf;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto config = shell::parse_config(text, "fuzz")) {
        const std::string dump = shell::dump_config(*config);
        const auto again = shell::parse_config(dump, "dump");
        IBF_CHECK(again.has_value(), "the dump is refused: {}", again.error().message);
        IBF_CHECK(shell::dump_config(*again) == dump || !config->sm.root_guid_file.empty(), "the dump changed");
    } else {
        IBF_CHECK(config.error().message.starts_with("fuzz:"), "an error without a position");
    }
    if (const auto guids = shell::parse_guid_list(text, "fuzz"); !guids) {
        IBF_CHECK(guids.error().message.starts_with("fuzz:"), "an error without a position");
    }
    return 0;
}
