// DOC: numbers and texts as octets, in network order, one after the other.
//
// For formats of our own. An Unpacker reads bytes that anybody may have sent: what is not there is read as 0
// and remembered, so that a reader asks once, at the end, whether all was good.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace ibf::base {

class Packer {
public:
    template <std::unsigned_integral T>
    void number(T value) {
        for (std::size_t i = sizeof(T); i-- > 0;) {
            out_ += static_cast<char>(static_cast<std::uint8_t>(value >> (8 * i)));
        }
    }
    /// Its length, and it.
    void text(std::string_view text) {
        number(static_cast<std::uint32_t>(text.size()));
        out_ += text;
    }
    void raw(std::string_view octets) { out_ += octets; }
    [[nodiscard]] std::string take() { return std::exchange(out_, {}); }

private:
    std::string out_;
};

class Unpacker {
public:
    explicit Unpacker(std::string_view octets) : rest_(octets) {}

    template <std::unsigned_integral T>
    [[nodiscard]] T number() {
        std::uint64_t value = 0;
        for (const char octet : raw(sizeof(T))) {
            value = value << 8U | static_cast<std::uint8_t>(octet);
        }
        return static_cast<T>(value);
    }
    /// Empty, and not good, if it is longer than that.
    [[nodiscard]] std::string_view text(std::size_t longest) {
        const auto length = number<std::uint32_t>();
        good_ = good_ && length <= longest;
        return raw(good_ ? length : 0);
    }
    [[nodiscard]] std::string_view raw(std::size_t length) {
        good_ = good_ && length <= rest_.size();
        if (!good_) {
            return {};
        }
        const std::string_view octets = rest_.substr(0, length);
        rest_.remove_prefix(length);
        return octets;
    }
    /// A count of things that take `each` octets at least: no more than can be there.
    [[nodiscard]] std::uint32_t count(std::size_t each) {
        const auto value = number<std::uint32_t>();
        good_ = good_ && value <= rest_.size() / each;
        return good_ ? value : 0;
    }
    void spoil() { good_ = false; }
    [[nodiscard]] bool good() const { return good_; }
    [[nodiscard]] std::size_t left() const { return rest_.size(); }
    /// Everything was there, and nothing is left.
    [[nodiscard]] bool done() const { return good_ && rest_.empty(); }

private:
    std::string_view rest_;
    bool good_ = true;
};

}  // namespace ibf::base
