// Who gets a MAD at a port, and which registrations ib_mad refuses.
#include "sim/agent_table.hpp"

#include <gtest/gtest.h>

namespace ibf::sim {
namespace {

AgentRequest asks_for(std::uint8_t mgmt_class, std::uint8_t version,
                      std::initializer_list<std::size_t> methods) {
    AgentRequest request;
    request.mgmt_class = mgmt_class;
    request.class_version = version;
    for (const std::size_t method : methods) {
        request.methods.set(method);
    }
    return request;
}

mad::MadBuffer mad_of(std::uint8_t mgmt_class, std::uint8_t version, std::uint8_t method,
                      std::uint32_t upper) {
    mad::MadBuffer bytes{};
    bytes[0] = 1;
    bytes[1] = mgmt_class;
    bytes[2] = version;
    bytes[3] = method;
    for (unsigned i = 0; i < 4; ++i) {
        bytes[8 + i] = static_cast<std::uint8_t>(upper >> (24U - 8U * i));
    }
    return bytes;
}

TEST(AgentTable, RequestsGoByClassVersionAndMethod) {
    AgentTable table;
    const AgentId sm = *table.add(asks_for(0x81, 1, {1, 5}));
    const AgentId sa = *table.add(asks_for(0x03, 2, {1, 18}));
    EXPECT_EQ(table.receiver(mad_of(0x81, 1, 5, 0)), sm);
    EXPECT_EQ(table.receiver(mad_of(0x03, 2, 18, 0)), sa);
    EXPECT_EQ(table.receiver(mad_of(0x81, 1, 2, 0)), std::nullopt);  // Set is nobody's
    EXPECT_EQ(table.receiver(mad_of(0x03, 1, 18, 0)), std::nullopt);
    EXPECT_EQ(table.receiver(mad_of(0x01, 1, 5, 0)),
              std::nullopt);  // LID-routed SMPs are a class of their own
}

TEST(AgentTable, ResponsesGoByTheUpperHalfOfTheTid) {
    AgentTable table;
    const AgentId first = *table.add(asks_for(0x81, 1, {}));
    const AgentId second = *table.add(asks_for(0x81, 1, {}));
    ASSERT_NE(first, second);
    EXPECT_EQ(table.receiver(mad_of(0x81, 1, 0x81, second)), second);
    EXPECT_EQ(table.receiver(mad_of(0x04, 1, 0x81, first)), first);  // whatever the class
    EXPECT_EQ(table.receiver(mad_of(0x81, 1, 0x81, 77)), std::nullopt);
    EXPECT_EQ(table.receiver(mad_of(0x01, 1, 0x07, second)), second);  // TrapRepress answers a trap
    table.remove(second);
    EXPECT_EQ(table.receiver(mad_of(0x81, 1, 0x81, second)), std::nullopt);
    EXPECT_NE(*table.add(asks_for(0x81, 1, {})), second);
}

TEST(AgentTable, AMethodIsTakenOnce) {
    AgentTable table;
    const AgentId first = *table.add(asks_for(0x81, 1, {1, 2, 5}));
    const base::Result<AgentId> rival = table.add(asks_for(0x81, 1, {5}));
    ASSERT_FALSE(rival);
    EXPECT_EQ(rival.error().kind, base::ErrorKind::refused);
    EXPECT_TRUE(table.add(asks_for(0x81, 1, {7})));
    EXPECT_TRUE(table.add(asks_for(0x01, 1, {5})));
    EXPECT_TRUE(table.add(asks_for(0x81, 2, {5})));
    table.remove(first);
    EXPECT_TRUE(table.add(asks_for(0x81, 1, {5})));
}

TEST(AgentTable, VendorClassesAreToldApartByOui) {
    AgentTable table;
    AgentRequest request = asks_for(0x32, 1, {1});
    EXPECT_FALSE(table.add(request));  // no OUI
    request.oui = 0x001405;
    const AgentId ping = *table.add(request);
    request.oui = 0x0002C9;
    const AgentId other = *table.add(request);
    mad::MadBuffer bytes = mad_of(0x32, 1, 1, 0);
    bytes[38] = 0x14;
    bytes[39] = 0x05;
    EXPECT_EQ(table.receiver(bytes), ping);
    bytes[38] = 0x02;
    bytes[39] = 0xC9;
    EXPECT_EQ(table.receiver(bytes), other);
}

TEST(AgentTable, RefusesWhatContradictsItself) {
    AgentTable table;
    AgentRequest rmpp = asks_for(0x04, 1, {1});
    rmpp.rmpp_version = 1;
    EXPECT_FALSE(table.add(rmpp));  // the performance class has no RMPP
    rmpp = asks_for(0x03, 2, {1});
    rmpp.rmpp_version = 2;
    EXPECT_FALSE(table.add(rmpp));
    EXPECT_FALSE(table.add(asks_for(0x03, 8, {1})));
    EXPECT_FALSE(table.add(asks_for(0x50, 1, {1})));
    AgentRequest nothing;
    EXPECT_TRUE(table.add(nothing));  // class 0: only asks
    nothing.user_rmpp = true;
    EXPECT_FALSE(table.add(nothing));
}

}  // namespace
}  // namespace ibf::sim
