// The programming run's part that sets lanes up (lane_setup).
#include "daemon/sm/programmer.hpp"

namespace ibf::sm {

using mad::Completion;

std::optional<mad::Request> Programmer::next_lane() {
    auto next = lanes_.next();
    if (!next) {
        return std::nullopt;
    }
    constexpr base::Duration kSetTimeout =
        std::chrono::seconds{2};  // an agent may take long to fill them all
    const auto& [index, write] = *next;
    const fabric::PortRef at = lanes_.job(index).at;
    mad::Request request = make(Ask::lane_set, at, write.attribute, write.modifier, write.data);
    request.tag = Tag{Ask::lane_set, at.port.value(), input_.epoch, index}.pack();
    request.timeout = kSetTimeout;
    return request;
}

void Programmer::on_lane(const Tag& tag, const Completion& completion) {
    if (completion.kind == Completion::Kind::reply) {
        return lanes_.took(tag.index);
    }
    const LaneJob& job = lanes_.job(tag.index);
    const LaneWrite write{completion.request.attribute, completion.request.modifier, {}};
    if (write.optimised() && completion.kind != Completion::Kind::timeout) {
        row_by_row_.insert(job.owner);  // the next sweep goes the long way
    }
    lanes_.failed(tag.index);
    fail(job.at,
         fmt::format("{} {}: paths may share lanes that must be apart",
                     write.attribute == mad::Attribute::sl2vl_table ? "SL to VL mapping" : "VL arbitration",
                     describe(completion)));
}

}  // namespace ibf::sm
