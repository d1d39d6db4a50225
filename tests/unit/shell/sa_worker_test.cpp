// The SA's thread among others: clients that ask at once, a core that changes what it reads, readers of its
// counters.
#include "daemon/shell/sa_worker.hpp"

#include <deque>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "base/prng.hpp"
#include "daemon/sa/registry.hpp"
#include "mad/octets.hpp"
#include "tests/unit/fabric_from_netlist.hpp"

namespace ibf::shell {
namespace {

using mad::SaAttribute;
using mad::SaMethod;

constexpr std::uint64_t kPrefix = 0xfe80000000000000ULL;
constexpr unsigned kClients = 8;
constexpr unsigned kSteps = 400;
constexpr unsigned kGroups = 5;

mad::Gid group_name(std::uint64_t number) {
    return {0xff15a01c00000000ULL, mad::Guid{number}};
}

/// Answers, by the LID that they go to.
class Answers {
public:
    void put(const mad::WireMad& wire) {
        {
            const std::lock_guard lock(mutex_);
            boxes_[wire.address.lid].push_back(mad::parse_sa_mad(wire.bytes).value());
        }
        arrived_.notify_all();
    }
    mad::SaMad take(mad::Lid lid) {
        std::unique_lock lock(mutex_);
        auto& box = boxes_[lid];
        arrived_.wait(lock, [&] { return !box.empty(); });
        const mad::SaMad mad = box.front();
        box.pop_front();
        return mad;
    }

private:
    std::mutex mutex_;
    std::condition_variable arrived_;
    std::map<mad::Lid, std::deque<mad::SaMad>> boxes_;
};

/// A worker, and a thread in the core's place: it judges what changes something and shows the new tables.
class Threads {
public:
    Threads()
        : registry_(sa::SaConfig{}, sa::RegistryLimits{}),
          worker_(
              sa::SaConfig{}, [this](const mad::WireMad& mad) { answers.put(mad); },
              [this](mad::WireMad&& mad, std::shared_ptr<const sa::View> seen) {
                  EXPECT_TRUE(changes_.push({std::move(mad), std::move(seen)}));
              }) {
        snapshot_ = test::snapshot_of_spec("fat-tree:radix=4,levels=2");
        auto fabric = std::make_shared<fabric::Fabric>(*snapshot_.fabric);
        for (fabric::Node& node : fabric->nodes) {
            for (fabric::Port& port : node.ports) {
                port.pkeys.resize(1);
                port.pkeys[0].keys[0] = mad::kPKeyDefaultFull;
            }
        }
        snapshot_.fabric = fabric;
        view = std::make_shared<sa::View>(std::make_shared<fabric::Snapshot>(snapshot_));
        registry_.on_fabric(view, base::Instant{}, out_);
        show();
        core_ = std::thread([this] { run(); });
    }
    ~Threads() {
        worker_.stop();
        changes_.close();
        core_.join();
    }

    mad::SaMad ask(mad::Lid from, mad::SaMad mad) {
        mad.header.tid = ++tid_;
        mad::WireMad wire{mad::encode_sa_mad(mad), {}, {}};
        wire.address.lid = from;
        wire.address.qp = 1;
        worker_.post(std::move(wire));
        return answers.take(from);
    }
    SaWorker& worker() { return worker_; }
    /// The counters, once they have come to so many requests: they are told a moment late.
    std::shared_ptr<const fabric::SaActivity> activity_of(std::uint64_t requests) {
        for (;;) {
            if (auto activity = worker_.activity(); activity->requests >= requests) {
                return activity;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds{5});
        }
    }
    /// Once no client asks any more.
    std::shared_ptr<const fabric::SaTables> tables() { return registry_.tables(); }

    std::shared_ptr<const sa::View> view;
    Answers answers;

private:
    struct Change {
        mad::WireMad mad;
        std::shared_ptr<const sa::View> view;
    };
    void show() {
        auto fresh = std::make_shared<fabric::Snapshot>(snapshot_);
        fresh->sa = registry_.tables();
        worker_.show(std::move(fresh));
    }
    void run() {
        std::vector<Change> batch;
        while (changes_.wait(batch)) {
            for (const Change& change : batch) {
                out_ = {};
                registry_.on_request(change.mad, *change.view, base::Instant{}, out_);
                show();
                for (const mad::WireMad& mad : out_.wire) {
                    answers.put(mad);
                }
            }
        }
    }

    fabric::Snapshot snapshot_;
    sa::Registry registry_;
    sa::RegistryOutputs out_;
    base::Mailbox<Change> changes_{1U << 16U};
    std::atomic<std::uint64_t> tid_{0};
    SaWorker worker_;
    std::thread core_;
};

/// What one client does with its own membership; it knows what each answer must be.
class Client {
public:
    Client(Threads& threads, const sa::End& end, std::uint64_t seed)
        : threads_(threads), end_(end), prng_(seed) {}

    void run() {
        for (unsigned i = 0; i < kSteps; ++i) {
            const std::uint64_t group = 1 + prng_.below(kGroups);
            switch (prng_.below(5)) {
                case 0:
                case 1:
                    EXPECT_EQ(join(group_name(group), 0xFFFF), 0);
                    joined.insert(group);
                    break;
                case 2: EXPECT_EQ(leave(group), joined.erase(group) > 0 ? 0 : mad::kSaRequestInvalid); break;
                case 3:
                    EXPECT_NE(join(mad::ipoib_broadcast(mad::kPKeyDefaultFull, mad::kScopeLinkLocal), 0x8005),
                              0);
                    break;
                default: EXPECT_EQ(read(), 0) << "the broadcast group is always there";
            }
        }
    }
    std::set<std::uint64_t> joined;

private:
    mad::SaMad member(SaMethod method, mad::Gid mgid) const {
        const sa::RecordType& type = sa::record_type_of(SaAttribute::mc_member_record);
        mad::SaMad mad;
        mad.header.method = static_cast<std::uint8_t>(method);
        mad.header.attribute = static_cast<mad::Attribute>(SaAttribute::mc_member_record);
        mad::store_gid(mad.data, 0, mgid);
        mad::store_gid(mad.data, 16, {kPrefix, end_.guid});
        type.set(mad.data, "JoinState", 1);
        for (const char* field : {"MGID", "PortGID", "JoinState"}) {
            mad.component_mask |= std::uint64_t{1} << type.component(field);
        }
        return mad;
    }
    mad::MadStatus join(mad::Gid mgid, std::uint64_t pkey) {
        const sa::RecordType& type = sa::record_type_of(SaAttribute::mc_member_record);
        mad::SaMad mad = member(SaMethod::set, mgid);
        type.set(mad.data, "P_Key", pkey);
        for (const char* field : {"Q_Key", "TClass", "P_Key", "SL", "FlowLabel"}) {
            mad.component_mask |= std::uint64_t{1} << type.component(field);
        }
        return threads_.ask(end_.lids.base, mad).header.status;
    }
    mad::MadStatus leave(std::uint64_t group) {
        return threads_.ask(end_.lids.base, member(SaMethod::remove, group_name(group))).header.status;
    }
    mad::MadStatus read() {
        mad::SaMad mad =
            member(SaMethod::get, mad::ipoib_broadcast(mad::kPKeyDefaultFull, mad::kScopeLinkLocal));
        mad.component_mask = 1;  // MGID
        return threads_.ask(end_.lids.base, mad).header.status;
    }

    Threads& threads_;
    const sa::End& end_;
    base::Prng prng_;
};

// C96: eight threads of clients join, leave and join wrongly: nothing is lost, nothing empty is left.
TEST(FieldCase, C96_eight_threads_of_clients) {
    Threads threads;
    std::vector<Client> clients;
    for (const sa::End& end : threads.view->ends()) {
        if (!end.is_switch && clients.size() < kClients) {
            clients.emplace_back(threads, end, clients.size() + 1);
        }
    }
    ASSERT_EQ(clients.size(), kClients);
    std::vector<std::thread> running;
    for (Client& client : clients) {
        running.emplace_back([&client] { client.run(); });
    }
    const std::uint64_t meanwhile = threads.worker().activity()->requests;
    for (std::thread& thread : running) {
        thread.join();
    }
    const auto after = threads.activity_of(std::uint64_t{kClients} * kSteps);
    EXPECT_LE(meanwhile, after->requests);
    EXPECT_EQ(after->dropped, 0U);

    std::map<mad::Gid, std::size_t> expected;
    for (const Client& client : clients) {
        for (const std::uint64_t group : client.joined) {
            ++expected[group_name(group)];
        }
    }
    const auto tables = threads.tables();
    EXPECT_EQ(tables->groups.size(), expected.size() + 1U) << "those with members, and the broadcast group";
    for (const auto& [mgid, members] : expected) {
        ASSERT_TRUE(tables->groups.contains(mgid));
        EXPECT_EQ(tables->groups.at(mgid)->members.size(), members);
    }
}

TEST(SaWorker, TellsItsCounters) {
    Threads threads;
    EXPECT_EQ(threads.worker().activity()->requests, 0U);
    const sa::End& end = threads.view->ends().front();
    mad::SaMad mad;
    mad.header.method = static_cast<std::uint8_t>(SaMethod::get);
    mad.header.attribute = static_cast<mad::Attribute>(SaAttribute::class_port_info);
    for (std::uint64_t i = 1; i <= 3; ++i) {
        EXPECT_EQ(threads.ask(end.lids.base, mad).header.status, 0);
        EXPECT_EQ(threads.activity_of(i)->answered, i);
    }
}

}  // namespace
}  // namespace ibf::shell
