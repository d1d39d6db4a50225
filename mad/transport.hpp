// DOC: the door between MADs and the world.
//
// A Transport sends MADs and hands received ones to its sink. Implementations: the umad transport (real
// ports, ibsim) and the simulated fabric's port. The sink is called from the transport's own thread (umad) or
// from within advance() (simulator); it must only move the value on, normally into a mailbox.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "mad/smp.hpp"

namespace ibf::mad {

struct WireMad {
    MadBuffer bytes{};
    MadAddress address;  ///< to whom (send) or from whom (received)
    /// Requests out: how long the sender waits for the response; zero where none is awaited. Linux hands up a
    /// response only while the request is open (drivers/infiniband/core/mad.c, ib_mad_complete_recv).
    base::Duration response_timeout{};
};

/// The local port as the transport sees it.
struct LocalPort {
    std::string device;  ///< "mlx5_0", "ibsim0", "sim0"
    PortNum port{};
    Guid port_guid{};
    Guid node_guid{};
    std::string state_text;  ///< why it can or can't be used, for people
    Lid sm_lid{};            ///< of the subnet manager that configured it; none: nobody has
    Sl sm_sl{};
    Lid lid{};                  ///< its own, the first of them
    std::vector<PKey> pkeys{};  ///< by index; 0 is an empty entry
};

class Transport {
public:
    using Sink = std::function<void(WireMad&&)>;

    Transport() = default;
    Transport(const Transport&) = delete;
    Transport& operator=(const Transport&) = delete;
    virtual ~Transport() = default;

    /// Why the port will never deliver again (the adapter was removed, its driver loaded anew).
    using Lost = std::function<void(std::string)>;
    /// Whom to tell, at most once, from the transport's thread. Called before start(); a simulated port is
    /// never lost.
    virtual void when_lost(Lost lost) { static_cast<void>(lost); }
    /// Starts delivery. Called once.
    virtual void start(Sink sink) = 0;
    /// Hands one MAD to the wire. Never blocks for long; an error is about this MAD only.
    [[nodiscard]] virtual base::Result<void> send(const WireMad& mad) = 0;
    [[nodiscard]] virtual LocalPort local_port() const = 0;
    /// Raises or drops the port's IsSM capability bit (issm device). Errors: unavailable.
    [[nodiscard]] virtual base::Result<void> set_is_sm(bool on) = 0;
};

enum class UmadUse : std::uint8_t {
    manager,  ///< sends SMPs, and serves the requests of other SMs and of the SA's clients
    client,   ///< asks the SA; goes beside a subnet manager on the same port
    prober,   ///< asks devices by SMPs and for their counters, beside a subnet manager; writes nothing
};

struct UmadOptions {
    std::string device{};             ///< empty: choose
    std::uint8_t port = 0;            ///< 0: choose
    std::optional<Guid> port_guid{};  ///< choose by port GUID
    UmadUse use = UmadUse::manager;
};

/// "DEVICE", "DEVICE/PORT" or "" for any. Errors: usage.
[[nodiscard]] base::Result<UmadOptions> parse_umad_port(std::string_view text);

/// Opens a umad port: InfiniBand link layer, has an SMI; registers, as a manager, classes 0x81 and 0x01 (Get,
/// Set, Trap, TrapRepress methods) and 0x03 (its requests), as a client class 0x03 for answers, as a prober
/// 0x81 and 0x04 for answers. Errors: unavailable with the missing part by name (umad device, permission, no
/// InfiniBand port), so that the caller can wait and retry; usage for a named port that does not exist.
[[nodiscard]] base::Result<std::unique_ptr<Transport>> open_umad(const UmadOptions& options);

/// The port choice alone, over a sysfs root (normally "/sys/class/infiniband"): what open_umad would take,
/// and for each port passed over, why. Errors: unavailable.
struct PortChoice {
    std::string device;
    std::uint8_t port = 0;
    std::vector<std::string> passed_over;
};
[[nodiscard]] base::Result<PortChoice> choose_port(const std::string& sysfs_root, const UmadOptions& options);

}  // namespace ibf::mad
