"""ibfabric-sim, and unmodified programs on it, at any node; the counterpart of ibsim.py."""

import glob
import json
import os
import subprocess
import time

from ibsim import stop


def find_opensm(build):
    """(folder of programs, library folder) of an unpacked opensm package, or None: it is never installed."""
    for root in (os.environ.get("IBF_OPENSM_ROOT"), os.path.join(build, "..", "peers", "opensm")):
        programs = root and os.path.join(root, "usr", "sbin")
        libraries = root and glob.glob(os.path.join(root, "usr", "lib", "*", "libopensm.so.*"))
        if programs and os.access(os.path.join(programs, "opensm"), os.X_OK) and libraries:
            return programs, os.path.dirname(libraries[0])
    return None


class FabricSim:
    """A running ibfabric-sim on a netlist or a generator. Use as a context manager; FOLDER is the caller's temporary one."""

    def __init__(self, build, spec, folder, *options):
        self.program = os.path.join(build, "bin", "ibfabric-sim")
        self.shim = os.path.join(build, "lib", "libibfabric-umad.so")
        self.folder = folder
        self.socket = os.path.join(folder, "fabric")
        self.log = os.path.join(folder, "ibfabric-sim.log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([self.program, spec, "--socket", self.socket, *options],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT)
        deadline = time.monotonic() + 60
        while not os.path.exists(self.socket):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("ibfabric-sim did not start: " + self._words())
            time.sleep(0.02)

    def _words(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()[-500:]

    def control(self, *command):
        result = subprocess.run([self.program, "ctl", self.socket, *command], capture_output=True, text=True, check=False,
                                errors="replace", timeout=120)
        if result.returncode != 0:
            raise RuntimeError(f"ctl {' '.join(command)}: {result.stderr}{self._words()}")
        return result.stdout

    def truth(self, *options):
        return json.loads(self.control("truth", *options))

    def counters(self):
        rows = (line.rsplit(" ", 1) for line in self.control("counters").splitlines())
        return {name: int(value) for name, value in rows}

    def sets(self):
        """What was written to devices, by attribute; SMs' words to each other are no writes. A fabric that was brought up has some:
        none at all is a reader that looks for the wrong name, and every comparison of two such would hold."""
        word = "kind Set "
        sets = {name[len(word):]: count for name, count in self.counters().items() if name.startswith(word) and "SMInfo" not in name}
        if not sets:
            raise RuntimeError("no Set was sent yet")
        return sets

    def environment(self, node):
        return {**os.environ, "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin", "LC_ALL": "C",
                "IBFABRIC_SIM": self.socket, "IBFABRIC_NODE": node, "LD_PRELOAD": self.shim}

    def run(self, node, *command, timeout=120, codes=(0,)):
        """A stranger's program on NODE; its standard output."""
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, cwd=self.folder, check=False,
                                env=self.environment(node), timeout=timeout)
        if result.returncode not in codes:
            raise RuntimeError(f"{' '.join(command)}: exit code {result.returncode}\n"
                               + (result.stdout + result.stderr).decode(errors="replace")[-1000:])
        return result.stdout.decode(errors="replace")

    def spawn(self, node, command, output, **more):
        with open(output, "wb") as file:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                                    cwd=self.folder, env={**self.environment(node), **more})

    def close(self):
        code = stop(self.process)
        if code != 0:
            raise RuntimeError(f"ibfabric-sim ended with code {code}: {self._words()}")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind:
            stop(self.process)
        else:
            self.close()


def osmtest_complaints(log):
    """osmtest's own reasons: it prints none of them."""
    with open(log, encoding="utf-8", errors="replace") as file:
        return "".join(line for line in file if " ERR " in line)[-3000:]


class OpenSm:
    """OpenSM, started through START(command, output, **environment), which returns the process."""

    def __init__(self, start, opensm, folder, *options, config=""):
        programs, libraries = opensm
        os.makedirs(folder)
        self.folder, self.log = folder, os.path.join(folder, "opensm.log")
        self.output = os.path.join(folder, "opensm.out")
        path = os.path.join(folder, "opensm.conf")
        with open(path, "w", encoding="ascii") as file:
            file.write("force_log_flush TRUE\n" + config)  # unflushed, SUBNET UP stays unsaid
        self.process = start([os.path.join(programs, "opensm"), "-F", path, "-f", self.log, *options], self.output,
                             OSM_CACHE_DIR=folder, OSM_TMP_DIR=folder, LD_LIBRARY_PATH=libraries)

    def words(self):
        text = ""
        for path in (self.log, self.output):
            if os.path.exists(path):
                with open(path, encoding="utf-8", errors="replace") as file:
                    text += file.read()
        return text

    def wait_up(self, seconds):
        deadline = time.monotonic() + seconds
        while "SUBNET UP" not in self.words():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("OpenSM did not bring the fabric up:\n" + self.words()[-2000:])
            time.sleep(0.1)

    def wait_settled(self, quiet=2.0, seconds=60):
        """SUBNET UP is not the end: links coming up raise traps, and OpenSM sweeps once more on them. Until its log rests."""
        deadline, size, since = time.monotonic() + seconds, -1, time.monotonic()
        while time.monotonic() < min(deadline, since + quiet):
            if (now := len(self.words())) != size:
                size, since = now, time.monotonic()
            time.sleep(0.1)

    def stop(self):
        stop(self.process)
