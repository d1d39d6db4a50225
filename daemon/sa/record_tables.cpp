// The field tables: IBA volume 1, 15.2.5, in wire order. The n-th line is component n.
#include <array>

#include "base/check.hpp"
#include "daemon/sa/record_type.hpp"

namespace ibf::sa {
namespace {

constexpr std::string_view kReserved{};

constexpr std::array kClassPortInfo{
    Field{"BaseVersion", 8},      Field{"ClassVersion", 8},   Field{"CapabilityMask", 16},
    Field{"CapabilityMask2", 27}, Field{"RespTimeValue", 5},  Field{"RedirectGID", 128},
    Field{"RedirectTC", 8},       Field{"RedirectSL", 4},     Field{"RedirectFL", 20},
    Field{"RedirectLID", 16},     Field{"RedirectP_Key", 16}, Field{kReserved, 8},
    Field{"RedirectQP", 24},      Field{"RedirectQ_Key", 32}, Field{"TrapGID", 128},
    Field{"TrapTC", 8},           Field{"TrapSL", 4},         Field{"TrapFL", 20},
    Field{"TrapLID", 16},         Field{"TrapP_Key", 16},     Field{"TrapHL", 8},
    Field{"TrapQP", 24},          Field{"TrapQ_Key", 32},
};

constexpr std::array kNode{
    Field{"LID", 16},
    Field{kReserved, 16},
    Field{"BaseVersion", 8},
    Field{"ClassVersion", 8},
    Field{"NodeType", 8},
    Field{"NumPorts", 8},
    Field{"SystemImageGUID", 64},
    Field{"NodeGUID", 64},
    Field{"PortGUID", 64},
    Field{"PartitionCap", 16},
    Field{"DeviceID", 16},
    Field{"Revision", 32},
    Field{"LocalPortNum", 8},
    Field{"VendorID", 24},
    Field{"NodeDescription", 512},
};

constexpr std::array kPortInfo{
    Field{"EndportLID", 16},
    Field{"PortNum", 8},
    Field{"Options", 8},
    Field{"M_Key", 64},
    Field{"GidPrefix", 64},
    Field{"LID", 16},
    Field{"MasterSMLID", 16},
    Field{"CapabilityMask", 32},
    Field{"DiagCode", 16},
    Field{"M_KeyLeasePeriod", 16},
    Field{"LocalPortNum", 8},
    Field{"LinkWidthEnabled", 8},
    Field{"LinkWidthSupported", 8},
    Field{"LinkWidthActive", 8},
    Field{"LinkSpeedSupported", 4},
    Field{"PortState", 4},
    Field{"PortPhysicalState", 4},
    Field{"LinkDownDefaultState", 4},
    Field{"M_KeyProtectBits", 2},
    Field{kReserved, 3},
    Field{"LMC", 3},
    Field{"LinkSpeedActive", 4},
    Field{"LinkSpeedEnabled", 4},
    Field{"NeighborMTU", 4},
    Field{"MasterSMSL", 4},
    Field{"VLCap", 4},
    Field{"InitType", 4},
    Field{"VLHighLimit", 8},
    Field{"VLArbitrationHighCap", 8},
    Field{"VLArbitrationLowCap", 8},
    Field{"InitTypeReply", 4},
    Field{"MTUCap", 4},
    Field{"VLStallCount", 3},
    Field{"HOQLife", 5},
    Field{"OperationalVLs", 4},
    Field{"PartitionEnforcementInbound", 1},
    Field{"PartitionEnforcementOutbound", 1},
    Field{"FilterRawInbound", 1},
    Field{"FilterRawOutbound", 1},
    Field{"M_KeyViolations", 16},
    Field{"P_KeyViolations", 16},
    Field{"Q_KeyViolations", 16},
    Field{"GUIDCap", 8},
    Field{"ClientReregister", 1},
    Field{kReserved, 2},
    Field{"SubnetTimeOut", 5},
    Field{kReserved, 3},
    Field{"RespTimeValue", 5},
    Field{"LocalPhyErrors", 4},
    Field{"OverrunErrors", 4},
    Field{"MaxCreditHint", 16},
    Field{kReserved, 8},
    Field{"LinkRoundTripLatency", 24},
    Field{"CapabilityMask2", 16},
    Field{"LinkSpeedExtActive", 4},
    Field{"LinkSpeedExtSupported", 4},
    Field{kReserved, 3},
    Field{"LinkSpeedExtEnabled", 5},
};

constexpr std::array kSwitchInfo{
    Field{"LID", 16},
    Field{kReserved, 16},
    Field{"LinearFDBCap", 16},
    Field{"RandomFDBCap", 16},
    Field{"MulticastFDBCap", 16},
    Field{"LinearFDBTop", 16},
    Field{"DefaultPort", 8},
    Field{"DefaultMulticastPrimaryPort", 8},
    Field{"DefaultMulticastNotPrimaryPort", 8},
    Field{"LifeTimeValue", 5},
    Field{"PortStateChange", 1},
    Field{"OptimizedSLtoVLMappingProgramming", 2},
    Field{"LIDsPerPort", 16},
    Field{"PartitionEnforcementCap", 16},
    Field{"InboundEnforcementCap", 1},
    Field{"OutboundEnforcementCap", 1},
    Field{"FilterRawInboundCap", 1},
    Field{"FilterRawOutboundCap", 1},
    Field{"EnhancedPort0", 1},
    Field{kReserved, 11},
    Field{"MulticastFDBTop", 16},
};

constexpr std::array kLft{Field{"LID", 16}, Field{"BlockNum", 16}, Field{kReserved, 32},
                          Field{"LinearForwardingTable", 512}};
constexpr std::array kMft{Field{"LID", 16},     Field{"Position", 4}, Field{kReserved, 3},
                          Field{"BlockNum", 9}, Field{kReserved, 32}, Field{"MulticastForwardingTable", 512}};
constexpr std::array kLink{Field{"FromLID", 16}, Field{"FromPort", 8}, Field{"ToPort", 8},
                           Field{"ToLID", 16}};
constexpr std::array kPKey{Field{"LID", 16}, Field{"BlockNum", 16}, Field{"PortNum", 8}, Field{kReserved, 24},
                           Field{"P_KeyTable", 512}};
constexpr std::array kSl2Vl{
    Field{"LID", 16},     Field{"InputPortNum", 8}, Field{"OutputPortNum", 8}, Field{kReserved, 32},
    Field{"SL0toVL", 4},  Field{"SL1toVL", 4},      Field{"SL2toVL", 4},       Field{"SL3toVL", 4},
    Field{"SL4toVL", 4},  Field{"SL5toVL", 4},      Field{"SL6toVL", 4},       Field{"SL7toVL", 4},
    Field{"SL8toVL", 4},  Field{"SL9toVL", 4},      Field{"SL10toVL", 4},      Field{"SL11toVL", 4},
    Field{"SL12toVL", 4}, Field{"SL13toVL", 4},     Field{"SL14toVL", 4},      Field{"SL15toVL", 4},
};
constexpr std::array kVlArb{Field{"LID", 16}, Field{"OutputPortNum", 8}, Field{"BlockNum", 8},
                            Field{kReserved, 32}, Field{"VLArbitrationTable", 512}};
constexpr std::array kGuid{
    Field{"LID", 16},   Field{"BlockNum", 8}, Field{kReserved, 8}, Field{kReserved, 32},
    Field{"GUID0", 64}, Field{"GUID1", 64},   Field{"GUID2", 64},  Field{"GUID3", 64},
    Field{"GUID4", 64}, Field{"GUID5", 64},   Field{"GUID6", 64},  Field{"GUID7", 64},
};
constexpr std::array kSmInfo{Field{"LID", 16},    Field{kReserved, 16},  Field{"GUID", 64},
                             Field{"SM_Key", 64}, Field{"ActCount", 32}, Field{"Priority", 4},
                             Field{"SMState", 4}};

constexpr std::array kPath{
    Field{"ServiceIDMSB", 32},
    Field{"ServiceIDLSB", 32},
    Field{"DGID", 128},
    Field{"SGID", 128},
    Field{"DLID", 16},
    Field{"SLID", 16},
    Field{"RawTraffic", 1},
    Field{kReserved, 3},
    Field{"FlowLabel", 20},
    Field{"HopLimit", 8},
    Field{"TClass", 8},
    Field{"Reversible", 1},
    Field{"NumbPath", 7},
    Field{"P_Key", 16},
    Field{"QoSClass", 12},
    Field{"SL", 4},
    Field{"MtuSelector", 2},
    Field{"Mtu", 6},
    Field{"RateSelector", 2},
    Field{"Rate", 6},
    Field{"PacketLifeTimeSelector", 2},
    Field{"PacketLifeTime", 6},
    Field{"Preference", 8},
    Field{kReserved, 48},
};

constexpr std::array kMember{
    Field{"MGID", 128},
    Field{"PortGID", 128},
    Field{"Q_Key", 32},
    Field{"MLID", 16},
    Field{"MtuSelector", 2},
    Field{"Mtu", 6},
    Field{"TClass", 8},
    Field{"P_Key", 16},
    Field{"RateSelector", 2},
    Field{"Rate", 6},
    Field{"PacketLifeTimeSelector", 2},
    Field{"PacketLifeTime", 6},
    Field{"SL", 4},
    Field{"FlowLabel", 20},
    Field{"HopLimit", 8},
    Field{"Scope", 4},
    Field{"JoinState", 4},
    Field{"ProxyJoin", 1},
    Field{kReserved, 23},
};

/// As Intel's, Oracle's and Wireshark's public sources have it, all three alike.
constexpr std::array kTrace{
    Field{"GIDPrefix", 64}, Field{"IDGeneration", 16}, Field{kReserved, 8},      Field{"NodeType", 8},
    Field{"NodeID", 64},    Field{"ChassisID", 64},    Field{"EntryPortID", 64}, Field{"ExitPortID", 64},
    Field{"EntryPort", 8},  Field{"ExitPort", 8},
};

constexpr std::array kService{
    Field{"ServiceID", 64},       Field{"ServiceGID", 128},     Field{"ServiceP_Key", 16},
    Field{kReserved, 16},         Field{"ServiceLease", 32},    Field{"ServiceKey", 128},
    Field{"ServiceName", 512},    Field{"ServiceData8.1", 8},   Field{"ServiceData8.2", 8},
    Field{"ServiceData8.3", 8},   Field{"ServiceData8.4", 8},   Field{"ServiceData8.5", 8},
    Field{"ServiceData8.6", 8},   Field{"ServiceData8.7", 8},   Field{"ServiceData8.8", 8},
    Field{"ServiceData8.9", 8},   Field{"ServiceData8.10", 8},  Field{"ServiceData8.11", 8},
    Field{"ServiceData8.12", 8},  Field{"ServiceData8.13", 8},  Field{"ServiceData8.14", 8},
    Field{"ServiceData8.15", 8},  Field{"ServiceData8.16", 8},  Field{"ServiceData16.1", 16},
    Field{"ServiceData16.2", 16}, Field{"ServiceData16.3", 16}, Field{"ServiceData16.4", 16},
    Field{"ServiceData16.5", 16}, Field{"ServiceData16.6", 16}, Field{"ServiceData16.7", 16},
    Field{"ServiceData16.8", 16}, Field{"ServiceData32.1", 32}, Field{"ServiceData32.2", 32},
    Field{"ServiceData32.3", 32}, Field{"ServiceData32.4", 32}, Field{"ServiceData64.1", 64},
    Field{"ServiceData64.2", 64},
};

constexpr std::array kInformInfo{
    Field{"GID", 128},         Field{"LIDRangeBegin", 16}, Field{"LIDRangeEnd", 16},  Field{kReserved, 16},
    Field{"IsGeneric", 8},     Field{"Subscribe", 8},      Field{"Type", 16},         Field{"TrapNumber", 16},
    Field{"QPN", 24},          Field{kReserved, 3},        Field{"RespTimeValue", 5}, Field{kReserved, 8},
    Field{"ProducerType", 24},
};

constexpr std::array kInformInfoRecord{
    Field{"SubscriberGID", 128}, Field{"Enum", 16},          Field{kReserved, 48},
    Field{"GID", 128},           Field{"LIDRangeBegin", 16}, Field{"LIDRangeEnd", 16},
    Field{kReserved, 16},        Field{"IsGeneric", 8},      Field{"Subscribe", 8},
    Field{"Type", 16},           Field{"TrapNumber", 16},    Field{"QPN", 24},
    Field{kReserved, 3},         Field{"RespTimeValue", 5},  Field{kReserved, 8},
    Field{"ProducerType", 24},
};

}  // namespace

const RecordType* record_type(mad::SaAttribute attribute) {
    using A = mad::SaAttribute;
    static const std::array kTypes{
        RecordType{A::class_port_info, "ClassPortInfo", kClassPortInfo},
        RecordType{A::inform_info, "InformInfo", kInformInfo},
        RecordType{A::node_record, "NodeRecord", kNode},
        RecordType{A::port_info_record, "PortInfoRecord", kPortInfo},
        RecordType{A::switch_info_record, "SwitchInfoRecord", kSwitchInfo},
        RecordType{A::lft_record, "LinearForwardingTableRecord", kLft},
        RecordType{A::mft_record, "MulticastForwardingTableRecord", kMft},
        RecordType{A::sm_info_record, "SMInfoRecord", kSmInfo},
        RecordType{A::link_record, "LinkRecord", kLink},
        RecordType{A::guid_info_record, "GUIDInfoRecord", kGuid},
        RecordType{A::service_record, "ServiceRecord", kService},
        RecordType{A::sl_to_vl_table_record, "SLtoVLMappingTableRecord", kSl2Vl},
        RecordType{A::vl_arb_record, "VLArbitrationTableRecord", kVlArb},
        RecordType{A::pkey_table_record, "P_KeyTableRecord", kPKey},
        RecordType{A::path_record, "PathRecord", kPath},
        RecordType{A::mc_member_record, "MCMemberRecord", kMember},
        RecordType{A::trace_record, "TraceRecord", kTrace},
        RecordType{A::inform_info_record, "InformInfoRecord", kInformInfoRecord},
    };
    for (const RecordType& type : kTypes) {
        if (type.attribute() == attribute) {
            return &type;
        }
    }
    return nullptr;
}

const RecordType& record_type_of(mad::SaAttribute attribute) {
    const RecordType* type = record_type(attribute);
    IBF_CHECK(type != nullptr, "attribute 0x{:04x} has no records", static_cast<unsigned>(attribute));
    return *type;
}

}  // namespace ibf::sa
