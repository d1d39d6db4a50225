// DOC: the daemon, as the command line talks to it.
//
// One HTTP request per connection over the unix socket (Boost.Beast, blocking). Bodies arrive piece by piece,
// so an export of any size passes through without being held. Errors carry the daemon's own message;
// unavailable means that nobody answers, with what to do about it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.hpp"

namespace ibf::cli {

using Json = nlohmann::ordered_json;
using Params = std::vector<std::pair<std::string, std::string>>;
/// Takes the next piece of a body. An error ends the transfer.
using Sink = std::function<base::Result<void>(std::string_view)>;

class Client {
public:
    explicit Client(std::string socket);

    [[nodiscard]] base::Result<void> get(const std::string& path, const Params& params,
                                         const Sink& sink) const;
    [[nodiscard]] base::Result<std::string> get_text(const std::string& path, const Params& params) const;
    [[nodiscard]] base::Result<Json> get_json(const std::string& path, const Params& params) const;
    [[nodiscard]] base::Result<Json> post_json(const std::string& path, const Params& params) const;
    [[nodiscard]] base::Result<Json> post_json(const std::string& path, const Params& params,
                                               const std::string& body) const;

private:
    std::string socket_;
};

/// "/v1/path?src=a%2Fb": names that are empty are left out. Values are percent-encoded.
[[nodiscard]] std::string target_of(const std::string& path, const Params& params);

}  // namespace ibf::cli
