// DOC: the faults that are in force on what agents answer.
//
// Keeps the standing faults of a script (drop, delay, duplicate, reorder, wrong TID, error status, slow Set)
// and judges each exchange by them. Counts run down as faults strike; chance comes from the simulator's own
// seed. Faults that change a device or a cable once are not kept here (engine.hpp applies them).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/prng.hpp"
#include "sim/simulator.hpp"

namespace ibf::sim {

/// What shall go wrong with one exchange.
struct Verdict {
    bool drop_request = false;
    bool drop_answer = false;
    bool duplicate = false;
    bool wrong_tid = false;
    std::optional<mad::MadStatus> status;
    base::Duration slow{};   ///< the agent works so much longer
    base::Duration delay{};  ///< the answer comes so much later
};

class FaultTable {
public:
    /// `node` empty: every device.
    void add(const Fault& fault, std::optional<std::uint32_t> node);
    [[nodiscard]] Verdict judge(std::uint32_t node, const mad::MadHeader& header, base::Prng& prng);

private:
    struct Standing {
        Fault fault;
        std::optional<std::uint32_t> node;
        std::uint32_t left = 0;  ///< strikes left, where fault.count > 0
    };
    [[nodiscard]] static bool matches(const Standing& item, std::uint32_t node, const mad::MadHeader& header);
    static void strike(const Fault& fault, Verdict& verdict, base::Prng& prng);

    std::vector<Standing> standing_;
};

}  // namespace ibf::sim
