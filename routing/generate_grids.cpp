// Torus, mesh, HyperX and hypercube: switches at the points of a grid, named by their coordinates. The last
// dimension counts fastest. Ports of the dimensions come first, in order, hosts after them.
#include <numeric>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "routing/generate_draft.hpp"
#include "routing/generate_families.hpp"

namespace ibf::routing {
namespace {

using Sizes = std::vector<std::uint32_t>;

std::uint64_t points(const Sizes& sizes) {
    std::uint64_t count = 1;
    for (const std::uint32_t size : sizes) {
        count *= size;  // at most kSizesMax factors of at most 254: no overflow
    }
    return count;
}

/// Walks all points in order; gives coordinates and the index of a point that differs in one of them.
class GridPoints {
public:
    explicit GridPoints(const Sizes& sizes) : sizes_(sizes), at_(sizes.size(), 0), strides_(sizes.size(), 1) {
        for (std::size_t d = sizes.size(); d-- > 1;) {
            strides_[d - 1] = strides_[d] * sizes[d];
        }
    }

    [[nodiscard]] std::uint32_t index() const { return index_; }
    [[nodiscard]] std::uint32_t coordinate(std::size_t dimension) const { return at_[dimension]; }
    [[nodiscard]] std::uint32_t index_with(std::size_t dimension, std::uint32_t coordinate) const {
        return index_ - at_[dimension] * strides_[dimension] + coordinate * strides_[dimension];
    }
    [[nodiscard]] std::string name() const { return fmt::format("switch-{}", fmt::join(at_, "-")); }

    bool next() {
        for (std::size_t d = sizes_.size(); d-- > 0;) {
            if (++at_[d] < sizes_[d]) {
                ++index_;
                return true;
            }
            at_[d] = 0;
        }
        return false;
    }

private:
    const Sizes& sizes_;
    Sizes at_;
    Sizes strides_;
    std::uint32_t index_ = 0;
};

void paint_switches(FabricDraft& draft, const Sizes& sizes, std::uint32_t ports) {
    GridPoints grid(sizes);
    do {
        draft.add_switch(grid.name(), ports);
    } while (grid.next());
}

void paint_hosts(FabricDraft& draft, std::uint64_t switches, std::uint32_t first_port, std::uint32_t hosts) {
    for (std::uint32_t index = 0; index < switches; ++index) {
        draft.add_hosts_to(index, first_port, hosts);
    }
}

enum class Edge : std::uint8_t { open, wrapped };

/// Port 2d+1 leads up dimension d, port 2d+2 down. A dimension of size 2 has one cable, not two, as both ways
/// around lead to the same switch.
base::Result<Netlist> draw_grid(const Parameters& parameters, std::string_view family, Edge edge) {
    const Sizes& sizes = parameters.sizes("sizes");
    const std::uint32_t hosts = parameters.number("hosts");
    const auto ways = static_cast<std::uint32_t>(2 * sizes.size());
    if (auto fits = check_size(family, points(sizes), points(sizes) * hosts, ways + hosts); !fits) {
        return tl::unexpected(fits.error());
    }
    FabricDraft draft(parameters);
    paint_switches(draft, sizes, ways + hosts);
    GridPoints grid(sizes);
    do {
        for (std::uint32_t d = 0; d < sizes.size(); ++d) {
            const std::uint32_t up = grid.coordinate(d) + 1;
            if (up < sizes[d] || (edge == Edge::wrapped && sizes[d] > 2)) {
                draft.connect(grid.index(), 2 * d + 1, grid.index_with(d, up % sizes[d]), 2 * d + 2);
            }
        }
    } while (grid.next());
    paint_hosts(draft, points(sizes), ways + 1, hosts);
    return draft.take();
}

base::Result<Netlist> draw_torus(const Parameters& parameters) {
    return draw_grid(parameters, "torus", Edge::wrapped);
}

base::Result<Netlist> draw_mesh(const Parameters& parameters) {
    return draw_grid(parameters, "mesh", Edge::open);
}

/// Port d+1 leads to the switch whose number differs in bit d.
base::Result<Netlist> draw_hypercube(const Parameters& parameters) {
    const std::uint32_t dimensions = parameters.number("dim");
    const std::uint32_t hosts = parameters.number("hosts");
    const std::uint32_t switches = 1U << dimensions;
    if (auto fits = check_size("hypercube", switches, std::uint64_t{switches} * hosts, dimensions + hosts);
        !fits) {
        return tl::unexpected(fits.error());
    }
    FabricDraft draft(parameters);
    for (std::uint32_t index = 0; index < switches; ++index) {
        draft.add_switch(fmt::format("switch-{:0{}b}", index, dimensions), dimensions + hosts);
    }
    for (std::uint32_t index = 0; index < switches; ++index) {
        for (std::uint32_t d = 0; d < dimensions; ++d) {
            const std::uint32_t peer = index ^ (1U << d);
            if (index < peer) {
                draft.connect(index, d + 1, peer, d + 1);
            }
        }
    }
    paint_hosts(draft, switches, dimensions + 1, hosts);
    return draft.take();
}

/// In each dimension a switch has `parallel` ports to every other coordinate, in order of coordinates.
base::Result<Netlist> draw_hyperx(const Parameters& parameters) {
    const Sizes& sizes = parameters.sizes("sizes");
    const std::uint32_t hosts = parameters.number("hosts");
    const std::uint32_t parallel = parameters.number("parallel");
    std::uint32_t ways = 0;
    for (const std::uint32_t size : sizes) {
        ways += (size - 1) * parallel;
    }
    if (auto fits = check_size("hyperx", points(sizes), points(sizes) * hosts, ways + hosts); !fits) {
        return tl::unexpected(fits.error());
    }
    FabricDraft draft(parameters);
    paint_switches(draft, sizes, ways + hosts);
    GridPoints grid(sizes);
    do {
        std::uint32_t first_port = 1;
        for (std::uint32_t d = 0; d < sizes.size(); ++d) {
            const std::uint32_t here = grid.coordinate(d);
            for (std::uint32_t there = here + 1; there < sizes[d]; ++there) {
                for (std::uint32_t cable = 0; cable < parallel; ++cable) {
                    draft.connect(grid.index(), first_port + (there - 1) * parallel + cable,
                                  grid.index_with(d, there), first_port + here * parallel + cable);
                }
            }
            first_port += (sizes[d] - 1) * parallel;
        }
    } while (grid.next());
    paint_hosts(draft, points(sizes), ways + 1, hosts);
    return draft.take();
}

Key sizes_key(std::string_view fallback) {
    return {"sizes",         KeyKind::sizes, 1,
            kSwitchPortsMax, fallback,       "switches along each dimension, 1 to 6 dimensions"};
}

Key hosts_key() {
    return {"hosts", KeyKind::number, 0, kSwitchPortsMax, "1", "hosts per switch"};
}

}  // namespace

Family torus_family() {
    return {"torus", "torus:8x8x8,hosts=2",           "a grid whose rows and columns are closed to rings",
            "sizes", {sizes_key("4x4"), hosts_key()}, draw_torus};
}

Family mesh_family() {
    return {"mesh", "mesh:4x4", "a grid with open ends", "sizes", {sizes_key("4x4"), hosts_key()}, draw_mesh};
}

Family hypercube_family() {
    return {"hypercube",
            "hypercube:dim=6",
            "2^dim switches, cabled where their numbers differ in one bit",
            "dim",
            {{"dim", KeyKind::number, 1, 15, "4", "dimensions"}, hosts_key()},
            draw_hypercube};
}

Family hyperx_family() {
    return {"hyperx",
            "hyperx:4x4x4,parallel=2",
            "a grid with a cable between any two switches of a row or column",
            "sizes",
            {sizes_key("4x4"),
             {"parallel", KeyKind::number, 1, kSwitchPortsMax, "1", "cables between two connected switches"},
             hosts_key()},
            draw_hyperx};
}

}  // namespace ibf::routing
