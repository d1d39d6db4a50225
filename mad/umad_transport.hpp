// DOC: what of the umad transport can be judged without a device. For umad_transport.cpp and its test.
#pragma once

#include <chrono>

#include "base/time.hpp"

namespace ibf::mad {

/// How long the kernel shall keep a request open whose sender waits `response_timeout`; 0 for no response
/// awaited. Linux drops a response whose request is not open (core/mad.c, ib_mad_complete_recv), so it must
/// be nearly as long. It refuses a second send of a TID while the first is open (core/user_mad.c,
/// is_duplicate), so it must be over, with the kernel's timers being late by a few ticks, when the sender
/// sends again.
[[nodiscard]] std::chrono::milliseconds kernel_timeout(base::Duration response_timeout);

}  // namespace ibf::mad
