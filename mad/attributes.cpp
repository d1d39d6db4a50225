#include "mad/attributes.hpp"

#include "mad/speeds_beyond.hpp"

namespace ibf::mad {
namespace {

LinkSpeed extended_speed(std::uint8_t code) {
    if ((code & kSpeedExtNdr) != 0) {
        return LinkSpeed::ndr;
    }
    if ((code & kSpeedExtHdr) != 0) {
        return LinkSpeed::hdr;
    }
    if ((code & kSpeedExtEdr) != 0) {
        return LinkSpeed::edr;
    }
    return (code & kSpeedExtFdr) != 0 ? LinkSpeed::fdr : LinkSpeed::none;
}

LinkSpeed base_speed(std::uint8_t code) {
    if ((code & 0x4U) != 0) {
        return LinkSpeed::qdr;
    }
    if ((code & 0x2U) != 0) {
        return LinkSpeed::ddr;
    }
    return (code & 0x1U) != 0 ? LinkSpeed::sdr : LinkSpeed::none;
}

}  // namespace

bool NodeInfo::valid() const {
    const bool known_type = type == NodeType::ca || type == NodeType::switch_ || type == NodeType::router;
    const bool port_fits =
        local_port.value() <= num_ports && (type == NodeType::switch_ || local_port.value() >= 1);
    return known_type && node_guid.value() != 0 && port_guid.value() != 0 && num_ports >= 1 && port_fits;
}

LinkSpeed PortInfo::speed() const {
    if (!linked()) {
        return LinkSpeed::none;
    }
    // The newer fields were reserved bits once: they count only where the device says that it has them.
    if (has_capability_mask2() && (capability_mask2 & kCapMask2Xdr) != 0 &&
        speed_ext2_active == kSpeedExt2Xdr) {
        return LinkSpeed::xdr;
    }
    if (has_extended_speeds()) {
        if (const LinkSpeed extended = extended_speed(speed_ext_active); extended != LinkSpeed::none) {
            return extended;
        }
    }
    return fdr10_active ? LinkSpeed::fdr10 : base_speed(speed_active);
}

}  // namespace ibf::mad
