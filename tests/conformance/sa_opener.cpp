// sa_opener COUNT: opens a client of the SA so many times, one after the other, as a long-lived program does.
// Prints how many descriptors were open after the first and after the last.
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "mad/sa_client.hpp"

namespace {

long open_files() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
}

}  // namespace

int main(int argc, char** argv) {
    const int count = argc == 2 ? std::atoi(argv[1]) : 0;
    long first = 0;
    for (int i = 0; i < count; ++i) {
        if (const auto client = ibf::mad::SaClient::open("", {}); !client) {
            std::puts(client.error().message.c_str());
            return 1;
        }
        first = i == 0 ? open_files() : first;
    }
    std::printf("%ld %ld\n", first, open_files());
    return 0;
}
