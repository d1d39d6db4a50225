// DOC: a port as a client of subnet administration has it: libibumad and nothing of ours, so that what is
// tested is tested from outside. A request is a MAD of class 3 to the port's SM; offsets are those of
// IBA 15.2.1.1.
#pragma once

#include <arpa/inet.h>
#include <endian.h>
#include <infiniband/umad.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace sa_client {

constexpr std::size_t kMadBytes = 256;
constexpr std::size_t kDataBytes = 200;
constexpr std::size_t kDataOffset = 56;
constexpr std::uint8_t kMethodGet = 0x01;
constexpr std::uint8_t kMethodSet = 0x02;
constexpr std::uint8_t kMethodDelete = 0x15;
constexpr std::uint16_t kPathRecord = 0x0035;
constexpr std::uint16_t kMcMemberRecord = 0x0038;

struct Request {
    std::uint8_t method = kMethodGet;
    std::uint16_t attribute = 0;
    std::uint64_t components = 0;
    std::uint32_t tid = 1;  ///< the upper half is the kernel's
    std::array<std::uint8_t, kDataBytes> data{};

    void put16(std::size_t at, std::uint16_t value) {
        const std::uint16_t wire = htons(value);
        std::memcpy(data.data() + at, &wire, sizeof wire);
    }
    void put32(std::size_t at, std::uint32_t value) {
        const std::uint32_t wire = htonl(value);
        std::memcpy(data.data() + at, &wire, sizeof wire);
    }
};

struct Answer {
    int error = 0;  ///< ETIMEDOUT where none came; then only the TID holds
    std::uint16_t status = 0;
    std::uint32_t tid = 0;
    std::array<std::uint8_t, kDataBytes> data{};

    [[nodiscard]] std::uint16_t get16(std::size_t at) const {
        return static_cast<std::uint16_t>(data[at] << 8U | data[at + 1]);
    }
};

class Port {
public:
    /// The first port of the machine; throws where there is none or no SM has brought it up.
    Port() {
        if (umad_init() < 0 || umad_get_port(nullptr, 0, &port_) < 0) {
            throw std::runtime_error("no InfiniBand port");
        }
        fd_ = umad_open_port(port_.ca_name, port_.portnum);
        constexpr int kClass = 3;
        constexpr int kClassVersion = 2;
        constexpr std::uint8_t kRmpp = 1;
        agent_ = fd_ < 0 ? -1 : umad_register(fd_, kClass, kClassVersion, kRmpp, nullptr);
        if (agent_ < 0 || port_.sm_lid == 0) {
            throw std::runtime_error(agent_ < 0 ? "no agent" : "no SM");
        }
        buffer_.resize(static_cast<std::size_t>(umad_size()) + kMadBytes);
    }
    ~Port() { umad_close_port(fd_); }
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;

    [[nodiscard]] std::uint16_t lid() const { return static_cast<std::uint16_t>(port_.base_lid); }
    /// In wire order.
    [[nodiscard]] std::array<std::uint8_t, 16> gid() const {
        std::array<std::uint8_t, 16> gid{};
        std::memcpy(gid.data(), &port_.gid_prefix, 8);
        std::memcpy(gid.data() + 8, &port_.port_guid, 8);
        return gid;
    }

    void send(const Request& request, int timeout_ms, int retries) {
        std::fill(buffer_.begin(), buffer_.end(), std::uint8_t{0});
        constexpr int kQp1 = 1;
        constexpr std::uint32_t kQKey = 0x80010000;
        umad_set_addr(buffer_.data(), static_cast<int>(port_.sm_lid), kQp1, 0, static_cast<int>(kQKey));
        auto* mad = static_cast<std::uint8_t*>(umad_get_mad(buffer_.data()));
        mad[0] = 1;  // base version
        mad[1] = 3;  // class
        mad[2] = 2;  // class version
        mad[3] = request.method;
        const std::uint64_t tid = htobe64(request.tid);
        const std::uint16_t attribute = htons(request.attribute);
        const std::uint64_t components = htobe64(request.components);
        std::memcpy(mad + 8, &tid, sizeof tid);
        std::memcpy(mad + 16, &attribute, sizeof attribute);
        std::memcpy(mad + 48, &components, sizeof components);
        std::memcpy(mad + kDataOffset, request.data.data(), request.data.size());
        if (umad_send(fd_, agent_, buffer_.data(), kMadBytes, timeout_ms, retries) < 0) {
            throw std::runtime_error(std::string("umad_send: ") + std::strerror(errno));
        }
    }

    /// The next answer, or what became of a request without one.
    Answer receive() {
        int length = kMadBytes;
        if (umad_recv(fd_, buffer_.data(), &length, -1) < 0) {
            throw std::runtime_error(std::string("umad_recv: ") + std::strerror(errno));
        }
        const auto* mad = static_cast<const std::uint8_t*>(umad_get_mad(buffer_.data()));
        Answer answer;
        answer.error = umad_status(buffer_.data());
        answer.status = static_cast<std::uint16_t>(mad[4] << 8U | mad[5]);
        std::uint64_t tid = 0;
        std::memcpy(&tid, mad + 8, sizeof tid);
        answer.tid = static_cast<std::uint32_t>(be64toh(tid));
        std::memcpy(answer.data.data(), mad + kDataOffset, answer.data.size());
        return answer;
    }

private:
    umad_port_t port_{};
    int fd_ = -1;
    int agent_ = -1;
    std::vector<std::uint8_t> buffer_;
};

}  // namespace sa_client
