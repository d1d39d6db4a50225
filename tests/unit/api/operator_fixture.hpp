// DOC: a fabric with names that are easily typed, and an API that is asked about it. For drain and what-if.
#pragma once

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "daemon/api/api.hpp"
#include "tests/unit/fabric_from_netlist.hpp"

namespace ibf::api {

/// "fat-tree:radix=4,levels=2": leaves leaf-001 to -004 with two hosts each, host-0001 to -0008, at ports 1
/// and 2; spines spine-001 and -002.
class OperatorTest : public ::testing::Test {
protected:
    using Json = nlohmann::json;
    struct Answer {
        int status = 0;
        Json body;
        std::optional<AdminCommand> command;
        [[nodiscard]] std::string message() const { return body["error"].value("message", ""); }
    };

    void SetUp() override {
        snapshot_ = ibf::test::snapshot_of_spec("fat-tree:radix=4,levels=2");
        ASSERT_NE(snapshot_.view, nullptr);
    }
    [[nodiscard]] Answer ask(const std::string& method, const std::string& target) const {
        HttpReply reply = handle({method, target, ""}, snapshot_);
        Json body = Json::parse(take_body(reply), nullptr, false);
        return {reply.status, std::move(body), reply.command};
    }
    [[nodiscard]] mad::Guid guid(const std::string& name) const {
        for (const fabric::Node& node : snapshot_.fabric->nodes) {
            if (node.description == name) {
                return node.guid();
            }
        }
        ADD_FAILURE() << name;
        return {};
    }
    /// As if the SM had taken it; `in_force`: and written the tables.
    void take(const AdminCommand& command, bool in_force) {
        auto drains =
            std::make_shared<fabric::Drains>(snapshot_.drains ? *snapshot_.drains : fabric::Drains{});
        drains->asked.push_back(command.element);
        const auto elements = fabric::elements_of(drains->asked);
        auto options = std::make_shared<routing::RouteOptions>();
        options->drained.elements = elements;
        if (in_force) {
            drains->in_force = elements;
            auto outcome = routing::route(snapshot_.view->topology, &snapshot_.routes->routes, *options);
            ASSERT_TRUE(outcome);
            snapshot_.programmed = outcome->routes.rows;
            snapshot_.routes = std::make_shared<const routing::RouteOutcome>(std::move(*outcome));
        }
        snapshot_.route_options = std::move(options);
        snapshot_.drains = std::move(drains);
    }

    fabric::Snapshot snapshot_;
};

}  // namespace ibf::api
