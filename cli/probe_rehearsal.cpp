#include "cli/probe_rehearsal.hpp"

#include <utility>

#include <fmt/format.h>

#include "routing/text_file.hpp"
#include "sim/simulator.hpp"

namespace ibf::cli {
namespace {

constexpr std::size_t kScriptBytesMax = 16 * 1024 * 1024;

base::Result<void> schedule_script(sim::Simulator& simulator, const std::string& path) {
    const auto text = routing::read_text_file(path, kScriptBytesMax);
    const auto faults = text ? sim::parse_faults(*text, path) : tl::unexpected(text.error());
    if (!faults) {
        return base::fail(base::ErrorKind::usage, faults.error().message);
    }
    for (const sim::Fault& fault : *faults) {
        if (const auto known = simulator.check_target(fault); !known) {
            return base::fail(base::ErrorKind::usage, fmt::format("{}: {}", path, known.error().message));
        }
    }
    simulator.schedule(*faults);
    return {};
}

}  // namespace

base::Result<std::unique_ptr<ProbeRehearsal>> ProbeRehearsal::begin(const Subject& subject,
                                                                    const routing::Routes& routes,
                                                                    const std::string& faults,
                                                                    std::uint64_t seed) {
    std::unique_ptr<ProbeRehearsal> made(new ProbeRehearsal());
    sim::SimOptions options;
    options.seed = seed;
    made->simulator_ = std::make_unique<sim::Simulator>(subject.netlist, options);
    probe::program(*made->simulator_, subject.topology, routes);
    if (const auto done = faults.empty() ? base::Result<void>{} : schedule_script(*made->simulator_, faults);
        !done) {
        return tl::unexpected(done.error());
    }
    const auto place = made->simulator_->locate("", 0);
    if (!place) {
        return tl::unexpected(place.error());
    }
    made->asker_ = std::make_unique<probe::SimAsker>(*made->simulator_, *place, probe::AskLimits{});
    made->agents_ =
        std::make_unique<probe::SimAgents>(*made->simulator_, subject.topology, probe::Background{}, seed);
    return made;
}

}  // namespace ibf::cli
