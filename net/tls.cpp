#include "net/tls.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace ibf::net {
namespace {

using base::ErrorKind;
using base::Result;
using File = CertificateFiles::File;

constexpr mode_t kOthers = S_IRWXO | S_IWGRP;   ///< may not read the key of a certificate: its group may
constexpr mode_t kAnybody = S_IRWXO | S_IRWXG;  ///< may not read a shared key: only its owner may
constexpr const char* kIdentity = "ibfabric";   ///< of the shared key; there is one
constexpr std::size_t kSecretBytes = 32;

struct Free {
    void operator()(X509* certificate) const { X509_free(certificate); }
    void operator()(X509_STORE_CTX* context) const { X509_STORE_CTX_free(context); }
    void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

/// The file is there, and `forbidden` bits of its mode are not set.
Result<void> check_file(const File& file, mode_t forbidden) {
    if (file.path.empty()) {
        return base::fail(
            ErrorKind::usage,
            fmt::format("{} names no file: TLS takes a certificate, its key and the CA of the peers",
                        file.option));
    }
    struct stat info {};
    if (::stat(file.path.c_str(), &info) != 0) {
        return base::fail(ErrorKind::io,
                          fmt::format("{}: {}: {}", file.option, file.path, std::strerror(errno)));
    }
    if ((info.st_mode & forbidden) != 0) {
        return base::fail(ErrorKind::refused,
                          fmt::format("{}: {} can be read by other users: chmod 600 it, and have a new "
                                      "key certified if somebody may have seen it",
                                      file.option, file.path));
    }
    return {};
}

/// What OpenSSL says of a file that it did not take.
Result<void> taken(const File& file, const File& certificate, bool fine) {
    const unsigned long error = ERR_peek_last_error();
    ERR_clear_error();
    if (fine) {
        return {};
    }
    const int reason = ERR_GET_REASON(error);
    if (reason == X509_R_KEY_VALUES_MISMATCH || reason == X509_R_KEY_TYPE_MISMATCH) {
        return base::fail(ErrorKind::refused, fmt::format("{}: {} and {} do not belong together", file.option,
                                                          file.path, certificate.option));
    }
    const char* const words = ERR_reason_error_string(error);
    return base::fail(ErrorKind::io, fmt::format("{}: {}: {} (PEM is expected)", file.option, file.path,
                                                 words != nullptr ? words : "cannot be read"));
}

std::string day_of(const ASN1_TIME* time) {
    std::tm parts{};
    std::array<char, 32> text{};
    if (ASN1_TIME_to_tm(time, &parts) != 1) {
        return "an unreadable date";
    }
    const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &parts);
    return {text.data(), length};
}

/// Whether peers will take it, found out before they have to tell.
Result<void> check_own(SSL_CTX* context, const CertificateFiles& files) {
    X509* const own = SSL_CTX_get0_certificate(context);
    const auto refuse = [&](std::string_view what) {
        return base::fail(ErrorKind::refused,
                          fmt::format("{}: {} {}", files.certificate.option, files.certificate.path, what));
    };
    if (own == nullptr) {
        return refuse("holds no certificate");
    }
    if (X509_cmp_current_time(X509_get0_notAfter(own)) < 0) {
        return refuse(fmt::format("expired on {}: renew it, then reload", day_of(X509_get0_notAfter(own))));
    }
    if (X509_cmp_current_time(X509_get0_notBefore(own)) > 0) {
        return refuse(
            fmt::format("is not valid before {}: is the clock right?", day_of(X509_get0_notBefore(own))));
    }
    const Owned<X509_STORE_CTX> check(X509_STORE_CTX_new());
    STACK_OF(X509)* chain = nullptr;
    SSL_CTX_get0_chain_certs(context, &chain);
    if (!check || X509_STORE_CTX_init(check.get(), SSL_CTX_get_cert_store(context), own, chain) != 1 ||
        X509_verify_cert(check.get()) != 1) {
        const int code = check ? X509_STORE_CTX_get_error(check.get()) : X509_V_ERR_OUT_OF_MEM;
        return refuse(fmt::format("is not certified by {}, {}: {}", files.ca.option, files.ca.path,
                                  X509_verify_cert_error_string(code)));
    }
    if (X509_check_purpose(own, X509_PURPOSE_SSL_SERVER, 0) != 1 ||
        X509_check_purpose(own, X509_PURPOSE_SSL_CLIENT, 0) != 1) {
        return refuse(
            "is not meant for both sides of a connection: its extendedKeyUsage must hold serverAuth "
            "and clientAuth");
    }
    return {};
}

/// Every name a certificate bears: DNS names, addresses, and its common name.
std::vector<std::string> names_of(X509* certificate) {
    std::vector<std::string> names;
    const Owned<GENERAL_NAMES> alternatives(
        static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
    for (int i = 0; i < sk_GENERAL_NAME_num(alternatives.get()); ++i) {
        const GENERAL_NAME* name = sk_GENERAL_NAME_value(alternatives.get(), i);
        if (name->type == GEN_DNS || name->type == GEN_IPADD) {
            const ASN1_STRING* text = name->type == GEN_DNS ? name->d.dNSName : name->d.iPAddress;
            const auto* octets = ASN1_STRING_get0_data(text);
            const int length = ASN1_STRING_length(text);
            std::array<char, INET6_ADDRSTRLEN> shown{};
            if (name->type == GEN_DNS) {
                names.emplace_back(reinterpret_cast<const char*>(octets), static_cast<std::size_t>(length));
            } else if ((length == 4 || length == 16) && ::inet_ntop(length == 4 ? AF_INET : AF_INET6, octets,
                                                                    shown.data(), shown.size()) != nullptr) {
                names.emplace_back(shown.data());
            }
        }
    }
    std::array<char, 256> common{};
    const int length = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName,
                                                 common.data(), static_cast<int>(common.size()));
    if (length > 0) {
        names.emplace_back(common.data(), static_cast<std::size_t>(length));
    }
    return names;
}

/// What both sides use: nothing older than TLS 1.2, nothing remembered from one connection to the next.
void set_terms(SSL_CTX* context) {
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
}

// ---- the shared key

const std::string* secret_of(const SSL* ssl) {
    return static_cast<const std::string*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
}

unsigned give_secret(const SSL* ssl, unsigned char* psk, unsigned psk_max) {
    const std::string* const secret = secret_of(ssl);
    if (secret == nullptr || secret->size() > psk_max) {
        return 0;
    }
    std::copy(secret->begin(), secret->end(), psk);
    return static_cast<unsigned>(secret->size());
}

unsigned on_client(SSL* ssl, const char*, char* identity, unsigned identity_max, unsigned char* psk,
                   unsigned psk_max) {
    if (identity_max <= std::strlen(kIdentity)) {
        return 0;
    }
    std::strcpy(identity, kIdentity);
    return give_secret(ssl, psk, psk_max);
}

unsigned on_server(SSL* ssl, const char* identity, unsigned char* psk, unsigned psk_max) {
    return identity != nullptr && std::strcmp(identity, kIdentity) == 0 ? give_secret(ssl, psk, psk_max) : 0;
}

/// 32 octets made of what the file holds; blanks at its end do not count.
Result<std::string> read_secret(const std::string& path) {
    const auto refuse = [&path](ErrorKind kind, std::string_view what) {
        return base::fail(kind, fmt::format("key {}: {}", path, what));
    };
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info {};
    if (fd < 0 || ::fstat(fd, &info) != 0) {
        const bool is_missing = errno == ENOENT;
        const std::string why = std::strerror(errno);
        if (fd >= 0) {
            ::close(fd);
        }
        return refuse(
            ErrorKind::io,
            why + (is_missing ? "; 'ibfabric-probe key FILE' makes one, and every host needs the same"
                              : "; run as who may read it"));
    }
    std::string content(kSharedKeyBytesMax + 1, '\0');
    const ssize_t got = S_ISREG(info.st_mode) ? ::read(fd, content.data(), content.size()) : 0;
    ::close(fd);
    if (!S_ISREG(info.st_mode)) {
        return refuse(ErrorKind::io, "is no file");
    }
    if ((info.st_mode & kAnybody) != 0) {
        return refuse(
            ErrorKind::refused,
            "can be read by other users: chmod 600 it, and make a new one if somebody may have seen it");
    }
    content.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    while (!content.empty() && std::strchr(" \t\r\n", content.back()) != nullptr) {
        content.pop_back();
    }
    if (content.size() < kSharedKeyBytesMin || content.size() > kSharedKeyBytesMax) {
        return refuse(ErrorKind::refused,
                      fmt::format("holds {} octets: {} to {} are a key ('ibfabric-probe key FILE' "
                                  "makes a good one)",
                                  content.size(), kSharedKeyBytesMin, kSharedKeyBytesMax));
    }
    content.insert(0, "ibfabric shared key 1\n");
    std::string secret(kSecretBytes, '\0');
    unsigned length = 0;
    if (EVP_Digest(content.data(), content.size(), reinterpret_cast<unsigned char*>(secret.data()), &length,
                   EVP_sha256(), nullptr) != 1 ||
        length != kSecretBytes) {
        return refuse(ErrorKind::io, "this OpenSSL has no SHA-256");
    }
    return secret;
}

}  // namespace

Result<void> use_certificates(SSL_CTX* context, const CertificateFiles& files) {
    ERR_clear_error();
    return check_file(files.certificate, 0)
        .and_then([&] { return check_file(files.key, kOthers); })
        .and_then([&] { return check_file(files.ca, 0); })
        .and_then([&] {
            return taken(files.certificate, files.certificate,
                         SSL_CTX_use_certificate_chain_file(context, files.certificate.path.c_str()) == 1);
        })
        .and_then([&] {
            return taken(files.key, files.certificate,
                         SSL_CTX_use_PrivateKey_file(context, files.key.path.c_str(), SSL_FILETYPE_PEM) == 1);
        })
        .and_then([&] {
            return taken(files.ca, files.certificate,
                         SSL_CTX_load_verify_locations(context, files.ca.path.c_str(), nullptr) == 1);
        })
        .and_then([&] { return check_own(context, files); })
        .map([&] {
            set_terms(context);
            SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
        });
}

std::string certificate_trouble(const SSL* ssl) {
    const long verdict = SSL_get_verify_result(ssl);
    return verdict == X509_V_OK ? std::string{} : X509_verify_cert_error_string(verdict);
}

Result<std::string> certified_name(const SSL* ssl, const std::vector<std::string>& allowed,
                                   std::string_view option) {
    const Owned<X509> certificate(SSL_get1_peer_certificate(ssl));
    if (!certificate) {
        return base::fail(ErrorKind::refused, "it showed no certificate");
    }
    const std::vector<std::string> names = names_of(certificate.get());
    const auto known = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
        return allowed.empty() || std::find(allowed.begin(), allowed.end(), name) != allowed.end();
    });
    if (known == names.end() && !allowed.empty()) {
        return base::fail(ErrorKind::refused,
                          fmt::format("its certificate is for [{}], and none of that is in {}",
                                      fmt::join(names, ", "), option));
    }
    return known == names.end() ? std::string("a peer without a name") : *known;
}

Result<void> make_shared_key(const std::string& path) {
    std::array<std::uint8_t, kSecretBytes> octets{};
    if (::getrandom(octets.data(), octets.size(), 0) != static_cast<ssize_t>(octets.size())) {
        return base::fail(ErrorKind::io,
                          fmt::format("the kernel gives no random numbers: {}", std::strerror(errno)));
    }
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd < 0) {
        return base::fail(
            errno == EEXIST ? ErrorKind::usage : ErrorKind::io,
            fmt::format("{}: {}{}", path, std::strerror(errno),
                        errno == EEXIST ? ": a key that is in use is not replaced; remove it first" : ""));
    }
    const std::string text = fmt::format("{:02x}\n", fmt::join(octets, ""));
    const bool written =
        ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(fd) == 0;
    const int error = errno;
    ::close(fd);
    if (!written) {
        ::unlink(path.c_str());
        return base::fail(ErrorKind::io, fmt::format("{}: {}", path, std::strerror(error)));
    }
    return {};
}

Tls::Tls() : context_(SSL_CTX_new(TLS_method())) {}

Tls::~Tls() {
    SSL_CTX_free(context_);
}

Result<std::shared_ptr<const Tls>> Tls::by_shared_key(const std::string& path) {
    auto secret = read_secret(path);
    if (!secret) {
        return tl::unexpected(secret.error());
    }
    const std::shared_ptr<Tls> tls(new Tls());
    tls->secret_ = std::move(*secret);
    // Of the suites with an ephemeral exchange and a shared key, the one that OpenSSL 3.0 has with an AEAD.
    if (tls->context_ == nullptr ||
        SSL_CTX_set_cipher_list(tls->context_, "ECDHE-PSK-CHACHA20-POLY1305") != 1) {
        return base::fail(
            ErrorKind::unsupported,
            "this OpenSSL has no ECDHE-PSK-CHACHA20-POLY1305: use certificates instead of a key");
    }
    set_terms(tls->context_);
    SSL_CTX_set_max_proto_version(tls->context_, TLS1_2_VERSION);
    SSL_CTX_set_app_data(tls->context_, &tls->secret_);
    SSL_CTX_set_psk_client_callback(tls->context_, on_client);
    SSL_CTX_set_psk_server_callback(tls->context_, on_server);
    return tls;
}

Result<std::shared_ptr<const Tls>> Tls::by_certificates(const CertificateFiles& files) {
    const std::shared_ptr<Tls> tls(new Tls());
    if (tls->context_ == nullptr) {
        return base::fail(ErrorKind::unsupported, "OpenSSL makes no context");
    }
    if (const auto used = use_certificates(tls->context_, files); !used) {
        return tl::unexpected(used.error());
    }
    tls->has_certificates_ = true;
    return tls;
}

}  // namespace ibf::net
