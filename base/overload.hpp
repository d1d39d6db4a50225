// DOC: one visitor from several lambdas, for std::visit.
#pragma once

namespace ibf::base {

template <class... Ts>
struct Overload : Ts... {
    using Ts::operator()...;
};

}  // namespace ibf::base
