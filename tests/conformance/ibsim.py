"""ibsim, and programs under it: a simulated fabric that unmodified libibumad programs can join.

What practice demands (measured on ibsim 0.10): a socket name of its own for each run; table sizes well above the
defaults; a console on stdin that never ends; clients in a temporary folder (they leave sys-PID folders behind when
killed) with stdin from /dev/null; SIM_HOST naming a node of the netlist.
"""

import glob
import gzip
import os
import re
import signal
import struct
import subprocess
import time

HEADER = re.compile(rb'^\s*(Switch|Hca|Ca|Rt)\s+(\d+)\s+"([^"]+)"', re.IGNORECASE)
PORT = re.compile(rb"^\s*\[(\d+)\]")


def find_umad2sim():
    found = glob.glob("/usr/lib/*/umad2sim/libumad2sim.so") + glob.glob("/usr/lib*/umad2sim/libumad2sim.so")
    return found[0] if found else None


def missing_programs(names):
    sbin = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    return [name for name in names
            if not any(os.access(os.path.join(folder, name), os.X_OK) for folder in sbin.split(":"))]


def unpacked(path, folder):
    """A plain copy of a netlist in FOLDER (.gz or not)."""
    target = os.path.join(folder, "netlist")
    opened = gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb")
    with opened as source, open(target, "wb") as copy:
        copy.write(source.read())
    return target


def join_point(netlist):
    """The node an SM joins at: the first adapter whose port 1 is cabled, else the first adapter. And whether it is."""
    first = current = None
    with open(netlist, "rb") as file:
        for line in file:
            if header := HEADER.match(line.lstrip(b"\xef\xbb\xbf")):
                is_adapter = header.group(1).lower() in (b"hca", b"ca")
                current = header.group(3).decode() if is_adapter else None
                first = first or current
            elif current and (port := PORT.match(line)) and int(port.group(1)) == 1:
                return current, True
    return first, False


def stop(process, patience=20):
    """SIGTERM, then SIGKILL. Returns the exit code."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    return process.returncode


class Ibsim:
    """A running ibsim on a netlist. Use as a context manager; FOLDER is the caller's temporary one."""

    _count = 0

    def __init__(self, netlist, folder):
        Ibsim._count += 1
        self.folder = folder
        self.host, self.is_linked = join_point(netlist)
        self.environment = {
            **os.environ,
            "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin",
            "IBSIM_SOCKNAME": f"ibf-{os.getpid()}-{Ibsim._count}",
            "SIM_HOST": self.host or "",
            "LC_ALL": "C",
        }
        self.log = os.path.join(folder, "ibsim.log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                ["ibsim", "-s", "-N", "60000", "-S", "6000", "-P", "800000", "-L", "49152", netlist],
                stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT, cwd=folder, env=self.environment)
        self._wait_until_ready()

    def _wait_until_ready(self):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with open(self.log, "rb") as log:
                if b"simulator ready" in log.read():
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        self.close()
        with open(self.log, "rb") as log:
            raise RuntimeError("ibsim did not start: " + log.read()[-500:].decode(errors="replace"))

    def client_environment(self, counts=None, shim=None):
        """For a program that shall take the simulated adapter for a real one; COUNTS is the file SHIM counts into."""
        preload = [find_umad2sim()]
        environment = dict(self.environment)
        if counts:
            preload.insert(0, shim)
            environment["IBF_SMP_COUNTS"] = counts
        environment["LD_PRELOAD"] = ":".join(preload)
        return environment

    def run(self, *command, timeout=300):
        """A stranger's program; its standard output."""
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, cwd=self.folder, check=False,
                                env=self.client_environment(), timeout=timeout)
        if result.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: exit code {result.returncode}\n"
                               + result.stderr.decode(errors="replace")[-1000:])
        return result.stdout.decode(errors="replace")

    def spawn(self, command, output, **count):
        """A long-running client, its output in the file OUTPUT."""
        with open(output, "wb") as file:
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
                                    cwd=self.folder, env=self.client_environment(**count))

    def say(self, command):
        """A command to ibsim's console."""
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        stop(self.process)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class SmpCounts:
    """Reader of the file that count_smps.cpp maps: the same layout."""

    GET, SET, TRAP, TRAP_REPRESS = 1, 2, 5, 7
    NODE_DESCRIPTION, NODE_INFO, SWITCH_INFO, GUID_INFO, PORT_INFO, PKEY, SL2VL, VL_ARB, LFT, MFT, SM_INFO = (
        0x10, 0x11, 0x12, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1B, 0x20)

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        self.first_send_ns, self.last_send_ns, self.first_lft_set_ns, silence, self.other = struct.unpack_from("=5Q", data)
        self.silence_seconds = silence / 1e9
        self._table = struct.unpack_from(f"={256 * 64}Q", data, 40)
        self.last_set_ns, self.last_work_ns, self.last_set_cpu_ns = struct.unpack_from("=3Q", data, 40 + 256 * 64 * 8)

    def of(self, method, attribute):
        return self._table[method * 64 + attribute]

    def requests(self):
        return sum(self.of(method, attribute) for method in (self.GET, self.SET) for attribute in range(64))


def peak_rss_bytes(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return int(re.search(r"^VmHWM:\s+(\d+) kB", file.read(), re.MULTILINE).group(1)) * 1024
