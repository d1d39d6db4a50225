#include "probe/verbs/endpoint.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/check.hpp"
#include "base/prng.hpp"
#include "probe/port_counters.hpp"
#include "probe/verbs/cm.hpp"
#include "probe/verbs/roles.hpp"

namespace ibf::probe {
namespace {

using base::ErrorKind;
using base::fail;
using base::Result;

constexpr std::uint32_t kPsnMask = 0xFFFFFF;
constexpr std::uint32_t kQKeyMask = 0x7FFFFFFF;  ///< the top bit is for privileged consumers (IBA 10.2.5)

/// Numbers that a connection which is gone did not have, so that its late packets fit nowhere.
base::Prng fresh_numbers(const void* salt) {
    return base::Prng(static_cast<std::uint64_t>(base::monotonic_now().time_since_epoch().count()) ^
                      static_cast<std::uint64_t>(::getpid()) << 40U ^ reinterpret_cast<std::uintptr_t>(salt));
}

unsigned access_of(const verbs::Setting& setting) {
    unsigned access = IBV_ACCESS_LOCAL_WRITE;
    if (setting.side == Side::target && setting.spec.test == Test::write) {
        access |= IBV_ACCESS_REMOTE_WRITE;
    } else if (setting.side == Side::target && setting.spec.test == Test::read) {
        access |= IBV_ACCESS_REMOTE_READ;
    }
    return access;
}

class VerbsEndpoint final : public Endpoint {
public:
    VerbsEndpoint(std::string name, AskPath ask) : name_(std::move(name)), ask_(std::move(ask)) {}
    ~VerbsEndpoint() override { release(); }

    [[nodiscard]] std::string name() const override { return name_; }
    [[nodiscard]] Result<EndpointAddress> prepare(const TestSpec& spec, Side side, const Way& way) override;
    [[nodiscard]] Result<PathTaken> connect(const EndpointAddress& peer, std::stop_token stop) override;
    [[nodiscard]] Result<Outcome> run(const std::function<void(const Progress&)>& progress,
                                      std::stop_token stop) override;
    void release() override { held_.reset(); }

private:
    /// In the order in which it is made; given back the other way round.
    struct Held {
        verbs::Setting setting;
        std::optional<verbs::Device> device;
        verbs::ProtectionDomain domain;
        std::unique_ptr<verbs::PinnedMemory> memory;
        std::unique_ptr<verbs::Completions> completions;
        std::vector<verbs::AddressHandle> handles;
        std::vector<verbs::QueuePair> queue_pairs;
        std::vector<QueuePairAddress> numbers;
        std::unique_ptr<verbs::CmConnections> connections;
        std::string our_host;  ///< for librdmacm
        std::unique_ptr<verbs::Wire> wire;
        bool is_connected = false;
    };

    static Result<void> choose_device(Held& held);
    static Result<void> make_resources(Held& held);
    static Result<void> make_queue_pairs(Held& held);
    static Result<void> make_connections(Held& held, EndpointAddress& address);
    static Result<void> check_peer(const Held& held, const EndpointAddress& peer);
    static Result<void> connect_by_cm(Held& held, const EndpointAddress& peer, const std::stop_token& stop);
    static Result<void> connect_directly(Held& held, const EndpointAddress& peer);

    std::string name_;
    AskPath ask_;
    std::unique_ptr<Held> held_;
};

Result<void> VerbsEndpoint::choose_device(Held& held) {
    verbs::Setting& setting = held.setting;
    const auto ports = verbs::describe();
    if (!ports) {
        return tl::unexpected(ports.error());
    }
    auto chosen = verbs::choose(*ports, setting.way);
    if (!chosen) {
        return tl::unexpected(chosen.error());
    }
    setting.chosen = std::move(*chosen);
    auto device = verbs::Device::open(setting.chosen.port.device, setting.spec.use_cm);
    if (!device) {
        return tl::unexpected(device.error());
    }
    held.device = std::move(*device);
    if (const int why = ibv_query_device(held.device->context(), &setting.device); why != 0) {
        return fail(ErrorKind::io, fmt::format("{} does not tell what it can: {}", setting.chosen.port.device,
                                               std::strerror(why)));
    }
    return verbs::check_device_limits(setting);
}

Result<void> VerbsEndpoint::make_resources(Held& held) {
    const verbs::Setting& setting = held.setting;
    auto domain = verbs::make_protection_domain(held.device->context());
    if (!domain) {
        return tl::unexpected(domain.error());
    }
    held.domain = std::move(*domain);
    const std::size_t bytes = std::max<std::size_t>(setting.layout.total_bytes(), setting.layout.stride);
    auto memory =
        verbs::PinnedMemory::make(held.domain.get(), bytes, setting.spec.huge_pages, access_of(setting));
    if (!memory) {
        return tl::unexpected(memory.error());
    }
    held.memory = std::move(*memory);
    const std::uint32_t of_each = verbs::sends_posted(setting) + std::max(setting.layout.receives, 1U);
    auto completions = verbs::Completions::make(held.device->context(),
                                                static_cast<int>(setting.spec.queue_pairs * of_each));
    if (!completions) {
        return tl::unexpected(completions.error());
    }
    held.completions = std::move(*completions);
    held.wire = std::make_unique<verbs::Wire>(setting, *held.memory, *held.completions);
    held.wire->fill();
    return {};
}

Result<void> VerbsEndpoint::make_queue_pairs(Held& held) {
    const verbs::Setting& setting = held.setting;
    base::Prng numbers = fresh_numbers(&held);
    for (std::uint32_t i = 0; i < setting.spec.queue_pairs; ++i) {
        auto made = verbs::make_queue_pair(held.domain.get(), setting, held.completions->queue());
        if (!made) {
            return tl::unexpected(made.error());
        }
        ibv_qp* queue_pair = made->queue_pair.get();
        held.queue_pairs.push_back(std::move(made->queue_pair));
        held.numbers.push_back({.number = queue_pair->qp_num,
                                .packet_sequence = static_cast<std::uint32_t>(numbers.next()) & kPsnMask});
        if (auto done = verbs::to_init(queue_pair, setting); !done) {
            return done;
        }
        if (auto taken = held.wire->take(queue_pair, i, made->inline_bytes); !taken) {
            return taken;
        }
    }
    return {};
}

Result<void> VerbsEndpoint::make_connections(Held& held, EndpointAddress& address) {
    auto host = verbs::ip_address_of(held.setting.chosen);
    if (!host) {
        return tl::unexpected(host.error());
    }
    held.our_host = *host;
    auto connections = verbs::CmConnections::make();
    if (!connections) {
        return tl::unexpected(connections.error());
    }
    held.connections = std::move(*connections);
    if (held.setting.side == Side::target) {
        auto listens = held.connections->listen(*host, held.setting.spec.queue_pairs);
        if (!listens) {
            return tl::unexpected(listens.error());
        }
        address.cm_host = listens->host;
        address.cm_port = listens->port;
    }
    return {};
}

Result<EndpointAddress> VerbsEndpoint::prepare(const TestSpec& spec, Side side, const Way& way) {
    release();
    auto layout = layout_of(spec, side);
    if (!layout) {
        return tl::unexpected(layout.error());
    }
    auto held = std::make_unique<Held>();
    held->setting.spec = spec;
    held->setting.side = side;
    held->setting.way = way;
    held->setting.layout = *layout;
    held->setting.q_key = static_cast<std::uint32_t>(fresh_numbers(held.get()).next()) & kQKeyMask;
    EndpointAddress address;
    Result<void> step = check_way(spec, way);
    step = step ? choose_device(*held) : step;
    step = step ? make_resources(*held) : step;
    step = step ? (spec.use_cm ? make_connections(*held, address) : make_queue_pairs(*held)) : step;
    if (!step) {
        return tl::unexpected(step.error());
    }
    const verbs::PortDescription& port = held->setting.chosen.port;
    address.layer = port.layer;
    address.lid = mad::Lid{static_cast<std::uint16_t>(port.lid.value() | way.path_bits)};
    address.gid = held->setting.chosen.gid.gid;
    address.mtu_bytes = port.mtu_bytes;
    address.queue_pairs = held->numbers;
    address.queue_pairs.resize(spec.queue_pairs);
    address.memory = held->memory->address();
    address.memory_bytes = held->memory->bytes().size();
    address.memory_key = held->memory->remote_key();
    address.q_key = held->setting.q_key;
    address.reads_in = verbs::reads_in(held->setting);
    address.device = fmt::format("{}/{}", port.device, port.port);
    held_ = std::move(held);
    return address;
}

Result<void> VerbsEndpoint::check_peer(const Held& held, const EndpointAddress& peer) {
    const verbs::Setting& setting = held.setting;
    const std::string ours = fmt::format("{}/{}", setting.chosen.port.device, setting.chosen.port.port);
    const auto layer_name = [](LinkLayer layer) {
        return layer == LinkLayer::ethernet ? "Ethernet" : "InfiniBand";
    };
    if (peer.layer != setting.chosen.port.layer) {
        return fail(ErrorKind::usage,
                    fmt::format("{} is a port of {}, {} one of {}: they cannot reach each other", ours,
                                layer_name(setting.chosen.port.layer), peer.device, layer_name(peer.layer)));
    }
    if (peer.queue_pairs.size() != setting.spec.queue_pairs) {
        return fail(ErrorKind::usage, fmt::format("{} has {} queue pairs, this side {}", peer.device,
                                                  peer.queue_pairs.size(), setting.spec.queue_pairs));
    }
    const bool has_lids = setting.way.dlid || peer.lid != mad::kLidNone;
    if (peer.layer == LinkLayer::infiniband && !setting.spec.use_cm &&
        (setting.chosen.port.lid == mad::kLidNone || !has_lids)) {
        return fail(
            ErrorKind::unavailable,
            fmt::format("{} has LID {}, {} LID {}: no subnet manager has given one out, see ibfabric status",
                        ours, setting.chosen.port.lid, peer.device, peer.lid));
    }
    const bool uses_memory = setting.spec.test == Test::write || setting.spec.test == Test::read;
    const auto theirs = layout_of(setting.spec, Side::target);
    if (setting.side == Side::initiator && uses_memory &&
        (!theirs || peer.memory_bytes < theirs->total_bytes())) {
        return fail(ErrorKind::usage,
                    fmt::format("{} holds {} octets of memory, too few for this test: is it of "
                                "the same version?",
                                peer.device, peer.memory_bytes));
    }
    return {};
}

Result<void> VerbsEndpoint::connect_by_cm(Held& held, const EndpointAddress& peer,
                                          const std::stop_token& stop) {
    held.connections->heed(stop);
    const auto take = [&held](ibv_qp* queue_pair, std::uint32_t number, std::uint32_t inline_bytes) {
        return held.wire->take(queue_pair, number, inline_bytes);
    };
    if (held.setting.side == Side::target) {
        return held.connections->accept(held.setting, held.domain.get(), held.completions->queue(),
                                        held.setting.q_key, take);
    }
    return held.connections->connect(held.setting, held.domain.get(), held.completions->queue(),
                                     held.our_host, peer, take);
}

Result<void> VerbsEndpoint::connect_directly(Held& held, const EndpointAddress& peer) {
    for (std::uint32_t i = 0; i < held.setting.spec.queue_pairs; ++i) {
        if (auto done = verbs::to_ready(held.queue_pairs[i].get(), held.setting, peer, peer.queue_pairs[i],
                                        held.numbers[i]);
            !done) {
            return done;
        }
        ibv_ah* handle = nullptr;
        if (held.setting.spec.test == Test::ud) {
            auto made = verbs::make_address_handle(held.domain.get(), held.setting, peer);
            if (!made) {
                return tl::unexpected(made.error());
            }
            handle = made->get();
            held.handles.push_back(std::move(*made));
        }
        held.wire->aim(i, peer.queue_pairs[i].number, handle);
    }
    return {};
}

Result<PathTaken> VerbsEndpoint::connect(const EndpointAddress& peer, std::stop_token stop) {
    IBF_CHECK(held_ != nullptr, "connect() before prepare()");
    verbs::Setting& setting = held_->setting;
    if (const auto fits = check_peer(*held_, peer); !fits) {
        return tl::unexpected(fits.error());
    }
    const verbs::PortDescription& port = setting.chosen.port;
    auto path = take_path(setting.spec, setting.way,
                          {port.device, port.port, port.layer, {port.lid, port.lmc}, port.mtu_bytes}, peer,
                          ask_, stop);
    if (!path) {
        return path;
    }
    setting.path = *path;
    held_->wire->set_peer(peer);
    const Result<void> done =
        setting.spec.use_cm ? connect_by_cm(*held_, peer, stop) : connect_directly(*held_, peer);
    held_->is_connected = done.has_value();
    return done.map([&] { return std::move(*path); });
}

Result<Outcome> VerbsEndpoint::run(const std::function<void(const Progress&)>& progress,
                                   std::stop_token stop) {
    IBF_CHECK(held_ != nullptr && held_->is_connected, "run() before connect()");
    const verbs::Chosen& chosen = held_->setting.chosen;
    const auto counters = [&chosen] {
        return read_port_counters(chosen.port.device, chosen.port.port, chosen.gid.netdev);
    };
    const Counters before = counters();
    auto outcome = held_->setting.side == Side::initiator ? verbs::initiate(*held_->wire, progress, stop)
                                                          : verbs::answer(*held_->wire, progress, stop);
    if (outcome) {
        outcome->used_huge_pages = held_->memory->is_huge();
        // What somebody read within that time is what the kernel would tell again. What completes meanwhile
        // is of nobody's interest any more.
        const base::Duration kept = counters_kept_for(chosen.port.device, chosen.port.port);
        const base::Instant fresh = base::monotonic_now() + kept;
        for (base::Instant now = fresh - kept; now < fresh; now = base::monotonic_now()) {
            if (const auto late = held_->completions->wait(fresh - now); !late) {
                break;  // the device is gone; what was measured stands
            }
        }
        CounterRise rise = difference(before, counters());
        outcome->counters = std::move(rise.risen);
        outcome->doubts = std::move(rise.doubts);
    }
    return outcome;
}

}  // namespace

std::unique_ptr<Endpoint> make_verbs_endpoint(std::string name, AskPath ask) {
    return std::make_unique<VerbsEndpoint>(std::move(name), std::move(ask));
}

}  // namespace ibf::probe
