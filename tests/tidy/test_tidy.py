#!/usr/bin/env python3
"""Each tidy rule must flag its bad sample and let the good one beside it pass."""

import unittest

import tidy

DOC = "// DOC: a sample.\n#pragma once\n"


def findings(rule, files, executables=()):
    return [(f.path, f.rule) for f in rule(tidy.Tree(files, executables))]


class Layering(unittest.TestCase):
    def flagged(self, path, include):
        files = {path: f'#include "{include}"\n', include: DOC}
        return bool(findings(tidy.check_layering, files))

    def test_upward_and_sideways_includes_are_flagged(self):
        for path, include in (
            ("base/a.cpp", "mad/ids.hpp"), ("mad/a.cpp", "routing/routes.hpp"), ("routing/a.cpp", "sim/simulator.hpp"),
            ("routing/a.cpp", "mad/transport.hpp"), ("db/a.cpp", "mad/codec.hpp"), ("sim/a.cpp", "daemon/sm/a.hpp"),
            ("daemon/sm/a.cpp", "daemon/api/a.hpp"), ("daemon/api/a.cpp", "daemon/sm/a.hpp"),
            ("daemon/sa/a.cpp", "daemon/sm/a.hpp"), ("daemon/core/a.cpp", "daemon/shell/a.hpp"),
            ("daemon/core/a.cpp", "db/database.hpp"), ("cli/a.cpp", "db/database.hpp"),
            ("daemon/unknown/a.cpp", "base/check.hpp"),
        ):
            self.assertTrue(self.flagged(path, include), f"{path} -> {include}")

    def test_downward_includes_pass(self):
        for path, include in (
            ("mad/a.cpp", "base/check.hpp"), ("routing/a.cpp", "mad/ids.hpp"), ("sim/a.cpp", "routing/netlist.hpp"),
            ("daemon/core/a.cpp", "db/records.hpp"), ("daemon/shell/a.cpp", "db/database.hpp"),
            ("daemon/main.cpp", "daemon/shell/a.hpp"), ("cli/a.cpp", "daemon/api/a.hpp"),
        ):
            self.assertFalse(self.flagged(path, include), f"{path} -> {include}")

    def test_an_include_that_is_no_path_from_the_root_is_flagged(self):
        self.assertEqual(findings(tidy.check_layering, {"mad/a.cpp": '#include "ids.hpp"\n', "mad/ids.hpp": DOC}),
                         [("mad/a.cpp", "include-path")])

    def test_an_include_in_a_comment_does_not_count(self):
        self.assertEqual(findings(tidy.check_layering, {"base/a.cpp": '// #include "mad/ids.hpp"\n'}), [])


class Libraries(unittest.TestCase):
    def test_a_library_outside_its_files_is_flagged(self):
        for path, header in (
            ("mad/a.cpp", "spdlog/spdlog.h"), ("daemon/core/a.cpp", "sqlite3.h"), ("sim/a.cpp", "infiniband/umad.h"),
            ("mad/a.hpp", "iba/ib_types.h"), ("mad/a.hpp", "infiniband/mad.h"), ("daemon/sm/a.cpp", "boost/graph/x.hpp"),
            ("daemon/api/a.cpp", "boost/beast/core.hpp"), ("daemon/shell/replica.cpp", "openssl/ssl.h"),
            ("daemon/core/a.cpp", "systemd/sd-event.h"),
            ("base/a.cpp", "nlohmann/json.hpp"), ("daemon/sm/a.cpp", "toml++/toml.h"),
        ):
            self.assertTrue(findings(tidy.check_libraries, {path: f"#include <{header}>\n"}), f"{path} {header}")

    def test_a_library_behind_its_file_passes(self):
        for path, header in (("base/log.cpp", "spdlog/spdlog.h"), ("db/a.cpp", "sqlite3.h"),
                             ("mad/a.cpp", "infiniband/umad.h"), ("daemon/shell/api_server.cpp", "boost/asio.hpp"),
                             ("daemon/shell/replica.cpp", "boost/asio/post.hpp"), ("net/tls.cpp", "openssl/ssl.h"),
                             ("tests/unit/db/a_test.cpp", "sqlite3.h")):
            self.assertEqual(findings(tidy.check_libraries, {path: f"#include <{header}>\n"}), [])

    def test_a_second_user_is_flagged(self):
        files = {"db/a.cpp": "#include <sqlite3.h>\n", "db/b.cpp": "#include <sqlite3.h>\n"}
        self.assertEqual(findings(tidy.check_libraries, files), [("db/b.cpp", "library")])

    def test_rival_headers(self):
        both = "#include <infiniband/mad.h>\n#include <iba/ib_types.h>\n"
        self.assertTrue(findings(tidy.check_rival_headers, {"tests/unit/mad/a.cpp": both}))
        self.assertFalse(findings(tidy.check_rival_headers, {"tests/unit/mad/a.cpp": "#include <iba/ib_types.h>\n"}))


def body(lines):
    return "{\n" + "    x();\n" * (lines - 2) + "}\n"


class Sizes(unittest.TestCase):
    def test_file_length_in_product_and_tests(self):
        for path in ("mad/a.cpp", "tests/unit/mad/a_test.cpp", "tests/tidy/a.py"):
            self.assertTrue(findings(tidy.check_file_lengths, {path: "\n" * 801}))
            self.assertFalse(findings(tidy.check_file_lengths, {path: "\n" * 800}))

    def test_function_length(self):
        heads = ("void f() ", "template <typename T>\nstd::map<int, T> A::f(const T& t) const noexcept ",
                 "namespace a {\nclass B : public C<int(int)> {\n  public:\n    B(int x) : x_{x}, y_(2) ",
                 "auto operator()(int x) -> int ", "auto f = [](int a) ")
        for head in heads:
            tail = "};\n}\n" if head.startswith("namespace") else ";\n"
            lines = 70 - head.lstrip().count("\n") * (not head.startswith("namespace"))
            good = {"mad/a.cpp": head + body(lines) + tail}
            bad = {"mad/a.cpp": head + body(lines + 1) + tail}
            self.assertEqual(findings(tidy.check_function_lengths, good), [], head)
            self.assertEqual(findings(tidy.check_function_lengths, bad), [("mad/a.cpp", "function-length")], head)

    def test_what_is_no_function_has_no_limit(self):
        for head in ("namespace ibf {\n", "struct A {\n", "enum class E : int {\n", "constexpr int kTable[] = {\n",
                     'extern "C" {\n'):
            text = head + "    int a;\n" * 100 + "};\n"
            self.assertEqual(findings(tidy.check_function_lengths, {"mad/a.cpp": text}), [], head)

    def test_braces_in_strings_and_comments_do_not_confuse(self):
        text = 'void f() {\n  g("{{{", \'{\', R"({)"); // {\n /* { */ int n = 1\'000; }\n' + "int a;\n" * 100
        self.assertEqual(findings(tidy.check_function_lengths, {"mad/a.cpp": text}), [])

    def test_line_length(self):
        self.assertTrue(findings(tidy.check_line_lengths, {"mad/a.cpp": "x" * 121}))
        self.assertFalse(findings(tidy.check_line_lengths, {"mad/a.cpp": "x" * 120}))


class Constructs(unittest.TestCase):
    def test_every_ban_fires(self):
        samples = ("std::regex r;", "int x = rand();", "using namespace std;", "std::chrono::system_clock::now();",
                   "#include <format>", "auto v = std::views::iota(1);", "assert(x);", "std::this_thread::sleep_for(x);",
                   "epoll_create1(0);")
        self.assertEqual(len(samples), len(tidy.BANS))
        for sample, ban in zip(samples, tidy.BANS):
            self.assertTrue(findings(tidy.check_banned, {"mad/a.hpp": sample + "\n"}), sample)
            in_test = findings(tidy.check_banned, {"tests/unit/mad/a.hpp": sample + "\n"})
            self.assertEqual(bool(in_test), ban.tests_too, sample)

    def test_look_alikes_pass(self):
        for sample in ("static_assert(x);", "operand(1);", '// std::regex\n', 'log("rand()");', "my_system_clock_ = 1;"):
            self.assertEqual(findings(tidy.check_banned, {"mad/a.hpp": sample + "\n"}), [], sample)
        self.assertEqual(findings(tidy.check_banned, {"base/time.cpp": "system_clock::now();\n"}), [])
        self.assertEqual(findings(tidy.check_banned, {"mad/a.cpp": "using namespace std::chrono_literals;\n"}), [])

    def test_unfinished(self):
        self.assertTrue(findings(tidy.check_unfinished, {"mad/a.cpp": "// TODO: later\n"}))
        self.assertTrue(findings(tidy.check_unfinished, {"docs/a.md": "FIXME\n"}))
        self.assertFalse(findings(tidy.check_unfinished, {"mad/a.cpp": "// todos\n"}))

    def test_machine_paths(self):
        for text in ("/work/main/x", "see /home/someone/x", "/tmp/build-x"):
            self.assertTrue(findings(tidy.check_machine_paths, {"mad/a.cpp": text}), text)
        for text in ("$HOME/work/x", "docs/work/x", "/usr/lib/x", "$dir/tmp/build"):
            self.assertFalse(findings(tidy.check_machine_paths, {"mad/a.cpp": text}), text)

    def test_headers(self):
        self.assertTrue(findings(tidy.check_headers, {"mad/a.hpp": "// DOC: x\nint a;\n"}))
        self.assertTrue(findings(tidy.check_headers, {"mad/a.hpp": "#pragma once\n"}))
        self.assertFalse(findings(tidy.check_headers, {"mad/a.hpp": DOC}))

    def test_scripts(self):
        self.assertTrue(findings(tidy.check_scripts, {"a.py": "#!/usr/bin/env python3\n"}))
        self.assertFalse(findings(tidy.check_scripts, {"a.py": "#!/usr/bin/env python3\n"}, ["a.py"]))


class Documents(unittest.TestCase):
    def test_a_source_without_test_or_reason_is_flagged(self):
        self.assertEqual(findings(tidy.check_tests_exist, {"mad/a.cpp": ""}), [("mad/a.cpp", "untested")])
        self.assertEqual(findings(tidy.check_tests_exist, {"mad/a.cpp": "", "tests/unit/mad/a_test.cpp": ""}), [])
        self.assertEqual(findings(tidy.check_tests_exist, {"mad/a_b.cpp": "", "tests/unit/mad/a_test.cpp": ""}), [])
        self.assertEqual(findings(tidy.check_tests_exist, {"daemon/sm/a.cpp": "", "tests/unit/sm/a_test.cpp": ""}), [])

    def test_the_list_of_reasons_is_kept_honest(self):
        listed = tidy.UNTESTED_LIST
        good = {"mad/a.cpp": "", listed: "mad/a.cpp: only calls the kernel\n"}
        self.assertEqual(findings(tidy.check_tests_exist, good), [])
        for bad in ({"mad/a.cpp": "", listed: "mad/a.cpp:\n"},
                    {listed: "mad/a.cpp: only calls the kernel\n"},
                    {**good, "tests/unit/mad/a_test.cpp": ""}):
            self.assertTrue(findings(tidy.check_tests_exist, bad))

    def test_links(self):
        files = {"README.md": "# Top line\n[a](docs/b.md) [c](docs/b.md#part-two) [d](#top-line) [e](https://x.y/z) [f](docs)\n",
                 "docs/b.md": "## Part two\n"}
        self.assertEqual(findings(tidy.check_markdown_links, files), [])
        for link in ("docs/none.md", "docs/b.md#none", "#none"):
            broken = {"README.md": f"[x]({link})\n", "docs/b.md": ""}
            self.assertTrue(findings(tidy.check_markdown_links, broken), link)

    def test_options_are_in_the_manual(self):
        source = 'app.add_option("-o,--output", path);\n'
        self.assertTrue(findings(tidy.check_options_in_manuals, {"cli/a.cpp": source, "man/ibfabric.1": ""}))
        self.assertFalse(findings(tidy.check_options_in_manuals, {"cli/a.cpp": source, "man/ibfabric.1": "\\-\\-output"}))
        positional = 'app.add_option("SPEC", spec);\n'
        self.assertFalse(findings(tidy.check_options_in_manuals, {"cli/a.cpp": positional, "man/ibfabric.1": ""}))


class WholeRun(unittest.TestCase):
    def test_every_rule_is_run_and_has_a_test(self):
        defined = {value for name, value in vars(tidy).items() if name.startswith("check_")}
        self.assertEqual(defined, set(tidy.RULES))
        with open(__file__, encoding="utf-8") as file:
            own_text = file.read()
        for rule in tidy.RULES:
            self.assertIn("tidy." + rule.__name__, own_text)


if __name__ == "__main__":
    unittest.main()
