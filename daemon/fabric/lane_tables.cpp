#include "daemon/fabric/lane_tables.hpp"

#include <algorithm>
#include <optional>

namespace ibf::fabric {
namespace {

/// Moves to a pool of its own what is in use, in order of first use.
template <class Table>
class Renumbering {
public:
    explicit Renumbering(const std::vector<Table>& from) : from_(from), number_(from.size(), kNone) {}

    std::uint16_t operator()(std::uint16_t old) {
        if (old == LaneTables::kNotTold) {
            return old;
        }
        if (number_[old] == kNone) {
            number_[old] = first_like(from_[old]);
        }
        return number_[old];
    }
    std::vector<Table> pool;

private:
    static constexpr std::uint16_t kNone = LaneTables::kNotTold;

    std::uint16_t first_like(const Table& table) {
        const auto [known, fresh] = by_value_.try_emplace(table, static_cast<std::uint16_t>(pool.size()));
        if (fresh) {
            pool.push_back(table);
        }
        return known->second;
    }

    const std::vector<Table>& from_;
    std::vector<std::uint16_t> number_;
    std::map<Table, std::uint16_t> by_value_;
};

/// The number of a table in a pool that it is put into, unless it is among the newest there already. Equal
/// ones farther back are found by canonical(), which also makes room: only so many are in use at a time.
template <class Table>
std::optional<std::uint16_t> number_in(std::vector<Table>& pool, const Table& table) {
    constexpr std::size_t kNewest = 16;
    const std::size_t stop = pool.size() - std::min(pool.size(), kNewest);
    for (std::size_t i = pool.size(); i > stop; --i) {
        if (pool[i - 1] == table) {
            return static_cast<std::uint16_t>(i - 1);
        }
    }
    if (pool.size() >= LaneTables::kNotTold) {
        return std::nullopt;
    }
    pool.push_back(table);
    return static_cast<std::uint16_t>(pool.size() - 1);
}

}  // namespace

LaneTables LaneTables::of_ports(std::size_t count) {
    LaneTables tables;
    tables.ports = static_cast<std::uint16_t>(count);
    tables.map_at.assign(count * count, kNotTold);
    tables.arbitration_at.resize(count);
    for (auto& blocks : tables.arbitration_at) {
        blocks.fill(kNotTold);
    }
    return tables;
}

const mad::Sl2VlTable* LaneTables::map(std::size_t input, std::size_t exit) const {
    if (input >= ports || exit >= ports) {
        return nullptr;
    }
    const std::uint16_t at = map_at[exit * ports + input];
    return at == kNotTold ? nullptr : &maps[at];
}

const mad::VlArbBlock* LaneTables::arbitration_block(std::size_t port, std::size_t block) const {
    if (port >= ports || block < 1 || block > kArbitrationBlocks) {
        return nullptr;
    }
    const std::uint16_t at = arbitration_at[port][block - 1];
    return at == kNotTold ? nullptr : &arbitration[at];
}

void LaneTables::set_map(std::size_t input, std::size_t exit, const mad::Sl2VlTable& table) {
    auto number = number_in(maps, table);
    if (!number) {
        *this = canonical();
        number = number_in(maps, table);
    }
    map_at[exit * ports + input] = number.value_or(kNotTold);
}

void LaneTables::set_arbitration_block(std::size_t port, std::size_t block, const mad::VlArbBlock& entries) {
    auto number = number_in(arbitration, entries);
    if (!number) {
        *this = canonical();
        number = number_in(arbitration, entries);
    }
    arbitration_at[port][block - 1] = number.value_or(kNotTold);
}

void LaneTables::forget(std::size_t port) {
    std::fill_n(map_at.begin() + static_cast<std::ptrdiff_t>(port * ports), ports, kNotTold);
    arbitration_at[port].fill(kNotTold);
}

LaneTables LaneTables::canonical() const {
    LaneTables result = *this;
    Renumbering<mad::Sl2VlTable> map_number(maps);
    for (std::uint16_t& at : result.map_at) {
        at = map_number(at);
    }
    Renumbering<mad::VlArbBlock> block_number(arbitration);
    for (auto& blocks : result.arbitration_at) {
        for (std::uint16_t& at : blocks) {
            at = block_number(at);
        }
    }
    result.maps = std::move(map_number.pool);
    result.arbitration = std::move(block_number.pool);
    return result;
}

}  // namespace ibf::fabric
