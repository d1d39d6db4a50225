// DOC: PathRecord lookups against the speed of memory.
//
// On a fabric that fills the LID space: single Gets between ports drawn at random, as they come from the
// clients of a starting job (each carries a new pair: nothing stays in a cache), and the half-world table of
// one source that diagnostics ask for. One thread, no MADs. Beside them, from the same run, a chain of as
// many dependent reads of the forwarding tables as the walks need, which is what memory alone costs. Usage:
// sa_lookup_bench [SPEC]
#include <algorithm>
#include <ctime>
#include <functional>
#include <string>

#include <fmt/format.h>

#include "../unit/fabric_from_netlist.hpp"
#include "base/prng.hpp"
#include "daemon/sa/reader.hpp"
#include "mad/octets.hpp"

namespace {

using namespace ibf;

constexpr int kRounds = 5;
constexpr std::size_t kLookups = 400'000;

/// Processor seconds: of one thread, and true on a shared machine.
double least_seconds(const std::function<void()>& work) {
    double least = 1e9;
    for (int round = 0; round < kRounds; ++round) {
        const std::clock_t start = std::clock();
        work();
        least = std::min(least, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    }
    return least;
}

/// What rdma_cm asks: SGID, DGID, P_Key, one reversible path.
mad::SaMad path_query(const sa::End& from, const sa::End* to) {
    const sa::RecordType& type = sa::record_type_of(mad::SaAttribute::path_record);
    mad::SaMad mad;
    mad.header.method =
        static_cast<std::uint8_t>(to != nullptr ? mad::SaMethod::get : mad::SaMethod::get_table);
    mad.header.attribute = static_cast<mad::Attribute>(mad::SaAttribute::path_record);
    const auto set = [&](const char* field, std::uint64_t value) {
        mad.component_mask |= std::uint64_t{1} << type.component(field);
        type.set(mad.data, field, value);
    };
    const auto gid = [&](const char* field, std::size_t at, mad::Guid guid) {
        mad.component_mask |= std::uint64_t{1} << type.component(field);
        mad::store_gid(mad.data, at, {sa::SaConfig{}.subnet_prefix, guid});
    };
    set("Reversible", 1);
    set("NumbPath", 1);
    gid("SGID", 24, from.guid);
    if (to != nullptr) {
        gid("DGID", 8, to->guid);
        set("P_Key", 0xFFFF);
    }
    return mad;
}

/// Reads of table bytes, each at a place that depends on the one before: `per_lookup` for each lookup.
double chain_seconds(const fabric::Snapshot& snapshot, std::size_t per_lookup) {
    std::size_t sum = 0;
    const double seconds = least_seconds([&] {
        const auto& rows = snapshot.programmed;
        std::size_t at = 1;
        for (std::size_t i = 0; i < kLookups * per_lookup; ++i) {
            const auto& row = *rows[(at * 2654435761U >> 7U) % rows.size()];
            at += row[(at * 40503U) % row.size()] + 1U;
        }
        sum += at;
    });
    return sum == 0 ? 0 : seconds;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string spec = argc > 1 ? argv[1] : "fat-tree:radix=64,levels=3,pods=44";
    const auto snapshot = std::make_shared<fabric::Snapshot>(test::snapshot_of_spec(spec));
    if (!snapshot->fabric || !snapshot->routes) {
        fmt::print(stderr, "sa_lookup_bench: {} has no routes\n", spec);
        return 2;
    }
    std::shared_ptr<const sa::View> view;
    const double build = least_seconds([&] { view = std::make_shared<const sa::View>(snapshot); });
    std::vector<const sa::End*> hosts;
    for (const sa::End& end : view->ends()) {
        if (!end.is_switch) {
            hosts.push_back(&end);
        }
    }
    const fabric::SaTables tables;
    const sa::SaConfig config;

    base::Prng prng{1};
    std::vector<mad::SaMad> queries;
    queries.reserve(kLookups);
    for (std::size_t i = 0; i < kLookups; ++i) {
        queries.push_back(path_query(*hosts[prng.below(hosts.size())], hosts[prng.below(hosts.size())]));
    }
    std::size_t answered = 0;
    const double gets = least_seconds([&] {
        answered = 0;
        for (const mad::SaMad& query : queries) {
            answered += sa::read({query, *view, tables, config, sa::kNoEnd}, query.data).count();
        }
    });
    const mad::SaMad half_world = path_query(*hosts[hosts.size() / 2], nullptr);
    std::size_t records = 0;
    const double table = least_seconds([&] {
        records = sa::read({half_world, *view, tables, config, sa::kNoEnd}, half_world.data).count();
    });
    const double chain = chain_seconds(*snapshot, 8);

    fmt::print("{}: {} hosts, {} switches; least of {} runs, processor time of one thread\n", spec,
               hosts.size(), snapshot->programmed.size(), kRounds);
    fmt::print("  view of a snapshot      {:8.1f} ms\n", build * 1e3);
    fmt::print("  Get, pairs at random    {:8.0f} ns each, {:.2f} million a second ({} of {} answered)\n",
               gets / kLookups * 1e9, kLookups / gets / 1e6, answered, kLookups);
    fmt::print("  8 dependent table reads {:8.0f} ns: a Get costs {:.2f} of that\n", chain / kLookups * 1e9,
               gets / chain);
    fmt::print("  half world              {:8.1f} ms for {} records\n", table * 1e3, records);
    return answered == kLookups && records + 1 >= hosts.size() ? 0 : 1;
}
