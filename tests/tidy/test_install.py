#!/usr/bin/env python3
"""cmake --install puts everything where Debian expects it, and systemd accepts the unit.

    test_install.py SOURCE_DIR BUILD_DIR
"""

import glob
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

SOURCE = BUILD = PREFIX = STAGE = ""


def cache_value(name):
    with open(os.path.join(BUILD, "CMakeCache.txt"), encoding="utf-8") as file:
        return re.search(rf"^{name}:\w+=(.*)$", file.read(), re.MULTILINE).group(1)


def staged(path):
    return STAGE + os.path.join(PREFIX, path)


def systemd_analyze():
    """Command and environment: the machine's own, or the one ./dev setup test unpacked."""
    if found := shutil.which("systemd-analyze"):
        return found, None
    root = os.path.join(SOURCE, "build", "peers", "systemd")
    found = os.path.join(root, "usr", "bin", "systemd-analyze")
    if not os.path.exists(found):
        found = os.path.join(root, "bin", "systemd-analyze")
    libraries = [path for path in (glob.glob(f"{root}/usr/lib/*-linux-gnu*/systemd") + glob.glob(f"{root}/lib/systemd") +
                                   glob.glob(f"{root}/usr/lib/*-linux-gnu*") + glob.glob(f"{root}/lib/*-linux-gnu*"))
                 if os.path.isdir(path)]
    units = f"{root}/lib/systemd/system:{root}/usr/lib/systemd/system:"
    return found, {**os.environ, "LD_LIBRARY_PATH": ":".join(libraries), "SYSTEMD_UNIT_PATH": units}


def verify(unit_text, name="ibfabricd.service"):
    """What systemd has to say about a unit whose program is the staged one."""
    program, environment = systemd_analyze()
    if not os.path.exists(program):
        raise unittest.SkipTest("no systemd-analyze here: ./dev setup test fetches one")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(unit_text)
        result = subprocess.run([program, "verify", "--man=no", path], capture_output=True, text=True, check=False,
                                env=environment)
    return result.returncode, result.stdout + result.stderr


class Install(unittest.TestCase):
    def test_every_file_is_in_its_place(self):
        expected = {
            "sbin/ibfabricd": 0o755,
            "bin/ibfabric": 0o755,
            "bin/ibfabric-sim": 0o755,
            "bin/ibfabric-probe": 0o755,
            os.path.join(cache_value("CMAKE_INSTALL_LIBDIR"), "ibfabric/libibfabric-umad.so"): 0o644,
            "lib/systemd/system/ibfabricd.service": 0o644,
            "lib/systemd/system/ibfabric-probe.service": 0o644,
            "lib/udev/rules.d/60-ibfabric.rules": 0o644,
            "share/man/man1/ibfabric.1": 0o644,
            "share/man/man1/ibfabric-sim.1": 0o644,
            "share/man/man1/ibfabric-probe.1": 0o644,
            "share/man/man8/ibfabricd.8": 0o644,
            "share/man/man5/ibfabricd.conf.5": 0o644,
            "share/bash-completion/completions/ibfabric": 0o644,
            "share/bash-completion/completions/ibfabric-sim": 0o644,
            "share/bash-completion/completions/ibfabric-probe": 0o644,
            "share/doc/ibfabric/copyright": 0o644,
            "share/doc/ibfabric/README.md": 0o644,
            "share/doc/ibfabric/examples/ibfabricd.toml": 0o644,
            "share/doc/ibfabric/examples/probe.toml": 0o644,
            "share/doc/ibfabric/examples/ibfabric-probe-umad.conf": 0o644,
        }
        for path, mode in expected.items():
            self.assertTrue(os.path.exists(staged(path)), path)
            self.assertEqual(stat.S_IMODE(os.stat(staged(path)).st_mode), mode, path)

    def test_nothing_lands_outside_the_prefix(self):
        outside = []
        for folder, _, files in os.walk(STAGE):
            outside += [os.path.join(folder, name) for name in files if not folder.startswith(STAGE + PREFIX)]
        self.assertEqual(outside, [])
        self.assertFalse(os.path.exists(STAGE + "/etc"), "configuration belongs to the operator")

    def test_the_installed_programs_start(self):
        for path in ("sbin/ibfabricd", "bin/ibfabric"):
            result = subprocess.run([staged(path), "--help"], capture_output=True, text=True, timeout=20, check=False)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("--socket", result.stdout)


class Service(unittest.TestCase):
    def text(self):
        with open(staged("lib/systemd/system/ibfabricd.service"), encoding="utf-8") as file:
            return file.read()

    def test_it_starts_the_installed_program(self):
        started = re.search(r"^ExecStart=(\S+)", self.text(), re.MULTILINE).group(1)
        self.assertEqual(started, os.path.join(PREFIX, "sbin/ibfabricd"))

    def test_systemd_accepts_it(self):
        self.assertEqual(verify(self.text().replace(PREFIX + "/sbin/", staged("sbin/"))), (0, ""))

    def test_systemd_would_have_noticed(self):
        broken = self.text().replace(PREFIX + "/sbin/", staged("sbin/")).replace("Type=notify", "Typo=notify")
        self.assertIn("Typo", verify(broken)[1])

    def test_its_folders_are_the_daemons_defaults(self):
        with open(staged("share/doc/ibfabric/examples/ibfabricd.toml"), encoding="utf-8") as file:
            example = file.read()
        for directive, folder in (("ConfigurationDirectory", "/etc"), ("StateDirectory", "/var/lib"),
                                  ("RuntimeDirectory", "/run")):
            name = re.search(rf"^{directive}=(\S+)$", self.text(), re.MULTILINE).group(1)
            self.assertIn(f"{folder}/{name}", example)


class Completion(unittest.TestCase):
    def complete(self, *words):
        script = staged("share/bash-completion/completions/ibfabric")
        array = " ".join(f"'{word}'" for word in words)
        code = (f"source {script}; COMP_WORDS=({array}); COMP_CWORD={len(words) - 1}; _ibfabric; "
                'printf "%s\\n" "${COMPREPLY[@]}"')
        result = subprocess.run(["bash", "-c", code], capture_output=True, text=True, timeout=20, check=True)
        return result.stdout.split()

    def test_commands(self):
        self.assertEqual(self.complete("ibfabric", "sw"), ["sweep", "sweeps", "switches"])

    def test_options_and_formats(self):
        self.assertIn("--wait-up", self.complete("ibfabric", "status", "--w"))
        self.assertEqual(self.complete("ibfabric", "export", "--format", "open"), ["opensm-dumps"])

    def helped(self, *words):
        return subprocess.run([staged("bin/ibfabric"), *words, "--help"], capture_output=True, text=True,
                              check=False).stdout

    def test_it_knows_the_programs_commands_and_no_others(self):
        listed = self.helped().split("Subcommands:")[1].split("\n\n")[0]
        commands = re.findall(r"(?m)^  ([a-z]+)\b", listed)
        self.assertGreater(len(commands), 10)
        self.assertEqual(sorted(commands), sorted(self.complete("ibfabric", "")))

    def test_it_knows_each_commands_options_and_no_others(self):
        for command in [*self.complete("ibfabric", ""), *(f"probe {word}" for word in self.complete("ibfabric", "probe", ""))]:
            words = command.split()
            own = set(re.findall(r"(?m)^  (?:-\w,)?(--[a-z-]+)", self.helped(*words))) - {"--help"}
            offered = set(self.complete("ibfabric", *words, "--")) - {"--json", "--socket", "--help"}
            self.assertEqual(offered, own - {"--json", "--socket", "--help-all"}, command)


class ProbeService(unittest.TestCase):
    def text(self):
        with open(staged("lib/systemd/system/ibfabric-probe.service"), encoding="utf-8") as file:
            return file.read()

    def test_systemd_accepts_it(self):
        self.assertIn(f"ExecStart={os.path.join(PREFIX, 'bin/ibfabric-probe')} agent\n", self.text())
        self.assertEqual(verify(self.text().replace(PREFIX + "/bin/", staged("bin/")), "ibfabric-probe.service"), (0, ""))

    def test_memory_can_be_pinned(self):
        self.assertIn("\nLimitMEMLOCK=infinity\n", self.text())

    def test_it_may_open_verbs_devices_alone(self):
        allowed = [line for line in self.text().splitlines() if line.startswith("DeviceAllow=")]
        self.assertEqual(allowed, ["DeviceAllow=char-infiniband_verbs rw", "DeviceAllow=/dev/infiniband/rdma_cm rw"])
        for line in ("DevicePolicy=closed", "CapabilityBoundingSet="):
            self.assertIn(f"\n{line}\n", self.text())

    def test_a_drop_in_lets_it_ask_the_sa(self):
        with open(staged("share/doc/ibfabric/examples/ibfabric-probe-umad.conf"), encoding="utf-8") as file:
            lines = [line for line in file.read().splitlines() if not line.startswith("#")]
        self.assertEqual(lines, ["[Service]", "DeviceAllow=/dev/infiniband/umad0 rw"], "no issm")
        self.assertIn("#   " + lines[1] + "\n", self.text(), "the unit says so too")
        unit = self.text().replace(PREFIX + "/bin/", staged("bin/")).replace("\n[Install]", f"\n{lines[1]}\n[Install]")
        self.assertEqual(verify(unit, "ibfabric-probe.service"), (0, ""))

    def test_the_agent_takes_the_example(self):
        # It gets as far as its key, which is not there: the configuration was read, and all of it.
        result = subprocess.run([staged("bin/ibfabric-probe"), "agent", "--key", "/nowhere/key", "--config",
                                 staged("share/doc/ibfabric/examples/probe.toml")], capture_output=True, text=True, timeout=20,
                                check=False)
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("key /nowhere/key: No such file", result.stderr)


class ProbeCompletion(unittest.TestCase):
    def complete(self, *words):
        array = " ".join(f"'{word}'" for word in words)
        code = (f"source {staged('share/bash-completion/completions/ibfabric-probe')}; COMP_WORDS=({array}); "
                f"COMP_CWORD={len(words) - 1}; _ibfabric_probe; " 'printf "%s\\n" "${COMPREPLY[@]}"')
        result = subprocess.run(["bash", "-c", code], capture_output=True, text=True, timeout=20, check=True)
        return result.stdout.split()

    def helped(self, *words):
        return subprocess.run([staged("bin/ibfabric-probe"), *words, "--help"], capture_output=True, text=True,
                              check=True).stdout

    def test_it_knows_the_programs_commands_and_no_others(self):
        commands = re.findall(r"(?m)^  ([a-z]+)\b", self.helped().split("Subcommands:")[1].split("\n\n")[0])
        self.assertEqual(len(commands), 11)
        self.assertEqual(sorted(commands), sorted(self.complete("ibfabric-probe", "")))

    def test_it_knows_each_commands_options_and_no_others(self):
        for command in self.complete("ibfabric-probe", ""):
            own = set(re.findall(r"(?m)^  (?:-\w,)?(--[a-z-]+)", self.helped(command))) - {"--help", "--help-all"}
            offered = set(self.complete("ibfabric-probe", command, "--")) - {"--json", "--help"}
            self.assertEqual(offered, own, command)

    def test_the_manual_has_each_of_them(self):
        with open(staged("share/man/man1/ibfabric-probe.1"), encoding="utf-8") as file:
            manual = file.read().replace("\\-", "-")
        for command in self.complete("ibfabric-probe", ""):
            self.assertRegex(manual, rf"(?m)^\.(B|BI|BR) \"?{command}\b", command)
            for option in self.complete("ibfabric-probe", command, "--"):
                self.assertIn(option, manual, command)


if __name__ == "__main__":
    SOURCE, BUILD = (os.path.abspath(path) for path in sys.argv[1:3])
    del sys.argv[1:3]
    PREFIX = cache_value("CMAKE_INSTALL_PREFIX")
    with tempfile.TemporaryDirectory() as STAGE:
        installed = subprocess.run(["cmake", "--install", BUILD], capture_output=True, text=True, check=False,
                                   env={**os.environ, "DESTDIR": STAGE})
        if installed.returncode != 0:
            sys.exit(f"cmake --install failed:\n{installed.stdout}{installed.stderr}")
        unittest.main()
