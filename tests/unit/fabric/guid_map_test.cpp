// What is put in, taken out, and what copies share.
#include "daemon/fabric/guid_map.hpp"

#include <map>

#include <gtest/gtest.h>

#include "base/prng.hpp"

namespace ibf::fabric {
namespace {

using mad::Guid;

TEST(GuidMap, OfSeveralTheFirstCounts) {
    const GuidMap<int> map({{Guid{7}, 1}, {Guid{3}, 2}, {Guid{7}, 3}});
    ASSERT_NE(map.find(Guid{7}), nullptr);
    EXPECT_EQ(*map.find(Guid{7}), 1);
    EXPECT_EQ(*map.find(Guid{3}), 2);
    EXPECT_EQ(map.find(Guid{4}), nullptr);
    EXPECT_EQ(GuidMap<int>().find(Guid{7}), nullptr);
}

TEST(GuidMap, CopiesChangeApart) {
    GuidMap<int> map({{Guid{1}, 1}, {Guid{2}, 2}});
    GuidMap<int> copy = map;
    copy.erase(Guid{1});
    copy.put(Guid{2}, 20);
    map.put(Guid{3}, 3);
    EXPECT_EQ(copy.find(Guid{1}), nullptr);
    EXPECT_EQ(*copy.find(Guid{2}), 20);
    EXPECT_EQ(copy.find(Guid{3}), nullptr);
    EXPECT_EQ(*map.find(Guid{1}), 1);
    EXPECT_EQ(*map.find(Guid{2}), 2);
}

TEST(GuidMap, IsAMapWhateverComes) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
        base::Prng random(seed);
        GuidMap<std::uint64_t>::Rows rows;
        std::map<std::uint64_t, std::uint64_t> model;
        const std::uint64_t count = random.below(30);
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t guid = random.below(40);
            rows.emplace_back(Guid{guid}, i);
            model.emplace(guid, i);
        }
        GuidMap<std::uint64_t> map(std::move(rows));
        for (std::uint64_t step = 0; step < 200; ++step) {
            const std::uint64_t guid = random.below(40);
            if (random.below(2) == 0) {
                map.put(Guid{guid}, step);
                model.insert_or_assign(guid, step);
            } else {
                map.erase(Guid{guid});
                model.erase(guid);
            }
            const std::uint64_t asked = random.below(40);
            const std::uint64_t* found = map.find(Guid{asked});
            const auto wanted = model.find(asked);
            ASSERT_EQ(found != nullptr, wanted != model.end()) << "seed " << seed << " step " << step;
            ASSERT_TRUE(found == nullptr || *found == wanted->second) << "seed " << seed << " step " << step;
        }
    }
}

}  // namespace
}  // namespace ibf::fabric
