// The SA MAD's codec and its RMPP header: bytes in, value, bytes out. The input is one MAD; a short one is
// tried as it is and padded.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "mad/sa_mad.hpp"
#include "tests/fuzz/input.hpp"

namespace {

using namespace ibf;
using namespace ibf::mad;
using ibf::fuzz::require;

/// The octets that no field owns, as encode_sa_mad() writes them.
MadBuffer without_reserved(MadBuffer bytes) {
    for (const std::size_t octet : {6U, 7U, 18U, 19U, 46U, 47U}) {
        bytes[octet] = 0;
    }
    return bytes;
}

void check(std::span<const std::uint8_t> bytes) {
    const auto mad = parse_sa_mad(bytes);
    if (!mad) {
        require(!mad.error().message.empty());
        return;
    }
    require(bytes.size() == sizeof(MadBuffer));
    MadBuffer whole;
    std::copy(bytes.begin(), bytes.end(), whole.begin());
    require(encode_sa_mad(*mad) == without_reserved(whole));
    // The RMPP header alone owns all of its octets.
    MadBuffer again = whole;
    std::fill(again.begin() + 24, again.begin() + 36, std::uint8_t{0});
    write_rmpp_header(parse_rmpp_header(whole), again);
    require(again == whole);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span<const std::uint8_t> bytes(data, size);
    check(bytes);
    MadBuffer padded{};
    std::copy_n(bytes.begin(), std::min(size, padded.size()), padded.begin());
    check(padded);
    padded[0] = 1;
    padded[1] = static_cast<std::uint8_t>(MgmtClass::subn_adm);
    check(padded);
    return 0;
}
