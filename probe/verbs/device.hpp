// DOC: RDMA devices as they are, and the one that a test uses.
//
// describe() lists what libibverbs finds, port by port, also ports that are down and devices that cannot be
// opened: what keeps them from use is said in words. choose() picks by a Way, and refuses with a remedy.
// No header of verbs is needed to include this.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "probe/spec.hpp"

struct ibv_context;

namespace ibf::probe::verbs {

struct GidEntry {
    std::uint8_t index = 0;
    GidOctets gid{};
    std::string type{};    ///< "IB", "RoCE v1", "RoCE v2"
    std::string netdev{};  ///< the network interface it belongs to; empty: none, or not told
};

struct PortDescription {
    std::string device{};
    std::uint8_t port = 0;  ///< 0: the device could not be asked, see `problem`
    LinkLayer layer = LinkLayer::infiniband;
    std::string state{};  ///< "ACTIVE", "DOWN", as sysfs writes it
    bool is_active = false;
    mad::Lid lid{};  ///< 0 on Ethernet
    std::uint8_t lmc = 0;
    std::uint32_t mtu_bytes = 0;        ///< active
    std::uint64_t bits_per_second = 0;  ///< of the link, as the driver tells; 0: it does not
    std::vector<GidEntry> gids{};       ///< those that are set
    std::string problem{};              ///< why it cannot be used, with the remedy; empty: it can
};

/// By device name, then port. Errors: unavailable (no device at all, with what to load).
[[nodiscard]] base::Result<std::vector<PortDescription>> describe();

/// "fe80:0:0:0:..." as eight groups; IPv4 in IPv6 as "::ffff:10.0.0.1".
[[nodiscard]] std::string to_text(const GidOctets& gid);

/// Why a device file was not opened: the libraries look for it elsewhere when they may not open it, and then
/// say that it is not there. `why` is the errno that they left.
[[nodiscard]] int why_not_opened(const std::string& file, int why);

struct Chosen {
    PortDescription port;
    GidEntry gid{};  ///< of Ethernet always; of InfiniBand entry 0, or the one that was asked for
    bool with_grh = false;
};

/// What of `ports` the way means. On Ethernet without a GID index: RoCE v2 with IPv4 before IPv6 before link
/// local, before RoCE v1. Errors: unavailable, not_found (device, port, empty GID index), with what there is.
[[nodiscard]] base::Result<Chosen> choose(const std::vector<PortDescription>& ports, const Way& way);

/// An open device. With `by_cm` it is the one that librdmacm holds open, whose queue pairs must be made
/// there.
class Device {
public:
    [[nodiscard]] static base::Result<Device> open(std::string_view name, bool by_cm);
    Device(Device&& other) noexcept;
    Device& operator=(Device&& other) noexcept;
    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    ~Device();

    [[nodiscard]] ibv_context* context() const { return context_; }

private:
    Device(ibv_context* context, bool is_ours) : context_(context), is_ours_(is_ours) {}
    ibv_context* context_ = nullptr;
    bool is_ours_ = false;
};

}  // namespace ibf::probe::verbs
