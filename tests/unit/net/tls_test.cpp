#include "net/tls.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "tests/unit/shell/certificates.hpp"

namespace ibf::net {
namespace {

class SharedKeys : public ::testing::Test {
protected:
    SharedKeys()
        : folder_(std::filesystem::path(::testing::TempDir()) / fmt::format("ibf-keys-{}", ::getpid())) {
        std::filesystem::create_directories(folder_);
    }
    ~SharedKeys() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::string write(const std::string& content, mode_t mode = 0600) const {
        const std::string path = (folder_ / "key").string();
        std::ofstream(path) << content;
        ::chmod(path.c_str(), mode);
        return path;
    }
    static std::string refusal(const std::string& path) {
        const auto tls = Tls::by_shared_key(path);
        return tls ? "taken" : tls.error().message;
    }

    std::filesystem::path folder_;
};

TEST_F(SharedKeys, AMadeOneIsTakenAndIsForItsOwnerAlone) {
    const std::string path = (folder_ / "made").string();
    ASSERT_TRUE(make_shared_key(path));
    struct stat info {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U);
    EXPECT_EQ(info.st_size, 65) << "256 bits in hexadecimal";
    EXPECT_EQ(refusal(path), "taken");
    const auto again = make_shared_key(path);
    ASSERT_FALSE(again) << "a key in use must not be lost";
    EXPECT_EQ(again.error().kind, base::ErrorKind::usage);
    const std::string other = (folder_ / "other").string();
    ASSERT_TRUE(make_shared_key(other));
    std::string first;
    std::string second;
    std::ifstream(path) >> first;
    std::ifstream(other) >> second;
    EXPECT_NE(first, second);
}

TEST_F(SharedKeys, WhatOthersCanReadIsRefused) {
    for (const mode_t mode : {0640U, 0604U, 0660U, 0666U}) {
        EXPECT_NE(refusal(write("0123456789abcdef", mode)).find("chmod 600"), std::string::npos) << mode;
    }
    EXPECT_EQ(refusal(write("0123456789abcdef", 0400)), "taken");
}

TEST_F(SharedKeys, LengthsHaveBounds) {
    EXPECT_NE(refusal(write("0123456789abcde")).find("holds 15 octets"), std::string::npos);
    EXPECT_NE(refusal(write("0123456789abcde\n\n \n")).find("holds 15 octets"), std::string::npos);
    EXPECT_EQ(refusal(write("0123456789abcdef")), "taken");
    EXPECT_EQ(refusal(write(std::string(kSharedKeyBytesMax, 'x'))), "taken");
    EXPECT_NE(refusal(write(std::string(kSharedKeyBytesMax + 1, 'x'))), "taken");
}

TEST_F(SharedKeys, WhatIsNoFileIsNamedWithTheRemedy) {
    EXPECT_NE(refusal((folder_ / "none").string()).find("ibfabric-probe key FILE"), std::string::npos);
    EXPECT_NE(refusal(folder_.string()).find("is no file"), std::string::npos);
}

TEST_F(SharedKeys, CertificatesAreCheckedWhereTheyAreNamed) {
    const test::Authority authority(folder_ / "ca");
    const test::CertifiedFiles good = authority.certify({"good"});
    const auto load = [&](const test::CertifiedFiles& files) {
        return Tls::by_certificates({.certificate = {files.certificate, "--cert"},
                                     .key = {files.key, "--cert-key"},
                                     .ca = {authority.file(), "--ca"}});
    };
    ASSERT_TRUE(load(good));
    EXPECT_TRUE(load(good).value()->has_certificates());
    const auto expired = load(authority.certify({"old", -30, -1}));
    ASSERT_FALSE(expired);
    EXPECT_TRUE(expired.error().message.starts_with("--cert: ")) << expired.error().message;
    EXPECT_NE(load({good.certificate, ""}).error().message.find("--cert-key names no file"),
              std::string::npos);
    const auto mixed = load({good.certificate, authority.certify({"other"}).key});
    ASSERT_FALSE(mixed);
    EXPECT_NE(mixed.error().message.find("--cert do not belong together"), std::string::npos)
        << mixed.error().message;
}

}  // namespace
}  // namespace ibf::net
