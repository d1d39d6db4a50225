#include "daemon/shell/replica_tls.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/unit/shell/certificates.hpp"

namespace ibf::shell {
namespace {

class TlsFiles : public ::testing::Test {
protected:
    TlsFiles()
        : folder(std::filesystem::path(::testing::TempDir()) / fmt::format("ibf-tls-{}", ::getpid())),
          ca(folder / "ca"),
          good(ca.certify({"good"})) {}
    ~TlsFiles() override { std::filesystem::remove_all(folder); }

    [[nodiscard]] ReplicaConfig config(const test::CertifiedFiles& files) const {
        ReplicaConfig config;
        config.certificate = files.certificate;
        config.key = files.key;
        config.ca = ca.file();
        return config;
    }
    void expect_refused(const ReplicaConfig& config, const std::string& file, const std::string& remedy) {
        const auto loaded = load_tls(config);
        ASSERT_FALSE(loaded);
        EXPECT_NE(loaded.error().message.find(file), std::string::npos) << loaded.error().message;
        EXPECT_NE(loaded.error().message.find(remedy), std::string::npos) << loaded.error().message;
    }

    std::filesystem::path folder;
    test::Authority ca;
    test::CertifiedFiles good;
};

TEST_F(TlsFiles, GoodOnesAreTaken) {
    const auto loaded = load_tls(config(good));
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_TRUE(load_tls(config(ca.certify({"plain", -1, 30, "", ""})))) << "no usage: any usage";
}

TEST_F(TlsFiles, WhatIsWrongIsNamedWithTheRemedy) {
    expect_refused(config({"", good.key}), "replica.certificate", "names no file");
    expect_refused(config({good.certificate + ".gone", good.key}), "good.crt.gone", "No such file");
    expect_refused(config({good.certificate, good.key + ".gone"}), "good.key.gone", "No such file");
    expect_refused(config({good.key, good.key}), "good.key", "PEM");
    expect_refused(config({good.certificate, ca.certify({"other"}).key}), "other.key",
                   "do not belong together");
    expect_refused(config(ca.certify({"old", -30, -1})), "old.crt", "renew it");
    expect_refused(config(ca.certify({"early", 3, 30})), "early.crt", "is the clock right?");
    expect_refused(config(ca.certify({"server", -1, 30, "serverAuth"})), "server.crt", "clientAuth");
    ReplicaConfig stranger = config(good);
    stranger.ca = test::Authority(folder / "strangers").file();
    expect_refused(stranger, "good.crt", "is not certified by replica.ca");
    std::ofstream(folder / "text") << "no certificate\n";
    stranger.ca = (folder / "text").string();
    expect_refused(stranger, "text", "replica.ca");
}

TEST_F(TlsFiles, AKeyThatOthersCanReadIsRefused) {
    for (const mode_t mode : {0644U, 0604U, 0660U, 0620U, 0602U}) {
        ASSERT_EQ(::chmod(good.key.c_str(), mode), 0);
        expect_refused(config(good), "good.key", "chmod 600");
    }
    for (const mode_t mode : {0600U, 0400U, 0640U}) {
        ASSERT_EQ(::chmod(good.key.c_str(), mode), 0);
        EXPECT_TRUE(load_tls(config(good))) << mode;
    }
}

}  // namespace
}  // namespace ibf::shell
