// LD_PRELOAD shim that counts the MADs a process sends through libibumad, whoever wrote that process: OpenSM
// and ibfabricd are judged by the same counter. The counters live in the file IBF_SMP_COUNTS, mapped shared,
// so they can be read while the process runs and survive its death. smp_counts.py is the reader and holds the
// same layout.
//
// Beside the counts it records the longest silence between two sends before the first LFT Set: an SM that has
// the topology and is computing routes sends nothing, so this is the time from topology to tables, measured
// from outside. And when it last wrote, and the processor time used by then; when it last sent anything but
// questions about lanes, which ours asks in the background.
#include <dlfcn.h>
#include <fcntl.h>
#include <infiniband/umad.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>

namespace {

constexpr std::size_t kUmadHeaderBytes = sizeof(ib_user_mad_t);  // the MAD follows it, see umad_get_mad()
constexpr std::uint8_t kClassLidRoutedSmp = 0x01;
constexpr std::uint8_t kClassDirectedSmp = 0x81;
constexpr std::uint8_t kMethodSet = 0x02;
constexpr std::uint8_t kMethodGet = 0x01;
constexpr std::uint16_t kAttributeSlToVl = 0x0017;
constexpr std::uint16_t kAttributeVlArbitration = 0x0018;
constexpr std::uint16_t kAttributeLft = 0x0019;

struct Counts {
    std::uint64_t first_send_ns;
    std::uint64_t last_send_ns;
    std::uint64_t first_lft_set_ns;
    std::uint64_t longest_silence_ns;  // before first_lft_set_ns
    std::uint64_t other_classes;       // everything that is no SMP
    std::uint64_t smps[256][64];       // [method][attribute ID]; attribute IDs above 63 count as 63
    std::uint64_t last_set_ns;
    std::uint64_t last_work_ns;     // the last send of all but questions about lanes
    std::uint64_t last_set_cpu_ns;  // processor time of all its threads at last_set_ns
};

std::mutex guard;

Counts* map_counts() {
    const char* path = std::getenv("IBF_SMP_COUNTS");
    if (path == nullptr) {
        return nullptr;
    }
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0 || ftruncate(fd, sizeof(Counts)) != 0) {
        return nullptr;
    }
    void* memory = mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return memory == MAP_FAILED ? nullptr : static_cast<Counts*>(memory);
}

std::uint64_t now_ns(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1000000000U + static_cast<std::uint64_t>(time.tv_nsec);
}

void count(Counts& counts, const std::uint8_t* mad) {
    const std::uint8_t mad_class = mad[1];
    const std::uint8_t method = mad[3];
    const auto attribute = static_cast<std::uint16_t>((mad[16] << 8) | mad[17]);
    const std::uint64_t now = now_ns(CLOCK_MONOTONIC);
    const std::lock_guard lock(guard);
    if (mad_class != kClassLidRoutedSmp && mad_class != kClassDirectedSmp) {
        ++counts.other_classes;
        return;
    }
    if (counts.first_send_ns == 0) {
        counts.first_send_ns = now;
    } else if (counts.first_lft_set_ns == 0 && now - counts.last_send_ns > counts.longest_silence_ns) {
        counts.longest_silence_ns = now - counts.last_send_ns;
    }
    if (method == kMethodSet && attribute == kAttributeLft && counts.first_lft_set_ns == 0) {
        counts.first_lft_set_ns = now;
    }
    counts.last_send_ns = now;
    if (method == kMethodSet) {
        counts.last_set_ns = now;
        counts.last_set_cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    }
    const bool of_lanes = attribute == kAttributeSlToVl || attribute == kAttributeVlArbitration;
    counts.last_work_ns = method == kMethodGet && of_lanes ? counts.last_work_ns : now;
    ++counts.smps[method][attribute < 64 ? attribute : 63];
}

}  // namespace

extern "C" int umad_send(int fd, int agent, void* umad, int length, int timeout, int retries) {
    using Send = int (*)(int, int, void*, int, int, int);
    static const auto next = reinterpret_cast<Send>(dlsym(RTLD_NEXT, "umad_send"));
    static Counts* const counts = map_counts();
    if (counts != nullptr && length >= 24) {
        count(*counts, static_cast<const std::uint8_t*>(umad) + kUmadHeaderBytes);
    }
    return next(fd, agent, umad, length, timeout, retries);
}
