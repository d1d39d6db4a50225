#include "sim/process/control.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "sim/process/connection.hpp"

namespace ibf::sim {
namespace {

/// The last line of an answer, without its end.
std::string last_line(const std::string& answer) {
    const std::size_t before = answer.size() < 2 ? std::string::npos : answer.rfind('\n', answer.size() - 2);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    return answer.substr(begin, answer.size() - begin - 1);
}

bool is_whole(const std::string& answer) {
    if (answer.empty() || answer.back() != '\n') {
        return false;
    }
    const std::string last = last_line(answer);
    return last == "ok" || last.starts_with("error: ");
}

std::string quoted(const std::vector<std::string>& words) {
    std::string line;
    for (const std::string& word : words) {
        const bool blank = word.find_first_of(" \t#") != std::string::npos;
        line += line.empty() ? "" : " ";
        line += blank && words.size() > 1 ? "\"" + word + "\"" : word;
    }
    return line + "\n";
}

}  // namespace

base::Result<std::string> give_command(const std::string& path, const std::vector<std::string>& words) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    std::memcpy(address.sun_path, path.data(), std::min(path.size(), sizeof address.sun_path - 1));
    if (path.size() >= sizeof address.sun_path ||
        ::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
        return base::fail(base::ErrorKind::unavailable,
                          fmt::format("no simulation at {}: {}", path, std::strerror(errno)));
    }
    const std::string line = quoted(words);
    std::string answer;
    bool fine =
        ::send(socket.number(), line.data(), line.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(line.size());
    std::array<char, 65536> buffer{};
    while (fine && !is_whole(answer)) {
        const ssize_t got = ::recv(socket.number(), buffer.data(), buffer.size(), 0);
        fine = got > 0;
        answer.append(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    }
    if (!fine) {
        return base::fail(base::ErrorKind::unavailable, fmt::format("the simulation at {} ended", path));
    }
    const std::string last = last_line(answer);
    if (last != "ok") {
        return base::fail(base::ErrorKind::refused, last.substr(std::strlen("error: ")));
    }
    answer.resize(answer.size() - std::strlen("ok\n"));
    return answer;
}

}  // namespace ibf::sim
