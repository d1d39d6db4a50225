// DOC: certificates for tests, made while they run: a CA, and what it certifies.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

namespace ibf::test {

/// A PEM file for each of what a configuration names.
struct CertifiedFiles {
    std::string certificate;
    std::string key;
};

struct CertificateOptions {
    std::string name;
    long from_days = -1;
    long until_days = 30;
    std::string usage = "serverAuth,clientAuth";
    std::string alternatives = {};  ///< "DNS:sm1,IP:10.0.0.1"
};

class Authority {
public:
    explicit Authority(const std::filesystem::path& folder) : folder_(folder), key_(EVP_EC_gen("P-256")) {
        std::filesystem::create_directories(folder);
        self_.reset(make({"the CA", -1, 30, "", ""}, key_.get(), nullptr));
        write(file(), self_.get());
    }
    [[nodiscard]] std::string file() const { return (folder_ / "ca.pem").string(); }
    [[nodiscard]] CertifiedFiles certify(const CertificateOptions& options) const {
        const Key key(EVP_EC_gen("P-256"));
        const Certificate made(make(options, key.get(), self_.get()));
        const CertifiedFiles files{(folder_ / (options.name + ".crt")).string(),
                                   (folder_ / (options.name + ".key")).string()};
        write(files.certificate, made.get());
        const File file(std::fopen(files.key.c_str(), "w"));
        PEM_write_PrivateKey(file.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
        ::chmod(files.key.c_str(), 0600);
        return files;
    }

private:
    struct Free {
        void operator()(X509* it) const { X509_free(it); }
        void operator()(EVP_PKEY* it) const { EVP_PKEY_free(it); }
        void operator()(std::FILE* it) const { std::fclose(it); }
    };
    using Certificate = std::unique_ptr<X509, Free>;
    using Key = std::unique_ptr<EVP_PKEY, Free>;
    using File = std::unique_ptr<std::FILE, Free>;

    static void write(const std::string& path, X509* certificate) {
        const File file(std::fopen(path.c_str(), "w"));
        PEM_write_X509(file.get(), certificate);
    }
    static void extend(X509* certificate, X509* issuer, int what, const std::string& value) {
        X509V3_CTX context;
        X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
        X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str());
        X509_add_ext(certificate, extension, -1);
        X509_EXTENSION_free(extension);
    }
    /// Without an issuer: a CA, certified by itself.
    X509* make(const CertificateOptions& options, EVP_PKEY* key, X509* issuer) const {
        constexpr long kDay = 24 * 60 * 60;
        X509* made = X509_new();
        X509_set_version(made, 2);
        ASN1_INTEGER_set(X509_get_serialNumber(made), issuer == nullptr ? 1 : ++serial_);
        X509_gmtime_adj(X509_getm_notBefore(made), options.from_days * kDay);
        X509_gmtime_adj(X509_getm_notAfter(made), options.until_days * kDay);
        X509_set_pubkey(made, key);
        X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_UTF8,
                                   reinterpret_cast<const unsigned char*>(options.name.c_str()), -1, -1, 0);
        X509_set_issuer_name(made, X509_get_subject_name(issuer == nullptr ? made : issuer));
        X509* const by = issuer == nullptr ? made : issuer;
        extend(made, by, NID_basic_constraints, issuer == nullptr ? "critical,CA:TRUE" : "CA:FALSE");
        if (!options.usage.empty()) {
            extend(made, by, NID_ext_key_usage, options.usage);
        }
        if (!options.alternatives.empty()) {
            extend(made, by, NID_subject_alt_name, options.alternatives);
        }
        X509_sign(made, key_.get(), EVP_sha256());
        return made;
    }

    std::filesystem::path folder_;
    Key key_;
    Certificate self_;
    mutable long serial_ = 1;
};

}  // namespace ibf::test
