// DOC: who may be talked to: the certificates of net/tls.hpp, as the configuration names them.
//
// Both certificates must come from the CA of the configuration, and, where it lists names, bear one of them.
// Nothing here sends a byte: it makes contexts and looks at what a handshake left. Messages name the file and
// the remedy.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <boost/asio/ssl/context.hpp>

#include "base/result.hpp"
#include "daemon/shell/config_file.hpp"

namespace ibf::shell {

/// Usable for both sides of a connection. Errors: usage (a file is not named), io, refused (the key can be
/// read by others; the certificate has expired, is another key's, or not this CA's).
[[nodiscard]] base::Result<std::shared_ptr<boost::asio::ssl::context>> load_tls(const ReplicaConfig& config);

/// What is wrong with the certificate that a peer has shown; empty: nothing, or it showed none.
[[nodiscard]] std::string certificate_trouble(void* ssl);

/// The name in the peer's certificate, after a handshake. `ssl` is an SSL*. Errors: refused: it bears none of
/// `names`.
[[nodiscard]] base::Result<std::string> certified_name(void* ssl, const std::vector<std::string>& names);

}  // namespace ibf::shell
