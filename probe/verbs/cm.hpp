// DOC: connections by librdmacm.
//
// The target listens on an IP address of its port (RoCE's own, or IPoIB's), the initiator resolves and
// connects, a connection for each queue pair. The request carries a token that the control channel told, and
// which queue pair it is; others are rejected. Each wait has an end. The queue pairs belong to the
// connections.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "probe/verbs/queue_pairs.hpp"

struct rdma_cm_event;
struct rdma_cm_id;
struct rdma_event_channel;

namespace ibf::probe::verbs {

/// The device as librdmacm holds it open, for as long as the process lives.
[[nodiscard]] base::Result<ibv_context*> cm_context(std::string_view device);

struct CmAddress {
    std::string host{};
    std::uint16_t port = 0;
};

/// An IP address by which others reach the chosen port. Errors: unavailable (it has none).
[[nodiscard]] base::Result<std::string> ip_address_of(const Chosen& chosen);

class CmConnections {
public:
    /// What there is to be done with a queue pair before messages can arrive.
    using Prepare =
        std::function<base::Result<void>(ibv_qp*, std::uint32_t number, std::uint32_t inline_bytes)>;

    [[nodiscard]] static base::Result<std::unique_ptr<CmConnections>> make();
    CmConnections(const CmConnections&) = delete;
    CmConnections& operator=(const CmConnections&) = delete;
    ~CmConnections();

    /// accept() and connect() end within 50 ms of a request to stop.
    void heed(std::stop_token stop) { stop_ = std::move(stop); }
    /// The target: from here on requests may come.
    [[nodiscard]] base::Result<CmAddress> listen(const std::string& host, std::uint32_t connections);
    /// As many as there are queue pairs. REQUIRES: listen().
    [[nodiscard]] base::Result<void> accept(const Setting& setting, ibv_pd* domain, ibv_cq* queue,
                                            std::uint32_t token, const Prepare& prepare);
    /// The initiator. `token` is what the target's address said.
    [[nodiscard]] base::Result<void> connect(const Setting& setting, ibv_pd* domain, ibv_cq* queue,
                                             const std::string& our_host, const EndpointAddress& peer,
                                             const Prepare& prepare);

private:
    struct Acknowledge {
        void operator()(rdma_cm_event* event) const;
    };
    using Event = std::unique_ptr<rdma_cm_event, Acknowledge>;

    CmConnections() = default;
    [[nodiscard]] base::Result<Event> next_event(base::Instant deadline);
    [[nodiscard]] base::Result<void> expect(int kind, base::Instant deadline, const EndpointAddress& peer);
    [[nodiscard]] base::Result<void> admit(const Event& event, const Setting& setting, ibv_pd* domain,
                                           ibv_cq* queue, std::uint32_t token, const Prepare& prepare);
    [[nodiscard]] base::Result<void> make_queue_pair(rdma_cm_id* id, const Setting& setting, ibv_pd* domain,
                                                     ibv_cq* queue, std::uint32_t number,
                                                     const Prepare& prepare);
    [[nodiscard]] base::Result<void> connect_one(const Setting& setting, ibv_pd* domain, ibv_cq* queue,
                                                 const std::string& our_host, const EndpointAddress& peer,
                                                 std::uint32_t number, const Prepare& prepare);

    rdma_event_channel* channel_ = nullptr;
    std::stop_token stop_{};
    rdma_cm_id* listener_ = nullptr;
    std::vector<rdma_cm_id*> ids_;  ///< of the target by queue pair, null where none came yet
};

}  // namespace ibf::probe::verbs
