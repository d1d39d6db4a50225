#include "cli/client.hpp"

#include <array>
#include <cctype>
#include <limits>

#include <fmt/format.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

namespace ibf::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using Local = asio::local::stream_protocol;

constexpr std::size_t kPieceBytes = 64 * 1024;
constexpr std::size_t kErrorBytesMax = 64 * 1024;

tl::unexpected<base::Error> cannot_connect(const std::string& socket, const beast::error_code& error) {
    using base::ErrorKind;
    if (error == asio::error::access_denied) {
        return base::fail(
            ErrorKind::unavailable,
            fmt::format("no permission for {}: run as root, or join the group that owns it", socket));
    }
    return base::fail(
        ErrorKind::unavailable,
        fmt::format("no ibfabricd answers at {} ({}). Start it ('systemctl start ibfabricd', or "
                    "'ibfabricd --sim fat-tree:radix=8 --socket PATH' to try it), or name its socket "
                    "with --socket or $IBFABRIC_SOCKET",
                    socket, error.message()));
}

/// The daemon's refusal as an Error of the kind that decides our exit code.
tl::unexpected<base::Error> refusal(unsigned status, const std::string& body) {
    const Json answer = Json::parse(body, nullptr, false);
    std::string message = fmt::format("the daemon answered with HTTP status {}", status);
    if (answer.is_object() && answer.contains("error") && answer["error"].is_object()) {
        message = answer["error"].value("message", message);
        if (answer["error"].value("kind", "") == "refused") {
            return base::fail(base::ErrorKind::refused, message);
        }
    }
    const bool our_words = status == 400 || status == 404 || status == 409;
    return base::fail(our_words ? base::ErrorKind::usage : base::ErrorKind::io, message);
}

/// Reads the body and gives it to the sink; a refusal's body becomes the error instead.
base::Result<void> read_body(Local::socket& socket, beast::flat_buffer& buffer,
                             http::response_parser<http::buffer_body>& parser, const Sink& sink) {
    const unsigned status = parser.get().result_int();
    const bool good = status >= 200 && status < 300;
    std::string error_body;
    std::vector<char> piece(kPieceBytes);
    while (!parser.is_done()) {
        parser.get().body().data = piece.data();
        parser.get().body().size = piece.size();
        beast::error_code error;
        http::read(socket, buffer, parser, error);
        if (error && error != http::error::need_buffer) {
            return base::fail(base::ErrorKind::io,
                              fmt::format("the connection broke off: {}", error.message()));
        }
        const std::string_view got(piece.data(), piece.size() - parser.get().body().size);
        if (!good) {
            error_body.append(got.substr(0, kErrorBytesMax - std::min(kErrorBytesMax, error_body.size())));
        } else if (const auto taken = sink(got); !taken) {
            return taken;
        }
    }
    return good ? base::Result<void>{} : refusal(status, error_body);
}

base::Result<void> request(const std::string& path, http::verb verb, const std::string& target,
                           const std::string& body, const Sink& sink) {
    asio::io_context context;
    Local::socket socket(context);
    beast::error_code error;
    socket.connect(Local::endpoint(path), error);
    if (error) {
        return cannot_connect(path, error);
    }
    http::request<http::string_body> message{verb, target, 11, body};
    message.set(http::field::host, "ibfabricd");
    if (!body.empty()) {
        message.set(http::field::content_type, "application/json");
    }
    message.keep_alive(false);
    message.prepare_payload();
    http::write(socket, message, error);
    // A server that is full answers without reading and hangs up: its answer is still worth reading.
    beast::flat_buffer buffer;
    http::response_parser<http::buffer_body> parser;
    parser.body_limit(std::numeric_limits<std::uint64_t>::max());
    beast::error_code read_error;
    http::read_header(socket, buffer, parser, read_error);
    if (read_error) {
        return base::fail(base::ErrorKind::io,
                          fmt::format("ibfabricd at {} gave no answer: {}", path, read_error.message()));
    }
    return read_body(socket, buffer, parser, sink);
}

std::string encoded(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.' || c == '~' || c == ':') {
            out += c;
        } else {
            out += fmt::format("%{:02X}", byte);
        }
    }
    return out;
}

base::Result<Json> parsed(base::Result<std::string> text) {
    if (!text) {
        return tl::unexpected(text.error());
    }
    Json value = Json::parse(*text, nullptr, false);
    if (value.is_discarded()) {
        return base::fail(base::ErrorKind::io,
                          "the daemon's answer is no JSON: are ibfabric and ibfabricd of the same "
                          "version?");
    }
    return value;
}

}  // namespace

std::string target_of(const std::string& path, const Params& params) {
    std::string out = path;
    char joint = '?';
    for (const auto& [name, value] : params) {
        if (!value.empty()) {
            out += joint + encoded(name) + '=' + encoded(value);
            joint = '&';
        }
    }
    return out;
}

Client::Client(std::string socket) : socket_(std::move(socket)) {}

base::Result<void> Client::get(const std::string& path, const Params& params, const Sink& sink) const {
    constexpr std::size_t kSocketPathMax = 107;  // sockaddr_un
    if (socket_.size() > kSocketPathMax) {
        return base::fail(base::ErrorKind::usage,
                          fmt::format("--socket: {} characters are too long for a socket path, "
                                      "{} fit",
                                      socket_.size(), kSocketPathMax));
    }
    return request(socket_, http::verb::get, target_of(path, params), {}, sink);
}

base::Result<std::string> Client::get_text(const std::string& path, const Params& params) const {
    std::string text;
    const auto done = get(path, params, [&text](std::string_view piece) -> base::Result<void> {
        text += piece;
        return {};
    });
    return done.map([&] { return std::move(text); });
}

base::Result<Json> Client::get_json(const std::string& path, const Params& params) const {
    return parsed(get_text(path, params));
}

base::Result<Json> Client::post_json(const std::string& path, const Params& params) const {
    return post_json(path, params, {});
}

base::Result<Json> Client::post_json(const std::string& path, const Params& params,
                                     const std::string& body) const {
    std::string text;
    const auto done = request(socket_, http::verb::post, target_of(path, params), body,
                              [&text](std::string_view piece) -> base::Result<void> {
                                  text += piece;
                                  return {};
                              });
    return parsed(done.map([&] { return std::move(text); }));
}

}  // namespace ibf::cli
