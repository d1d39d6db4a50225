// The simulation's server with its clients in the hands of the input: they connect, open ports, add agents,
// send MADs, text commands and garbage in pieces of any size, read or do not, and leave at any moment.
// Whatever they do, what comes back is well-formed, and when all have gone the server serves the next one and
// keeps nothing of theirs.
//
// The input is a run of steps: an octet that says what to do, and the octets that the step asks for (0 at the
// end).

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "routing/netlist.hpp"
#include "sim/process/server.hpp"
#include "tests/fuzz/input.hpp"

namespace {

using namespace ibf;
using namespace ibf::sim;
using ibf::fuzz::Input;
using ibf::fuzz::require;

constexpr std::size_t kStepsMax = 300;
constexpr std::size_t kPeersMax = 6;
constexpr std::array<std::string_view, 8> kNodes{
    "", "host-0001", "host-0002", "leaf-001", "leaf-001/1", "0xe09d730300000100", "nobody", "host-0001/9"};
constexpr std::array<std::string_view, 14> kLines{"truth",
                                                  "truth tables",
                                                  "counters",
                                                  "clients",
                                                  "help",
                                                  "quit",
                                                  "link-down leaf-001/1",
                                                  "link-up leaf-001/1",
                                                  "reboot leaf-001 delay=1ms",
                                                  "drop * probability=0.5",
                                                  "flap leaf-001/1 count=3 delay=1us",
                                                  "at 1ms dead host-0002",
                                                  "remove-node host-0001",
                                                  "trap leaf-001/1 number=128"};
constexpr std::array kKinds{FrameKind::ask_node,  FrameKind::ask_port,   FrameKind::open_port,
                            FrameKind::take_issm, FrameKind::add_agent,  FrameKind::remove_agent,
                            FrameKind::mad,       FrameKind::port_answer};

const routing::Netlist& fabric() {
    static const routing::Netlist kFabric = *routing::generate_netlist("fat-tree:radix=2,levels=2");
    return kFabric;
}

/// A listening socket with an address of the kernel's choice: no file, no rival.
Descriptor listener() {
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un any{};
    any.sun_family = AF_UNIX;
    require(::bind(socket.number(), reinterpret_cast<const sockaddr*>(&any), sizeof any.sun_family) == 0);
    require(::listen(socket.number(), 16) == 0);
    return socket;
}

class Peer {
public:
    Peer(const sockaddr_un& address, socklen_t size)
        : socket_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
        require(::connect(socket_.number(), reinterpret_cast<const sockaddr*>(&address), size) == 0);
    }

    /// What does not fit is lost, as from a program that dies while it writes.
    void put(const void* bytes, std::size_t size) {
        static_cast<void>(::send(socket_.number(), bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT));
    }
    void put_line(std::string line) {
        text_ = text_ || !spoke_;
        spoke_ = true;
        line += '\n';
        put(line.data(), line.size());
    }
    void put_frame(FrameKind kind, std::span<const std::uint8_t> payload, std::uint32_t claimed) {
        spoke_ = true;
        const FrameHeader header{.kind = kind, .bytes = claimed};
        put(&header, sizeof header);
        put(payload.data(), payload.size());
    }
    void put_raw(std::span<const std::uint8_t> bytes) {
        text_ = text_ || (!spoke_ && !bytes.empty() && bytes.front() < 0x80);
        spoke_ = spoke_ || !bytes.empty();
        put(bytes.data(), bytes.size());
    }
    void say_no_more() { ::shutdown(socket_.number(), SHUT_WR); }

    /// Takes what has come; whole frames are looked at, and the handle of a port is kept.
    void take() {
        std::array<std::uint8_t, 65536> buffer{};
        for (ssize_t got = 1; got > 0;) {
            got = ::recv(socket_.number(), buffer.data(), buffer.size(), MSG_DONTWAIT);
            came_.insert(came_.end(), buffer.begin(), buffer.begin() + std::max<ssize_t>(got, 0));
        }
        if (text_) {
            return;
        }
        while (came_.size() >= sizeof(FrameHeader)) {
            const auto header = read_payload<FrameHeader>(came_.data(), sizeof(FrameHeader));
            require(header.magic == kFrameMagic && header.version == kProtocolVersion);
            require(header.bytes <= kFrameBytesMax);
            if (came_.size() < sizeof header + header.bytes) {
                return;
            }
            look(header, came_.data() + sizeof header);
            came_.erase(came_.begin(),
                        came_.begin() + static_cast<std::ptrdiff_t>(sizeof header + header.bytes));
        }
    }
    [[nodiscard]] std::uint32_t handle() const { return handle_; }
    [[nodiscard]] std::string text() const { return {came_.begin(), came_.end()}; }

private:
    void look(const FrameHeader& header, const std::uint8_t* payload) {
        switch (header.kind) {
            case FrameKind::done:
                handle_ = read_payload<Done>(payload, header.bytes).value;
                require(header.bytes == sizeof(Done));
                break;
            case FrameKind::refused: {
                const auto refused = read_payload<Refused>(payload, header.bytes);
                require(header.bytes == sizeof refused && refused.error != 0 && refused.text.back() == '\0');
                break;
            }
            case FrameKind::node_answer: require(header.bytes == sizeof(NodeAnswer)); break;
            case FrameKind::port_answer: require(header.bytes == sizeof(PortAnswer)); break;
            case FrameKind::mad: {
                const auto mad = read_payload<MadFrame>(payload, header.bytes);
                require(header.bytes >= sizeof mad + kMadFrameLeast);
                require(mad.agent < kAgentsMax && mad.length <= header.bytes - sizeof mad);
                break;
            }
            default: require(false);
        }
    }

    Descriptor socket_;
    std::vector<std::uint8_t> came_;
    std::uint32_t handle_ = 0;
    bool spoke_ = false;
    bool text_ = false;
};

class Field {
public:
    Field() : Field(listener()) {}

    void step(Input& input) {
        const std::uint8_t action = input.octet();
        switch (action & 7U) {
            case 0: connect(); break;
            case 1: frame(input); break;
            case 2: line(input); break;
            case 3: raw(input); break;
            case 4: leave(input); break;
            case 5:
                if (Peer* peer = pick(input)) {
                    peer->take();
                }
                break;
            case 6:
                if (Peer* peer = pick(input)) {
                    peer->say_no_more();
                }
                break;
            default: pass(); break;
        }
        if ((action & 8U) != 0) {
            pass();
        }
    }

    /// All leave; who comes then is alone, and is served.
    void end() {
        peers_.clear();
        pass();
        pass();
        Peer last(address_, size_);
        last.put_line("clients");
        for (int i = 0; i < 8; ++i) {
            pass();
        }
        last.take();
        require(last.text().starts_with("connections 1\n"));
        require(last.text().ends_with("ok\n"));
        require(last.text().find("agents 0") != std::string::npos ||
                last.text().find("agents") == std::string::npos);
        require(last.text().find("is-sm yes") == std::string::npos);
    }

private:
    explicit Field(Descriptor socket) {
        require(::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&address_), &size_) == 0);
        server_.emplace(std::make_unique<Simulator>(fabric(), SimOptions{}), std::move(socket));
    }

    void pass() { static_cast<void>(server_->turn(base::Duration::zero(), -1)); }

    void connect() {
        if (peers_.size() < kPeersMax) {
            peers_.emplace_back(address_, size_);
        }
    }
    Peer* pick(Input& input) { return peers_.empty() ? nullptr : &peers_[input.octet() % peers_.size()]; }

    void leave(Input& input) {
        if (!peers_.empty()) {
            peers_.erase(peers_.begin() + static_cast<std::ptrdiff_t>(input.octet() % peers_.size()));
        }
    }
    void line(Input& input) {
        if (Peer* peer = pick(input)) {
            peer->put_line(std::string(kLines[input.octet() % kLines.size()]));
        }
    }
    void raw(Input& input) {
        if (Peer* peer = pick(input)) {
            std::vector<std::uint8_t> bytes(input.octet() % 64U);
            for (std::uint8_t& byte : bytes) {
                byte = input.octet();
            }
            peer->put_raw(bytes);
        }
    }

    /// A frame that may be right in all, or spoilt in one octet, or longer or shorter than it says.
    void frame(Input& input) {
        Peer* peer = pick(input);
        if (peer == nullptr) {
            return;
        }
        const FrameKind kind = kKinds[input.octet() % kKinds.size()];
        std::vector<std::uint8_t> payload = kind == FrameKind::mad ? mad(input)
                                            : kind == FrameKind::add_agent || kind == FrameKind::remove_agent
                                                ? agent(input)
                                                : place(input);
        const std::uint8_t flaw = input.octet();
        auto claimed = static_cast<std::uint32_t>(payload.size());
        if ((flaw & 1U) != 0) {
            payload[input.word() % payload.size()] ^= input.octet();
        }
        if ((flaw & 2U) != 0) {
            claimed = input.word() << ((flaw & 4U) != 0 ? 16U : 0U);
        }
        if ((flaw & 8U) != 0) {
            payload.resize(input.word() % (payload.size() + 1));
        }
        peer->put_frame(kind, payload, claimed);
    }

    template <class T>
    static std::vector<std::uint8_t> bytes_of(const T& value) {
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
        return {bytes, bytes + sizeof value};
    }
    static std::vector<std::uint8_t> place(Input& input) {
        PlaceRequest request;
        const std::string_view node = kNodes[input.octet() % kNodes.size()];
        std::copy(node.begin(), node.end(), request.node.begin());
        request.port = static_cast<std::uint8_t>(input.octet() % 4U);
        return bytes_of(request);
    }
    std::vector<std::uint8_t> agent(Input& input) {
        constexpr std::array<std::uint8_t, 6> kClasses{0x81, 0x01, 0x03, 0x04, 0x30, 0x06};
        AgentFrame frame;
        const Peer* owner = pick(input);
        frame.handle = owner != nullptr ? owner->handle() : 0;
        frame.agent = input.octet() % (kAgentsMax + 1);
        frame.mgmt_class = kClasses[input.octet() % kClasses.size()];
        const std::uint8_t flags = input.octet();
        frame.class_version = static_cast<std::uint8_t>((flags & 1U) != 0 ? 2 : 1);
        frame.rmpp_version = static_cast<std::uint8_t>((flags & 2U) != 0 ? 1 : 0);
        frame.user_rmpp = static_cast<std::uint8_t>((flags & 4U) != 0 ? 1 : 0);
        frame.methods = {std::uint64_t{input.word()} << (flags >> 4U), 0};
        return bytes_of(frame);
    }
    static std::vector<std::uint8_t> mad(Input& input) {
        MadFrame frame;
        const std::uint8_t flags = input.octet();
        frame.agent = input.octet() % kAgentsMax;
        frame.timeout_ms = flags & 15U;
        frame.retries = (flags & 16U) != 0 ? input.octet() : 0U;
        frame.qpn = flags >> 7U;
        frame.lid = (flags & 32U) != 0 ? static_cast<std::uint16_t>(input.octet()) : std::uint16_t{0xFFFF};
        frame.length = (flags & 64U) != 0 ? input.word() : static_cast<std::uint32_t>(kMadFrameLeast);
        std::vector<std::uint8_t> payload = bytes_of(frame);
        std::array<std::uint8_t, kMadFrameLeast> mad{1, 0x81, 1, 1};
        for (std::size_t at = 1; at < 24; ++at) {
            const std::uint8_t octet = input.octet();
            mad[at] = octet != 0 ? octet : mad[at];
        }
        payload.insert(payload.end(), mad.begin(), mad.end());
        const std::size_t more = (flags & 64U) != 0 ? input.word() : 0U;
        payload.insert(payload.end(), more, std::uint8_t{0x5A});
        return payload;
    }

    sockaddr_un address_{};
    socklen_t size_ = sizeof address_;
    std::optional<Server> server_;
    std::vector<Peer> peers_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    ibf::fuzz::run_steps<Field>(data, size, kStepsMax);
    return 0;
}
