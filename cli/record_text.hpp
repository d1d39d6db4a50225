// DOC: the records of subnet administration, as people and scripts read and write them.
//
// Pure. Everything follows from the field table of a record type: the fields' names are the IBA's, reserved
// ones are not shown, numbers are as on the wire. How a field looks (decimal, hex, GID, text, a word) goes by
// its name, which means the same in every record, else by its size. What is printed can be typed as a value.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cli/client.hpp"
#include "daemon/sa/record_type.hpp"

namespace ibf::cli {

using RecordBytes = std::span<const std::uint8_t>;

/// "0x1a", "26"; an empty word is 0. Errors: usage.
[[nodiscard]] base::Result<std::uint64_t> parse_key(std::string_view word);

/// The component of a field, upper and lower case alike. Errors: usage, with the nearest name.
[[nodiscard]] base::Result<unsigned> find_field(const sa::RecordType& type, std::string_view name);

/// "0xffff", "fe80:0:...", "Active", "4 (2048 bytes)".
[[nodiscard]] std::string value_text(const sa::RecordType& type, unsigned component, RecordBytes record);
/// Numbers where value_text has decimals, lists for tables, else text.
[[nodiscard]] Json value_json(const sa::RecordType& type, unsigned component, RecordBytes record);
/// Writes a value into a record. Errors: usage, with what is taken.
[[nodiscard]] base::Result<void> set_value(const sa::RecordType& type, unsigned component,
                                           std::string_view word, std::span<std::uint8_t> record);

/// A line a field below the record's name.
[[nodiscard]] std::string record_text(const sa::RecordType& type, RecordBytes record);
/// Whether records of this type are lines of a table: few fields, all of them short.
[[nodiscard]] bool fits_a_line(const sa::RecordType& type);

}  // namespace ibf::cli
