#include "probe/tool/commands.hpp"

int main(int argc, char** argv) {
    return ibf::probe::tool::run(argc, argv);
}
