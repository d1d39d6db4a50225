// DOC: errors that can happen.
//
// What can go wrong in ordinary operation is a Result; a broken invariant is IBF_CHECK (base/check.hpp);
// exceptions are only for start-up and out of memory. A message says what is wrong and, where there is
// one, the remedy.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace ibf::base {

enum class ErrorKind : std::uint8_t {
    usage,        ///< the caller asked for something that cannot be: flag, argument, option value
    parse,        ///< text or bytes that do not follow their grammar; message carries file:line:column
    not_found,    ///< named thing does not exist
    unavailable,  ///< not now: device missing, daemon not running, socket refused
    io,           ///< the operating system said no
    unsupported,  ///< well-formed, but this program or device cannot do it
    refused,      ///< a rule forbids it (for example: another SM is master)
};

struct Error {
    ErrorKind kind = ErrorKind::io;
    std::string message;
};

template <class T, class E = Error>
using Result = tl::expected<T, E>;

/// Shorthand for the failing return of a Result function.
[[nodiscard]] inline tl::unexpected<Error> fail(ErrorKind kind, std::string message) {
    return tl::unexpected<Error>(Error{kind, std::move(message)});
}

}  // namespace ibf::base
