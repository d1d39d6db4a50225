#include "routing/weighted_hops.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>

#include <fmt/format.h>

#include "routing/parallel.hpp"

namespace ibf::routing {

namespace {

/// Dijkstra's search with a bucket for each length; one per thread.
class Search {
public:
    explicit Search(const Graph& graph) : graph_(graph), lengths_(graph.switch_count()) {}

    /// False where a switch is farther off than kDistanceMax.
    [[nodiscard]] bool run(std::uint32_t from, std::uint8_t* row) {
        std::fill(lengths_.begin(), lengths_.end(), kFar);
        reach(from, 0);
        for (unsigned length = 0; length < buckets_.size(); ++length) {
            for (std::size_t i = 0; i < buckets_[length].size(); ++i) {
                const std::uint32_t at = buckets_[length][i];
                if (lengths_[at] == length) {
                    leave(at, length);
                }
            }
            buckets_[length].clear();
        }
        for (std::size_t at = 0; at < lengths_.size(); ++at) {
            if (lengths_[at] < kFar && lengths_[at] > kDistanceMax) {
                return false;
            }
            row[at] = lengths_[at] == kFar ? kUnreached : static_cast<std::uint8_t>(lengths_[at]);
        }
        return true;
    }

private:
    static constexpr std::uint16_t kFar = 0xFFFF;

    void leave(std::uint32_t at, unsigned length) {
        for (std::uint32_t index = graph_.first_group[at]; index < graph_.first_group[at + 1]; ++index) {
            reach(graph_.groups[index].peer, length + graph_.weights[index]);
        }
    }

    void reach(std::uint32_t at, unsigned length) {
        if (length < lengths_[at]) {
            lengths_[at] = static_cast<std::uint16_t>(length);
            if (length <= kDistanceMax) {
                buckets_[length].push_back(at);
            }
        }
    }

    const Graph& graph_;
    std::vector<std::uint16_t> lengths_;
    std::array<std::vector<std::uint32_t>, kDistanceMax + 1> buckets_;
};

}  // namespace

base::Result<ByteMatrix> weighted_hops(const Graph& graph, unsigned threads) {
    ByteMatrix lengths(graph.switch_count(), kUnreached);
    std::vector<std::optional<Search>> searches(resolve_threads(threads));
    std::atomic<bool> within{true};
    parallel_ranges(graph.switch_count(), 8, threads, [&](const WorkRange& range) {
        std::optional<Search>& mine = searches[range.slot];
        if (!mine) {
            mine.emplace(graph);
        }
        for (auto at = static_cast<std::uint32_t>(range.begin); at < range.end; ++at) {
            if (!mine->run(at, lengths.row(at))) {
                within.store(false, std::memory_order_relaxed);
            }
        }
    });
    if (!within.load()) {
        return base::fail(base::ErrorKind::unsupported,
                          fmt::format("hop weights make two switches more than {} hops apart; use smaller "
                                      "weights, or none for links that are the only way",
                                      kDistanceMax));
    }
    return lengths;
}

}  // namespace ibf::routing
