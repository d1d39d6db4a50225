// Transcripts: tests/scenario/*.scn, each a story in blocks. A block is commands, a line "----", and
// everything that happened: events and sweeps with their virtual time, then the Sets by attribute. A blank
// line ends a block; lines that start with '#' among the commands are comments. IBF_REWRITE=1 writes what
// happens now in place of what was expected.
//
// Commands: fabric SPEC (t1, t2 or what the programs take) | at NODE | start | run until up | advance TIME |
// fault FAULT (a line of a fault script) | traps off | guid NODE OF-NODE | rival NODE | restart clean|killed
// | stop | reload operational_vls|mtu N | lids NODE... | check | mads on|off
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "harness.hpp"
#include "mad/codec.hpp"

namespace ibf::test {
namespace {

const std::filesystem::path kFolder = "tests/scenario";

std::vector<std::string> words_of(const std::string& line) {
    std::istringstream in(line);
    std::vector<std::string> words;
    for (std::string word; in >> word;) {
        words.push_back(word);
    }
    return words;
}

base::Duration duration_of(const std::string& text) {
    std::size_t digits = 0;
    const double number = std::stod(text, &digits);
    const std::string unit = text.substr(digits);
    const double scale = unit == "us" ? 1e3 : unit == "ms" ? 1e6 : unit == "s" ? 1e9 : 0;
    EXPECT_NE(scale, 0) << "a time is written 10us, 1.5s: " << text;
    return base::Duration{static_cast<base::Duration::rep>(number * scale)};
}

class Story {
public:
    /// Carries out one command; what it brings goes to the transcript.
    void command(const std::string& line) {
        const std::vector<std::string> words = words_of(line);
        const std::string rest = line.size() > words[0].size() ? line.substr(words[0].size() + 1) : "";
        if (words[0] == "fabric") {
            net_ = rest == "t1" ? t1() : rest == "t2" ? t2() : netlist(rest);
        } else if (words[0] == "at") {
            options_.at = rest;
        } else if (words[0] == "advance") {
            lab().advance(duration_of(rest));
        } else if (words[0] == "fault") {
            lab().inject(rest);
        } else if (line == "traps off") {
            lab().inject("mute-traps *");
        } else if (words[0] == "guid") {
            lab().sim.set_node_guid(lab().node(words.at(1)),
                                    lab().sim.netlist().nodes[lab().node(words.at(2))].guid);
        } else if (words[0] == "rival") {
            rivals_.push_back(std::make_unique<Rival>(lab(), rest, mad::SmState::master));
        } else if (words[0] == "lids") {
            tell_lids(words);
        } else if (line == "check") {
            check();
        } else if (words[0] == "mads") {
            mads_ = words.at(1) == "on";
        } else {
            command_to_sm(line, words);
        }
    }

    std::vector<std::string> take_transcript() {
        std::vector<std::string> lines = std::move(lines_);
        lines_.clear();
        if (lab_) {
            lines.push_back(sets_line());
            lab_->forget_counts();
        }
        return lines;
    }

private:
    Lab& lab() {
        if (!lab_) {
            lab_ = std::make_unique<Lab>(net_, options_);
            lab_->on_line = [this](const std::string& line) { note(line); };
            lab_->on_mad = [this](base::Instant, std::uint32_t node, const mad::Smp& smp,
                                  mad::MadStatus status) {
                if (mads_) {
                    note(fmt::format("  {} at {}{}", mad::to_line(smp),
                                     lab_->sim.netlist().nodes[node].description,
                                     status == 0 ? "" : fmt::format(": status 0x{:04x}", status)));
                }
            };
        }
        return *lab_;
    }

    void command_to_sm(const std::string& line, const std::vector<std::string>& words) {
        if (line == "start") {
            lab().start();
        } else if (line == "stop") {
            lab().stop();
        } else if (line == "run until up") {
            if (!lab().run_until_up(std::chrono::seconds{60})) {
                note("not up: " + lab().snapshot().mode_text);
            }
        } else if (words[0] == "restart") {
            words.at(1) == "clean" ? lab().stop() : lab().kill();
            lab().start();
        } else if (words[0] == "reload") {
            sm::SmConfig config;
            ASSERT_EQ(words.at(1), "operational_vls");
            config.operational_vls_max = static_cast<std::uint8_t>(std::stoi(words.at(2)));
            lab().replace_config(config);
        } else {
            ADD_FAILURE() << "no such command: " << line;
        }
    }

    void tell_lids(const std::vector<std::string>& words) {
        for (std::size_t i = 1; i < words.size(); ++i) {
            const std::uint32_t node = lab().node(words[i]);
            const bool is_switch = lab().sim.netlist().nodes[node].type == mad::NodeType::switch_;
            note(fmt::format("{} has LID {}", words[i], lab().lid(node, is_switch ? 0 : 1)));
        }
    }

    void check() {
        const auto found = problems(lab(), CheckOptions{{}, lab().sim.counters().by_rule, 4000});
        for (const std::string& problem : found) {
            note("wrong: " + problem);
        }
        note(found.empty() ? "everybody reaches everybody" : fmt::format("{} findings", found.size()));
    }

    void note(const std::string& line) {
        lines_.push_back(fmt::format("{} {}", base::format_duration(lab_->now.time_since_epoch()), line));
    }

    std::string sets_line() const {
        constexpr std::array kAttributes{mad::Attribute::switch_info,
                                         mad::Attribute::port_info,
                                         mad::Attribute::pkey_table,
                                         mad::Attribute::linear_forwarding_table,
                                         mad::Attribute::multicast_forwarding_table,
                                         mad::Attribute::sl2vl_table,
                                         mad::Attribute::vl_arbitration};
        std::vector<std::string> parts;
        for (const mad::Attribute attribute : kAttributes) {
            if (lab_->sets(attribute) != 0) {
                parts.push_back(fmt::format("{} {}", mad::attribute_name(attribute), lab_->sets(attribute)));
            }
        }
        return parts.empty() ? "no Sets" : fmt::format("Sets: {}", fmt::join(parts, ", "));
    }

    routing::Netlist net_;
    LabOptions options_;
    std::unique_ptr<Lab> lab_;
    std::vector<std::unique_ptr<Rival>> rivals_;
    std::vector<std::string> lines_;
    bool mads_ = false;
};

/// Runs the file and returns it as it should read.
std::string play(const std::filesystem::path& file) {
    std::ifstream in(file);
    Story story;
    std::string text;
    bool in_transcript = false;
    for (std::string line; std::getline(in, line);) {
        if (in_transcript) {
            in_transcript = !line.empty();
            text += line.empty() ? "\n" : "";
            continue;
        }
        text += line + "\n";
        if (line == "----") {
            for (const std::string& happened : story.take_transcript()) {
                text += happened + "\n";
            }
            in_transcript = true;
        } else if (!line.empty() && line[0] != '#') {
            story.command(line);
        }
    }
    return text;
}

std::vector<std::string> files() {
    std::vector<std::string> names;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(kFolder, none)) {
        if (entry.path().extension() == ".scn") {
            names.push_back(entry.path().stem().string());
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

class Scenario : public ::testing::TestWithParam<std::string> {};

TEST_P(Scenario, HappensAsWritten) {
    const std::filesystem::path file = kFolder / (GetParam() + ".scn");
    const std::string now = play(file);
    if (std::getenv("IBF_REWRITE") != nullptr) {
        std::ofstream(file) << now;
        return;
    }
    std::ostringstream written;
    written << std::ifstream(file).rdbuf();
    EXPECT_EQ(now, written.str()) << "IBF_REWRITE=1 rewrites " << file;
}

INSTANTIATE_TEST_SUITE_P(Files, Scenario, ::testing::ValuesIn(files()),
                         [](const auto& name) { return name.param; });

TEST(Scenarios, AreFound) {
    EXPECT_GE(files().size(), 8U) << "run from the root of the tree";
}

}  // namespace
}  // namespace ibf::test
