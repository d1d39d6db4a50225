// DOC: 64 bytes at a time.
//
// The inner loops over distance matrices are byte-wise minima and comparisons. Compilers do not turn them
// into vector code at -O2 (the pointers might alias), so they are spelt out over the 16-byte vectors that
// every 64-bit processor has. No -march flag, no dispatch: the same code and the same results everywhere.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace ibf::routing {

class ByteLine {
public:
    static constexpr std::uint32_t kBytes = 64;

    ByteLine() = default;
    explicit ByteLine(std::uint8_t fill) {
        each([&](int i) { part_[i] = Part{} + fill; });
    }
    explicit ByteLine(const std::uint8_t* from) {
        each([&](int i) { std::memcpy(&part_[i], from + i * kPartBytes, kPartBytes); });
    }
    void store(std::uint8_t* to) const {
        each([&](int i) { std::memcpy(to + i * kPartBytes, &part_[i], kPartBytes); });
    }

    void lower_to(const ByteLine& other) {
        each([&](int i) { part_[i] = part_[i] < other.part_[i] ? part_[i] : other.part_[i]; });
    }
    void raise_to(const ByteLine& other) {
        each([&](int i) { part_[i] = part_[i] > other.part_[i] ? part_[i] : other.part_[i]; });
    }
    /// All bytes but those equal to `top` go up by one.
    void add_one_below(std::uint8_t top) {
        each([&](int i) { part_[i] -= static_cast<Part>(part_[i] != top); });  // true is -1
    }
    void add(std::uint8_t value) {
        each([&](int i) { part_[i] += value; });
    }
    void merge(const ByteLine& bits) {
        each([&](int i) { part_[i] |= bits.part_[i]; });
    }
    void mask(const ByteLine& bits) {
        each([&](int i) { part_[i] &= bits.part_[i]; });
    }
    /// 255 where the bytes are equal, else 0.
    [[nodiscard]] ByteLine equals(const ByteLine& other) const {
        ByteLine result;
        each([&](int i) { result.part_[i] = static_cast<Part>(part_[i] == other.part_[i]); });
        return result;
    }
    /// Takes the other's bytes where `where` is 255, keeps its own where it is 0.
    void take(const ByteLine& other, const ByteLine& where) {
        each([&](int i) { part_[i] = (other.part_[i] & where.part_[i]) | (part_[i] & ~where.part_[i]); });
    }
    [[nodiscard]] bool differs(const ByteLine& other) const {
        ByteLine result;
        each([&](int i) { result.part_[i] = part_[i] ^ other.part_[i]; });
        return result.any();
    }
    [[nodiscard]] std::uint8_t highest() const {
        std::uint8_t bytes[kBytes];
        store(bytes);
        return *std::max_element(bytes, bytes + kBytes);
    }
    [[nodiscard]] bool any() const {
        std::uint64_t words[kBytes / 8];
        store(reinterpret_cast<std::uint8_t*>(words));
        std::uint64_t all = 0;
        for (const std::uint64_t word : words) {
            all |= word;
        }
        return all != 0;
    }

private:
    static constexpr int kPartBytes = 16;
    using Part = std::uint8_t __attribute__((vector_size(kPartBytes)));

    template <class Step>
    static void each(const Step& step) {
        step(0);
        step(1);
        step(2);
        step(3);
    }

    Part part_[4];
};

}  // namespace ibf::routing
