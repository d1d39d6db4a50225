// DOC: the mark beside the database: which edition of the SA's state holds what clients were told last.
//
// The database comes after the fact. When clients have been told something, it may be locked, full or behind,
// and then the state in it is whole, and old. So before they are told, the edition of the state that will
// hold it goes into a file of one line: in place, under no lock, without new space on the disk, and there
// even if this process is killed at once. A stored state of another edition than the mark's is not the last
// one.
//
// After a power cut both may be old. So the line names the boot of the machine too, and a mark of another
// boot counts only where a clean stop had sealed it. The seal is broken, on the disk, before anything else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace ibf::db {

class EditionMark {
public:
    /// Opens or begins `path`. `boot` names this boot of the machine; empty: not known. Errors: io, with the
    /// remedy.
    [[nodiscard]] static base::Result<std::unique_ptr<EditionMark>> open(const std::string& path,
                                                                         const std::string& boot);
    ~EditionMark();
    EditionMark(const EditionMark&) = delete;
    EditionMark& operator=(const EditionMark&) = delete;

    /// What earlier runs left; empty: it cannot be known.
    [[nodiscard]] std::optional<std::uint64_t> found() const { return found_; }
    /// Does not wait for the disk. Errors: io.
    [[nodiscard]] base::Result<void> set(std::uint64_t edition);
    /// At a clean stop. Waits for the disk. Errors: io.
    [[nodiscard]] base::Result<void> seal();

private:
    EditionMark(int descriptor, std::string path, std::string boot);
    [[nodiscard]] std::optional<std::uint64_t> read() const;
    [[nodiscard]] tl::unexpected<base::Error> failure() const;
    [[nodiscard]] base::Result<void> write(std::string_view boot);
    [[nodiscard]] base::Result<void> write_through(std::string_view boot);

    const int descriptor_;
    const std::string path_;
    const std::string boot_;
    const std::optional<std::uint64_t> found_;
    std::uint64_t edition_ = 0;
};

/// Names this boot of the machine; empty: the system does not tell.
[[nodiscard]] std::string boot_id();

}  // namespace ibf::db
