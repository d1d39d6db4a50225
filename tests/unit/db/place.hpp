// DOC: what the database tests share: a folder of their own, and SQLite as a stranger would use it on our
// file.
#pragma once

#include <sqlite3.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <csignal>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "db/database.hpp"

namespace ibf::db::test {

/// No file of this process may grow beyond so many bytes, until the end of the guard's life.
class FileSizeLimit {
public:
    explicit FileSizeLimit(rlim_t bytes) : action_(std::signal(SIGXFSZ, SIG_IGN)) {
        EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
        rlimit small = before_;
        small.rlim_cur = bytes;
        EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    }
    ~FileSizeLimit() {
        lift();
        std::signal(SIGXFSZ, action_);
    }
    FileSizeLimit(const FileSizeLimit&) = delete;
    FileSizeLimit& operator=(const FileSizeLimit&) = delete;

    void lift() { EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before_), 0); }

private:
    rlimit before_{};
    void (*action_)(int);
};

/// A folder that goes when the test ends, and the notices of the databases opened in it.
class Place {
public:
    Place() {
        std::string pattern = testing::TempDir() + "ibf-db-XXXXXX";
        folder_ = ::mkdtemp(pattern.data());
    }
    ~Place() { std::filesystem::remove_all(folder_); }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    [[nodiscard]] std::string folder() const { return folder_; }
    [[nodiscard]] std::string path() const { return folder_ + "/ibfabric.db"; }
    [[nodiscard]] base::Result<std::unique_ptr<Database>> try_open() { return try_open(HistoryLimits{}); }
    [[nodiscard]] base::Result<std::unique_ptr<Database>> try_open(const HistoryLimits& limits) {
        return Database::open(path(), limits,
                              [this](std::string text) { notices.push_back(std::move(text)); });
    }
    [[nodiscard]] std::unique_ptr<Database> open() {
        auto database = try_open();
        EXPECT_TRUE(database.has_value()) << database.error().message;
        return database ? std::move(*database) : nullptr;
    }
    [[nodiscard]] std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
            names.push_back(entry.path().filename().string());
        }
        std::sort(names.begin(), names.end());
        return names;
    }
    [[nodiscard]] bool has(const std::string& name) const {
        return std::filesystem::exists(folder_ + "/" + name);
    }

    std::vector<std::string> notices;

private:
    std::string folder_;
};

/// Another program's connection.
class Stranger {
public:
    explicit Stranger(const std::string& path) { EXPECT_EQ(sqlite3_open(path.c_str(), &handle_), SQLITE_OK); }
    ~Stranger() { sqlite3_close(handle_); }
    Stranger(const Stranger&) = delete;
    Stranger& operator=(const Stranger&) = delete;

    void run(const std::string& statements) {
        EXPECT_EQ(sqlite3_exec(handle_, statements.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
            << statements << ": " << sqlite3_errmsg(handle_);
    }
    /// Rows as text, columns joined by '|', rows by ' '.
    [[nodiscard]] std::string ask(const std::string& query) {
        std::string text;
        const auto add = [](void* out, int count, char** values, char**) {
            auto& line = *static_cast<std::string*>(out);
            for (int i = 0; i < count; ++i) {
                line += fmt::format("{}{}",
                                    i > 0          ? "|"
                                    : line.empty() ? ""
                                                   : " ",
                                    values[i] ? values[i] : "NULL");
            }
            return 0;
        };
        EXPECT_EQ(sqlite3_exec(handle_, query.c_str(), add, &text, nullptr), SQLITE_OK)
            << sqlite3_errmsg(handle_);
        return text;
    }

private:
    sqlite3* handle_ = nullptr;
};

inline LidsRecord lids(std::uint64_t guid, std::uint16_t lid) {
    return {{{mad::Guid{guid}, mad::LidRange{mad::Lid{lid}, 0}}}};
}
inline TableRecord table(std::uint64_t guid, std::uint16_t top, std::uint8_t fill) {
    return {mad::Guid{guid}, top, std::make_shared<const std::vector<std::uint8_t>>(top + 1U, fill), "updn"};
}
inline EventRow event(std::uint64_t id) {
    return {id,
            base::WallTime{std::chrono::milliseconds{1'700'000'000'123}},
            2,
            "link-down",
            fmt::format("event {}", id),
            mad::Guid{0x8000000000000001ULL},
            mad::PortNum{7}};
}
inline SweepRecord sweep(std::uint64_t id) {
    return {id,
            "light",
            "trap 128; timer",
            base::WallTime{std::chrono::milliseconds{1'700'000'000'000}},
            std::chrono::milliseconds{1500},
            "[]",
            42,
            "ok"};
}

}  // namespace ibf::db::test
