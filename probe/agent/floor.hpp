// DOC: who has the floor: the one run of an agent. Any thread.
#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/time.hpp"

namespace ibf::probe {

class Floor {
public:
    /// `who` is for people: "host-3 (10.0.0.3), run nightly". Errors: refused: who has it, and since when.
    [[nodiscard]] base::Result<void> take(const std::string& who);
    void give();

private:
    struct Holder {
        std::string who;
        base::WallTime since{};
        base::Instant begun{};
    };
    std::mutex mutex_;
    std::optional<Holder> holder_;
};

}  // namespace ibf::probe
