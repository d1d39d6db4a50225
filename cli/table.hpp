// DOC: aligned tables.
//
// Columns are as wide as their widest cell; numbers to the right, text to the left, no blanks at line ends.
// Device descriptions are bytes from strangers: control characters never reach the terminal.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/client.hpp"
#include "cli/session.hpp"

namespace ibf::cli {

enum class Align : std::uint8_t { left, right };

struct Column {
    std::string title;
    std::function<std::string(const Json& row)> cell;
    Align align = Align::left;
};

/// The text of a field: numbers without superfluous digits, "-" for what is not there.
[[nodiscard]] std::string field_text(const Json& row, const std::string& key);
/// A column that shows one field.
[[nodiscard]] Column text_column(std::string title, std::string key);
[[nodiscard]] Column number_column(std::string title, std::string key);
/// "leaf-01/17": node and port as one word, by the fields that hold them.
[[nodiscard]] Column end_column(std::string title, std::string name, std::string port);
/// "spine-01 (0x...)", "leaf-01/17 (0x...)": a switch or cable with the fields "name", "port" and "guid".
[[nodiscard]] std::string element_text(const Json& row);

/// "title       text": a line of a report.
void add_line(std::string& out, std::string_view title, std::string_view text);

[[nodiscard]] std::string render_table(const Json& rows, const std::vector<Column>& columns);

/// Control characters replaced by '?'; valid UTF-8 is kept.
[[nodiscard]] std::string printable(std::string_view text);

/// Prints the JSON as it is, or the text made of it; then `verdict`.
[[nodiscard]] Exit show(const Session& session, const Json& answer, const std::string& text, Exit verdict);

/// Standard output; an error when it is full or gone. Flushes.
[[nodiscard]] base::Result<void> print(std::string_view text);

/// "1 switch", "2,000 switches".
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view one, std::string_view many);
/// "12,345".
[[nodiscard]] std::string grouped(std::uint64_t value);
/// "850us", "12.3ms", "4.21s".
[[nodiscard]] std::string seconds_text(double seconds);

}  // namespace ibf::cli
