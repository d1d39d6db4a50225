// DOC: one visitor out of lambdas, for std::visit.
#pragma once

namespace ibf::base {

template <class... Ts>
struct Overload : Ts... {
    using Ts::operator()...;
};
// clang before 17 does not deduce aggregates by itself.
template <class... Ts>
Overload(Ts...) -> Overload<Ts...>;

}  // namespace ibf::base
