#include "db/sql.hpp"

#include <cstring>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

namespace ibf::db {
namespace {

constexpr int kBusyMilliseconds = 250;  // a reader's checkpoint is over by then; a lock held longer is said
constexpr int kValueBytesMax = 16 * 1024 * 1024;

}  // namespace

Sql::Sql(const std::string& path, int flags) : path_(path) {
    note(sqlite3_open_v2(path.c_str(), &handle_, flags, nullptr));
    if (handle_ != nullptr) {
        sqlite3_extended_result_codes(handle_, 1);
        sqlite3_busy_timeout(handle_, kBusyMilliseconds);
        sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, kValueBytesMax);
        sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
        sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
        set_checkpoint_on_close(false);
    }
}

void Sql::set_checkpoint_on_close(bool on) {
    sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, on ? 0 : 1, nullptr);
}

bool Sql::damaged() const {
    return (code_ & 0xFF) == SQLITE_CORRUPT || (code_ & 0xFF) == SQLITE_NOTADB;
}

void Sql::note(int code) {
    if (ok() && code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE) {
        code_ = code;
        text_ = handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
        system_errno_ = handle_ != nullptr ? sqlite3_system_errno(handle_) : 0;
    }
}

void Sql::run(const char* statements) {
    if (ok()) {
        note(sqlite3_exec(handle_, statements, nullptr, nullptr, nullptr));
    }
}

base::Error Sql::take_error() {
    base::Error error{base::ErrorKind::io, fmt::format("{}: {}{}", path_, text_, remedy())};
    code_ = SQLITE_OK;
    return error;
}

base::Result<void> Sql::commit() {
    run("COMMIT");
    if (ok()) {
        return {};
    }
    base::Error error = take_error();
    if (sqlite3_get_autocommit(handle_) == 0) {
        run("ROLLBACK");
        code_ = SQLITE_OK;
    }
    return tl::unexpected(std::move(error));
}

std::string Sql::remedy() const {
    const std::string folder = std::filesystem::path(path_).parent_path().string();
    const std::string why = system_errno_ == 0 ? "" : fmt::format(" ({})", std::strerror(system_errno_));
    switch (code_ & 0xFF) {
        case SQLITE_FULL: return fmt::format(": free some space in {}", folder);
        case SQLITE_BUSY:
        case SQLITE_LOCKED: return ": another program holds a lock on it; close that program";
        case SQLITE_READONLY:
        case SQLITE_PERM:
            return fmt::format("{}: let this user write the file and its folder {}", why, folder);
        case SQLITE_CANTOPEN: return fmt::format("{}: this user needs to read and write {}", why, folder);
        case SQLITE_CORRUPT:
        case SQLITE_NOTADB: return ": it is damaged; the next start sets it aside and begins a new one";
        default: return why;
    }
}

std::int64_t read_integer(Sql& sql, const char* query) {
    Statement statement(sql, query);
    return statement.row() ? statement.integer(0) : 0;
}

std::string read_text(Sql& sql, const char* query) {
    Statement statement(sql, query);
    std::string text;
    if (statement.row()) {
        statement.read(0, text);
    }
    return text;
}

}  // namespace ibf::db
