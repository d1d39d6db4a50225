#include "routing/layered_engine.hpp"

#include <memory>
#include <optional>
#include <utility>

#include "routing/directions.hpp"

namespace ibf::routing {

namespace {

/// Tables and what there is to know for laying them into layers. Stays where it is: `paths` looks into
/// `routes`.
struct Draft {
    Routes routes;
    std::optional<Paths> paths;
    std::optional<LiveTurns> live;
    Layers layers;
};
using DraftResult = base::Result<std::unique_ptr<Draft>>;

class LayeredRun {
public:
    LayeredRun(const LayeredEngine& engine, const Topology& topology, std::uint8_t lanes,
               const RouteOptions& options)
        : engine_(engine), topology_(topology), lanes_(lanes), options_(options) {}

    [[nodiscard]] DraftResult keep(const Routes& previous) const {
        DraftResult draft = lay(&previous, {});
        if (draft) {
            find_layers(OldLayers(topology_, &previous), **draft);
        }
        return draft;
    }

    [[nodiscard]] DraftResult begin_afresh() const {
        DraftResult draft = lay(nullptr, {});
        if (!draft || (*draft)->live->count() == 0) {
            return draft;
        }
        DraftResult other = std::unique_ptr<Draft>();
        if (const LinkRanks ranks = direction_ranks(make_graph(topology_, {}, options_.preferences));
            !ranks.empty()) {
            other = lay(nullptr, ranks);
        }
        // Directions that mean something leave only turns within a dimension.
        if (other && *other != nullptr && (*other)->live->count() < (*draft)->live->count() / 2) {
            std::swap(draft, other);
        }
        const OldLayers none(topology_, nullptr);
        find_layers(none, **draft);
        if ((*draft)->layers.count > lanes_ && other && *other != nullptr) {
            find_layers(none, **other);
            return (*other)->layers.count < (*draft)->layers.count ? std::move(other) : std::move(draft);
        }
        return draft;
    }

private:
    [[nodiscard]] DraftResult lay(const Routes* kept, const LinkRanks& ranks) const {
        auto draft = std::make_unique<Draft>();
        base::Result<Routes> routes = shortest_tree_tables(topology_, kept, engine_.sharing, ranks, options_);
        if (!routes) {
            return tl::unexpected<base::Error>(routes.error());
        }
        draft->routes = std::move(*routes);
        base::Result<Paths> paths = Paths::of(topology_, draft->routes.rows, options_.threads);
        if (!paths) {
            return tl::unexpected<base::Error>(paths.error());
        }
        draft->paths.emplace(std::move(*paths));
        draft->live.emplace(*draft->paths);
        return draft;
    }

    void find_layers(const OldLayers& before, Draft& draft) const {
        if (draft.live->count() != 0) {
            draft.layers = engine_.layer(*draft.paths, *draft.live, before);
        }
    }

    const LayeredEngine& engine_;
    const Topology& topology_;
    std::uint8_t lanes_;
    const RouteOptions& options_;
};

}  // namespace

base::Result<Routes> route_in_layers(const LayeredEngine& engine, const Topology& topology,
                                     const Routes* previous, const RouteOptions& options) {
    const LaneLimit limit = lane_limit(topology, options.vls_max);
    const LayeredRun run(engine, topology, limit.lanes, options);
    DraftResult found = previous != nullptr ? run.keep(*previous) : run.begin_afresh();
    if (previous != nullptr && found && (*found)->layers.count > limit.lanes) {
        found = run.begin_afresh();
    }
    if (!found) {
        return tl::unexpected<base::Error>(found.error());
    }
    Draft& draft = **found;
    if (draft.layers.count > limit.lanes) {
        return tl::unexpected<base::Error>(lanes_missing(engine.name, draft.layers.count, limit));
    }
    use_layers(std::move(draft.layers), draft.routes);
    draft.routes.engine = engine.name;
    return std::move(draft.routes);
}

}  // namespace ibf::routing
