// DOC: what a record of subnet administration is made of.
//
// A record type is its table of fields in wire order (IBA 15.2.5). All else follows from it: where a field
// stands, which bit of the component mask asks for it (the n-th field is component n), the record's size and
// the AttributeOffset, and whether a record matches a query. Records are bytes, as they go on the wire.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "mad/sa_mad.hpp"

namespace ibf::sa {

struct Field {
    std::string_view name;  ///< as in the IBA; empty: reserved
    std::uint16_t bits = 0;
};

class RecordType {
public:
    RecordType(mad::SaAttribute attribute, std::string_view name, std::span<const Field> fields);

    [[nodiscard]] mad::SaAttribute attribute() const { return attribute_; }
    [[nodiscard]] std::string_view name() const { return name_; }
    [[nodiscard]] std::size_t size() const {
        return size_;
    }  ///< bytes of one record in a table, a multiple of 8
    [[nodiscard]] std::uint16_t attribute_offset() const { return static_cast<std::uint16_t>(size_ / 8); }
    [[nodiscard]] std::span<const Field> fields() const { return fields_; }  ///< by component
    [[nodiscard]] std::uint32_t first_bit(unsigned component) const { return places_[component].first_bit; }

    /// Component of a field by name. The name must be in the table.
    [[nodiscard]] unsigned component(std::string_view field) const;
    /// A field of at most 64 bits. `record` may be shorter than the record: what is missing reads as 0.
    [[nodiscard]] std::uint64_t get(std::span<const std::uint8_t> record, std::string_view field) const;
    [[nodiscard]] std::uint64_t get(std::span<const std::uint8_t> record, unsigned component) const;
    void set(std::span<std::uint8_t> record, std::string_view field, std::uint64_t value) const;
    void set(std::span<std::uint8_t> record, unsigned component, std::uint64_t value) const;
    /// Whether every component of `mask` is the same in both. Components past the last field are ignored.
    [[nodiscard]] bool matches(std::uint64_t mask, std::span<const std::uint8_t> query,
                               std::span<const std::uint8_t> record) const;

private:
    struct Place {
        std::uint32_t first_bit = 0;
        std::uint16_t bits = 0;
    };
    mad::SaAttribute attribute_;
    std::string_view name_;
    std::span<const Field> fields_;
    std::vector<Place> places_;
    std::size_t size_ = 0;
};

/// The type of an attribute's records; null for what is no record attribute of ours.
[[nodiscard]] const RecordType* record_type(mad::SaAttribute attribute);
/// The type of an attribute that is known to have one.
[[nodiscard]] const RecordType& record_type_of(mad::SaAttribute attribute);

}  // namespace ibf::sa
