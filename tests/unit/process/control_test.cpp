// The client of the text commands against a real server in a thread.
#include "sim/process/control.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <thread>

#include "sim/process/server.hpp"

namespace ibf::sim {
namespace {

TEST(Control, GivesCommandsAndReadsAnswers) {
    const std::string path = ::testing::TempDir() + "ibf-control-" + std::to_string(::getpid());
    auto simulator =
        std::make_unique<Simulator>(*routing::generate_netlist("fat-tree:radix=4,levels=2"), SimOptions{});
    Server server(std::move(simulator), std::move(*listen_at(path)));
    const Descriptor stop(::eventfd(0, EFD_CLOEXEC));
    std::thread thread([&] { server.serve(stop); });
    EXPECT_EQ(give_command(path, {"link-down", "host-0001/1"}).value_or("failed"), "");
    EXPECT_NE(give_command(path, {"truth"}).value_or("").find("\"links\""), std::string::npos);
    const base::Result<std::string> refused = give_command(path, {"link-down", "a name with blanks/1"});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, base::ErrorKind::refused);
    EXPECT_NE(refused.error().message.find("'a name with blanks/1' names no node"), std::string::npos);
    EXPECT_TRUE(give_command(path, {"quit"}));
    thread.join();
    ::unlink(path.c_str());
    const base::Result<std::string> gone = give_command(path, {"truth"});
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().kind, base::ErrorKind::unavailable);
    EXPECT_FALSE(give_command(std::string(300, 'x'), {"truth"}));
}

}  // namespace
}  // namespace ibf::sim
