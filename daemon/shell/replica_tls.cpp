#include "daemon/shell/replica_tls.hpp"

#include "net/tls.hpp"

namespace ibf::shell {

namespace ssl = boost::asio::ssl;

base::Result<std::shared_ptr<ssl::context>> load_tls(const ReplicaConfig& config) {
    auto context = std::make_shared<ssl::context>(ssl::context::tls);
    return net::use_certificates(context->native_handle(),
                                 {.certificate = {config.certificate, "replica.certificate"},
                                  .key = {config.key, "replica.key"},
                                  .ca = {config.ca, "replica.ca"}})
        .map([&] { return context; });
}

std::string certificate_trouble(void* ssl) {
    return net::certificate_trouble(static_cast<const ssl_st*>(ssl));
}

base::Result<std::string> certified_name(void* ssl, const std::vector<std::string>& names) {
    return net::certified_name(static_cast<const ssl_st*>(ssl), names, "replica.names");
}

}  // namespace ibf::shell
