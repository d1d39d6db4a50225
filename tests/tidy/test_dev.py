#!/usr/bin/env python3
"""./dev: its help, its exit codes, and its promise that nothing it installs starts a service or changes the boot.

    test_dev.py SOURCE_DIR
"""

import os
import re
import subprocess
import sys
import unittest

SOURCE = "."

# Packages whose installation starts a service, enables a unit or changes what a machine boots.
FORBIDDEN = re.compile(r"^(opensm|systemd.*|ibacm|srptools|rdma-core|rdmacm-utils-.*|linux-image.*|dbus.*|udev|.*-server|"
                       r"nvme.*|openmpi.*)$")
# These lists are unpacked into build/peers.
UNPACKED = ("opensm_packages", "systemd_packages", "guest_packages")


def dev(*arguments):
    return subprocess.run([os.path.join(SOURCE, "dev"), *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=60, check=False)


def lists():
    with open(os.path.join(SOURCE, "dev"), encoding="utf-8") as file:
        text = file.read()
    return {name: body.split() for name, body in re.findall(r"^(\w+_packages)=\((.*?)\)", text, re.MULTILINE | re.DOTALL)}


class Dev(unittest.TestCase):
    def test_help_by_default_names_every_command(self):
        result = dev()
        self.assertEqual(result.returncode, 0)
        for command in "setup build run test bench fuzz soak format lint".split():
            self.assertRegex(result.stdout, rf"\./dev {command}\b")

    def test_an_unknown_command_is_a_usage_error(self):
        self.assertEqual(dev("frobnicate").returncode, 2)

    def test_an_unknown_step_is_refused(self):
        result = dev("setup", "frobnicate")
        self.assertEqual(result.returncode, 1)
        self.assertIn("frobnicate", result.stderr)

    def test_a_soak_of_no_number_of_seeds_is_refused(self):
        for arguments in (["frobnicate"], ["--seeds"], ["--seeds", "many"], ["--first", "x"]):
            result = dev("soak", *arguments)
            self.assertEqual(result.returncode, 1, arguments)
            self.assertIn("--seeds N", result.stderr)

    def test_a_preset_that_is_not_there_is_refused(self):
        self.assertNotEqual(dev("build", "frobnicate").returncode, 0)


class Boot(unittest.TestCase):
    def test_packages_that_start_something_are_only_unpacked(self):
        installed = {name: packages for name, packages in lists().items()
                     if name not in UNPACKED}
        self.assertIn("build_packages", installed)
        self.assertIn("test_packages", installed)
        for name, packages in installed.items():
            self.assertTrue(packages, name)
            for package in packages:
                self.assertIsNone(FORBIDDEN.match(package), f"{package} in {name}")

    def test_no_package_we_install_brings_a_unit(self):
        """As dpkg knows them on this machine; packages that are not installed have nothing to show."""
        packages = sorted({package for name, packages in lists().items()
                           if name not in UNPACKED for package in packages})
        result = subprocess.run(["dpkg-query", "-L", *packages], capture_output=True, text=True, check=False)
        paths = result.stdout.split("\n")
        self.assertGreater(len(paths), 100)
        for path in paths:
            self.assertNotRegex(path, r"/systemd/(system|user)/.+|^/etc/init\.d/.+|^/boot/.+")

    def test_no_installation_has_changed_the_boot(self):
        record = os.path.join(SOURCE, "build", "boot-changes.txt")
        if os.path.exists(record):
            with open(record, encoding="utf-8") as file:
                self.assertEqual(file.read(), "")

    def test_no_link_starts_a_peer(self):
        for folder, _, files in os.walk("/etc/systemd/system"):
            for name in files:
                self.assertNotRegex(name, r"^(opensm|ibacm|srp_daemon).*", folder)


if __name__ == "__main__":
    SOURCE = sys.argv.pop(1)
    unittest.main()
