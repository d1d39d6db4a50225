// The dialect of Switch/Ca/Hca/Rt blocks, with everything that ibnetdiscover, ibsim 0.10 and ibdiagnet write
// or read in it:
//
//   vendid=0x2c9  devid=.. sysimgguid=.. switchguid=0x..(0x..)     before a block; "+" counts from the base
//   Switch <TAB> 36 "S-0002.."   # "description" base port 0 lid 7 lmc 0
//   [1](label) "H-0002.."[1](0002..)   # "description" lid 9 4xHDR
//   Ca <TAB> 2 "H-0002.."        # "description"
//   [1](label)(0002..) "S-0002.."[1]   # lid 9 lmc 0 "description" lid 7 4xHDR      w=4 s=2 e=1
//   @[1] "alias"                                                   names a port; "module@alias" is that port
//   module="rack1"   width=4   speed=4   speedext=1                defaults for what follows
//
// Lines that are none of these are what a terminal left there: they are reported and skipped.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "routing/text_assembler.hpp"
#include "routing/text_dialects.hpp"
#include "routing/text_lines.hpp"

namespace ibf::routing {
namespace {

/// What follows a node or a peer: "base port 0 lid 7 lmc 0", "lid 9 4xHDR", "w=4 s=2".
struct Remarks {
    struct Number {
        bool said = false;
        std::optional<std::uint64_t> value;  ///< empty although said: it was no number
    };
    Number lid;
    Number lmc;
    bool enhanced = false;
    mad::LinkWidth width = mad::LinkWidth::none;
    mad::LinkSpeed speed = mad::LinkSpeed::none;
    std::string_view unknown_rate;  ///< "4x ???": a rate that could not be read
    std::uint64_t option_speed = 0;
    std::uint64_t option_speed_ext = 0;
};

/// LinkWidthEnabled bits: the widest of them.
mad::LinkWidth widest(std::uint64_t bits) {
    for (const auto width : {mad::LinkWidth::x12, mad::LinkWidth::x8, mad::LinkWidth::x4, mad::LinkWidth::x2,
                             mad::LinkWidth::x1}) {
        if ((bits & static_cast<std::uint64_t>(width)) != 0) {
            return width;
        }
    }
    return mad::LinkWidth::none;
}

/// LinkSpeedEnabled and LinkSpeedExtEnabled bits: the fastest of them.
mad::LinkSpeed fastest(std::uint64_t bits, std::uint64_t ext_bits) {
    constexpr std::array kExt{mad::LinkSpeed::ndr, mad::LinkSpeed::hdr, mad::LinkSpeed::edr,
                              mad::LinkSpeed::fdr};
    constexpr std::array kBase{mad::LinkSpeed::qdr, mad::LinkSpeed::ddr, mad::LinkSpeed::sdr};
    for (std::size_t i = 0; i < kExt.size(); ++i) {
        if ((ext_bits >> (kExt.size() - 1 - i) & 1U) != 0) {
            return kExt[i];
        }
    }
    for (std::size_t i = 0; i < kBase.size(); ++i) {
        if ((bits >> (kBase.size() - 1 - i) & 1U) != 0) {
            return kBase[i];
        }
    }
    return mad::LinkSpeed::none;
}

/// "4xHDR" or "4x HDR": true if `word` is a rate; `rest` is what follows it.
bool read_rate(std::string_view word, TokenScanner& rest, Remarks& out) {
    TokenScanner scanner(word);
    const auto lanes = scanner.take_number();
    if (!lanes || !scanner.take("x")) {
        return false;
    }
    std::string_view speed = scanner.rest();
    if (speed.empty()) {
        rest.skip_blanks();
        speed = rest.take_word();
    }
    out.width = *lanes <= 12 ? mad::width_from_lanes(*lanes) : mad::LinkWidth::none;
    out.speed = mad::speed_from_string(speed);
    if (out.width == mad::LinkWidth::none || out.speed == mad::LinkSpeed::none) {
        out.unknown_rate = word;
    }
    return true;
}

Remarks::Number read_number_after(TokenScanner& rest) {
    rest.skip_blanks();
    TokenScanner ahead = rest;
    const std::string_view word = ahead.take_word();
    if (word == "lmc" || word == "lid") {
        return {true, std::nullopt};  // the number is missing
    }
    rest = ahead;
    return {true, to_number(word)};
}

void read_option(std::string_view word, Remarks& out) {
    const auto value = to_number(word.substr(2));
    switch (word.front()) {
        case 'w': out.width = widest(value.value_or(0)); break;
        case 's': out.option_speed = value == 0 ? 4 : value.value_or(0); break;  // ibsim: 0 means QDR
        case 'e': out.option_speed_ext = value.value_or(0); break;
        default: break;
    }
}

void read_remarks(std::string_view text, Remarks& out) {
    TokenScanner scanner(text);
    for (scanner.skip_blanks(); !scanner.at_end(); scanner.skip_blanks()) {
        const std::string_view word = scanner.take_word();
        if (word == "lid" && !out.lid.said) {
            out.lid = read_number_after(scanner);
        } else if (word == "lmc") {
            out.lmc = read_number_after(scanner);
        } else if (word == "enhanced") {
            out.enhanced = true;
        } else if (word.size() > 2 && word[1] == '=') {
            read_option(word, out);
        } else {
            read_rate(word, scanner, out);
        }
    }
    if (out.option_speed != 0 || out.option_speed_ext != 0) {
        out.speed = fastest(out.option_speed, out.option_speed_ext);
    }
}

/// `# "description" remarks`, also without quotes, split into the two.
std::pair<std::string_view, std::string_view> split_comment(std::string_view comment) {
    if (comment.starts_with('"')) {
        const auto end = comment.rfind('"');  // a description may have quotes inside, remarks have none
        return end == 0 ? std::pair(comment.substr(1), std::string_view{})
                        : std::pair(comment.substr(1, end - 1), comment.substr(end + 1));
    }
    std::size_t end = comment.size();
    for (const std::string_view mark : {" enhanced port ", " base port ", " lid ", " lmc "}) {
        end = std::min(end, comment.find(mark));
    }
    return {comment.substr(0, end), comment.substr(end)};
}

/// The GUID in an id like "S-0002c90300a1b2c3"; 0 if the id is not of that form.
std::uint64_t guid_of_id(std::string_view id) {
    if (id.size() != 18 || id[1] != '-' || (id[0] != 'S' && id[0] != 'H' && id[0] != 'R')) {
        return 0;
    }
    return to_hex(id.substr(2)).value_or(0);
}

class NetlistReader {
public:
    NetlistReader(std::string_view text, const std::string& origin) : lines_(text), out_(origin) {}

    base::Result<Netlist> run() {
        while (lines_.next()) {
            if (auto done = read_line(lines_.line()); !done) {
                return tl::unexpected(done.error());
            }
        }
        for (const Pending& cable : cables_) {
            if (auto done = resolve(cable); !done) {
                return tl::unexpected(done.error());
            }
        }
        return out_.finish();
    }

private:
    using Done = base::Result<void>;
    enum : std::size_t { kCa = 0, kSwitch = 1, kRouter = 2, kTypes = 3 };

    /// A port line whose peer may be described further down.
    struct Pending {
        CableStatement statement;
        std::string peer;  ///< id or "module@alias"
        Remarks::Number peer_lid;
    };
    struct Alias {
        std::uint32_t node = 0;
        std::uint32_t port = 0;
    };

    [[nodiscard]] tl::unexpected<base::Error> error(std::string_view text) const {
        return out_.error(lines_.number(), text);
    }
    void warn(std::string_view text) { out_.warn(lines_.number(), text); }

    Done read_line(std::string_view line) {
        if (line.empty() || line.front() == '#') {
            return {};
        }
        TokenScanner scanner(line);
        const bool is_alias = scanner.take("@");
        if (scanner.take("[") && !scanner.at_end() && scanner.rest().front() >= '0' &&
            scanner.rest().front() <= '9') {
            return read_port(scanner, is_alias);
        }
        if (const auto equals = line.find_first_of("=+"); equals != std::string_view::npos) {
            if (is_setting(line.substr(0, equals))) {
                return read_setting(line.substr(0, equals), line[equals], trim(line.substr(equals + 1)));
            }
        }
        return read_header(line);
    }

    static bool is_setting(std::string_view name) {
        constexpr std::array<std::string_view, 12> kNames{"vendid", "devid",   "sysimgguid", "switchguid",
                                                          "caguid", "hcaguid", "hcaguids",   "rtguid",
                                                          "module", "width",   "speed",      "speedext"};
        return std::ranges::find(kNames, name) != kNames.end();
    }

    Done read_setting(std::string_view name, char sign, std::string_view value) {
        if (name == "module") {
            TokenScanner scanner(value);
            const auto module = scanner.take_enclosed('"', '"');
            if (!module) {
                return error("module wants a quoted name: module=\"rack1\"");
            }
            module_ = *module;
            return {};
        }
        const auto number = to_number(trim(value.substr(0, value.find_first_of("( \t"))));
        if (!number) {
            return error(fmt::format("\"{}\" is no value for {}", value, name));
        }
        if (name == "vendid") {
            vendor_id_ = static_cast<std::uint32_t>(*number);
        } else if (name == "devid") {
            device_id_ = static_cast<std::uint16_t>(*number);
        } else if (name == "sysimgguid") {
            system_guid_ = *number;
        } else if (name == "width") {
            default_width_ = widest(*number);
        } else if (name == "speed") {
            default_speed_bits_ = *number;
        } else if (name == "speedext") {
            default_speed_ext_bits_ = *number;
        } else {
            set_guid(name == "switchguid" ? kSwitch : name == "rtguid" ? kRouter : kCa, sign, *number);
        }
        return {};
    }

    /// "switchguid=X": the next switch has X, those after it count on; "+X" counts from the last "=".
    void set_guid(std::size_t type, char sign, std::uint64_t number) {
        if (sign == '=') {
            guid_base_[type] = number;
            number = 0;
        }
        if (guid_base_[type] + number != 0) {  // 0 is no GUID
            next_guid_[type] = guid_base_[type] + number;
            guid_given_[type] = true;
        }
    }

    Done read_header(std::string_view line) {
        constexpr std::array<std::pair<std::string_view, std::size_t>, 4> kWords{
            {{"Switch", kSwitch}, {"Hca", kCa}, {"Ca", kCa}, {"Rt", kRouter}}};
        for (const auto& [word, type] : kWords) {
            TokenScanner scanner(line);
            const bool is_word = scanner.take(word);
            scanner.skip_blanks();
            if (is_word && scanner.rest().size() + word.size() < line.size()) {
                TokenScanner ahead = scanner;
                if (ahead.take_number() || ahead.rest().starts_with('"')) {
                    return read_node(scanner, type);
                }
            }
        }
        if (line.starts_with("include")) {
            return error("include is not followed: put the included text in its place");
        }
        warn(fmt::format("skipped, not part of a topology: {}", line.substr(0, 60)));
        return {};
    }

    Done read_node(TokenScanner scanner, std::size_t type) {
        const auto ports = scanner.take_number();
        scanner.skip_blanks();
        const auto id = scanner.take_enclosed('"', '"');
        if (!ports || !id || id->empty()) {
            return error(
                "a node record starts with its type, port count and quoted name, like Switch 36 \"S-..\"");
        }
        NetlistNode node;
        node.type = type == kSwitch ? mad::NodeType::switch_
                    : type == kCa   ? mad::NodeType::ca
                                    : mad::NodeType::router;
        node.id = with_module(*id);
        if (std::ranges::any_of(node.id,
                                [](unsigned char letter) { return letter < 0x20 || letter == 0x7F; })) {
            return error("a node's name has control characters in it");
        }
        node.guid = mad::Guid{take_guid(type, *id, *ports)};
        node.system_guid = system_guid_ == 0 ? node.guid : mad::Guid{system_guid_};
        node.vendor_id = vendor_id_;
        node.device_id = device_id_;
        Remarks remarks;
        scanner.skip_blanks();
        if (scanner.take("#")) {
            scanner.skip_blanks();
            const auto [description, rest] = split_comment(scanner.rest());
            node.description = description;
            read_remarks(rest, remarks);
        }
        if (node.description.empty()) {
            node.description = node.id;
        }
        node.enhanced_port0 = type == kSwitch && remarks.enhanced;
        auto index = out_.add_node(std::move(node), *ports, lines_.number());
        if (!index) {
            return tl::unexpected(index.error());
        }
        node_ = *index;
        if (type == kSwitch) {
            out_.node(*node_).ports[0].lids = read_lids(remarks, *id);
        }
        system_guid_ = 0;
        vendor_id_ = 0;
        device_id_ = 0;
        return {};
    }

    /// The GUID stated for this record; else the one in its id; else the next in line, as ibsim counts.
    std::uint64_t take_guid(std::size_t type, std::string_view id, std::uint32_t ports) {
        const std::uint64_t in_id = guid_of_id(id);
        if (!guid_given_[type] && in_id != 0) {
            return in_id;
        }
        const std::uint64_t guid = next_guid_[type];
        next_guid_[type] += type == kSwitch ? 1U : ports + 1U;
        guid_given_[type] = false;
        return guid;
    }

    mad::LidRange read_lids(const Remarks& remarks, std::string_view whose) {
        if (!remarks.lid.said) {
            return {};
        }
        if (!remarks.lid.value) {
            warn(fmt::format("the LID of {} is missing or not a number, taken as none", whose));
            return {};
        }
        return out_.checked_lids(*remarks.lid.value, remarks.lmc.value.value_or(0), lines_.number(), whose);
    }

    Done read_port(TokenScanner scanner, bool is_alias) {
        if (!node_) {
            return error("a port line outside of a node record");
        }
        const auto number = scanner.take_number();
        if (!number || !scanner.take("]")) {
            return error("a port line starts with its port number in brackets, like [1]");
        }
        NetlistNode& node = out_.node(*node_);
        if (*number == 0 || *number >= node.ports.size()) {
            return error(
                fmt::format("\"{}\" has ports 1 to {}, not {}", node.id, node.ports.size() - 1, *number));
        }
        // Labels and the port GUID in parentheses: of several groups the last one is the GUID.
        std::optional<std::uint64_t> port_guid;
        for (scanner.skip_blanks(); scanner.rest().starts_with('('); scanner.skip_blanks()) {
            const auto group = scanner.take_enclosed('(', ')');
            if (!group) {
                return error("an opened parenthesis is not closed");
            }
            port_guid = to_hex(*group);
        }
        const auto peer = scanner.take_enclosed('"', '"');
        if (!peer || peer->empty()) {
            return error("a port line names what the port leads to in quotes, like [1] \"S-..\"[7]");
        }
        if (is_alias) {
            return add_alias(*peer, *number);
        }
        if (node.type != mad::NodeType::switch_) {
            node.ports[*number].guid = mad::Guid{port_guid.value_or(0)};
        }
        return read_peer(scanner, *peer, *number);
    }

    Done read_peer(TokenScanner scanner, std::string_view peer, std::uint32_t port) {
        std::uint32_t peer_port = 1;  // ibsim's default
        scanner.skip_blanks();
        if (scanner.take("[")) {
            const auto number = scanner.take_number();
            if (!number || *number == 0 || !scanner.take("]")) {
                return error("the peer's port is a number in brackets, 1 or more");
            }
            peer_port = *number;
        }
        const NetlistNode& node = out_.node(*node_);
        const std::string_view rest = scanner.rest();
        const auto first_quote = rest.find('"');
        const auto last_quote = rest.rfind('"');
        Remarks head;
        Remarks tail;
        read_remarks(rest.substr(0, first_quote), head);
        if (last_quote != std::string_view::npos) {
            read_remarks(rest.substr(last_quote + 1), tail);
        }
        const bool is_switch = node.type == mad::NodeType::switch_;
        if (!is_switch) {
            out_.node(*node_).ports[port].lids = read_lids(head, node.id);
        }
        cables_.push_back(
            {{*node_, port, 0, peer_port, lines_.number(), mad::LinkWidth::none, mad::LinkSpeed::none},
             reference(peer),
             tail.lid});
        set_rate(head, tail, cables_.back().statement);
        return {};
    }

    /// The rate is after the description; options and a bare "4xDDR" stand before it.
    void set_rate(const Remarks& head, const Remarks& tail, CableStatement& out) {
        if (const auto rate = tail.unknown_rate.empty() ? head.unknown_rate : tail.unknown_rate;
            !rate.empty()) {
            warn(fmt::format("link rate {} is not one we know, taken as 4xSDR", rate));
        }
        const auto either = [](auto first, auto second, auto third) {
            return static_cast<int>(first) != 0 ? first : static_cast<int>(second) != 0 ? second : third;
        };
        out.width = either(tail.width, head.width, default_width_);
        out.speed = either(tail.speed, head.speed, fastest(default_speed_bits_, default_speed_ext_bits_));
    }

    [[nodiscard]] std::string with_module(std::string_view id) const {
        return module_.empty() ? std::string(id) : fmt::format("{}#{}", module_, id);
    }

    /// A peer as written, made whole: an id of this module unless it names another, or an alias.
    [[nodiscard]] std::string reference(std::string_view peer) const {
        if (peer.find('@') != std::string_view::npos) {
            return peer.front() == '@' ? fmt::format("{}{}", module_, peer) : std::string(peer);
        }
        return peer.find('#') != std::string_view::npos ? std::string(peer) : with_module(peer);
    }

    Done add_alias(std::string_view name, std::uint32_t port) {
        if (!aliases_.try_emplace(fmt::format("{}@{}", module_, name), Alias{*node_, port}).second) {
            return error(fmt::format("the alias \"{}\" is there already", name));
        }
        return {};
    }

    Done resolve(const Pending& cable) {
        CableStatement statement = cable.statement;
        if (const auto alias = aliases_.find(cable.peer); alias != aliases_.end()) {
            statement.peer_node = alias->second.node;
            statement.peer_port = alias->second.port;
        } else if (const auto peer = out_.find(cable.peer)) {
            statement.peer_node = *peer;
        } else {
            out_.warn(
                statement.line,
                fmt::format("\"{}\" is not described in this text; the cable to it is left out", cable.peer));
            return {};
        }
        compare_lid(cable, statement);
        return out_.state(statement);
    }

    /// The peer's own line counts; a port line that says something else, or nonsense, is worth a word.
    void compare_lid(const Pending& cable, const CableStatement& statement) {
        const NetlistNode& peer = out_.node(statement.peer_node);
        const std::size_t port = peer.type == mad::NodeType::switch_ ? 0 : statement.peer_port;
        if (!cable.peer_lid.said || port >= peer.ports.size()) {
            return;
        }
        const std::uint16_t own = peer.ports[port].lids.base.value();
        const std::uint64_t stated = cable.peer_lid.value.value_or(mad::kLidPermissive.value());
        if (stated > mad::kLidUnicastMax || (own != 0 && stated != own)) {
            out_.warn(
                statement.line,
                fmt::format("a LID is given for \"{}\" that is not what it says itself, {}", peer.id, own));
        }
    }

    LineScanner lines_;
    TextAssembler out_;
    std::optional<std::uint32_t> node_;  ///< whose port lines these are
    std::vector<Pending> cables_;
    std::unordered_map<std::string, Alias> aliases_;
    std::string module_;
    std::uint64_t system_guid_ = 0;
    std::uint32_t vendor_id_ = 0;
    std::uint16_t device_id_ = 0;
    std::array<std::uint64_t, kTypes> guid_base_{0x100000, 0x200000, 0x300000};
    std::array<std::uint64_t, kTypes> next_guid_ = guid_base_;
    std::array<bool, kTypes> guid_given_{};
    mad::LinkWidth default_width_ = mad::LinkWidth::none;
    std::uint64_t default_speed_bits_ = 0;
    std::uint64_t default_speed_ext_bits_ = 0;
};

}  // namespace

std::string canonical_id(mad::NodeType type, mad::Guid guid) {
    const char letter = type == mad::NodeType::switch_ ? 'S' : type == mad::NodeType::ca ? 'H' : 'R';
    return fmt::format("{}-{:016x}", letter, guid.value());
}

base::Result<Netlist> read_netlist_text(std::string_view text, const std::string& origin) {
    return NetlistReader(text, origin).run();
}

}  // namespace ibf::routing
