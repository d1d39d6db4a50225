// DOC: what CLI::Range lets through: "nan" is below nothing and above nothing.
#pragma once

#include <cmath>
#include <cstdlib>
#include <string>

#include <CLI/CLI.hpp>

namespace ibf::cli {

/// A number from least to most, and no "nan".
inline CLI::Validator finite_range(double least, double most) {
    const auto is_number = [](std::string& text) {
        return std::isfinite(std::strtod(text.c_str(), nullptr)) ? std::string{} : "a number is wanted";
    };
    return CLI::Range(least, most) & CLI::Validator(is_number, "");
}

}  // namespace ibf::cli
