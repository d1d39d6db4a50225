// Two ends of a copy over real sockets and real TLS, on this machine.
#include "daemon/shell/replica.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>

#include <condition_variable>
#include <fstream>
#include <iterator>
#include <mutex>
#include <thread>

#include "base/log.hpp"
#include "daemon/core/config_digest.hpp"
#include "tests/unit/shell/certificates.hpp"

namespace ibf::shell {
namespace {

using core::CopyEnded;
using core::CopyReceived;
using core::CopyTold;
using core::PeerCompared;
using std::chrono::seconds;

constexpr seconds kPatienceForPeers{20};

/// What a loop would be told.
class News {
public:
    [[nodiscard]] Replica::Sink sink() {
        return [this](core::Event&& event) {
            const std::lock_guard lock(mutex_);
            events_.push_back(std::move(event));
            changed_.notify_all();
            return !full_;
        };
    }
    /// Until the condition holds of all that came.
    [[nodiscard]] bool wait(const std::function<bool(const std::vector<core::Event>&)>& condition) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, kPatienceForPeers, [&] { return condition(events_); });
    }
    template <class T>
    [[nodiscard]] std::vector<T> all() {
        const std::lock_guard lock(mutex_);
        std::vector<T> found;
        for (const core::Event& event : events_) {
            if (const auto* one = std::get_if<T>(&event)) {
                found.push_back(*one);
            }
        }
        return found;
    }
    template <class T>
    [[nodiscard]] std::size_t count() {
        return all<T>().size();
    }
    template <class T>
    [[nodiscard]] bool wait_for(std::size_t count) {
        return wait([&](const auto& events) {
            return count <= static_cast<std::size_t>(std::count_if(
                                events.begin(), events.end(),
                                [](const auto& event) { return std::holds_alternative<T>(event); }));
        });
    }
    void refuse(bool refuses) {
        const std::lock_guard lock(mutex_);
        full_ = refuses;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<core::Event> events_;
    bool full_ = false;
};

/// Until the condition holds.
[[nodiscard]] bool wait_until(const std::function<bool()>& condition) {
    const auto end = std::chrono::steady_clock::now() + kPatienceForPeers;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
    return true;
}

/// What the log says during its life. Some things are told to nobody else.
class LogLines {
public:
    explicit LogLines(const std::filesystem::path& folder) : file_(folder / "log"), stderr_(::dup(2)) {
        const int file = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        EXPECT_EQ(::dup2(file, 2), 2);
        ::close(file);
        static const bool started = [] {
            base::log_start(base::LogLevel::debug);  // once in a process
            return true;
        }();
        EXPECT_TRUE(started);
        base::log_set_level(base::LogLevel::debug);
    }
    ~LogLines() {
        base::log_set_level(base::LogLevel::off);
        ::dup2(stderr_, 2);
        ::close(stderr_);
    }
    LogLines(const LogLines&) = delete;
    LogLines& operator=(const LogLines&) = delete;

    [[nodiscard]] bool wait_for(const std::string& words, std::size_t times) const {
        return wait_until([&] {
            std::ifstream in(file_);
            const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
            std::size_t found = 0;
            for (auto at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
                ++found;
            }
            return found >= times;
        });
    }

private:
    std::filesystem::path file_;
    int stderr_;
};

constexpr mad::Guid kFirst{0x1001};
constexpr mad::Guid kSecond{0x1002};

db::Batch memory() {
    db::LidsRecord lids;
    lids.lids[mad::Guid{5}] = {mad::Lid{7}, 0};
    const auto row = std::make_shared<const std::vector<std::uint8_t>>(0xC000, std::uint8_t{3});
    db::Batch batch{lids, db::SaStateRecord{std::string(1'000'000, 'x')}};
    for (std::uint64_t guid = 1; guid <= 40; ++guid) {
        batch.emplace_back(db::TableRecord{mad::Guid{guid}, 0xBFFF, row, "ftree"});
    }
    return batch;
}

class Copies : public ::testing::Test {
protected:
    Copies()
        : folder(std::filesystem::path(::testing::TempDir()) / fmt::format("ibf-replica-{}", ::getpid())),
          ca(folder / "ca") {}
    ~Copies() override { std::filesystem::remove_all(folder); }

    [[nodiscard]] ReplicaConfig config(const test::Authority& authority, const std::string& name) const {
        const auto files =
            authority.certify({name, -1, 30, "serverAuth,clientAuth", "DNS:" + name + ".example"});
        ReplicaConfig config;
        config.certificate = files.certificate;
        config.key = files.key;
        config.ca = ca.file();
        return config;
    }
    static ReplicaIdentity identity(mad::Guid guid, std::uint8_t lmc) {
        sm::SmConfig config;
        config.lmc = lmc;
        return {{guid, fmt::format("sm{:x}", guid.value())}, core::config_digests(config)};
    }
    /// A master that listens.
    void start_giver(ReplicaConfig with) {
        with.listen = with.listen.empty() ? "127.0.0.1:0" : with.listen;
        giver = std::make_unique<Replica>(with, identity(kFirst, 0), memory(), 100, given.sink());
        ASSERT_TRUE(wait_until([this] { return giver->port() != 0; }));
        giver->stand({true, {}});
    }
    void start_taker(ReplicaConfig with, std::uint8_t lmc) {
        with.peers = {fmt::format("127.0.0.1:{}", giver->port())};
        taker_digests = identity(kSecond, lmc).digests;
        taker = std::make_unique<Replica>(with, identity(kSecond, lmc), db::Batch{}, 0, taken.sink());
        taker->stand({false, kFirst});
    }
    /// All that was on its way between the two has come: a Hello each way, and between them whatever there is
    /// to be given. They have met already.
    void let_all_come() {
        const std::size_t given_before = given.count<PeerCompared>();
        const std::size_t taken_before = taken.count<PeerCompared>();
        taker->reload(taker_digests);
        ASSERT_TRUE(given.wait_for<PeerCompared>(given_before + 1));
        ASSERT_TRUE(taken.wait_for<PeerCompared>(taken_before + 1)) << "who reloads compares as well";
        ASSERT_TRUE(giver->flush(kPatienceForPeers));
        giver->reload(identity(kFirst, 0).digests);
        ASSERT_TRUE(taken.wait_for<PeerCompared>(taken_before + 2));
    }
    void start_both() {
        start_giver(config(ca, "one"));
        start_taker(config(ca, "two"), 0);
    }

    std::filesystem::path folder;
    test::Authority ca;
    News given;
    News taken;
    core::ConfigDigests taker_digests;
    std::unique_ptr<Replica> giver;
    std::unique_ptr<Replica> taker;
};

TEST_F(Copies, AllThatThereIsAndThenWhatChanges) {
    start_both();
    ASSERT_TRUE(taken.wait_for<CopyReceived>(1));
    const auto whole = taken.all<CopyReceived>().at(0);
    EXPECT_EQ(whole.extent, sm::CopyExtent::whole);
    EXPECT_EQ(whole.from.guid, kFirst);
    EXPECT_EQ(whole.from.name, "sm1001");
    EXPECT_EQ(whole.batch.size(), memory().size());
    EXPECT_EQ(taken.all<CopyTold>().at(0).edition, 100U);

    giver->told(101, mad::Guid{55});
    giver->changed({db::SaStateRecord{"new"}, db::FabricRecord{}});
    ASSERT_TRUE(taken.wait_for<CopyReceived>(2));
    const auto change = taken.all<CopyReceived>().at(1);
    EXPECT_EQ(change.extent, sm::CopyExtent::changes);
    ASSERT_EQ(change.batch.size(), 1U) << "a standby sees the fabric for itself";
    EXPECT_EQ(std::get<db::SaStateRecord>(change.batch[0]).text, "new");
    ASSERT_TRUE(taken.wait([](const auto& events) {
        std::size_t told = 0;
        for (std::size_t i = 0; i < events.size(); ++i) {
            const auto* one = std::get_if<CopyTold>(&events[i]);
            told =
                told == 0 && one != nullptr && one->edition == 101 && one->client == mad::Guid{55} ? i : told;
            if (std::holds_alternative<CopyReceived>(events[i]) && told != 0) {
                return true;  // told before it came
            }
        }
        return false;
    }));
    EXPECT_TRUE(giver->flush(kPatienceForPeers));
}

TEST_F(Copies, NobodyIsCopiedWhoIsNotFollowedOrNotMaster) {
    start_giver(config(ca, "one"));
    giver->stand({false, {}});
    start_taker(config(ca, "two"), 0);
    ASSERT_TRUE(taken.wait_for<PeerCompared>(1));
    ASSERT_TRUE(given.wait_for<PeerCompared>(1));
    let_all_come();
    EXPECT_TRUE(taken.all<CopyReceived>().empty());
    giver->stand({true, {}});
    ASSERT_TRUE(taken.wait_for<CopyReceived>(1));
    taker->stand({false, mad::Guid{77}});
    ASSERT_TRUE(taken.wait_for<CopyEnded>(1));
    const std::size_t met = taken.count<PeerCompared>();
    giver->changed({db::SaStateRecord{"new"}});
    ASSERT_TRUE(taken.wait_for<PeerCompared>(met + 1)) << "the connection is there all the same";
    EXPECT_EQ(taken.all<CopyReceived>().size(), 1U);
}

// Its end by hand-over leaves a copy that is whole; by death, one that is so old.
TEST_F(Copies, TheEndOfAMastershipIsNotTheEndOfItsCopy) {
    start_both();
    ASSERT_TRUE(taken.wait_for<CopyReceived>(1));
    giver->stand({false, kSecond});
    taker->stand({true, {}});
    let_all_come();
    EXPECT_TRUE(taken.all<CopyEnded>().empty());
    giver->stand({true, {}});
    taker->stand({false, kFirst});
    ASSERT_TRUE(taken.wait_for<CopyReceived>(2));
    EXPECT_EQ(taken.all<CopyReceived>().at(1).extent, sm::CopyExtent::whole);
    giver.reset();
    ASSERT_TRUE(taken.wait_for<CopyEnded>(1));
}

TEST_F(Copies, AfterABreakItBeginsAnew) {
    start_both();
    ASSERT_TRUE(taken.wait_for<CopyReceived>(1));
    const std::string where = fmt::format("127.0.0.1:{}", giver->port());
    giver.reset();
    ASSERT_TRUE(taken.wait_for<CopyEnded>(1));
    ReplicaConfig again = config(ca, "one");
    again.listen = where;
    start_giver(again);
    ASSERT_TRUE(taken.wait_for<CopyReceived>(2));
    EXPECT_EQ(taken.all<CopyReceived>().at(1).extent, sm::CopyExtent::whole);
}

// A loop that cannot keep up costs a new beginning, and no gap.
TEST_F(Copies, WhatCannotBeTakenInEndsTheCopy) {
    start_both();
    ASSERT_TRUE(taken.wait_for<CopyReceived>(1));
    taken.refuse(true);
    giver->changed({db::SaStateRecord{"lost"}});
    ASSERT_TRUE(taken.wait_for<CopyEnded>(1));
    taken.refuse(false);
    ASSERT_TRUE(taken.wait([](const auto& events) {
        const auto* last = std::get_if<CopyReceived>(&events.back());
        return last != nullptr && last->extent == sm::CopyExtent::whole && events.size() > 3;
    }));
}

TEST_F(Copies, WithoutTheRightCertificateNothingIsSaid) {
    const LogLines log(folder);
    start_giver(config(ca, "one"));
    const test::Authority rogue(folder / "rogue");
    ReplicaConfig stranger = config(rogue, "two");
    stranger.ca = rogue.file();
    start_taker(stranger, 0);
    ASSERT_TRUE(log.wait_for("who called: ", 2)) << "it calls again";
    EXPECT_TRUE(given.all<PeerCompared>().empty());
    EXPECT_TRUE(taken.all<PeerCompared>().empty());
    EXPECT_TRUE(taken.all<CopyReceived>().empty());
}

TEST_F(Copies, ACertificateOfAnotherNameIsNotLetIn) {
    const LogLines log(folder);
    ReplicaConfig chooses = config(ca, "one");
    chooses.names = {"three.example"};
    start_giver(chooses);
    start_taker(config(ca, "two"), 0);
    ASSERT_TRUE(log.wait_for("who called: ", 1));
    EXPECT_TRUE(given.all<PeerCompared>().empty());
    EXPECT_TRUE(taken.all<CopyReceived>().empty());
    start_taker(config(ca, "three"), 0);
    EXPECT_TRUE(taken.wait_for<CopyReceived>(1)) << "by its DNS name";
}

// C56: both sides hear of it; where it is refused, there is no copy until they agree.
TEST_F(Copies, C56_DifferencesAreToldOnBothSides) {
    start_giver(config(ca, "one"));
    start_taker(config(ca, "two"), 1);
    ASSERT_TRUE(given.wait_for<PeerCompared>(1));
    ASSERT_TRUE(taken.wait_for<PeerCompared>(1));
    EXPECT_EQ(given.all<PeerCompared>().at(0).differences, std::vector<std::string>{"LMC"});
    EXPECT_EQ(taken.all<PeerCompared>().at(0).differences, std::vector<std::string>{"LMC"});
    EXPECT_TRUE(taken.wait_for<CopyReceived>(1)) << "a warning is no refusal";
}

TEST_F(Copies, C56_WhereDifferencesAreRefusedThereIsNoCopyUntilTheyAgree) {
    ReplicaConfig strict = config(ca, "one");
    strict.on_difference = OnDifference::refuse;
    start_giver(strict);
    start_taker(config(ca, "two"), 1);
    ASSERT_TRUE(given.wait_for<PeerCompared>(1));
    ASSERT_TRUE(taken.wait_for<PeerCompared>(1));
    let_all_come();
    EXPECT_TRUE(taken.all<CopyReceived>().empty());
    taker->reload(core::config_digests(sm::SmConfig{}));
    EXPECT_TRUE(taken.wait_for<CopyReceived>(1));
    EXPECT_EQ(taken.all<PeerCompared>().front().differences, std::vector<std::string>{"LMC"});
    EXPECT_TRUE(taken.all<PeerCompared>().back().differences.empty())
        << "who has changed hears of it as well";
}

// The same list on every node: each finds itself on it.
TEST_F(Copies, OurselvesAreNoPeer) {
    const LogLines log(folder);
    start_giver(config(ca, "one"));
    ReplicaConfig both = config(ca, "two");
    both.peers = {fmt::format("127.0.0.1:{}", giver->port())};
    const Replica itself(both, identity(kFirst, 0), db::Batch{}, 0, taken.sink());
    ASSERT_TRUE(log.wait_for(" is this SM itself", 1));
    EXPECT_TRUE(taken.all<PeerCompared>().empty());
    EXPECT_TRUE(given.all<PeerCompared>().empty());
}

TEST_F(Copies, WrongFilesAreToldAndMended) {
    ReplicaConfig broken = config(ca, "one");
    ASSERT_EQ(::chmod(broken.key.c_str(), 0644), 0);
    broken.listen = "127.0.0.1:0";
    Replica replica(broken, identity(kFirst, 0), memory(), 1, given.sink());
    ASSERT_TRUE(given.wait_for<core::CopyTrouble>(1));
    EXPECT_EQ(replica.port(), 0) << "nothing is listened for";
    EXPECT_NE(given.all<core::CopyTrouble>()[0].text.find("chmod 600"), std::string::npos);
    ASSERT_EQ(::chmod(broken.key.c_str(), 0600), 0);
    replica.reload(core::config_digests(sm::SmConfig{}));
    ASSERT_TRUE(given.wait_for<core::CopyTrouble>(2));
    EXPECT_EQ(given.all<core::CopyTrouble>()[1].text, "");
    EXPECT_NE(replica.port(), 0);
}

}  // namespace
}  // namespace ibf::shell
