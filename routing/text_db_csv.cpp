// ibdiagnet2.db_csv: sections "START_NAME", a line of column names, rows, "END_NAME". Columns differ between
// versions, so each value is found by its column's name. Read are NODES, PORTS, SWITCHES, LINKS and, for
// FDR10, EXTENDED_PORT_INFO. PORTS and SWITCHES rows become the PortInfo and SwitchInfo bytes of the device.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "mad/codec.hpp"
#include "routing/text_assembler.hpp"
#include "routing/text_dialects.hpp"
#include "routing/text_lines.hpp"

namespace ibf::routing {
namespace {

/// Splits at commas outside quotes; quotes around a field are dropped.
void split_row(std::string_view row, std::vector<std::string_view>& out) {
    out.clear();
    while (true) {
        std::size_t end = 0;
        std::string_view field;
        if (row.starts_with('"')) {
            const auto quote = row.find("\",", 1);
            end = quote == std::string_view::npos ? row.size() : quote + 1;
            field = row.substr(1, end - 1);
            if (field.ends_with('"')) {
                field.remove_suffix(1);
            }
        } else {
            end = std::min(row.find(','), row.size());
            field = row.substr(0, end);
        }
        out.push_back(field);
        if (end == row.size()) {
            return;
        }
        row.remove_prefix(end + 1);
    }
}

/// One row with its section's column names.
class Row {
public:
    Row(const std::vector<std::string_view>& columns, const std::vector<std::string_view>& fields)
        : columns_(columns), fields_(fields) {}

    [[nodiscard]] std::optional<std::string_view> text(std::string_view column) const {
        const auto at = static_cast<std::size_t>(std::ranges::find(columns_, column) - columns_.begin());
        return at < fields_.size() && at < columns_.size() ? std::optional(fields_[at]) : std::nullopt;
    }
    /// 0 for what is not there or reads "N/A": the version did not know the field.
    [[nodiscard]] std::uint64_t number(std::string_view column) const {
        const auto field = text(column);
        return field ? to_number(*field).value_or(0) : 0;
    }
    /// The number as an integer, enum or strong type of fewer bits; what does not fit is cut off.
    template <class T>
    [[nodiscard]] T as(std::string_view column) const {
        if constexpr (base::kIsStrongInt<T>) {
            return T{static_cast<typename T::rep>(number(column))};
        } else {
            return static_cast<T>(number(column));
        }
    }

private:
    const std::vector<std::string_view>& columns_;
    const std::vector<std::string_view>& fields_;
};

std::uint8_t octet(std::uint64_t value, unsigned shift) {
    return static_cast<std::uint8_t>(value >> shift);
}

/// LinkSpeed* columns hold LinkSpeed in bits 0-7, LinkSpeedExt above it, LinkSpeedExt2 above that.
void set_speeds(const Row& row, mad::PortInfo& info) {
    const std::uint64_t active = row.number("LinkSpeedActv");
    const std::uint64_t supported = row.number("LinkSpeedSup");
    const std::uint64_t enabled = row.number("LinkSpeedEn");
    info.speed_active = octet(active, 0);
    info.speed_supported = octet(supported, 0);
    info.speed_enabled = octet(enabled, 0);
    info.speed_ext_active = octet(active, 8);
    info.speed_ext_supported = octet(supported, 8);
    info.speed_ext_enabled = octet(enabled, 8);
    info.speed_ext2_active = octet(active, 16);
    info.speed_ext2_supported = octet(supported, 16);
    info.speed_ext2_enabled = octet(enabled, 16);
}

void set_limits(const Row& row, mad::PortInfo& info) {
    info.neighbor_mtu = row.as<mad::Mtu>("NMTU");
    info.mtu_cap = row.as<mad::Mtu>("MTUCap");
    info.vl_cap = row.as<std::uint8_t>("VLCap");
    info.operational_vls = row.as<std::uint8_t>("OpVLs");
    info.vl_high_limit = row.as<std::uint8_t>("VLHighLimit");
    info.vl_arb_high_cap = row.as<std::uint8_t>("VLArbHighCap");
    info.vl_arb_low_cap = row.as<std::uint8_t>("VLArbLowCap");
    info.vl_stall_count = row.as<std::uint8_t>("VLStallCnt");
    info.hoq_life = row.as<std::uint8_t>("HoQLife");
    info.init_type = row.as<std::uint8_t>("InitType");
    info.init_type_reply = row.as<std::uint8_t>("InitTypeReply");
    info.guid_cap = row.as<std::uint8_t>("GUIDCap");
    info.subnet_timeout = row.as<std::uint8_t>("SubnTmo");
    info.resp_time_value = row.as<std::uint8_t>("RespTimeValue");
    info.local_phys_errors = row.as<std::uint8_t>("LocalPhyError");
    info.overrun_errors = row.as<std::uint8_t>("OverrunErrs");
    info.max_credit_hint = row.as<std::uint16_t>("MaxCreditHint");
    info.link_round_trip = row.as<std::uint32_t>("LinkRoundTripLatency");
    info.mkey_violations = row.as<std::uint16_t>("MKeyViolations");
    info.pkey_violations = row.as<std::uint16_t>("PKeyViolations");
    info.qkey_violations = row.as<std::uint16_t>("QKeyViolations");
    info.partition_enforcement_inbound = row.number("PartEnfInb") != 0;
    info.partition_enforcement_outbound = row.number("PartEnfOutb") != 0;
    info.filter_raw_inbound = row.number("FilterRawInb") != 0;
    info.filter_raw_outbound = row.number("FilterRawOutb") != 0;
}

mad::PortInfo port_info_of(const Row& row) {
    mad::PortInfo info;
    info.mkey = mad::MKey{row.number("MKey")};
    info.gid_prefix = row.number("GIDPrfx");
    info.lid = row.as<mad::Lid>("LID");
    info.lmc = row.as<std::uint8_t>("LMC");
    info.sm_lid = row.as<mad::Lid>("MSMLID");
    info.sm_sl = row.as<std::uint8_t>("MSMSL");
    info.capability_mask = row.as<std::uint32_t>("CapMsk");
    info.capability_mask2 = row.as<std::uint16_t>("CapMsk2");
    info.diag_code = row.as<std::uint16_t>("DiagCode");
    info.mkey_lease_period = row.as<std::uint16_t>("M_KeyLeasePeriod");
    info.mkey_protect = row.as<std::uint8_t>("MKeyProtBits");
    info.local_port = row.as<mad::PortNum>("LocalPortNum");
    info.width_active = row.as<mad::LinkWidth>("LinkWidthActv");
    info.width_supported = row.as<std::uint8_t>("LinkWidthSup");
    info.width_enabled = row.as<std::uint8_t>("LinkWidthEn");
    info.state = row.as<mad::PortState>("PortState");
    info.phys_state = row.as<mad::PhysState>("PortPhyState");
    info.link_down_default = row.as<std::uint8_t>("LinkDownDefState");
    info.client_reregister = row.number("ClientReregister") != 0;
    set_speeds(row, info);
    set_limits(row, info);
    return info;
}

/// A switch states its capabilities at port 0 alone, so the port's own mask does not tell which speed fields
/// count; ibdiagnet fills the columns with 0 where a device has no such field.
mad::LinkSpeed speed_of(mad::PortInfo info) {
    constexpr std::uint32_t kExtendedSpeedsAndMask2 = 0x0000C000;
    info.capability_mask |= kExtendedSpeedsAndMask2;
    return info.speed();
}

mad::SwitchInfo switch_info_of(const Row& row) {
    mad::SwitchInfo info;
    info.linear_fdb_cap = row.as<std::uint16_t>("LinearFDBCap");
    info.random_fdb_cap = row.as<std::uint16_t>("RandomFDBCap");
    info.multicast_fdb_cap = row.as<std::uint16_t>("MCastFDBCap");
    info.linear_fdb_top = row.as<std::uint16_t>("LinearFDBTop");
    info.default_port = row.as<std::uint8_t>("DefPort");
    info.default_mcast_primary = row.as<std::uint8_t>("DefMCastPriPort");
    info.default_mcast_not_primary = row.as<std::uint8_t>("DefMCastNotPriPort");
    info.life_time = row.as<std::uint8_t>("LifeTimeValue");
    info.port_state_change = row.number("PortStateChange") != 0;
    info.optimized_sl2vl = row.number("OptimizedSLVLMapping") != 0;
    info.lids_per_port = row.as<std::uint16_t>("LidsPerPort");
    info.partition_enforcement_cap = row.as<std::uint16_t>("PartEnfCap");
    info.enhanced_port0 = row.number("ENP0") != 0;
    info.multicast_fdb_top = row.as<std::uint16_t>("MCastFDBTop");
    return info;
}

class DbCsvReader {
    using Reader = base::Result<void> (DbCsvReader::*)(const Row&);

public:
    DbCsvReader(std::string_view text, const std::string& origin) : text_(text), out_(origin) {}

    /// Sections come in any order, so nodes are read before what refers to them.
    base::Result<Netlist> run() {
        constexpr std::array<std::pair<std::string_view, Reader>, 5> kSections{{
            {"NODES", &DbCsvReader::read_node},
            {"PORTS", &DbCsvReader::read_port},
            {"EXTENDED_PORT_INFO", &DbCsvReader::read_extended},
            {"SWITCHES", &DbCsvReader::read_switch},
            {"LINKS", &DbCsvReader::read_link},
        }};
        for (const auto& [name, reader] : kSections) {
            if (auto done = read_section(name, reader); !done) {
                return tl::unexpected(done.error());
            }
        }
        return out_.finish();
    }

private:
    base::Result<void> read_section(std::string_view name, Reader reader) {
        const std::string start = fmt::format("START_{}", name);
        const std::string end = fmt::format("END_{}", name);
        LineScanner lines(text_);
        while (lines.next() && lines.line() != start) {
        }
        if (lines.line() != start) {
            const bool is_needed = name == "NODES" || name == "LINKS";
            return is_needed ? base::Result<void>(
                                   out_.error(lines.number(), fmt::format("there is no {} section", name)))
                             : base::Result<void>{};
        }
        std::vector<std::string_view> columns;
        std::vector<std::string_view> fields;
        while (lines.next()) {
            if (lines.line() == end) {
                return {};
            }
            if (columns.empty()) {
                split_row(lines.line(), columns);
                continue;
            }
            line_ = lines.number();
            split_row(lines.line(), fields);
            if (fields.size() != columns.size()) {
                return out_.error(
                    line_, fmt::format("{}: {} columns, but {} values", name, columns.size(), fields.size()));
            }
            if (auto done = (this->*reader)(Row(columns, fields)); !done) {
                return done;
            }
        }
        return out_.error(lines.number(),
                          fmt::format("the text ends inside section {}: it was cut off", name));
    }

    base::Result<void> read_node(const Row& row) {
        NetlistNode node;
        const std::uint64_t type = row.number("NodeType");
        node.guid = mad::Guid{row.number("NodeGUID")};
        if (type < 1 || type > 3 || node.guid.value() == 0) {
            return out_.error(line_, "a node needs a NodeType of 1 to 3 and a NodeGUID");
        }
        node.type = static_cast<mad::NodeType>(type);
        node.system_guid = mad::Guid{row.number("SystemImageGUID")};
        node.id = canonical_id(node.type, node.guid);
        node.description = row.text("NodeDesc").value_or(node.id);
        node.vendor_id = row.as<std::uint32_t>("VendorID");
        node.device_id = row.as<std::uint16_t>("DeviceID");
        const auto ports =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(row.number("NumPorts"), kNodePortsMax + 1));
        const auto added = out_.add_node(std::move(node), ports, line_);
        return added ? base::Result<void>{} : tl::unexpected(added.error());
    }

    base::Result<void> read_port(const Row& row) {
        const auto node = find_node(row, "NodeGuid");
        if (!node) {
            return tl::unexpected(node.error());
        }
        const auto number = row.number("PortNum");
        NetlistNode& owner = out_.node(*node);
        if (number >= owner.ports.size() || (number == 0 && owner.type != mad::NodeType::switch_)) {
            return out_.error(line_, fmt::format("{} has no port {}", owner.id, number));
        }
        const mad::PortInfo info = port_info_of(row);
        NetlistPort& port = owner.ports[number];
        port.port_info = mad::encode(info);
        if (owner.type != mad::NodeType::switch_) {
            port.guid = mad::Guid{row.number("PortGuid")};
        }
        if (owner.type != mad::NodeType::switch_ || number == 0) {
            port.lids = out_.checked_lids(row.number("LID"), row.number("LMC"), line_, owner.id);
        }
        if (info.linked() && number != 0) {
            port.width = info.width_active;
            port.speed = speed_of(info);
        }
        return {};
    }

    /// FDR10 is not in PortInfo: the vendor's ExtendedPortInfo says it.
    base::Result<void> read_extended(const Row& row) {
        const auto node = out_.find(mad::Guid{row.number("NodeGuid")});
        const auto number = row.number("PortNum");
        if (node && number < out_.node(*node).ports.size() && (row.number("LinkSpeedActive") & 1U) != 0) {
            out_.node(*node).ports[number].speed = mad::LinkSpeed::fdr10;
        }
        return {};
    }

    base::Result<void> read_switch(const Row& row) {
        const auto node = find_node(row, "NodeGUID");
        if (!node) {
            return tl::unexpected(node.error());
        }
        const mad::SwitchInfo info = switch_info_of(row);
        out_.node(*node).switch_info = mad::encode(info);
        out_.node(*node).enhanced_port0 = info.enhanced_port0;
        return {};
    }

    base::Result<void> read_link(const Row& row) {
        const auto near = find_node(row, "NodeGuid1");
        const auto far = find_node(row, "NodeGuid2");
        if (!near || !far) {
            return tl::unexpected((near ? far : near).error());
        }
        const auto port_of = [&row](std::string_view column) {
            return static_cast<std::uint32_t>(std::min<std::uint64_t>(row.number(column), 255));
        };
        CableStatement cable{*near,
                             port_of("PortNum1"),
                             *far,
                             port_of("PortNum2"),
                             line_,
                             mad::LinkWidth::none,
                             mad::LinkSpeed::none};
        const auto& ports = out_.node(*near).ports;
        if (cable.port < ports.size() && ports[cable.port].port_info) {
            cable.width = ports[cable.port].width;
            cable.speed = ports[cable.port].speed;
        }
        return out_.state_both(cable);
    }

    base::Result<std::uint32_t> find_node(const Row& row, std::string_view column) const {
        const mad::Guid guid{row.number(column)};
        const auto node = out_.find(guid);
        return node ? base::Result<std::uint32_t>(*node)
                    : out_.error(line_, fmt::format("{} {} is not in section NODES", column, guid));
    }

    std::string_view text_;
    TextAssembler out_;
    std::uint32_t line_ = 0;
};

}  // namespace

base::Result<Netlist> read_db_csv(std::string_view text, const std::string& origin) {
    return DbCsvReader(text, origin).run();
}

}  // namespace ibf::routing
