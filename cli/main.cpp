#include "base/heap.hpp"
#include "cli/app.hpp"

int main(int argc, char** argv) {
    ibf::base::use_large_pages();  // `plan` works out whole tables
    return ibf::cli::run(argc, argv);
}
