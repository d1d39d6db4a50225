// DOC: the two roles of a test, on queue pairs that are connected.
//
// The initiator posts, waits and measures: one message at a time and there and back (ping, ud), or as many in
// flight as the spec says (send, write, read). The target echoes, receives, or only holds its memory. Both
// poll busily for a bounded time, sleep on completion events then, and look at the stop token at least each
// 50 ms.
//
// Nothing is compared between a message's first stamp and its last.
#pragma once

#include <functional>
#include <stop_token>

#include "base/result.hpp"
#include "probe/spec.hpp"
#include "probe/verbs/wire.hpp"

namespace ibf::probe::verbs {

using Tell = std::function<void(const Progress&)>;

[[nodiscard]] base::Result<Outcome> initiate(Wire& wire, const Tell& tell, const std::stop_token& stop);
/// Ends when told to stop, or when its queue pairs broke.
[[nodiscard]] base::Result<Outcome> answer(Wire& wire, const Tell& tell, const std::stop_token& stop);

}  // namespace ibf::probe::verbs
