#include "routing/lft_dump.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "routing/text_lines.hpp"

namespace ibf::routing {

namespace {

/// The GUID after a word such as " portguid 0x"; the first one, as names follow behind and may say anything.
std::optional<mad::Guid> guid_after(std::string_view line, std::string_view word) {
    const std::size_t at = line.find(word);
    if (at == line.npos) {
        return std::nullopt;
    }
    std::string_view digits = line.substr(at + word.size());
    digits = digits.substr(0, std::min(digits.find_first_not_of("0123456789abcdefABCDEF"), digits.size()));
    const auto value = to_hex(digits);
    return value ? std::optional(mad::Guid{*value}) : std::nullopt;
}

class DumpReader {
public:
    base::Result<LftDump> read(std::string_view text) {
        dump_.owners.emplace_back();
        LineScanner lines(text);
        while (lines.next()) {
            const std::string problem = lines.line().starts_with("Unicast lids") ? begin_table(lines.line())
                                        : lines.line().starts_with("0x") && !dump_.tables.empty()
                                            ? add_entry(lines.line())
                                            : std::string();
            if (!problem.empty()) {
                return base::fail(base::ErrorKind::parse,
                                  fmt::format("line {}: {}", lines.number(), problem));
            }
        }
        if (dump_.tables.empty()) {
            return base::fail(
                base::ErrorKind::parse,
                "there is no line \"Unicast lids ... of switch ... guid 0x...\": give a dump of "
                "forwarding tables, as ibfabric export --format opensm-dumps writes "
                "(opensm-lfts.dump)");
        }
        return std::move(dump_);
    }

private:
    /// Each says what is wrong; empty if nothing is.
    std::string begin_table(std::string_view line) {
        const auto guid = guid_after(line, " guid 0x");
        if (!guid) {
            return "the switch has no GUID";
        }
        if (!switches_.insert(*guid).second) {
            return fmt::format("switch {} has a table already", *guid);
        }
        dump_.tables.push_back({*guid, {}});
        return {};
    }

    std::string add_entry(std::string_view line) {
        TokenScanner tokens(line);
        const auto lid = to_hex(tokens.take_word());
        tokens.skip_blanks();
        const auto port = tokens.take_number();
        if (!lid || *lid == 0 || *lid > mad::kLidUnicastMax || !port || *port > mad::kLftDrop) {
            return fmt::format("expected a LID from 0x0001 to 0x{:04x} and a port up to {}",
                               mad::kLidUnicastMax, mad::kLftDrop);
        }
        const auto owner = guid_after(tokens.rest(), " portguid 0x");
        dump_.tables.back().entries.push_back({owner ? owner_index(*owner) : 0,
                                               static_cast<std::uint16_t>(*lid),
                                               static_cast<std::uint8_t>(*port)});
        return {};
    }

    std::uint32_t owner_index(mad::Guid guid) {
        const auto [place, fresh] = owners_.emplace(guid, static_cast<std::uint32_t>(dump_.owners.size()));
        if (fresh) {
            dump_.owners.push_back(guid);
        }
        return place->second;
    }

    LftDump dump_;
    std::set<mad::Guid> switches_;
    std::map<mad::Guid, std::uint32_t> owners_;
};

}  // namespace

base::Result<LftDump> parse_lft_dump(std::string_view text) {
    return DumpReader().read(text);
}

}  // namespace ibf::routing
