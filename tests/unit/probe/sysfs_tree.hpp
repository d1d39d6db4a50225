#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace ibf::probe::test {

/// A folder of files as a kernel would show them; gone with the object.
class SysfsTree {
public:
    explicit SysfsTree(const std::string& name)
        : root_(std::filesystem::path(testing::TempDir()) /
                ("ibf-" + name + "-" + std::to_string(::getpid()))) {
        std::filesystem::create_directories(root_);
    }
    ~SysfsTree() { std::filesystem::remove_all(root_); }
    SysfsTree(const SysfsTree&) = delete;
    SysfsTree& operator=(const SysfsTree&) = delete;

    void put(const std::string& path, const std::string& text) const {
        std::filesystem::create_directories((root_ / path).parent_path());
        std::ofstream(root_ / path) << text;
    }
    [[nodiscard]] std::string root() const { return root_; }

private:
    std::filesystem::path root_;
};

}  // namespace ibf::probe::test
