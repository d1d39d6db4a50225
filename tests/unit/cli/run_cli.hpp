// DOC: the command line as a test runs it: words in, exit code and what it said out.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cli/app.hpp"

namespace ibf::cli {

struct Said {
    int code = 0;
    std::string out;
    std::string err;
};

inline Said run_cli(std::vector<std::string> words) {
    words.insert(words.begin(), "ibfabric");
    std::vector<char*> argv;
    for (std::string& word : words) {
        argv.push_back(word.data());
    }
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    const int code = run(static_cast<int>(argv.size()), argv.data());
    return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

}  // namespace ibf::cli
