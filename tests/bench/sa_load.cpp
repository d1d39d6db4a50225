// PathRecord Gets as fast as subnet administration answers: THREADS clients on this port, each with a file
// descriptor of its own and WINDOW requests under way, random DLIDs of the file LIDS (one a line), for
// SECONDS.
//
//   sa_load THREADS WINDOW SECONDS LIDS SAMPLES
//
// Every answer's latency goes to the file SAMPLES, microseconds, one a line. Prints
//   answers N lost N wrong N seconds S rate R p50 U p99 U max U
// and a line "refused STATUS N" for each status that is not 0.
// A request that is not answered within a second is lost, and never sent again.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <map>
#include <random>
#include <thread>
#include <unordered_map>

#include "tests/conformance/sa_port.hpp"

namespace {

using namespace sa_client;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kDlid = 1U << 4U, kSlid = 1U << 5U, kReversible = 1U << 11U, kNumbPath = 1U << 12U;
constexpr std::size_t kDlidAt = 40, kSlidAt = 42, kNumbPathAt = 49;
constexpr int kLostAfterMs = 1000;

struct Under {
    std::uint16_t dlid;
    Clock::time_point sent;
};

struct Client {
    std::vector<std::uint32_t> microseconds;
    std::uint64_t lost = 0;
    std::uint64_t wrong = 0;  ///< no record, another's, or an answer that nobody waits for
    std::map<std::uint16_t, std::uint64_t> refused;  ///< status -> how many of the wrong ones
    std::string failure;
};

void ask(Port& port, std::uint32_t tid, std::uint16_t dlid) {
    Request request;
    request.attribute = kPathRecord;
    request.components = kDlid | kSlid | kReversible | kNumbPath;
    request.tid = tid;
    request.put16(kDlidAt, dlid);
    request.put16(kSlidAt, port.lid());
    request.data[kNumbPathAt] = 0x81;
    port.send(request, kLostAfterMs, 0);
}

void run(Client& client, const std::vector<std::uint16_t>& lids, unsigned window, Clock::time_point end,
         unsigned seed) {
    Port port;
    std::mt19937 random(seed);
    std::unordered_map<std::uint32_t, Under> under_way;
    std::uint32_t tid = 0;
    while (true) {
        const auto now = Clock::now();
        while (under_way.size() < window && now < end) {
            const std::uint16_t dlid = lids[random() % lids.size()];
            under_way[++tid] = {dlid, Clock::now()};
            ask(port, tid, dlid);
        }
        if (under_way.empty()) {
            return;
        }
        const Answer answer = port.receive();
        const auto asked = under_way.find(answer.tid);
        if (asked == under_way.end()) {
            ++client.wrong;
            continue;
        }
        if (answer.error != 0) {
            ++client.lost;
        } else {
            const auto took = Clock::now() - asked->second.sent;
            client.microseconds.push_back(static_cast<std::uint32_t>(
                std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
            const bool right = answer.status == 0 && answer.get16(kDlidAt) == asked->second.dlid;
            client.wrong += right ? 0U : 1U;
            if (answer.status != 0) {
                ++client.refused[answer.status];
            }
        }
        under_way.erase(asked);
    }
}

std::vector<std::uint16_t> read_lids(const char* path) {
    std::ifstream file(path);
    std::vector<std::uint16_t> lids;
    for (unsigned lid = 0; file >> lid;) {
        lids.push_back(static_cast<std::uint16_t>(lid));
    }
    return lids;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::uint16_t> lids = argc == 6 ? read_lids(argv[4]) : std::vector<std::uint16_t>{};
    if (lids.empty()) {
        std::fputs("usage: sa_load THREADS WINDOW SECONDS LIDS SAMPLES\n", stderr);
        return 2;
    }
    const auto window = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
    std::vector<Client> clients(std::strtoul(argv[1], nullptr, 10));
    std::vector<std::thread> threads;
    const auto start = Clock::now();
    const auto end = start + std::chrono::duration_cast<Clock::duration>(
                                 std::chrono::duration<double>(std::strtod(argv[3], nullptr)));
    for (unsigned i = 0; i < clients.size(); ++i) {
        threads.emplace_back([&, i] {
            try {
                run(clients[i], lids, window, end, i + 1);
            } catch (const std::exception& error) {
                clients[i].failure = error.what();
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    Client all;
    for (const Client& client : clients) {
        all.microseconds.insert(all.microseconds.end(), client.microseconds.begin(),
                                client.microseconds.end());
        all.lost += client.lost;
        all.wrong += client.wrong;
        for (const auto& [status, count] : client.refused) {
            all.refused[status] += count;
        }
        if (!client.failure.empty()) {
            std::fprintf(stderr, "sa_load: %s\n", client.failure.c_str());
            return 2;
        }
    }
    std::sort(all.microseconds.begin(), all.microseconds.end());
    std::ofstream samples(argv[5]);
    for (const std::uint32_t value : all.microseconds) {
        samples << value << '\n';
    }
    const auto at = [&](double share) {
        const std::size_t count = all.microseconds.size();
        return count == 0 ? 0U
                          : all.microseconds[std::min(
                                count - 1, static_cast<std::size_t>(share * static_cast<double>(count)))];
    };
    std::printf("answers %zu lost %llu wrong %llu seconds %.3f rate %.0f p50 %u p99 %u max %u\n",
                all.microseconds.size(), static_cast<unsigned long long>(all.lost),
                static_cast<unsigned long long>(all.wrong), seconds,
                static_cast<double>(all.microseconds.size()) / seconds, at(0.5), at(0.99), at(1.0));
    for (const auto& [status, count] : all.refused) {
        std::printf("refused 0x%04x %llu\n", status, static_cast<unsigned long long>(count));
    }
    return 0;
}
