// The server as its clients see it: frames and text over a real socket, the server's passes taken by hand.
#include "sim/process/server.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>

#include "base/prng.hpp"
#include "routing/netlist.hpp"

namespace ibf::sim {
namespace {

class ServerTest : public ::testing::Test {
protected:
    ServerTest() {
        std::string pattern = ::testing::TempDir() + "ibfXXXXXX";
        EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
        folder = pattern;
        path = folder + "/s";
        auto simulator = std::make_unique<Simulator>(*routing::generate_netlist("fat-tree:radix=4,levels=2"),
                                                     SimOptions{});
        server.emplace(std::move(simulator), std::move(*listen_at(path)));
    }
    ~ServerTest() override {
        server.reset();
        ::unlink(path.c_str());
        ::rmdir(folder.c_str());
    }

    void pass() {
        for (int i = 0; i < 4; ++i) {
            static_cast<void>(server->turn(std::chrono::milliseconds{1}, -1));
        }
    }

    /// A client's end; speaks the protocol as the stand-in does.
    struct Peer {
        explicit Peer(ServerTest& owner) : test(owner), socket(::socket(AF_UNIX, SOCK_STREAM, 0)) {
            sockaddr_un address{};
            address.sun_family = AF_UNIX;
            std::copy(test.path.begin(), test.path.end(), address.sun_path);
            EXPECT_EQ(::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
                      0);
        }
        void put(const void* bytes, std::size_t size) {
            EXPECT_EQ(::send(socket.number(), bytes, size, MSG_NOSIGNAL), static_cast<ssize_t>(size));
        }
        template <class T>
        void send(FrameKind kind, const T& payload, std::vector<std::uint8_t> rest = {}) {
            const FrameHeader header{.kind = kind,
                                     .bytes = static_cast<std::uint32_t>(sizeof payload + rest.size())};
            put(&header, sizeof header);
            put(&payload, sizeof payload);
            put(rest.data(), rest.size());
        }
        /// Everything that has come.
        std::string take() {
            std::string all;
            std::array<char, 65536> buffer{};
            for (ssize_t got = 1; got > 0;) {
                got = ::recv(socket.number(), buffer.data(), buffer.size(), MSG_DONTWAIT);
                all.append(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
                closed = got == 0;
            }
            return all;
        }
        template <class T>
        std::optional<T> answer(FrameKind kind) {
            test.pass();
            const std::string all = take();
            if (all.size() < sizeof(FrameHeader) + sizeof(T)) {
                return std::nullopt;
            }
            const auto* bytes = reinterpret_cast<const std::uint8_t*>(all.data());
            const auto header = read_payload<FrameHeader>(bytes, sizeof(FrameHeader));
            return header.kind == kind ? std::optional{read_payload<T>(bytes + sizeof header, sizeof(T))}
                                       : std::nullopt;
        }
        std::string command(const std::string& line) {
            put(line.data(), line.size());
            test.pass();
            return take();
        }

        ServerTest& test;
        Descriptor socket;
        bool closed = false;
    };

    static PlaceRequest at(const std::string& node) {
        PlaceRequest request;
        std::copy(node.begin(), node.end(), request.node.begin());
        return request;
    }
    std::uint32_t open(Peer& peer, const std::string& node) {
        peer.send(FrameKind::open_port, at(node));
        const std::optional<Done> done = peer.answer<Done>(FrameKind::done);
        EXPECT_TRUE(done);
        return done ? done->value : 0;
    }
    static AgentFrame sm_agent(std::uint32_t handle) {
        AgentFrame frame;
        frame.handle = handle;
        frame.mgmt_class = 0x81;
        frame.class_version = 1;
        frame.methods[0] = 1U << 5U;
        return frame;
    }
    static std::vector<std::uint8_t> node_info_of_self() {
        std::vector<std::uint8_t> bytes(256);
        bytes[0] = bytes[2] = bytes[3] = 1;
        bytes[1] = 0x81;
        bytes[17] = 0x11;
        bytes[32] = bytes[33] = bytes[34] = bytes[35] = 0xFF;
        return bytes;
    }
    static MadFrame to_self(std::uint32_t agent) {
        MadFrame frame;
        frame.agent = agent;
        frame.lid = 0xFFFF;
        frame.timeout_ms = 1000;
        frame.length = 256;
        return frame;
    }

    std::string folder;
    std::string path;
    std::optional<Server> server;
};

TEST_F(ServerTest, AProgramJoinsAsksAndIsAnswered) {
    Peer asking(*this);
    Peer port(*this);
    const std::uint32_t handle = open(port, "host-0003");
    asking.send(FrameKind::add_agent, sm_agent(handle));
    const std::optional<Done> agent = asking.answer<Done>(FrameKind::done);
    ASSERT_TRUE(agent);
    port.send(FrameKind::mad, to_self(agent->value), node_info_of_self());
    pass();
    const std::string all = port.take();
    ASSERT_EQ(all.size(), sizeof(FrameHeader) + sizeof(MadFrame) + 256);
    EXPECT_EQ(static_cast<std::uint8_t>(all[sizeof(FrameHeader) + sizeof(MadFrame) + 3]), 0x81);
    asking.send(FrameKind::ask_node, at("host-0003"));
    const std::optional<NodeAnswer> node = asking.answer<NodeAnswer>(FrameKind::node_answer);
    ASSERT_TRUE(node);
    EXPECT_EQ(node->type, 1);
    EXPECT_EQ(node->port, 1);
    asking.send(FrameKind::ask_port, at("host-0003/1"));
    const std::optional<PortAnswer> answer = asking.answer<PortAnswer>(FrameKind::port_answer);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->state, 2);
    EXPECT_EQ(answer->pkeys[0], 0xFFFF);
}

TEST_F(ServerTest, ProgramsAtOnePortShareItAndTheDeadMakeRoom) {
    Peer asking(*this);
    auto first = std::make_unique<Peer>(*this);
    Peer second(*this);
    const std::uint32_t first_handle = open(*first, "host-0001");
    const std::uint32_t second_handle = open(second, "host-0001");
    asking.send(FrameKind::add_agent, sm_agent(first_handle));
    EXPECT_TRUE(asking.answer<Done>(FrameKind::done));
    asking.send(FrameKind::add_agent, sm_agent(second_handle));
    const std::optional<Refused> refused = asking.answer<Refused>(FrameKind::refused);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->error, EINVAL);
    first.reset();
    pass();
    asking.send(FrameKind::add_agent, sm_agent(second_handle));
    EXPECT_TRUE(asking.answer<Done>(FrameKind::done));
    AgentFrame leaving = sm_agent(second_handle);
    asking.send(FrameKind::remove_agent, leaving);
    EXPECT_TRUE(asking.answer<Done>(FrameKind::done));
    asking.send(FrameKind::remove_agent, leaving);
    EXPECT_TRUE(asking.answer<Refused>(FrameKind::refused));
}

TEST_F(ServerTest, AQueuePairLivesAsLongAsItsProgram) {
    auto first = std::make_unique<Peer>(*this);
    Peer second(*this);
    const QpRequest request{.place = at("host-0001"), .qp = 77, .reserved = 0};
    first->send(FrameKind::open_qp, request);
    EXPECT_TRUE(first->answer<Done>(FrameKind::done));
    second.send(FrameKind::open_qp, request);
    const std::optional<Refused> refused = second.answer<Refused>(FrameKind::refused);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->error, EBUSY);
    first.reset();
    pass();
    second.send(FrameKind::open_qp, request);
    EXPECT_TRUE(second.answer<Done>(FrameKind::done));
    second.send(FrameKind::mad, to_self(0), node_info_of_self());  // an SMP: only QP0 may send it
    pass();
    EXPECT_EQ(second.take(), "");
    second.send(FrameKind::open_qp, request);
    EXPECT_TRUE(second.answer<Refused>(FrameKind::refused));
}

TEST_F(ServerTest, IsSmLivesAsLongAsItsHolder) {
    Peer text(*this);
    auto holder = std::make_unique<Peer>(*this);
    Peer rival(*this);
    holder->send(FrameKind::take_issm, at("host-0002"));
    EXPECT_TRUE(holder->answer<Done>(FrameKind::done));
    EXPECT_NE(text.command("truth\n").find("\"is_sm\":true"), std::string::npos);
    rival.send(FrameKind::take_issm, at("host-0002"));
    const std::optional<Refused> refused = rival.answer<Refused>(FrameKind::refused);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->error, EAGAIN);
    holder.reset();
    pass();
    EXPECT_EQ(text.command("truth\n").find("\"is_sm\":true"), std::string::npos);
    rival.send(FrameKind::take_issm, at("host-0002"));
    EXPECT_TRUE(rival.answer<Done>(FrameKind::done));
}

TEST_F(ServerTest, GarbageEndsOnlyItsOwnConnection) {
    Peer good(*this);
    const std::uint32_t handle = open(good, "");
    for (const std::string& bytes : {std::string("\xFB\x09garbage."), std::string(100, '\xFF'),
                                     std::string("\xFB\x01\x10\x00\xFF\xFF\xFF\x7F", 8)}) {
        Peer bad(*this);
        bad.put(bytes.data(), bytes.size());
        pass();
        bad.take();
        EXPECT_TRUE(bad.closed);
    }
    Peer odd(*this);
    for (const FrameKind kind :
         {FrameKind::add_agent, FrameKind::remove_agent, FrameKind::ask_node, FrameKind::mad}) {
        odd.send(kind, std::uint8_t{0xFF});  // payloads cut short
    }
    pass();
    odd.take();
    EXPECT_FALSE(odd.closed);
    good.send(FrameKind::mad, to_self(31), node_info_of_self());  // an agent that is not there
    AgentFrame agent = sm_agent(handle);
    odd.send(FrameKind::add_agent, agent);
    EXPECT_TRUE(odd.answer<Done>(FrameKind::done));
}

TEST_F(ServerTest, RandomFramesHarmNobody) {
    constexpr std::array kKinds{FrameKind::ask_node,  FrameKind::ask_port, FrameKind::open_port,
                                FrameKind::take_issm, FrameKind::open_qp,  FrameKind::remove_agent,
                                FrameKind::add_agent, FrameKind::mad,      FrameKind::mad,
                                FrameKind::mad,       FrameKind::done,     FrameKind::port_answer};
    base::Prng prng(11);
    std::vector<std::unique_ptr<Peer>> peers;
    for (int round = 0; round < 4000; ++round) {
        if (peers.size() < 8) {
            peers.push_back(std::make_unique<Peer>(*this));
            open(*peers.back(), prng.below(2) == 0 ? "host-0001" : "leaf-001");
        }
        Peer& peer = *peers[prng.below(peers.size())];
        // Small numbers hit handles, agents, classes and methods that exist; the rest is noise.
        std::array<std::uint8_t, 512> payload{};
        const std::uint64_t size = prng.below(payload.size());
        for (std::size_t i = 0; i < size; ++i) {
            payload[i] = static_cast<std::uint8_t>(prng.below(4) == 0 ? prng.below(256) : prng.below(4));
        }
        const FrameHeader header{.kind = kKinds[prng.below(kKinds.size())],
                                 .bytes = static_cast<std::uint32_t>(size)};
        std::array<std::uint8_t, sizeof header + sizeof payload> bytes{};
        std::memcpy(bytes.data(), &header, sizeof header);
        std::copy_n(payload.begin(), size, bytes.begin() + sizeof header);
        const std::size_t cut = prng.below(50) == 0 ? prng.below(sizeof header + size) : sizeof header + size;
        static_cast<void>(::send(peer.socket.number(), bytes.data(), cut, MSG_NOSIGNAL | MSG_DONTWAIT));
        static_cast<void>(server->turn(std::chrono::microseconds{1}, -1));
        peer.take();
        if (peer.closed || prng.below(100) == 0) {
            peers.erase(std::find_if(peers.begin(), peers.end(),
                                     [&](const auto& item) { return item.get() == &peer; }));
        }
    }
    peers.clear();
    pass();
    Peer text(*this);
    EXPECT_NE(text.command("clients\n").find("connections 1\n"), std::string::npos);
}

TEST_F(ServerTest, WhoDoesNotReadLosesMadsAndHarmsNobody) {
    Peer asking(*this);
    Peer port(*this);
    AgentFrame frame = sm_agent(open(port, ""));
    asking.send(FrameKind::add_agent, frame);
    const std::uint32_t agent = asking.answer<Done>(FrameKind::done)->value;
    for (int i = 0; i < 60'000; ++i) {
        port.send(FrameKind::mad, to_self(agent), node_info_of_self());
        if (i % 64 == 0) {
            static_cast<void>(server->turn(std::chrono::microseconds{1}, -1));
        }
    }
    pass();
    Peer text(*this);
    const std::string counters = text.command("counters\n");
    const std::size_t at_dropped = counters.find("dropped ");
    ASSERT_NE(at_dropped, std::string::npos);
    EXPECT_GT(std::stoi(counters.substr(at_dropped + 8)), 0) << counters;
}

TEST_F(ServerTest, TextCommandsAndQuit) {
    Peer text(*this);
    EXPECT_EQ(text.command("link-down host-0001/1\n"), "ok\n");
    EXPECT_NE(text.command("clients\n").find("connections 1\nok\n"), std::string::npos);
    EXPECT_EQ(text.command("link-dwn host-0001/1\n").substr(0, 7), "error: ");
    EXPECT_FALSE(server->quit_asked());
    EXPECT_EQ(text.command("quit\n"), "ok\n");
    EXPECT_TRUE(server->quit_asked());
}

TEST_F(ServerTest, ASocketIsServedOnceAndALeftOverOneTakenOver) {
    const base::Result<Descriptor> rival = listen_at(path);
    ASSERT_FALSE(rival);
    EXPECT_EQ(rival.error().kind, base::ErrorKind::refused);
    server.reset();
    EXPECT_TRUE(listen_at(path));
    EXPECT_FALSE(listen_at(std::string(200, 'x')));
}

}  // namespace
}  // namespace ibf::sim
