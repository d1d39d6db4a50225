#!/usr/bin/env python3
"""Real verbs: ibfabric-probe, and the daemon's umad transport, in two virtual machines with rdma_rxe.

    vm.py --build BUILD_DIR [Class[.test]]...

One boot for all tests. Nothing here is about time, except that a cable that carries nothing ends a test in the time that was
configured. Skipped, with a word why, where ./dev setup vm cannot be run.
"""

import argparse
import os
import sys
import time
import unittest

import machines
from guest import Pair
from image import NotSetUp

PROGRAMS = ("ibfabric-probe", "ibfabricd", "ibfabric", "umad_gsi")
CASES = ("test_strangers", "test_umad", "test_probe", "test_faults", "test_misuse")


def load(loader, names):
    """The tests that were named, as Class or Class.test, or all."""
    modules = [__import__(name) for name in CASES]
    classes = {name: value for module in modules for name, value in vars(module).items()
               if isinstance(value, type) and issubclass(value, unittest.TestCase) and value.__module__ == module.__name__}
    suite = unittest.TestSuite()
    for name in names or classes:
        which, _, test = name.partition(".")
        suite.addTests([classes[which](test)] if test else loader.loadTestsFromTestCase(classes[which]))
    return suite


class TimedResult(unittest.TextTestResult):
    """Says how long each test took."""

    def startTest(self, test):
        self.began = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        self.stream.writeln(f"    {time.monotonic() - self.began:.1f} s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=os.path.abspath)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    suite = load(unittest.TestLoader(), options.names)
    programs = [os.path.join(options.build, "bin", name) for name in PROGRAMS]
    try:
        machines.pair = Pair(options.build, programs)
    except NotSetUp as error:
        print(f"NO TEST OF REAL VERBS WAS RUN: {error}")
        return 77
    try:
        result = unittest.TextTestRunner(verbosity=2, resultclass=TimedResult).run(suite)
        if not result.wasSuccessful():
            for guest in machines.pair.guests:
                print(f"---- the console of guest {guest.name} ends ----\n{guest.console_tail()}")
    finally:
        machines.pair.stop()
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
