#include "base/log.hpp"

#include <gtest/gtest.h>

namespace ibf::base {
namespace {

TEST(Log, LevelsHaveNames) {
    for (const LogLevel level : {LogLevel::trace, LogLevel::debug, LogLevel::info, LogLevel::warning,
                                 LogLevel::error, LogLevel::off}) {
        const auto parsed = parse_log_level(to_string(level));
        ASSERT_TRUE(parsed.has_value());
        EXPECT_EQ(*parsed, level);
    }
    for (const char* wrong : {"", "Info", "verbose", "warn"}) {
        const auto parsed = parse_log_level(wrong);
        ASSERT_FALSE(parsed.has_value()) << wrong;
        EXPECT_EQ(parsed.error().kind, ErrorKind::usage);
        EXPECT_NE(parsed.error().message.find("use trace, debug, info, warning, error or off"),
                  std::string::npos);
    }
}

TEST(Log, LinesBelowTheLevelAreNotWritten) {
    ::unsetenv("JOURNAL_STREAM");
    testing::internal::CaptureStderr();
    log_start(LogLevel::info);
    log(LogLevel::debug, "hidden {}", 1);
    log(LogLevel::info, "shown {}", 2);
    log(LogLevel::warning, "braces {{}} survive: {}", "{}");
    log_set_level(LogLevel::off);
    EXPECT_FALSE(log_enabled(LogLevel::error));
    log(LogLevel::error, "hidden {}", 3);
    log_set_level(LogLevel::trace);
    EXPECT_TRUE(log_enabled(LogLevel::trace));
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_EQ(text.find("hidden"), std::string::npos) << text;
    EXPECT_NE(text.find("info    shown 2\n"), std::string::npos) << text;
    EXPECT_NE(text.find("warning braces {} survive: {}\n"), std::string::npos) << text;

    // Below systemd the line carries its priority and no time.
    ::setenv("JOURNAL_STREAM", "8:12345", 1);
    testing::internal::CaptureStderr();
    log(LogLevel::error, "bad {}", 4);
    log(LogLevel::debug, "detail");
    const std::string journal = testing::internal::GetCapturedStderr();
    EXPECT_NE(journal.find("<3>bad 4\n"), std::string::npos) << journal;
    EXPECT_NE(journal.find("<7>detail\n"), std::string::npos) << journal;
    ::unsetenv("JOURNAL_STREAM");
}

}  // namespace
}  // namespace ibf::base
