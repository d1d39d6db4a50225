// DOC: what the fuzz targets are made of: an input as a row of octets, 0 where it ends, and what must hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

namespace ibf::fuzz {

inline void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

class Input {
public:
    explicit Input(std::span<const std::uint8_t> bytes) : rest_(bytes) {}

    [[nodiscard]] bool empty() const { return rest_.empty(); }

    std::uint8_t octet() {
        if (rest_.empty()) {
            return 0;
        }
        const std::uint8_t value = rest_.front();
        rest_ = rest_.subspan(1);
        return value;
    }

    std::uint32_t word() {
        const unsigned high = octet();
        return high << 8U | octet();
    }

private:
    std::span<const std::uint8_t> rest_;
};

/// Takes an input for a run of steps, and then ends.
template <class Field>
void run_steps(const std::uint8_t* data, std::size_t size, std::size_t most) {
    Input input(std::span<const std::uint8_t>(data, size));
    Field field;
    for (std::size_t i = 0; i < most && !input.empty(); ++i) {
        field.step(input);
    }
    field.end();
}

}  // namespace ibf::fuzz
