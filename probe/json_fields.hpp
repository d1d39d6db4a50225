// DOC: reading a JSON object that a stranger wrote, field by field.
//
// Each call takes one field into a value if it is there and within its range. The first thing that is wrong
// is kept, with the field's name; nothing throws. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/result.hpp"
#include "base/strong.hpp"
#include "base/time.hpp"

namespace ibf::probe {

class Fields {
public:
    static constexpr std::size_t kTextBytesMax = 255;

    explicit Fields(const nlohmann::json& object) : object_(object) {
        if (!object.is_object()) {
            trouble_ = "is no object";
        }
    }

    /// The first wrong thing; empty: none.
    [[nodiscard]] const std::string& trouble() const { return trouble_; }
    void blame(std::string_view field, std::string_view what) {
        if (trouble_.empty()) {
            trouble_ = fmt::format("{}: {}", field, what);
        }
    }
    template <class Value>
    [[nodiscard]] base::Result<Value> result(Value&& value) const {
        if (!trouble_.empty()) {
            return base::fail(base::ErrorKind::parse, trouble_);
        }
        return std::forward<Value>(value);
    }

    /// A number without sign and fraction.
    [[nodiscard]] static std::optional<std::uint64_t> whole(const nlohmann::json& value) {
        if (value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0)) {
            return value.get<std::uint64_t>();
        }
        return std::nullopt;
    }

    [[nodiscard]] bool has(std::string_view field) const { return find(field) != nullptr; }

    template <class Number>
    void number(std::string_view field, Number& value, std::uint64_t least = 0,
                std::uint64_t most = std::numeric_limits<Number>::max()) {
        const auto* const found = find(field);
        if (found == nullptr) {
            return;
        }
        const auto taken = whole(*found);
        if (!taken || *taken < least || *taken > most) {
            return blame(field, fmt::format("not a whole number from {} to {}", least, most));
        }
        value = static_cast<Number>(*taken);
    }
    template <class Number>
    void required_number(std::string_view field, Number& value) {
        if (!has(field)) {
            return blame(field, "is missing");
        }
        number(field, value);
    }
    template <class Tag, class Rep, base::Radix kRadix>
    void strong(std::string_view field, base::StrongInt<Tag, Rep, kRadix>& value,
                std::uint64_t most = std::numeric_limits<Rep>::max()) {
        Rep plain = value.value();
        number(field, plain, 0, most);
        value = base::StrongInt<Tag, Rep, kRadix>{plain};
    }
    /// Nanoseconds.
    void duration(std::string_view field, base::Duration& value,
                  base::Duration most = base::Duration::max()) {
        auto nanoseconds = static_cast<std::uint64_t>(value.count());
        number(field, nanoseconds, 0, static_cast<std::uint64_t>(most.count()));
        value = base::Duration{static_cast<base::Duration::rep>(nanoseconds)};
    }
    void boolean(std::string_view field, bool& value) {
        const auto* const found = find(field);
        if (found == nullptr) {
            return;
        }
        if (!found->is_boolean()) {
            return blame(field, "neither true nor false");
        }
        value = found->get<bool>();
    }
    void text(std::string_view field, std::string& value, std::size_t most = kTextBytesMax) {
        const auto* const found = find(field);
        if (found == nullptr) {
            return;
        }
        if (!found->is_string() || found->get_ref<const std::string&>().size() > most) {
            return blame(field, fmt::format("no text of at most {} octets", most));
        }
        value = found->get_ref<const std::string&>();
    }
    void required_text(std::string_view field, std::string& value) {
        if (!has(field)) {
            return blame(field, "is missing");
        }
        text(field, value);
    }
    /// nullptr if it is not there or, which is blamed, no object.
    [[nodiscard]] const nlohmann::json* object(std::string_view field) {
        const auto* const found = find(field);
        if (found != nullptr && !found->is_object()) {
            blame(field, "is no object");
            return nullptr;
        }
        return found;
    }
    /// `take` gets each element and gives back what is wrong with it.
    template <class Take>
    void each(std::string_view field, std::size_t most, Take take) {
        const auto* const found = find(field);
        if (found == nullptr) {
            return;
        }
        if (!found->is_array() || found->size() > most) {
            return blame(field, fmt::format("no list of at most {}", most));
        }
        for (std::size_t i = 0; i < found->size() && trouble_.empty(); ++i) {
            if (const std::string wrong = take((*found)[i]); !wrong.empty()) {
                blame(fmt::format("{}[{}]", field, i), wrong);
            }
        }
    }

private:
    [[nodiscard]] const nlohmann::json* find(std::string_view field) const {
        if (!object_.is_object()) {
            return nullptr;
        }
        const auto found = object_.find(field);
        return found == object_.end() ? nullptr : &*found;
    }

    const nlohmann::json& object_;
    std::string trouble_;
};

}  // namespace ibf::probe
