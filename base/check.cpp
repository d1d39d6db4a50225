#include "base/check.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace ibf::base {
namespace {

std::function<std::string()>& dump_hook() {
    static std::function<std::string()> hook;
    return hook;
}

}  // namespace

void set_check_dump(std::function<std::string()> dump) {
    dump_hook() = std::move(dump);
}

void check_failed(const char* file, int line, const char* condition, const std::string& text) {
    std::fprintf(stderr, "ibfabric: broken invariant at %s:%d: %s: %s\n", file, line, condition,
                 text.c_str());
    if (auto hook = std::exchange(dump_hook(), {})) {
        std::fputs(hook().c_str(), stderr);
    }
    std::fflush(stderr);
    std::abort();
}

}  // namespace ibf::base
