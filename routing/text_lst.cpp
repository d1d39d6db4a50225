// OpenSM's subnet.lst and ibdiagnet2.lst: one line per cable (OpenSM: one per direction), both ends in
// braces, every number hexadecimal:
//
//   { SW Ports:24 SystemGUID:.. NodeGUID:.. PortGUID:.. VenID:000002C9 DevID:D2F2.. Rev:.. {name} LID:000C
//   PN:04 } { CA .. } PHY=4x LOG=ACT SPD=100
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "routing/text_assembler.hpp"
#include "routing/text_dialects.hpp"
#include "routing/text_lines.hpp"

namespace ibf::routing {
namespace {

struct End {
    NetlistNode node;
    std::uint32_t ports = 0;
    std::uint32_t port = 0;
    mad::Guid port_guid{};
    std::uint64_t lid = 0;
};

/// Lane speed in Gb/s as ibdm writes it. Texts without SPD= date from when there was one speed.
mad::LinkSpeed speed_of(std::string_view gigabits) {
    constexpr std::array<std::pair<std::string_view, mad::LinkSpeed>, 10> kSpeeds{{
        {"2.5", mad::LinkSpeed::sdr},
        {"5", mad::LinkSpeed::ddr},
        {"10", mad::LinkSpeed::qdr},
        {"FDR10", mad::LinkSpeed::fdr10},
        {"14", mad::LinkSpeed::fdr},
        {"25", mad::LinkSpeed::edr},
        {"50", mad::LinkSpeed::hdr},
        {"100", mad::LinkSpeed::ndr},
        {"200", mad::LinkSpeed::xdr},
        {"", mad::LinkSpeed::sdr},
    }};
    for (const auto& [text, speed] : kSpeeds) {
        if (text == gigabits) {
            return speed;
        }
    }
    return mad::LinkSpeed::none;
}

class SubnetLstReader {
public:
    SubnetLstReader(std::string_view text, const std::string& origin) : lines_(text), out_(origin) {}

    base::Result<Netlist> run() {
        while (lines_.next()) {
            const std::string_view line = lines_.line();
            if (line.empty() || line.front() == '#') {
                continue;
            }
            if (auto done = read_cable(line); !done) {
                return tl::unexpected(done.error());
            }
        }
        return out_.finish();
    }

private:
    [[nodiscard]] tl::unexpected<base::Error> error(std::string_view text) const {
        return out_.error(lines_.number(), text);
    }

    base::Result<void> read_cable(std::string_view line) {
        TokenScanner scanner(line);
        auto near = read_end(scanner);
        if (!near) {
            return tl::unexpected(near.error());
        }
        auto far = read_end(scanner);
        if (!far) {
            return tl::unexpected(far.error());
        }
        const auto near_node = place(*near);
        if (!near_node) {
            return tl::unexpected(near_node.error());
        }
        const auto far_node = place(*far);
        if (!far_node) {
            return tl::unexpected(far_node.error());
        }
        CableStatement cable{*near_node,      near->port,           *far_node,           far->port,
                             lines_.number(), mad::LinkWidth::none, mad::LinkSpeed::none};
        read_rate(scanner, cable);
        return out_.state_both(cable);
    }

    void read_rate(TokenScanner& scanner, CableStatement& out) {
        std::string_view speed;
        for (scanner.skip_blanks(); !scanner.at_end(); scanner.skip_blanks()) {
            TokenScanner word(scanner.take_word());
            if (word.take("PHY=")) {
                const auto lanes = word.take_number();
                out.width = lanes && *lanes <= 12 ? mad::width_from_lanes(*lanes) : mad::LinkWidth::none;
            } else if (word.take("SPD=")) {
                speed = word.rest();
            }
        }
        out.speed = speed_of(speed);
        if (out.width == mad::LinkWidth::none || out.speed == mad::LinkSpeed::none) {
            out_.warn(lines_.number(), fmt::format("link rate \"{}\" is not one we know", speed));
        }
    }

    base::Result<End> read_end(TokenScanner& scanner) {
        scanner.skip_blanks();
        if (!scanner.take("{")) {
            return error("a cable line has two ends in braces: { SW Ports:.. } { CA Ports:.. } PHY=..");
        }
        End end;
        scanner.skip_blanks();
        const std::string_view word = scanner.take_word();
        const std::string_view type = word.substr(0, word.find('-'));  // "CA-SM": the SM runs there
        if (type != "SW" && type != "CA" && type != "RT") {
            return error(fmt::format("\"{}\" is no node type; there are SW, CA and RT", word));
        }
        end.node.type = type == "SW"   ? mad::NodeType::switch_
                        : type == "CA" ? mad::NodeType::ca
                                       : mad::NodeType::router;
        for (scanner.skip_blanks(); !scanner.take("}"); scanner.skip_blanks()) {
            if (scanner.at_end()) {
                return error("an end's braces are not closed");
            }
            if (scanner.rest().front() == '{') {
                if (!read_name(scanner, end)) {
                    return error("a name's braces are not closed");
                }
            } else if (const auto field = scanner.take_word(); !read_field(field, end)) {
                return error(fmt::format("\"{}\" is not NAME:HEXADECIMAL", field));
            }
        }
        if (end.node.guid.value() == 0 || end.ports == 0 || end.port == 0) {
            return error("an end needs NodeGUID, Ports and PN, none of them 0");
        }
        return end;
    }

    /// The name may have braces in it: it ends where the LID follows.
    static bool read_name(TokenScanner& scanner, End& end) {
        const std::string_view rest = scanner.rest();
        const auto stop = rest.find("} LID:");
        if (stop == std::string_view::npos) {
            return false;
        }
        end.node.description = rest.substr(1, stop - 1);
        return scanner.take(rest.substr(0, stop + 1));
    }

    static bool read_field(std::string_view field, End& end) {
        const auto colon = field.find(':');
        if (colon == std::string_view::npos) {
            return false;
        }
        const auto value = to_hex(field.substr(colon + 1));
        if (!value) {
            return false;
        }
        const std::string_view name = field.substr(0, colon);
        const auto number = static_cast<std::uint32_t>(std::min<std::uint64_t>(*value, 0xFFFFFFFF));
        if (name == "Ports") {
            end.ports = number;
        } else if (name == "PN") {
            end.port = number;
        } else if (name == "SystemGUID") {
            end.node.system_guid = mad::Guid{*value};
        } else if (name == "NodeGUID") {
            end.node.guid = mad::Guid{*value};
        } else if (name == "PortGUID") {
            end.port_guid = mad::Guid{*value};
        } else if (name == "VenID") {
            end.node.vendor_id = number;
        } else if (name == "DevID") {
            // OpenSM 2.x printed the device ID in the upper half of 32 bits.
            end.node.device_id = static_cast<std::uint16_t>(number > 0xFFFF ? number >> 16U : number);
        } else if (name == "LID") {
            end.lid = *value;
        }
        return true;
    }

    /// The node of this end, added if it is new; its port GUID and LID are filled in.
    base::Result<std::uint32_t> place(End& end) {
        auto index = out_.find(end.node.guid);
        if (!index) {
            NetlistNode node = std::move(end.node);
            node.id = canonical_id(node.type, node.guid);
            if (node.system_guid.value() == 0) {
                node.system_guid = node.guid;
            }
            auto added = out_.add_node(std::move(node), end.ports, lines_.number());
            if (!added) {
                return added;
            }
            index = *added;
        }
        NetlistNode& node = out_.node(*index);
        const bool is_switch = node.type == mad::NodeType::switch_;
        if (is_switch || end.port < node.ports.size()) {  // a port out of range is refused with its cable
            NetlistPort& port = node.ports[is_switch ? 0 : end.port];
            if (port.lids.base == mad::kLidNone) {
                port.lids = out_.checked_lids(end.lid, 0, lines_.number(), node.id);
            }
            port.guid = is_switch ? mad::Guid{} : end.port_guid;
        }
        return *index;
    }

    LineScanner lines_;
    TextAssembler out_;
};

}  // namespace

base::Result<Netlist> read_subnet_lst(std::string_view text, const std::string& origin) {
    return SubnetLstReader(text, origin).run();
}

}  // namespace ibf::routing
