#include "daemon/shell/replica_tls.hpp"

#include <arpa/inet.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace ibf::shell {
namespace {

namespace ssl = boost::asio::ssl;
using base::ErrorKind;
using base::Result;

struct Free {
    void operator()(X509* certificate) const { X509_free(certificate); }
    void operator()(X509_STORE_CTX* context) const { X509_STORE_CTX_free(context); }
    void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

/// The file is there, and `forbidden` bits of its mode are not set.
Result<void> check_file(std::string_view option, const std::string& path, mode_t forbidden) {
    if (path.empty()) {
        return base::fail(ErrorKind::usage,
                          fmt::format("replica.{} names no file: copies go over TLS alone, which takes a "
                                      "certificate, its key and the CA of the peers",
                                      option));
    }
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) {
        return base::fail(ErrorKind::io,
                          fmt::format("replica.{}: {}: {}", option, path, std::strerror(errno)));
    }
    if ((info.st_mode & forbidden) != 0) {
        return base::fail(
            ErrorKind::refused,
            fmt::format("replica.{}: {} can be read by other users: chmod 600 it, and have a new "
                        "key certified if somebody may have seen it",
                        option, path));
    }
    return {};
}

Result<void> taken(std::string_view option, const std::string& path, const boost::system::error_code& error) {
    const int reason = ERR_GET_REASON(static_cast<unsigned long>(error.value()));
    if (error && (reason == X509_R_KEY_VALUES_MISMATCH || reason == X509_R_KEY_TYPE_MISMATCH)) {
        return base::fail(
            ErrorKind::refused,
            fmt::format("replica.{}: {} and replica.certificate do not belong together", option, path));
    }
    if (error) {
        return base::fail(ErrorKind::io,
                          fmt::format("replica.{}: {}: {} (PEM is expected)", option, path, error.message()));
    }
    return {};
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
Result<void> check_own(SSL_CTX* context, const ReplicaConfig& config) {
    X509* const own = SSL_CTX_get0_certificate(context);
    const auto refuse = [&](std::string_view what) {
        return base::fail(ErrorKind::refused,
                          fmt::format("replica.certificate: {} {}", config.certificate, what));
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
        return refuse(fmt::format("is not certified by replica.ca, {}: {}", config.ca,
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

}  // namespace

Result<std::shared_ptr<ssl::context>> load_tls(const ReplicaConfig& config) {
    constexpr mode_t kOthers = S_IRWXO | S_IWGRP;
    auto context = std::make_shared<ssl::context>(ssl::context::tls);
    SSL_CTX* const native = context->native_handle();
    boost::system::error_code error;
    const auto step = [&error](std::string_view option, const std::string& path, auto&& take) {
        return [&error, option, path, take] {
            take(path, error);
            return taken(option, path, error);
        };
    };
    const auto loaded =
        check_file("certificate", config.certificate, 0)
            .and_then([&] { return check_file("key", config.key, kOthers); })
            .and_then([&] { return check_file("ca", config.ca, 0); })
            .and_then(step("certificate", config.certificate,
                           [&](const auto& path, auto& e) { context->use_certificate_chain_file(path, e); }))
            .and_then(step("key", config.key,
                           [&](const auto& path, auto& e) {
                               context->use_private_key_file(path, ssl::context::pem, e);
                           }))
            .and_then(
                step("ca", config.ca, [&](const auto& path, auto& e) { context->load_verify_file(path, e); }))
            .and_then([&] { return check_own(native, config); });
    if (!loaded) {
        return tl::unexpected(loaded.error());
    }
    SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
    SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(native, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
    context->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
    return context;
}

std::string certificate_trouble(void* ssl) {
    const long verdict = SSL_get_verify_result(static_cast<SSL*>(ssl));
    return verdict == X509_V_OK ? std::string{} : X509_verify_cert_error_string(verdict);
}

Result<std::string> certified_name(void* ssl, const std::vector<std::string>& allowed) {
    const Owned<X509> certificate(SSL_get1_peer_certificate(static_cast<SSL*>(ssl)));
    if (!certificate) {
        return base::fail(ErrorKind::refused, "it showed no certificate");
    }
    const std::vector<std::string> names = names_of(certificate.get());
    const auto known = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
        return allowed.empty() || std::find(allowed.begin(), allowed.end(), name) != allowed.end();
    });
    if (known == names.end() && !allowed.empty()) {
        return base::fail(ErrorKind::refused,
                          fmt::format("its certificate is for [{}], and none of that is in replica.names",
                                      fmt::join(names, ", ")));
    }
    return known == names.end() ? std::string("a peer without a name") : *known;
}

}  // namespace ibf::shell
