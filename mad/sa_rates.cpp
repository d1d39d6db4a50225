#include "mad/sa_rates.hpp"

#include <algorithm>
#include <array>

namespace ibf::mad {
namespace {

struct Rate {
    std::uint8_t code;
    double gbps;
};
/// By speed. Codes 2 to 18: IBA 15.2.5.16; 19 to 22: ib_types.h; 23 and 24: Linux, include/rdma/ib_verbs.h.
constexpr std::array<Rate, 24> kRates{{{0, 0},    {2, 2.5},  {5, 5},    {3, 10},   {11, 14},  {6, 20},
                                       {15, 25},  {19, 28},  {4, 30},   {7, 40},   {20, 50},  {12, 56},
                                       {8, 60},   {9, 80},   {16, 100}, {13, 112}, {10, 120}, {14, 168},
                                       {17, 200}, {18, 300}, {21, 400}, {22, 600}, {23, 800}, {24, 1200}}};
static_assert(kRates.size() == kRateRankMost + 1U);

/// A lane's speed is not always a whole number; what is this near is the same.
constexpr double kNear = 0.01;

}  // namespace

std::uint8_t rate_rank(double gbps) {
    std::size_t rank = 0;
    while (rank + 1 < kRates.size() && kRates[rank + 1].gbps <= gbps + kNear) {
        ++rank;
    }
    return static_cast<std::uint8_t>(rank);
}

std::uint8_t rate_code(std::uint8_t rank) {
    return kRates[std::min(rank, kRateRankMost)].code;
}

std::uint8_t rank_of_code(std::uint8_t code) {
    const auto found =
        std::find_if(kRates.begin(), kRates.end(), [&](const Rate& rate) { return rate.code == code; });
    return found == kRates.end() ? std::uint8_t{0} : static_cast<std::uint8_t>(found - kRates.begin());
}

double gbps_of_code(std::uint8_t code) {
    return kRates[rank_of_code(code)].gbps;
}

}  // namespace ibf::mad
