#include "sim/simulator.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/data_traffic.hpp"
#include "sim/engine.hpp"

namespace ibf::sim {
namespace {

constexpr std::uint32_t kQpMax = 0xFFFFFE;  // 24 bits, the last of which means multicast

}  // namespace

struct Simulator::Impl {
    Impl(routing::Netlist netlist, const SimOptions& options)
        : engine(std::move(netlist), options), data_prng(options.seed) {}

    Engine engine;
    base::Prng data_prng;  ///< of its own: data does not change what MADs meet
};

Simulator::Simulator(routing::Netlist netlist, const SimOptions& options)
    : impl_(std::make_unique<Impl>(std::move(netlist), options)) {}
Simulator::~Simulator() = default;

base::Result<Simulator::ClientId> Simulator::join(const std::string& node, std::uint8_t port,
                                                  std::function<void(mad::WireMad&&)> deliver) {
    const base::Result<PortRef> at = impl_->engine.locate(node, port);
    if (!at) {
        return tl::unexpected<base::Error>(at.error());
    }
    return impl_->engine.join(*at, kGsiQp, std::move(deliver));
}

Simulator::ClientId Simulator::join(const Place& place, std::function<void(mad::WireMad&&)> deliver) {
    return impl_->engine.join(PortRef{place.node, place.port}, kGsiQp, std::move(deliver));
}

base::Result<Simulator::ClientId> Simulator::join_qp(const Place& place, std::uint32_t qp,
                                                     std::function<void(mad::WireMad&&)> deliver) {
    const PortRef at{place.node, place.port};
    if (qp <= kGsiQp || qp > kQpMax || impl_->engine.has_qp(at, qp)) {
        return base::fail(base::ErrorKind::refused,
                          fmt::format("queue pair {} is management's or in use: give another of {} to {}", qp,
                                      kGsiQp + 1, kQpMax));
    }
    return impl_->engine.join(at, qp, std::move(deliver));
}

void Simulator::leave(ClientId client) {
    impl_->engine.leave(client);
}

base::Result<Simulator::Place> Simulator::locate(const std::string& node, std::uint8_t port) const {
    const base::Result<PortRef> at = impl_->engine.locate(node, port);
    if (!at) {
        return tl::unexpected<base::Error>(at.error());
    }
    return Place{.node = at->node, .port = at->port};
}

mad::LocalPort Simulator::local_port(ClientId client) const {
    return impl_->engine.local_port(client);
}

void Simulator::set_is_sm(ClientId client, bool on) {
    impl_->engine.set_is_sm(client, on);
}

void Simulator::send(ClientId client, const mad::WireMad& mad, base::Instant now) {
    impl_->engine.send(client, mad, now);
}

void Simulator::schedule(const std::vector<Fault>& faults) {
    impl_->engine.schedule(faults);
}

base::Result<void> Simulator::check_target(const Fault& fault) const {
    return impl_->engine.check_target(fault);
}

base::Result<void> Simulator::inject(const Fault& fault, base::Instant now) {
    return impl_->engine.inject(fault, now);
}

void Simulator::advance(base::Instant until) {
    impl_->engine.advance(until);
}

std::optional<base::Instant> Simulator::next_event() const {
    return impl_->engine.next_event();
}

std::size_t Simulator::in_flight() const {
    return impl_->engine.in_flight();
}

const World& Simulator::world() const {
    return std::as_const(impl_->engine).world();
}

const routing::Netlist& Simulator::netlist() const {
    return impl_->engine.world().netlist();
}

mad::PortInfo Simulator::port_info(std::uint32_t node, mad::PortNum port) const {
    return std::as_const(impl_->engine).world().port({node, port}).info;
}

mad::SwitchInfo Simulator::switch_info(std::uint32_t node) const {
    return std::as_const(impl_->engine).world().device(node).switch_info;
}

std::uint8_t Simulator::lft_entry(std::uint32_t node, mad::Lid lid) const {
    return std::as_const(impl_->engine).world().device(node).lft_entry(lid);
}

mad::PKeyBlock Simulator::pkeys(std::uint32_t node, mad::PortNum port, std::uint16_t block) const {
    mad::PKeyBlock keys;
    const Port& at = std::as_const(impl_->engine).world().port({node, port});
    for (std::size_t i = 0; i < keys.keys.size(); ++i) {
        keys.keys[i] = at.pkey(std::size_t{block} * keys.keys.size() + i);
    }
    return keys;
}

mad::Sl2VlTable Simulator::sl2vl(std::uint32_t node, mad::PortNum in, mad::PortNum out) const {
    return std::as_const(impl_->engine).world().device(node).sl2vl_table(in, out);
}

mad::VlArbBlock Simulator::vl_arb(std::uint32_t node, mad::PortNum port, std::uint8_t block) const {
    return std::as_const(impl_->engine).world().port({node, port}).vl_arb_block(block);
}

bool Simulator::present(std::uint32_t node) const {
    return std::as_const(impl_->engine).world().device(node).present;
}

const SimCounters& Simulator::counters() const {
    return impl_->engine.counters();
}

base::Result<std::vector<Simulator::Step>> Simulator::walk(std::uint32_t node, mad::PortNum port,
                                                           mad::Lid to) const {
    return std::as_const(impl_->engine).world().trace({node, port}, to);
}

void Simulator::set_observer(Observer observer) {
    impl_->engine.set_observer(std::move(observer));
}

DataFate Simulator::carry(const DataFlow& flow) {
    return carry_data(impl_->engine.world(), flow, impl_->data_prng);
}

void Simulator::set_lft_entry(std::uint32_t node, mad::Lid lid, std::uint8_t port) {
    impl_->engine.world().device(node).set_lft_entry(lid, port);
}

void Simulator::set_port_info(std::uint32_t node, mad::PortNum port, const mad::PortInfo& info) {
    impl_->engine.world().port({node, port}).store(info);
}

void Simulator::set_switch_info(std::uint32_t node, const mad::SwitchInfo& info) {
    impl_->engine.world().device(node).switch_info = info;
}

void Simulator::set_sl2vl(std::uint32_t node, mad::PortNum in, mad::PortNum out,
                          const mad::Sl2VlTable& table) {
    impl_->engine.world().device(node).sl2vl_entry(in, out) = table;
}

void Simulator::set_vl_arb(std::uint32_t node, mad::PortNum port, std::uint8_t block,
                           const mad::VlArbBlock& entries) {
    impl_->engine.world().device(node).ports[port.value()].tables().vl_arb[block - 1U] = entries;
}

void Simulator::set_node_guid(std::uint32_t node, mad::Guid guid) {
    Device& device = impl_->engine.world().device(node);
    // A device flashed with another's GUIDs has that one's port GUIDs too: they keep their distance.
    for (Port& port : device.ports) {
        port.guid = mad::Guid{guid.value() + (port.guid.value() - device.info.node_guid.value())};
        if (port.extra) {
            port.extra->guids.guids[0] = port.guid;
        }
    }
    device.info.node_guid = guid;
}

}  // namespace ibf::sim
