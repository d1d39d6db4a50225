// DOC: the mark of starts: how often the daemon has ended in the midst of things lately.
//
// A file of one line, rewritten in place: which boot of the machine, whether a run goes on, and when earlier
// runs were found dead. Who starts and finds a run that goes on has found an abort: a failed check, a signal,
// SIGKILL, the watchdog or the OOM killer, all alike. Times are the monotonic clock's, so setting the clock
// means nothing, and a line of another boot is none: what ended with the machine did not end by itself.
//
// The line has a fixed length and a check sum. It is there even if this process is killed at once, needs no
// new room on a full disk once it exists, and a torn one is as good as none.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"

namespace ibf::shell {

class StartMark {
public:
    static constexpr std::size_t kAbortsKept = 16;

    /// Reads what the last run left at `path`, and says that a run goes on. `boot` names this boot of the
    /// machine. Errors: io, with the remedy.
    [[nodiscard]] static base::Result<std::unique_ptr<StartMark>> open(const std::string& path,
                                                                       const std::string& boot,
                                                                       base::Instant now);
    ~StartMark();
    StartMark(const StartMark&) = delete;
    StartMark& operator=(const StartMark&) = delete;

    /// Runs in a row that were found dead within so long before this one began.
    [[nodiscard]] std::size_t aborts_within(base::Duration time) const;

    enum class Ending : std::uint8_t {
        stopped,  ///< somebody wanted it so: what was before does not count any more
        left,     ///< the daemon left by itself, in order: no abort, and no end to a row of them
    };
    /// Errors: io.
    [[nodiscard]] base::Result<void> end(Ending ending);
    /// An operator says that all is well: no abort has been. Errors: io.
    [[nodiscard]] base::Result<void> forget();

private:
    StartMark(int descriptor, std::string path, std::string boot, base::Instant now);
    void read();
    [[nodiscard]] base::Result<void> write(char state) const;

    const int descriptor_;
    const std::string path_;
    const std::string boot_;
    const base::Instant begun_;
    std::vector<base::Instant> aborts_;  ///< when they were found, the latest last
};

}  // namespace ibf::shell
