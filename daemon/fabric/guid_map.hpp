// DOC: values by GUID, most of them there from the beginning.
//
// What is known at first is one sorted array, which copies share: to make it, copy it and let it go costs a
// few blocks of memory where a map of nodes has one for each value, 49,000 on the largest fabrics, made and
// freed in each look. What is put in or taken out later lies beside it, in a map that is small unless there
// was nothing at first. Not for walking through.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "mad/ids.hpp"

namespace ibf::fabric {

template <class Value>
class GuidMap {
public:
    using Rows = std::vector<std::pair<mad::Guid, Value>>;

    GuidMap() = default;
    /// In any order; of several values for one GUID the first counts.
    explicit GuidMap(Rows rows) {
        const auto by_guid = [](const auto& a, const auto& b) { return a.first < b.first; };
        std::stable_sort(rows.begin(), rows.end(), by_guid);
        first_ = std::make_shared<const Rows>(std::move(rows));
    }

    /// Null: there is none. Until the next change.
    [[nodiscard]] const Value* find(mad::Guid guid) const {
        if (const auto changed = changes_.find(guid.value()); changed != changes_.end()) {
            return changed->second ? &*changed->second : nullptr;
        }
        return find_first(guid);
    }

    void put(mad::Guid guid, Value value) { changes_.insert_or_assign(guid.value(), std::move(value)); }

    void erase(mad::Guid guid) {
        if (find_first(guid) != nullptr) {
            changes_.insert_or_assign(guid.value(), std::nullopt);
        } else {
            changes_.erase(guid.value());
        }
    }

private:
    [[nodiscard]] const Value* find_first(mad::Guid guid) const {
        if (!first_) {
            return nullptr;
        }
        const auto found = std::lower_bound(first_->begin(), first_->end(), guid,
                                            [](const auto& row, mad::Guid key) { return row.first < key; });
        return found != first_->end() && found->first == guid ? &found->second : nullptr;
    }

    std::shared_ptr<const Rows> first_;
    std::unordered_map<std::uint64_t, std::optional<Value>> changes_;  ///< nullopt: taken out
};

}  // namespace ibf::fabric
