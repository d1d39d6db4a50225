// DOC: the table of configuration options.
//
// Inside of config_file: what each key is called, accepts, defaults to and means, as one list that reads a
// value into a DaemonConfig and shows it again. Values come as ConfigValue, so that TOML itself stays in
// config_file.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/words.hpp"
#include "daemon/shell/config_file.hpp"

namespace ibf::shell {

/// Where something stands in the file; both count from 1.
struct ConfigPosition {
    std::uint32_t line = 1;
    std::uint32_t column = 1;
    auto operator<=>(const ConfigPosition&) const = default;
};

/// One value of the file. Tables are looked into where they stand in a list; elsewhere they and dates only
/// have a name, for messages: no option takes them.
struct ConfigValue {
    struct Other {
        std::string_view name;
    };
    struct Entry;
    using List = std::vector<ConfigValue>;
    using Table = std::vector<Entry>;  ///< by key
    std::variant<std::int64_t, double, bool, std::string, List, Table, Other> value;
    ConfigPosition at;

    template <class T>
    [[nodiscard]] const T* as() const {
        return std::get_if<T>(&value);
    }
};

struct ConfigValue::Entry {
    std::string key;
    ConfigPosition key_at;
    ConfigValue value;
};

/// Collects what is wrong and where.
class ConfigProblems {
public:
    void add(ConfigPosition at, std::string text);
    [[nodiscard]] bool empty() const { return found_.empty(); }
    /// A line "origin:line:column: text" for each, in the order of the file; past the 50th only their number.
    [[nodiscard]] std::string to_string(const std::string& origin) const;

private:
    struct Problem {
        ConfigPosition at;
        std::string text;
    };
    std::vector<Problem> found_;
};

struct ConfigOption {
    OptionInfo info;
    /// Puts a value into the configuration, or says what is wrong with it.
    std::function<void(const OptionInfo&, const ConfigValue&, DaemonConfig&, ConfigProblems&)> read;
    /// The value in the configuration, as TOML.
    std::function<std::string(const DaemonConfig&)> show;
};

[[nodiscard]] const std::vector<ConfigOption>& config_option_table();

[[nodiscard]] std::string toml_string(std::string_view text);
[[nodiscard]] std::string toml_list(const std::vector<std::string>& words);
[[nodiscard]] std::string wrong_type(const OptionInfo& info, const ConfigValue& given);
/// Calls `each` with every string of a list; says what is wrong with the list or an element.
void read_strings(const OptionInfo& info, const ConfigValue& given, ConfigProblems& problems,
                  const std::function<void(const ConfigValue&, const std::string&)>& each);
/// "an integer", "a list", ...
[[nodiscard]] std::string_view type_name(const ConfigValue& value);
using base::quote;
/// "did you mean 'x'?" if one of `words` is near, else "`what`: " and all of them.
[[nodiscard]] std::string suggestion(std::string_view word, const std::vector<std::string>& words,
                                     std::string_view what);
[[nodiscard]] std::string duration_text(base::Duration value);

}  // namespace ibf::shell
