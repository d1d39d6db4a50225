#include "cli/app.hpp"

int main(int argc, char** argv) { return ibf::cli::run(argc, argv); }
