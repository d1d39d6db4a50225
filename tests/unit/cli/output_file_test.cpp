#include "cli/output_file.hpp"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace ibf::cli {
namespace {

class OutputFileTest : public ::testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (std::filesystem::temp_directory_path() / "ibf-out-XXXXXX").string();
        ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        path_ = folder_ + "/file";
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    std::string content() const {
        std::ostringstream text;
        text << std::ifstream(path_).rdbuf();
        return text.str();
    }
    std::ptrdiff_t files() const {
        return std::distance(std::filesystem::directory_iterator(folder_),
                             std::filesystem::directory_iterator());
    }

    std::string folder_;
    std::string path_;
};

TEST_F(OutputFileTest, TakesItsNameAtCommit) {
    auto file = OutputFile::create(path_);
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_TRUE(file->write("one "));
    ASSERT_TRUE(file->write("two"));
    EXPECT_FALSE(std::filesystem::exists(path_));
    ASSERT_TRUE(file->commit());
    EXPECT_EQ(content(), "one two");
    EXPECT_EQ(file->bytes(), 7U);
    struct stat info {};
    ASSERT_EQ(::stat(path_.c_str(), &info), 0);
    const mode_t mask = ::umask(0);
    ::umask(mask);
    EXPECT_EQ(info.st_mode & 0777U, 0666U & ~mask);
}

TEST_F(OutputFileTest, WithoutCommitTheOldFileStays) {
    std::ofstream(path_) << "old";
    {
        auto file = OutputFile::create(path_);
        ASSERT_TRUE(file);
        ASSERT_TRUE(file->write("half of the new"));
    }
    EXPECT_EQ(content(), "old");
    EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, AMovedFileIsCommittedOnce) {
    auto file = OutputFile::create(path_);
    ASSERT_TRUE(file);
    {
        OutputFile moved = std::move(*file);
        ASSERT_TRUE(moved.write("x"));
        ASSERT_TRUE(moved.commit());
    }
    EXPECT_EQ(content(), "x");
    EXPECT_EQ(files(), 1);
}

TEST_F(OutputFileTest, DevicesAreWrittenThrough) {
    auto full = OutputFile::create("/dev/full");
    ASSERT_TRUE(full) << full.error().message;
    ASSERT_TRUE(full->write("x"));
    const auto done = full->commit();
    ASSERT_FALSE(done);
    EXPECT_NE(done.error().message.find("/dev/full"), std::string::npos);
    EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
}

TEST_F(OutputFileTest, RefusesWhatIsNoFile) {
    EXPECT_NE(OutputFile::create(folder_).error().message.find("is a directory"), std::string::npos);
    EXPECT_EQ(OutputFile::create(folder_ + "/no/such").error().kind, base::ErrorKind::io);
}

}  // namespace
}  // namespace ibf::cli
