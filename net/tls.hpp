// DOC: who may be talked to: TLS 1.2 or newer, both sides prove who they are, by files.
//
// Either certificates: both must come from the CA of the configuration. Or one key that both sides hold (RFC
// 5489, ECDHE with a pre-shared key: what was recorded stays secret if the key gets out later). There is no
// third way. Nothing here sends a byte: it makes contexts and looks at what a handshake left. Messages name
// the file and the remedy.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

struct ssl_ctx_st;
struct ssl_st;

namespace ibf::net {

/// Files in PEM, and what each of them is called where it was named: "replica.key", "--cert-key".
struct CertificateFiles {
    struct File {
        std::string path;
        std::string option;
    };
    File certificate;
    File key;
    File ca;
};

/// Makes a context that proves itself by these and wants the same of the other side. Errors: usage (a file is
/// not named), io, refused (the key can be read by others; the certificate has expired, is another key's, or
/// not this CA's).
[[nodiscard]] base::Result<void> use_certificates(ssl_ctx_st* context, const CertificateFiles& files);

/// What is wrong with the certificate that a peer has shown; empty: nothing, or it showed none.
[[nodiscard]] std::string certificate_trouble(const ssl_st* ssl);

/// The name in the peer's certificate, after a handshake. Errors: refused: it bears none of `names`, which
/// stand in `option`; an empty list takes any.
[[nodiscard]] base::Result<std::string> certified_name(const ssl_st* ssl,
                                                       const std::vector<std::string>& names,
                                                       std::string_view option);

inline constexpr std::size_t kSharedKeyBytesMin = 16;
inline constexpr std::size_t kSharedKeyBytesMax = 4096;

/// Writes a new key of 256 bits into a file that must not be there yet, for its owner alone. Errors: io.
[[nodiscard]] base::Result<void> make_shared_key(const std::string& path);

/// A context for either side of a connection.
class Tls {
public:
    /// The other side has to hold the same. Errors: io, refused (others can read it; too short).
    [[nodiscard]] static base::Result<std::shared_ptr<const Tls>> by_shared_key(const std::string& path);
    /// Errors: as use_certificates.
    [[nodiscard]] static base::Result<std::shared_ptr<const Tls>> by_certificates(
        const CertificateFiles& files);

    Tls(const Tls&) = delete;
    Tls& operator=(const Tls&) = delete;
    ~Tls();

    [[nodiscard]] ssl_ctx_st* native() const { return context_; }
    [[nodiscard]] bool has_certificates() const { return has_certificates_; }

private:
    Tls();

    ssl_ctx_st* context_ = nullptr;
    bool has_certificates_ = false;
    std::string secret_;  ///< 32 octets
};

}  // namespace ibf::net
