#include <algorithm>
#include <iterator>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/words.hpp"
#include "routing/generate_families.hpp"
#include "routing/netlist.hpp"

namespace ibf::routing {
namespace {

const std::vector<Family>& families() {
    static const std::vector<Family> all{
        fat_tree_family(), torus_family(),     mesh_family(),           hypercube_family(),
        hyperx_family(),   dragonfly_family(), dragonfly_plus_family(), random_family(),
        ring_family(),     star_family(),      single_family(),         back_to_back_family(),
    };
    return all;
}

std::vector<std::string_view> family_names() {
    std::vector<std::string_view> names;
    for (const Family& family : families()) {
        names.push_back(family.name);
    }
    return names;
}

const Family* find_family(std::string_view name) {
    const auto found = std::ranges::find(families(), name, &Family::name);
    return found == families().end() ? nullptr : &*found;
}

void describe_key(std::string& out, const Key& key) {
    fmt::format_to(std::back_inserter(out), "    {:<17} {}", key.name, key.meaning);
    if (!key.fallback.empty()) {
        fmt::format_to(std::back_inserter(out), " (default {})", key.fallback);
    }
    out += '\n';
}

}  // namespace

base::Result<Netlist> generate_netlist(std::string_view spec) {
    const auto colon = spec.find(':');
    const std::string_view name = spec.substr(0, colon);
    const Family* const family = find_family(name);
    if (family == nullptr) {
        const auto names = family_names();
        return base::fail(base::ErrorKind::usage,
                          fmt::format("there is no fabric family \"{}\"; did you mean {}? Families: {}", name,
                                      base::nearest_word(name, names), fmt::join(names, ", ")));
    }
    const auto text = colon == std::string_view::npos ? std::string_view{} : spec.substr(colon + 1);
    const auto parameters = parse_parameters(*family, text);
    if (!parameters) {
        return tl::unexpected(parameters.error());
    }
    auto netlist = family->draw(*parameters);
    if (netlist) {
        netlist->origin = spec;
        thin_out(*netlist, parameters->fraction("missing-switches"), parameters->fraction("missing-links"),
                 parameters->number("seed"));
    }
    return netlist;
}

std::string generator_help() {
    std::string out = "A generated fabric is FAMILY[:KEY=VALUE,...]. Families:\n";
    for (const Family& family : families()) {
        fmt::format_to(std::back_inserter(out), "\n{}  ({})\n  {}\n", family.name, family.example,
                       family.meaning);
        for (const Key& key : family.keys) {
            describe_key(out, key);
        }
    }
    out += "\nKeys of every family:\n";
    for (const Key& key : common_keys()) {
        describe_key(out, key);
    }
    return out;
}

bool names_a_family(std::string_view spec) {
    return find_family(spec.substr(0, spec.find(':'))) != nullptr;
}

}  // namespace ibf::routing
