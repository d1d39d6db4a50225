// DOC: a fabric that came up in virtual time, and questions to its SA.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/sa/reader.hpp"
#include "harness.hpp"
#include "mad/octets.hpp"

namespace ibf::test {

/// What a query is made of: (field, value).
using Fields = std::initializer_list<std::pair<const char*, std::uint64_t>>;

class SaBench {
public:
    SaBench(routing::Netlist net, LabOptions options) : lab(std::move(net), std::move(options)) {
        lab.start();
        EXPECT_TRUE(lab.run_until_up(std::chrono::seconds{60}));
        refresh();
    }
    explicit SaBench(routing::Netlist net) : SaBench(std::move(net), LabOptions{}) {}

    void refresh() { view = std::make_shared<sa::View>(std::make_shared<fabric::Snapshot>(lab.snapshot())); }

    [[nodiscard]] static mad::SaMad request(mad::SaMethod method, mad::SaAttribute attribute, Fields fields) {
        const sa::RecordType& type = sa::record_type_of(attribute);
        mad::SaMad mad;
        mad.header.method = static_cast<std::uint8_t>(method);
        mad.header.attribute = static_cast<mad::Attribute>(attribute);
        for (const auto& [field, value] : fields) {
            mad.component_mask |= std::uint64_t{1} << type.component(field);
            type.set(mad.data, field, value);
        }
        return mad;
    }
    /// Puts a GID into a request: the default prefix and a port's GUID.
    void gid(mad::SaMad& mad, const char* field, std::size_t at, std::uint64_t prefix,
             std::uint64_t guid) const {
        const sa::RecordType& type = sa::record_type_of(mad.attribute());
        mad.component_mask |= std::uint64_t{1} << type.component(field);
        mad::store_gid(mad.data, at, {prefix, mad::Guid{guid}});
    }
    [[nodiscard]] const sa::End& end(const std::string& name) const {
        const std::uint32_t node = lab.node(name);
        const mad::Guid guid = lab.sim.netlist().nodes[node].guid;
        for (const sa::End& item : view->ends()) {
            if (item.node_guid == guid) {
                return item;
            }
        }
        ADD_FAILURE() << name << " has no LID";
        return view->ends().front();
    }
    [[nodiscard]] sa::Answer ask(const mad::SaMad& mad) const {
        return sa::read({mad, *view, tables, config, sa::kNoEnd}, mad.data);
    }
    [[nodiscard]] sa::Answer ask(mad::SaMethod method, mad::SaAttribute attribute, Fields fields) const {
        return ask(request(method, attribute, fields));
    }
    [[nodiscard]] static std::uint64_t field(const sa::Answer& answer, std::size_t index, const char* name) {
        const std::span<const std::uint8_t> all(answer.records);
        return answer.type->get(all.subspan(index * answer.type->size(), answer.type->size()), name);
    }

    static constexpr std::uint64_t kPrefix = 0xfe80000000000000ULL;
    Lab lab;
    std::shared_ptr<const sa::View> view;
    fabric::SaTables tables;
    sa::SaConfig config;
};

}  // namespace ibf::test
