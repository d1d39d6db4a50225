// DOC: answers to SMPs that come unasked: traps, SMInfo.
#pragma once

#include "mad/smp.hpp"
#include "mad/transport.hpp"

namespace ibf::sm {

/// The answer to a request, along the way it came.
[[nodiscard]] inline mad::WireMad answer_to(const mad::WireMad& wire, const mad::Smp& request,
                                            mad::Method method, mad::MadStatus status,
                                            const mad::AttributeData& data) {
    mad::Smp reply = request;
    reply.header.method = static_cast<std::uint8_t>(method);
    reply.header.status = status;
    reply.returning = request.header.mgmt_class == mad::MgmtClass::subn_directed;
    reply.mkey = {};
    reply.data = data;
    return {mad::encode_smp(reply), wire.address};
}

}  // namespace ibf::sm
