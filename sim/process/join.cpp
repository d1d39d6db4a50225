#include "sim/process/join.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#ifndef IBF_LIBRARY_FOLDER
#define IBF_LIBRARY_FOLDER "lib"
#endif

namespace ibf::sim {
namespace {

constexpr const char* kLibrary = "libibfabric-umad.so";

std::optional<std::string> find_library() {
    std::error_code error;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    const std::filesystem::path root = program.parent_path().parent_path();
    for (const char* folder : {IBF_LIBRARY_FOLDER "/ibfabric", "lib/ibfabric", "lib"}) {
        const std::filesystem::path library = root / folder / kLibrary;
        if (std::filesystem::exists(library, error)) {
            return library.string();
        }
    }
    return std::nullopt;
}

}  // namespace

base::Error run_program(const std::string& socket, const std::string& node,
                        const std::vector<std::string>& words) {
    if (words.empty()) {
        return {.kind = base::ErrorKind::usage, .message = "run: name the program, such as ibnetdiscover"};
    }
    const std::optional<std::string> library = find_library();
    if (!library) {
        return {
            .kind = base::ErrorKind::not_found,
            .message = fmt::format("{} is not beside this program's folder: was it installed?", kLibrary)};
    }
    const char* before = ::getenv("LD_PRELOAD");
    const bool others = before != nullptr && *before != '\0';
    std::error_code error;
    // The program may change its folder before it joins.
    const std::string place = std::filesystem::absolute(socket, error).string();
    ::setenv("LD_PRELOAD", others ? fmt::format("{}:{}", *library, before).c_str() : library->c_str(), 1);
    ::setenv("IBFABRIC_SIM", place.c_str(), 1);
    ::setenv("IBFABRIC_NODE", node.c_str(), 1);
    std::vector<char*> arguments;
    for (const std::string& word : words) {
        arguments.push_back(const_cast<char*>(word.c_str()));
    }
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    return {.kind = base::ErrorKind::not_found,
            .message = fmt::format("{} cannot be started: {}", words[0], std::strerror(errno))};
}

}  // namespace ibf::sim
