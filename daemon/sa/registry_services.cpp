// Services (ServiceRecord, IBA 15.2.5.14) and their leases.
#include <algorithm>

#include "daemon/sa/desk.hpp"
#include "daemon/sa/registry.hpp"
#include "mad/octets.hpp"

namespace ibf::sa {
namespace {

using fabric::Service;

constexpr std::size_t kServiceGidAt = 8;
constexpr std::ptrdiff_t kKeyAt = 32;
constexpr std::size_t kKeyBytes = 16;

const RecordType& service_type() {
    static const RecordType& type = record_type_of(mad::SaAttribute::service_record);
    return type;
}

/// Whether a request may change a service: it shows the ServiceKey, or the service has none (all zero).
bool opens(const Service& service, std::span<const std::uint8_t> request) {
    const auto key = std::span(service.record).subspan(kKeyAt, kKeyBytes);
    const bool open = std::all_of(key.begin(), key.end(), [](std::uint8_t byte) { return byte == 0; });
    return open || std::equal(key.begin(), key.end(), request.begin() + kKeyAt);
}

}  // namespace

void Registry::set_service(const Request& request) {
    const RecordType& type = service_type();
    const auto& data = request.mad.data;
    if (!request.has(type, "ServiceID") || !request.has(type, "ServiceGID")) {
        return reply(request, mad::kSaInsufficientComponents);
    }
    const mad::Gid gid = mad::load_gid(data, kServiceGidAt);
    const End* port = nullptr;
    if (const auto status = may_speak_for(request, gid, port); status != 0) {
        return reply(request, status);
    }
    const mad::PKey pkey{static_cast<std::uint16_t>(type.get(data, "ServiceP_Key"))};
    const std::tuple key{type.get(data, "ServiceID"), gid, pkey};
    const auto found = tables_.services.find(key);
    if (found != tables_.services.end() && !opens(*found->second, data)) {
        return reply(request, mad::kSaRequestDenied);
    }
    std::uint32_t& own = holdings_[gid.interface_id].services;
    if (found == tables_.services.end()) {
        const bool full = tables_.services.size() >= limits_.services;
        if (full || own >= limits_.services_per_port) {
            tell_limit(request, full ? limits_.services : limits_.services_per_port,
                       full ? "services in all" : "services");
            return reply(request, mad::kSaNoResources);
        }
        ++own;
    }
    auto service = std::make_shared<Service>();
    service->id = std::get<0>(key);
    service->gid = gid;
    service->pkey = pkey;
    service->lease = request.has(type, "ServiceLease")
                         ? static_cast<std::uint32_t>(type.get(data, "ServiceLease"))
                         : fabric::kLeaseForEver;
    service->until = request.now + std::chrono::seconds{service->lease};
    if (service->lease != fabric::kLeaseForEver) {
        lease_due_ = std::min(lease_due_.value_or(service->until), service->until);
    }
    std::copy_n(data.begin(), service->record.size(), service->record.begin());
    type.set(service->record, "ServiceLease", service->lease);
    if (!request.has(type, "ServiceKey")) {
        std::fill_n(service->record.begin() + kKeyAt, kKeyBytes, std::uint8_t{0});
    }
    std::vector<std::uint8_t> record(service->record.begin(), service->record.end());
    if (!request.trusted) {  // a key is told to nobody, not even who set it
        std::fill_n(record.begin() + kKeyAt, kKeyBytes, std::uint8_t{0});
    }
    tables_.services[key] = std::move(service);
    touch(request.out);
    request.out.wire.push_back(reply_to(request.wire, request.mad, 0, &type, record));
}

/// By RID, whatever the mask says: clients are seen to name only the ServiceName beside it (osmtest).
void Registry::remove_service(const Request& request) {
    const RecordType& type = service_type();
    const auto& data = request.mad.data;
    const auto found =
        tables_.services.find({type.get(data, "ServiceID"), mad::load_gid(data, kServiceGidAt),
                               mad::PKey{static_cast<std::uint16_t>(type.get(data, "ServiceP_Key"))}});
    if (found == tables_.services.end()) {
        return reply(request, mad::kSaNoRecords);
    }
    const End* port = nullptr;
    if (const auto status = may_speak_for(request, found->second->gid, port); status != 0) {
        return reply(request, status);
    }
    const std::vector<std::uint8_t> record(found->second->record.begin(), found->second->record.end());
    --holdings_[found->second->gid.interface_id].services;
    tables_.services.erase(found);
    touch(request.out);
    request.out.wire.push_back(reply_to(request.wire, request.mad, 0, &type, record));
}

void Registry::end_leases(base::Instant now, RegistryOutputs& out) {
    if (!lease_due_ || now < *lease_due_) {
        return;
    }
    lease_due_.reset();
    const auto ended = std::erase_if(tables_.services, [&](const auto& item) {
        const Service& service = *item.second;
        if (service.lease == fabric::kLeaseForEver) {
            return false;
        }
        if (service.until <= now) {
            --holdings_[service.gid.interface_id].services;
            return true;
        }
        lease_due_ = std::min(lease_due_.value_or(service.until), service.until);
        return false;
    });
    if (ended > 0) {
        touch(out);
    }
}

}  // namespace ibf::sa
