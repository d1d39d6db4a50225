#include "daemon/shell/replica_channel.hpp"

#include <utility>

#include <fmt/format.h>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "daemon/shell/replica_tls.hpp"

namespace ibf::shell {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t kQueueMost =
    64;  ///< frames that are not bulk: a peer that reads has one or two waiting

}  // namespace

std::string reason_of(const error_code& error) {
    if (error == asio::error::eof || error == asio::ssl::error::stream_truncated) {
        return "the connection was closed";
    }
    return error.message();
}

Channel::Channel(asio::ip::tcp::socket&& socket, Terms terms, Side side)
    : stream_(std::move(socket), *terms.tls),
      timer_(stream_.get_executor()),
      terms_(std::move(terms)),
      side_(side) {}

void Channel::start() {
    error_code ignored;
    stream_.next_layer().set_option(asio::ip::tcp::no_delay(true), ignored);
    tick();
    stream_.async_handshake(
        side_ == Side::giver ? asio::ssl::stream_base::server : asio::ssl::stream_base::client,
        [self = shared_from_this()](const error_code& error) { self->on_handshake(error); });
}

void Channel::on_handshake(const error_code& error) {
    if (error) {
        const std::string trouble = certificate_trouble(stream_.native_handle());
        return close(
            fmt::format("no TLS connection: {}{}{}", reason_of(error), trouble.empty() ? "" : ": ", trouble));
    }
    auto name = certified_name(stream_.native_handle(), terms_.names);
    if (!name) {
        return close(name.error().message);
    }
    certified_ = std::move(*name);
    open_ = true;
    opened();
    read_header();
}

void Channel::read_header() {
    if (!closed_) {
        asio::async_read(
            stream_, asio::buffer(header_octets_),
            [self = shared_from_this()](const error_code& error, std::size_t) { self->on_header(error); });
    }
}

void Channel::on_header(const error_code& error) {
    if (error) {
        return close(reason_of(error));
    }
    const auto header = decode_header({header_octets_.data(), header_octets_.size()});
    if (!header) {
        return close(header.error().message);
    }
    header_ = *header;
    fields_.resize(header_.length);
    asio::async_read(
        stream_, asio::buffer(fields_),
        [self = shared_from_this()](const error_code& failed, std::size_t) { self->on_fields(failed); });
}

void Channel::on_fields(const error_code& error) {
    if (error) {
        return close(reason_of(error));
    }
    auto frame = decode(header_, fields_);
    if (!frame) {
        return close(frame.error().message);
    }
    since_ = Clock::now();
    if (!greeted_ && !std::holds_alternative<Hello>(*frame)) {
        return close("it does not introduce itself");
    }
    greeted_ = true;
    if (const auto* bye = std::get_if<Bye>(&*frame)) {
        return close(fmt::format("it says: {}", bye->why));
    }
    received(std::move(*frame));
    read_header();
}

void Channel::send(const Frame& frame) {
    if (closed_ || !open_) {
        return;
    }
    if (queue_.size() >= kQueueMost) {
        return close("it does not read what it is sent");
    }
    queue_.push_back(encode(frame));
    pump();
}

void Channel::pump() {
    if (writing_ || closed_ || !open_) {
        return;
    }
    if (!queue_.empty()) {
        out_ = std::move(queue_.front());
        queue_.pop_front();
    } else if (auto more = bulk()) {
        out_ = std::move(*more);
    } else {
        return;
    }
    writing_ = true;
    write_since_ = Clock::now();
    asio::async_write(stream_, asio::buffer(out_),
                      [self = shared_from_this()](const error_code& error, std::size_t) {
                          self->writing_ = false;
                          if (error) {
                              return self->close(reason_of(error));
                          }
                          self->pump();
                      });
}

std::string Channel::overdue() const {
    const auto now = Clock::now();
    if (!greeted_) {
        return now - since_ < kGreetingMax ? "" : "it took too long to introduce itself";
    }
    if (now - since_ >= kSilenceMax) {
        return fmt::format("nothing came for {} s", kSilenceMax.count());
    }
    return writing_ && now - write_since_ >= kSilenceMax ? "it does not read what it is sent" : "";
}

void Channel::tick() {
    if (closed_) {
        return;
    }
    if (const std::string why = overdue(); !why.empty()) {
        return close(why);
    }
    if (open_ && greeted_) {
        beat();
    }
    timer_.expires_after(kBeat);
    timer_.async_wait([self = shared_from_this()](const error_code& error) {
        if (!error) {
            self->tick();
        }
    });
}

void Channel::close(const std::string& why) {
    if (std::exchange(closed_, true)) {
        return;
    }
    timer_.cancel();
    error_code ignored;
    stream_.next_layer().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
    stream_.next_layer().close(ignored);
    queue_.clear();
    closed(why);
}

}  // namespace ibf::shell
