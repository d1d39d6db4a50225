// The functions of libibumad that only touch the caller's buffer. They are here because libibumad's own look
// at whether the kernel's device has P_Key indices, which it learns when it opens one.
#include <cstdio>

#include <infiniband/umad.h>

#include "sim/umad/link.hpp"

namespace {

ib_user_mad_t* as_umad(void* umad) {
    return static_cast<ib_user_mad_t*>(umad);
}

}  // namespace

IBF_EXPORT void* umad_get_mad(void* umad) {
    return static_cast<char*>(umad) + sizeof(ib_user_mad_t);
}

IBF_EXPORT size_t umad_size(void) {
    return sizeof(ib_user_mad_t);
}

IBF_EXPORT int umad_status(void* umad) {
    return static_cast<int>(as_umad(umad)->status);
}

IBF_EXPORT ib_mad_addr_t* umad_get_mad_addr(void* umad) {
    return &as_umad(umad)->addr;
}

IBF_EXPORT int umad_set_grh(void* umad, void* mad_addr) {
    ib_mad_addr_t& to = as_umad(umad)->addr;
    const auto* from = static_cast<const ib_mad_addr_t*>(mad_addr);
    to.grh_present = from != nullptr ? 1 : 0;
    if (from != nullptr) {
        to.ib_gid = from->ib_gid;
        to.flow_label = htobe32(from->flow_label);
        to.hop_limit = from->hop_limit;
        to.traffic_class = from->traffic_class;
    }
    return 0;
}

IBF_EXPORT int umad_set_grh_net(void* umad, void* mad_addr) {
    ib_mad_addr_t& to = as_umad(umad)->addr;
    const auto* from = static_cast<const ib_mad_addr_t*>(mad_addr);
    const int result = umad_set_grh(umad, mad_addr);
    if (from != nullptr) {
        to.flow_label = from->flow_label;
    }
    return result;
}

IBF_EXPORT int umad_set_addr_net(void* umad, __be16 dlid, __be32 dqp, int sl, __be32 qkey) {
    ib_mad_addr_t& to = as_umad(umad)->addr;
    to.lid = dlid;
    to.qpn = dqp;
    to.sl = static_cast<uint8_t>(sl);
    to.qkey = qkey;
    return 0;
}

IBF_EXPORT int umad_set_addr(void* umad, int dlid, int dqp, int sl, int qkey) {
    return umad_set_addr_net(umad, htobe16(static_cast<uint16_t>(dlid)), htobe32(static_cast<uint32_t>(dqp)),
                             sl, htobe32(static_cast<uint32_t>(qkey)));
}

IBF_EXPORT int umad_set_pkey(void* umad, int pkey_index) {
    as_umad(umad)->addr.pkey_index = static_cast<uint16_t>(pkey_index);
    return 0;
}

IBF_EXPORT int umad_get_pkey(void* umad) {
    return as_umad(umad)->addr.pkey_index;
}

IBF_EXPORT void umad_addr_dump(ib_mad_addr_t* addr) {
    std::fprintf(stderr,
                 "qpn %u qkey 0x%x lid %u sl %u\ngrh_present %u gid_index %u hop_limit %u traffic_class %u "
                 "flow_label 0x%x pkey_index 0x%x\nGid 0x",
                 be32toh(addr->qpn), be32toh(addr->qkey), be16toh(addr->lid), addr->sl, addr->grh_present,
                 addr->gid_index, addr->hop_limit, addr->traffic_class, be32toh(addr->flow_label),
                 addr->pkey_index);
    for (const uint8_t byte : addr->gid) {
        std::fprintf(stderr, "%02x", byte);
    }
    std::fputc('\n', stderr);
}

IBF_EXPORT void umad_dump(void* umad) {
    ib_user_mad_t* mad = as_umad(umad);
    std::fprintf(stderr, "agent id %u status %x timeout %u\n", mad->agent_id, mad->status, mad->timeout_ms);
    umad_addr_dump(&mad->addr);
}
