// DOC: reading forwarding tables back.
//
// For switches that somebody programmed but whose tables we do not know for certain (no clean stop, other SM,
// lost database): Gets of every block up to LinearFDBTop, so that only what differs is written.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/fabric/fabric.hpp"
#include "daemon/sm/tag.hpp"
#include "mad/transactions.hpp"
#include "routing/routes.hpp"

namespace ibf::sm {

class TableReader {
public:
    struct Target {
        std::uint32_t node = 0;
        std::uint16_t blocks = 0;
        routing::LftRow row;
        bool failed = false;
        bool asked_again = false;
    };

    TableReader(std::shared_ptr<const fabric::Fabric> fabric, const std::vector<std::uint32_t>& switches,
                std::uint16_t epoch);

    [[nodiscard]] std::optional<mad::Request> next();
    void on(const mad::Completion& completion);
    [[nodiscard]] bool done() const { return open_ == 0 && again_.empty() && block_ >= most_blocks_; }
    [[nodiscard]] std::vector<Target> take() { return std::move(targets_); }

private:
    std::shared_ptr<const fabric::Fabric> fabric_;
    std::vector<Target> targets_;
    std::vector<mad::Request> again_;  ///< refused once
    std::uint16_t epoch_;
    std::uint16_t most_blocks_ = 0;
    std::uint16_t block_ = 0;
    std::size_t target_ = 0;
    std::size_t open_ = 0;
};

}  // namespace ibf::sm
