// DOC: FNV-1a, 64 bits: tells tables and texts apart, and whole ones from torn ones. No seal against who
// means to deceive.
#pragma once

#include <cstdint>

namespace ibf::base {

class Fnv1a {
public:
    void add(std::uint8_t byte) { value_ = (value_ ^ byte) * 0x100000001b3ULL; }
    [[nodiscard]] std::uint64_t value() const { return value_; }

private:
    std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

}  // namespace ibf::base
