#!/usr/bin/env python3
"""The rules of the tree that no compiler checks.

    tidy.py ROOT      prints PATH:LINE: [rule] message for each finding; exit code 1 if there is any.

Each rule is a function from a Tree to Findings; test_tidy.py holds a bad sample for every one of them.
"""

import os
import re
import sys
from dataclasses import dataclass

SOURCE_FOLDERS = ("base", "mad", "routing", "sim", "db", "net", "daemon", "cli", "probe")
SKIPPED_FOLDERS = {".git", "build", ".cache", "__pycache__"}
TEXT_SUFFIXES = (".cpp", ".hpp", ".py", ".md", ".cmake", ".txt", ".service", ".rules", ".json", ".toml", ".bash",
                 ".1", ".5", ".8")
TEXT_NAMES = ("dev", "run", "CMakeLists.txt", "LICENSE")

MAX_FILE_LINES = 800
MAX_FUNCTION_LINES = 70
MAX_COLUMNS = 120  # clang-format breaks code at 110; this is the stop for what it cannot break


@dataclass(frozen=True)
class Finding:
    path: str
    line: int
    rule: str
    message: str

    def __str__(self):
        return f"{self.path}:{self.line}: [{self.rule}] {self.message}"


class Tree:
    """Paths and texts. Made from a folder, or in a test from a dict."""

    def __init__(self, files, executables=()):
        self.files = files
        self.executables = set(executables)
        self.folders = {os.path.dirname(path) for path in files}
        for folder in list(self.folders):
            while folder:
                folder = os.path.dirname(folder)
                self.folders.add(folder)
        self._stripped = {}

    @staticmethod
    def read(root):
        files, executables = {}, []
        for folder, names, leaves in os.walk(root):
            names[:] = sorted(n for n in names if n not in SKIPPED_FOLDERS)
            if os.path.relpath(folder, root) == os.path.join("tests", "fuzz"):
                names[:] = [n for n in names if n != "corpus"]
            for leaf in sorted(leaves):
                full = os.path.join(folder, leaf)
                path = os.path.relpath(full, root)
                if os.access(full, os.X_OK):
                    executables.append(path)
                readable = leaf.endswith(TEXT_SUFFIXES) or leaf in TEXT_NAMES
                with open(full, encoding="utf-8", errors="replace") as file:
                    files[path] = file.read() if readable else ""
        return Tree(files, executables)

    def cpp(self, *, headers_only=False, sources_only=False):
        for path in self.files:
            if path.endswith(".hpp") and not sources_only or path.endswith(".cpp") and not headers_only:
                yield path

    def product_cpp(self, **kwargs):
        for path in self.cpp(**kwargs):
            if path.split("/")[0] in SOURCE_FOLDERS:
                yield path

    def stripped(self, path):
        if path not in self._stripped:
            self._stripped[path] = strip_comments_and_strings(self.files[path])
        return self._stripped[path]


_TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^()\\ ]{0,16})\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|'
    r"(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.DOTALL)


def strip_comments_and_strings(text):
    """The text with comments gone and literals emptied; lines keep their numbers. Include lines stay whole."""

    def blank(match):
        token = match.group(0)
        line_start = text.rfind("\n", 0, match.start()) + 1
        if token[0] == '"' and text[line_start:match.start()].strip().startswith("#include"):
            return token
        newlines = "\n" * token.count("\n")
        if token.startswith("/"):
            return newlines or " "
        return token[0] + newlines + token[0] if token[0] in "\"'" else '""' + newlines

    return _TOKEN.sub(blank, text)


def lines_matching(text, pattern):
    for number, line in enumerate(text.split("\n"), 1):
        match = pattern.search(line)
        if match:
            yield number, match


# ---- layering -------------------------------------------------------------------------------------------------

_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')

# What each layer may include beside itself: folders, or single headers where a layer may use only a part of another.
_BELOW_CORE = {"base", "mad", "routing"}
LAYERS = {
    "base": set(),
    "mad": {"base"},
    # Codecs for the PortInfo and SwitchInfo that a topology file may carry (db_csv): pure functions, no transport.
    "routing": {"base", "mad/ids.hpp", "mad/codec.hpp", "mad/attributes.hpp", "mad/link_rate.hpp"},
    "sim": {"base", "mad", "routing"},
    "sim/process": {"base", "mad", "routing", "sim"},
    # Loaded into strangers' programs: it brings nothing along but the protocol.
    "sim/umad": {"sim/process/protocol.hpp"},
    "db": {"base", "mad/ids.hpp"},
    "daemon/fabric": _BELOW_CORE,
    # What is to be persisted is plain values; only the shell knows that SQLite keeps them.
    "daemon/sm": _BELOW_CORE | {"daemon/fabric", "db/records.hpp"},
    "daemon/sa": _BELOW_CORE | {"daemon/fabric"},
    # A what-if counts what the SM would write by the plan that it would write by: a pure function.
    "daemon/api": _BELOW_CORE | {"daemon/fabric", "daemon/sm/lft_plan.hpp", "db/probe_records.hpp"},
    "daemon/core": _BELOW_CORE | {"daemon/fabric", "daemon/sm", "daemon/sa", "daemon/api", "db/records.hpp"},
    "daemon/shell": _BELOW_CORE | {"sim", "db", "net", "daemon/fabric", "daemon/sm", "daemon/sa", "daemon/api", "daemon/core"},
    # The field tables: what the SA answers by is what the command line reads answers by.
    "probe": _BELOW_CORE,
    # TLS, sockets and the words that go over them; only the program brings them and the devices together.
    "net": {"base"},
    "probe/agent": {"base", "mad/ids.hpp", "net", "probe"},
    "probe/tool": {"base", "mad/ids.hpp", "net", "probe", "probe/agent", "probe/verbs"},
    "probe/verbs": {"base", "mad/ids.hpp", "probe"},
    # The probe on a simulated fabric: what is rehearsed knows nothing of it.
    "probe/rehearsal": _BELOW_CORE | {"probe", "sim"},
    "cli": _BELOW_CORE | {"sim", "probe/rehearsal", "net", "probe", "probe/agent", "daemon/fabric", "daemon/api", "daemon/sa/record_type.hpp"},
}
PROGRAMS = {"daemon/main.cpp"}  # puts everything together: may include any of it


def layer_of(path):
    parts = path.split("/")
    if path.startswith(("probe/rehearsal/", "probe/agent/", "probe/tool/", "probe/verbs/")):
        return "/".join(parts[:2])
    if parts[0] in ("daemon", "sim") and len(parts) > 2:
        return "/".join(parts[:2])
    return parts[0]


def check_layering(tree):
    for path in tree.product_cpp():
        if path in PROGRAMS:
            continue
        layer = layer_of(path)
        if layer not in LAYERS:
            yield Finding(path, 1, "layering", f"'{layer}' is no known layer: add it to LAYERS and to the design")
            continue
        for number, match in lines_matching(tree.stripped(path), _INCLUDE):
            target = match.group(1)
            if target not in tree.files:
                yield Finding(path, number, "include-path", f'"{target}": include by path from the root')
            elif layer_of(target) != layer and target not in LAYERS[layer] and layer_of(target) not in LAYERS[layer]:
                yield Finding(path, number, "layering", f"{layer} must not include {target}")


# ---- outside libraries ----------------------------------------------------------------------------------------

_SYSTEM_INCLUDE = re.compile(r"^\s*#\s*include\s*[<\"]([^>\"]+)[>\"]")


@dataclass(frozen=True)
class Library:
    name: str
    headers: str   # prefix pattern
    files: str     # where it may be included
    most: int      # by how many product files


LIBRARIES = (
    Library("spdlog", r"spdlog/", r"base/log\.cpp", 1),
    Library("sqlite", r"sqlite3", r"db/[a-z_]+\.(cpp|hpp)", 1),
    Library("libibumad", r"infiniband/umad", r"(mad|sim/umad)/[a-z_]+\.cpp", 5),
    Library("libibverbs", r"infiniband/verbs", r"probe/verbs/[a-z_]+\.(cpp|hpp)", 99),
    Library("librdmacm", r"rdma/", r"probe/verbs/[a-z_]+\.cpp", 2),
    Library("ib_types", r"iba/", r"mad/[a-z_]+\.cpp", 99),
    Library("libibmad", r"infiniband/mad", r"mad/[a-z_]+\.cpp", 99),
    Library("Boost.Graph", r"boost/graph/", r"routing/[a-z_]+\.cpp", 99),
    Library("Boost.Beast", r"boost/beast", r"daemon/shell/api_server\.cpp|cli/[a-z_]*client\.cpp", 2),
    Library("Boost.Asio", r"boost/asio", r"daemon/shell/(api_server\.cpp|replica[a-z_]*\.(cpp|hpp))|cli/[a-z_]*client\.cpp", 6),
    Library("OpenSSL", r"openssl/", r"net/tls[a-z_]*\.cpp", 2),
    Library("TBB", r"(tbb|oneapi)/", r"routing/[a-z_]+\.(cpp|hpp)", 99),
    Library("zlib", r"zlib\.h", r"routing/[a-z_]+\.cpp", 1),
    Library("libsystemd", r"systemd/", r"(daemon/shell|probe/tool)/[a-z_]+\.cpp", 99),
    Library("toml++", r"toml\+\+", r"(daemon/shell|probe/agent)/[a-z_]+\.cpp", 2),
    Library("CLI11", r"CLI/", r"cli/[a-z_]+\.(cpp|hpp)|(daemon|sim/process)/main\.cpp|(daemon/shell|probe/tool)/[a-z_]+\.(cpp|hpp)", 99),
    Library("nlohmann", r"nlohmann/", r"(daemon/(api|fabric|shell)|cli|routing)/[a-z_]+\.(cpp|hpp)|sim/truth\.cpp|probe/([a-z]+/)?[a-z_]+\.(cpp|hpp)", 99),
)


def check_libraries(tree):
    for library in LIBRARIES:
        users = []
        for path in tree.product_cpp():
            for number, match in lines_matching(tree.stripped(path), _SYSTEM_INCLUDE):
                if re.match(library.headers, match.group(1)):
                    users.append((path, number))
                    if not re.fullmatch(library.files, path):
                        yield Finding(path, number, "library", f"{library.name} belongs behind {library.files}")
        files = sorted({path for path, _ in users})
        if len(files) > library.most:
            yield Finding(files[-1], 1, "library", f"{library.name} is used by {len(files)} files, at most "
                                                   f"{library.most} may: {', '.join(files)}")


def check_rival_headers(tree):
    """infiniband/mad.h and iba/ib_types.h define the same names."""
    for path in tree.cpp():
        text = tree.stripped(path)
        if re.search(r"#\s*include\s*<infiniband/mad\.h>", text) and re.search(r"#\s*include\s*<iba/", text):
            yield Finding(path, 1, "rival-headers", "infiniband/mad.h and iba/ib_types.h never meet in one file")


# ---- sizes ----------------------------------------------------------------------------------------------------

def check_file_lengths(tree):
    for path, text in tree.files.items():
        if path.endswith((".cpp", ".hpp", ".py")) or path == "dev":
            count = text.count("\n")
            if count > MAX_FILE_LINES:
                yield Finding(path, count, "file-length", f"{count} lines, at most {MAX_FILE_LINES}: split it")


_SCOPE = re.compile(r"^(?:inline\s+)?(?:namespace|class|struct|enum|union|extern)\b")
_TEMPLATE = re.compile(r"^template\s*<[^{};]*?>\s*(?=\w|\[)")


def opens_function(head):
    """Whether the text between the last boundary and a '{' is the head of a function."""
    head = re.sub(r"^\s*#.*$", "", head, flags=re.MULTILINE).strip()
    while (shorter := _TEMPLATE.sub("", head)) != head:
        head = shorter
    head = re.sub(r"^(?:public|private|protected)\s*:\s*", "", head)
    if not head or "(" not in head or head.endswith("="):
        return False
    return not _SCOPE.match(head)


def functions(text):
    """(first line, last line) of each outermost function body with its head, in stripped text."""
    depth, boundary, function_depth, start = 0, 0, None, 0
    for match in re.finditer(r"[{};]", text):
        at, sign = match.start(), match.group(0)
        if sign == "{":
            if function_depth is None and opens_function(text[boundary:at]):
                head = text[boundary:at]
                start = boundary + len(head) - len(head.lstrip())
                function_depth = depth
            depth += 1
        elif sign == "}":
            depth -= 1
            if function_depth is not None and depth == function_depth:
                yield text.count("\n", 0, start) + 1, text.count("\n", 0, at) + 1
                function_depth = None
        boundary = at + 1


def check_function_lengths(tree):
    for path in tree.product_cpp():
        for first, last in functions(tree.stripped(path)):
            count = last - first + 1
            if count > MAX_FUNCTION_LINES:
                yield Finding(path, first, "function-length", f"{count} lines, at most {MAX_FUNCTION_LINES}")


def check_line_lengths(tree):
    for path in tree.cpp():
        for number, line in enumerate(tree.files[path].split("\n"), 1):
            if len(line) > MAX_COLUMNS and not line.startswith("#include"):
                yield Finding(path, number, "line-length", f"{len(line)} columns, at most {MAX_COLUMNS}")


# ---- constructs -----------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Ban:
    pattern: str
    instead: str
    headers_only: bool = False
    tests_too: bool = False
    except_files: str = r"(?!)"


BANS = (
    Ban(r"\bstd::regex\b|#\s*include\s*<regex>", "a hand-written scanner: std::regex recurses on its input"),
    Ban(r"\bs?rand\s*\(|\bstd::random_device\b", "base/prng.hpp with a seed", tests_too=True),
    Ban(r"^\s*using\s+namespace\b", "names spelt out", headers_only=True, tests_too=True),
    Ban(r"\bsystem_clock\b", "base/time.hpp", except_files=r"base/time\.(cpp|hpp)"),
    Ban(r"#\s*include\s*<(format|expected|coroutine|ranges)>", "fmt, tl::expected, plain loops: GCC 12 and clang 14",
        tests_too=True),
    Ban(r"\bstd::views::", "plain loops: clang 14 cannot parse it", tests_too=True),
    Ban(r"\bassert\s*\(|#\s*include\s*<cassert>", "IBF_CHECK, which is always on"),
    Ban(r"\bsleep_for\b|\busleep\s*\(", "an injected deadline", except_files=r"mad/umad_transport\.cpp|cli/[a-z_]+\.cpp"),
    Ban(r"\bepoll_(create|wait|ctl)\w*\s*\(", "sd-event"),
)
_UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def check_banned(tree):
    for path in tree.cpp():
        is_test = path.startswith("tests/")
        for ban in BANS:
            if is_test and not ban.tests_too or ban.headers_only and not path.endswith(".hpp"):
                continue
            if re.fullmatch(ban.except_files, path):
                continue
            for number, match in lines_matching(tree.stripped(path), re.compile(ban.pattern)):
                yield Finding(path, number, "banned", f"'{match.group(0).strip()}': use {ban.instead}")


def check_unfinished(tree):
    for path, text in tree.files.items():
        if path.startswith("tests/tidy/") or path == "CONTRIBUTING.md":
            continue
        for number, match in lines_matching(text, _UNFINISHED):
            yield Finding(path, number, "unfinished", f"'{match.group(0)}': finish it, or write it down as a decision")


_MACHINE_PATH = re.compile(r"(?<![\w.$}])/(work|home|root|mnt)/\w|(?<![\w.$}])/tmp/build")


def check_machine_paths(tree):
    for path, text in tree.files.items():
        if path.startswith("tests/tidy/"):
            continue
        for number, match in lines_matching(text, _MACHINE_PATH):
            yield Finding(path, number, "machine-path", f"'{match.group(0)}...' exists on one machine only")


def check_headers(tree):
    for path in tree.cpp(headers_only=True):
        text = tree.files[path]
        if not re.search(r"^#pragma once$", text, re.MULTILINE):
            yield Finding(path, 1, "header", "no #pragma once")
        if path.split("/")[0] in SOURCE_FOLDERS and not text.startswith("// DOC:"):
            yield Finding(path, 1, "header", "begins with a '// DOC:' block: what it is, what it is not")


def check_scripts(tree):
    for path, text in tree.files.items():
        if text.startswith("#!") and path not in tree.executables:
            yield Finding(path, 1, "script", "has a #! line but is not executable")


# ---- tests and documents --------------------------------------------------------------------------------------

UNTESTED_LIST = "tests/tidy/untested.txt"


def tests_of(tree, path):
    """Test files of a source file: tests/unit/FOLDER/NAME_test.cpp, where NAME may also be a leading part of the
    source's name (generate_test.cpp covers generate_trees.cpp)."""
    folder = path.split("/")[-2]
    stem = os.path.splitext(os.path.basename(path))[0].split("_")
    names = ("_".join(stem[:count]) for count in range(len(stem), 0, -1))
    candidates = (f"tests/unit/{folder}/{name}_test.cpp" for name in names)
    return [candidate for candidate in candidates if candidate in tree.files]


def check_tests_exist(tree):
    listed = {}
    for number, line in enumerate(tree.files.get(UNTESTED_LIST, "").split("\n"), 1):
        if line.strip() and not line.startswith("#"):
            path, _, reason = line.partition(":")
            listed[path.strip()] = number
            if len(reason.strip()) < 10:
                yield Finding(UNTESTED_LIST, number, "untested", f"{path}: no reason given")
    for path, number in listed.items():
        if path not in tree.files:
            yield Finding(UNTESTED_LIST, number, "untested", f"{path} does not exist any more")
        elif tests_of(tree, path):
            yield Finding(UNTESTED_LIST, number, "untested", f"{path} has a test now: take it off the list")
    for path in tree.product_cpp(sources_only=True):
        if path not in listed and not tests_of(tree, path):
            yield Finding(path, 1, "untested", f"no test in tests/unit and no reason in {UNTESTED_LIST}")


_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")


def anchors(text):
    for line in re.sub(r"```.*?```", "", text, flags=re.DOTALL).split("\n"):
        if line.startswith("#"):
            title = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower())
            yield title.replace(" ", "-")


def check_markdown_links(tree):
    for path, text in tree.files.items():
        if not path.endswith(".md"):
            continue
        for number, line in enumerate(text.split("\n"), 1):
            for match in _LINK.finditer(line):
                target, _, anchor = match.group(1).partition("#")
                if re.match(r"[a-z]+:", target):
                    continue
                full = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
                if full not in tree.files and full not in tree.folders:
                    yield Finding(path, number, "link", f"{match.group(1)} does not exist")
                elif anchor and full.endswith(".md") and anchor not in anchors(tree.files[full]):
                    yield Finding(path, number, "link", f"{full} has no heading #{anchor}")


_OPTION = re.compile(r"add_(?:option|flag)\w*\s*\(\s*\"([^\"]+)\"")


def check_options_in_manuals(tree):
    """Every option a program takes is in its manual page."""
    for program, page in (("cli/", "man/ibfabric.1"), ("daemon/", "man/ibfabricd.8"), ("sim/", "man/ibfabric-sim.1"),
                          ("probe/tool/", "man/ibfabric-probe.1")):
        manual = tree.files.get(page, "").replace("\\-", "-")
        for path in tree.product_cpp():
            if not path.startswith(program):
                continue
            for match in _OPTION.finditer(tree.files[path]):
                names = match.group(1).split(",")
                if names[0].startswith("-") and not any(name in manual for name in names):
                    line = tree.files[path].count("\n", 0, match.start()) + 1
                    yield Finding(path, line, "manual", f"{match.group(1)} is not in {page}")


RULES = (
    check_layering, check_libraries, check_rival_headers, check_file_lengths, check_function_lengths,
    check_line_lengths, check_banned, check_unfinished, check_machine_paths, check_headers, check_scripts,
    check_tests_exist, check_markdown_links, check_options_in_manuals,
)


def main(arguments):
    if len(arguments) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    tree = Tree.read(arguments[1])
    findings = [finding for rule in RULES for finding in rule(tree)]
    for finding in findings:
        print(finding)
    checked = sum(1 for _ in tree.cpp())
    print(f"{checked} C++ files, {len(RULES)} rules, {len(findings)} findings")
    return 1 if findings or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
