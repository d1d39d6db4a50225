#include "daemon/sa/member_record.hpp"

#include "daemon/sa/wish.hpp"
#include "mad/octets.hpp"

namespace ibf::sa {

const RecordType& member_type() {
    static const RecordType& type = record_type_of(mad::SaAttribute::mc_member_record);
    return type;
}

void put_group(std::span<std::uint8_t> record, const fabric::Group& group) {
    const RecordType& type = member_type();
    constexpr auto kExactly = static_cast<std::uint64_t>(Wish::How::exactly);
    mad::store_gid(record, kMgidAt, group.mgid);
    type.set(record, "Q_Key", group.qkey);
    type.set(record, "MLID", group.mlid.value());
    type.set(record, "MtuSelector", kExactly);
    type.set(record, "Mtu", group.mtu);
    type.set(record, "TClass", group.tclass);
    type.set(record, "P_Key", group.pkey.value());
    type.set(record, "RateSelector", kExactly);
    type.set(record, "Rate", group.rate);
    type.set(record, "PacketLifeTimeSelector", kExactly);
    type.set(record, "PacketLifeTime", group.packet_life_time);
    type.set(record, "SL", group.sl);
    type.set(record, "FlowLabel", group.flow_label);
    type.set(record, "HopLimit", group.hop_limit);
    type.set(record, "Scope", group.scope);
}

void put_member(std::span<std::uint8_t> record, const fabric::Member& member) {
    const RecordType& type = member_type();
    mad::store_gid(record, kPortGidAt, member.port);
    type.set(record, "JoinState", member.join_state);
    type.set(record, "ProxyJoin", member.proxy_join ? 1 : 0);
}

}  // namespace ibf::sa
