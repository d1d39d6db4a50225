// DOC: SQLite, as the rest of this folder talks to it.
//
// A connection whose first failure sticks, so that a transaction is written straight down and asked once at
// its end; a statement that is bound and read by value. No schema here. A connection is one thread's.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "base/result.hpp"
#include "base/strong.hpp"

namespace ibf::db {

/// A connection. After a failure what follows does nothing until take_error().
class Sql {
public:
    Sql(const std::string& path, int flags);
    ~Sql() { sqlite3_close(handle_); }
    Sql(const Sql&) = delete;
    Sql& operator=(const Sql&) = delete;

    /// Off until the file is known to be ours: closing must not fold a foreign log into a file that is set
    /// aside.
    void set_checkpoint_on_close(bool on);

    [[nodiscard]] bool ok() const { return code_ == SQLITE_OK; }
    [[nodiscard]] sqlite3* handle() const { return handle_; }
    /// What this file holds cannot be used, as opposed to: it cannot be reached now.
    [[nodiscard]] bool damaged() const;

    void note(int code);
    void run(const char* statements);
    /// The failure, with its remedy; the connection can be used again.
    [[nodiscard]] base::Error take_error();
    /// COMMIT, or ROLLBACK of all if anything since BEGIN failed.
    [[nodiscard]] base::Result<void> commit();

private:
    [[nodiscard]] std::string remedy() const;

    std::string path_;
    sqlite3* handle_ = nullptr;
    int code_ = SQLITE_OK;
    int system_errno_ = 0;
    std::string text_;
};

template <class T>
inline constexpr bool kIsInteger = std::is_integral_v<T> || std::is_enum_v<T>;

/// A prepared statement. Parameters and columns count from 0. GUIDs keep their 64 bits in SQLite's signed
/// integers.
class Statement {
public:
    Statement(Sql& sql, const char* text) : sql_(sql) {
        if (sql_.ok()) {
            sql_.note(sqlite3_prepare_v2(sql_.handle(), text, -1, &handle_, nullptr));
        }
    }
    ~Statement() { sqlite3_finalize(handle_); }
    Statement(const Statement&) = delete;
    Statement& operator=(const Statement&) = delete;

    template <class T>
    void bind(int index, const T& value) {
        if (!sql_.ok()) {
            return;
        }
        if constexpr (base::kIsStrongInt<T>) {
            bind(index, value.value());
        } else if constexpr (kIsInteger<T>) {
            sql_.note(sqlite3_bind_int64(handle_, index + 1, static_cast<sqlite3_int64>(value)));
        } else if constexpr (std::is_same_v<T, std::string>) {
            sql_.note(sqlite3_bind_text64(handle_, index + 1, value.data(), value.size(), SQLITE_STATIC,
                                          SQLITE_UTF8));
        } else {  // bytes; they stay where they are until the statement has run
            sql_.note(sqlite3_bind_blob64(handle_, index + 1, value.data(), value.size(), SQLITE_STATIC));
        }
    }
    /// The next row, if there is one.
    [[nodiscard]] bool row() {
        if (!sql_.ok()) {
            return false;
        }
        const int code = sqlite3_step(handle_);
        sql_.note(code);
        return code == SQLITE_ROW;
    }
    /// Runs a statement that gives no rows.
    template <class... Values>
    void run(const Values&... values) {
        int index = 0;
        (bind(index++, values), ...);
        if (sql_.ok()) {
            sql_.note(sqlite3_step(handle_));
            sqlite3_reset(handle_);
        }
    }

    [[nodiscard]] std::int64_t integer(int column) { return sqlite3_column_int64(handle_, column); }
    template <class T>
    void read(int column, T& out) {
        if constexpr (base::kIsStrongInt<T>) {
            out = T{static_cast<typename T::rep>(integer(column))};
        } else if constexpr (kIsInteger<T>) {
            out = static_cast<T>(integer(column));
        } else {
            const auto* first =
                static_cast<const typename T::value_type*>(sqlite3_column_blob(handle_, column));
            const auto size = static_cast<std::size_t>(sqlite3_column_bytes(handle_, column));
            out = first == nullptr ? T{} : T(first, first + size);
        }
    }

private:
    Sql& sql_;
    sqlite3_stmt* handle_ = nullptr;
};

/// The first column of the first row: 0 or empty if there is none.
[[nodiscard]] std::int64_t read_integer(Sql& sql, const char* query);
[[nodiscard]] std::string read_text(Sql& sql, const char* query);

}  // namespace ibf::db
