// libibumad's view of the devices: the simulated node is one adapter, "sim0", with the node's ports.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

#include <infiniband/umad.h>

#include "sim/umad/link.hpp"

using namespace ibf::sim;

namespace {

template <std::size_t kSize>
void put_text(char (&to)[kSize], std::string_view text) {
    const std::size_t length = std::min(text.size(), kSize - 1);
    std::copy_n(text.begin(), length, to);
    to[length] = '\0';
}

bool is_ours(const char* ca_name) {
    return ca_name == nullptr || *ca_name == '\0' || std::string_view(ca_name) == shim::kDevice;
}

/// The port numbers of the node: a switch has its port 0 only.
std::pair<int, int> port_range(const NodeAnswer& node) {
    constexpr std::uint8_t kSwitch = 2;
    return node.type == kSwitch ? std::pair{0, 0}
                                : std::pair{1, std::min<int>(node.num_ports, UMAD_CA_MAX_PORTS - 1)};
}

int fill_port(int number, umad_port_t& port) {
    PortAnswer answer;
    if (const int error = shim::ask_port(static_cast<std::uint8_t>(number), answer); error != 0) {
        return error;
    }
    port = umad_port_t{};
    put_text(port.ca_name, shim::kDevice);
    put_text(port.link_layer, "InfiniBand");
    port.portnum = answer.port;
    port.base_lid = answer.lid;
    port.lmc = answer.lmc;
    port.sm_lid = answer.sm_lid;
    port.sm_sl = answer.sm_sl;
    port.state = answer.state;
    port.phys_state = answer.phys_state;
    port.rate = answer.rate_gbps;
    port.capmask = htobe32(answer.capability_mask);
    port.gid_prefix = htobe64(answer.gid_prefix);
    port.port_guid = htobe64(answer.port_guid);
    port.pkeys = static_cast<uint16_t*>(std::calloc(answer.pkey_count, sizeof(uint16_t)));
    if (port.pkeys == nullptr) {
        return -ENOMEM;
    }
    port.pkeys_size = answer.pkey_count;
    std::copy_n(answer.pkeys.begin(), answer.pkey_count, port.pkeys);
    return 0;
}

int fill_ca(umad_ca_t& ca) {
    NodeAnswer node;
    if (const int error = shim::ask_node(node); error != 0) {
        return error;
    }
    ca = umad_ca_t{};
    put_text(ca.ca_name, shim::kDevice);
    ca.node_type = node.type;
    ca.node_guid = htobe64(node.node_guid);
    ca.system_guid = htobe64(node.system_guid);
    put_text(ca.fw_ver, "0.0.0");
    std::snprintf(ca.hw_ver, sizeof ca.hw_ver, "%u", node.revision);
    std::snprintf(ca.ca_type, sizeof ca.ca_type, "simulated 0x%04x", node.device_id);
    const auto [first, last] = port_range(node);
    ca.numports = last;
    for (int number = first; number <= last; ++number) {
        auto* port = static_cast<umad_port_t*>(std::calloc(1, sizeof(umad_port_t)));
        ca.ports[number] = port;
        const int error = port == nullptr ? -ENOMEM : fill_port(number, *port);
        if (error != 0) {
            umad_release_ca(&ca);
            return error;
        }
    }
    return 0;
}

}  // namespace

IBF_EXPORT int umad_init(void) {
    return 0;
}

IBF_EXPORT int umad_done(void) {
    return 0;
}

IBF_EXPORT int umad_debug(int) {
    return 0;
}

IBF_EXPORT int umad_get_cas_names(char cas[][UMAD_CA_NAME_LEN], int max) {
    return shim::guarded(-EIO, [&] {
        NodeAnswer node;
        if (max < 1 || shim::ask_node(node) != 0) {
            return 0;
        }
        put_text(cas[0], shim::kDevice);
        return 1;
    });
}

IBF_EXPORT int umad_get_ca(const char* ca_name, umad_ca_t* ca) {
    return shim::guarded(-EIO, [&] { return is_ours(ca_name) ? fill_ca(*ca) : -ENODEV; });
}

IBF_EXPORT int umad_release_ca(umad_ca_t* ca) {
    if (ca == nullptr) {
        return -ENODEV;
    }
    for (umad_port_t*& port : ca->ports) {
        if (port != nullptr) {
            umad_release_port(port);
            std::free(port);
            port = nullptr;
        }
    }
    return 0;
}

IBF_EXPORT int umad_get_port(const char* ca_name, int portnum, umad_port_t* port) {
    return shim::guarded(-EIO, [&] {
        if (!is_ours(ca_name) || portnum < 0 || portnum >= UMAD_CA_MAX_PORTS) {
            return -ENODEV;
        }
        return fill_port(portnum, *port);
    });
}

IBF_EXPORT int umad_release_port(umad_port_t* port) {
    if (port == nullptr) {
        return -ENODEV;
    }
    std::free(port->pkeys);
    port->pkeys = nullptr;
    port->pkeys_size = 0;
    return 0;
}

IBF_EXPORT int umad_get_ca_portguids(const char* ca_name, __be64* portguids, int max) {
    return shim::guarded(-EIO, [&] {
        umad_ca_t ca{};
        if (const int error = umad_get_ca(ca_name, &ca); error != 0) {
            return error;
        }
        const int count = ca.numports + 1;
        if (portguids != nullptr && count <= max) {
            for (int number = 0; number < count; ++number) {
                portguids[number] = ca.ports[number] != nullptr ? ca.ports[number]->port_guid : 0;
            }
        }
        umad_release_ca(&ca);
        return portguids != nullptr && count > max ? -ENOMEM : count;
    });
}

IBF_EXPORT umad_device_node* umad_get_ca_device_list(void) {
    return shim::guarded<umad_device_node*>(nullptr, []() -> umad_device_node* {
        NodeAnswer node;
        if (shim::ask_node(node) != 0) {
            return nullptr;
        }
        auto* entry = static_cast<umad_device_node*>(std::calloc(1, sizeof(umad_device_node)));
        if (entry != nullptr) {
            entry->ca_name = ::strdup(shim::kDevice);
        }
        return entry;
    });
}

IBF_EXPORT void umad_free_ca_device_list(umad_device_node* head) {
    while (head != nullptr) {
        umad_device_node* next = head->next;
        std::free(const_cast<char*>(head->ca_name));
        std::free(head);
        head = next;
    }
}

/// There is one device: any order is sorted.
IBF_EXPORT int umad_sort_ca_device_list(umad_device_node** head, size_t) {
    return head == nullptr ? EINVAL : 0;
}
