// DOC: a question to the subnet administrator, from words.
//
// Pure but for `Ask`, which carries a question to the SA. A question is a record type and the values that
// some of its fields shall have; what it may name follows from the field tables (daemon/sa/record_type.hpp),
// so a record type that has a table can be asked for.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "daemon/sa/record_type.hpp"
#include "mad/sa_query.hpp"

namespace ibf::cli {

struct QueryKind {
    std::string_view word;  ///< "node"
    mad::SaAttribute attribute;
    std::string_view about;
};

/// Those whose records have a field table, in the order in which they are listed.
[[nodiscard]] std::span<const QueryKind> query_kinds();
/// Errors: usage, with the nearest word.
[[nodiscard]] base::Result<QueryKind> find_kind(std::string_view word);

/// A table query for all records of a kind; ClassPortInfo, of which there is one, is got.
[[nodiscard]] mad::SaMad ask_for(const QueryKind& kind, std::uint64_t sa_key);
/// "FIELD=VALUE": narrows a question. Errors: usage.
[[nodiscard]] base::Result<void> narrow(mad::SaMad& question, std::string_view filter);
/// Whether a word is such a filter by its look; else it names something.
[[nodiscard]] bool is_filter(std::string_view word);

/// The records of a reply; a status that says that there are none is no error. Errors: refused, with the
/// status in words.
using Ask = std::function<base::Result<mad::SaReply>(const mad::SaMad&)>;
[[nodiscard]] base::Result<mad::SaReply> judge(base::Result<mad::SaReply> reply);

enum class PathEnd : std::uint8_t { source, destination };
/// Puts an end of a path into a question. A GID and a LID go in as they are; a GUID or name is
/// looked up by NodeRecords first: a description, or a part of it that fits one node only; "/N" at the end
/// picks a port. Errors: not_found, usage where several fit, and those of asking.
[[nodiscard]] base::Result<void> set_path_end(mad::SaMad& question, PathEnd end, std::string_view word,
                                              const Ask& ask);

}  // namespace ibf::cli
