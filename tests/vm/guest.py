"""Two virtual machines with a cable between them and an RDMA device (rdma_rxe, RoCE v2) in each.

QEMU without KVM, so that it runs wherever a container does. Nothing of this machine's network or devices is touched: the cable
is a socket in a temporary folder. A guest is told what to do through a virtio serial port (init.sh).
"""

import base64
import os
import select
import shlex
import shutil
import socket
import subprocess
import tempfile
import time

from image import NotSetUp, Peers, build

MEMORY_MB = 512
BOOT_SECONDS = 180     # 6 on an idle machine
SLACK_SECONDS = 60     # what a busy machine may add to a command's own limit
ADDRESSES = {"one": "192.168.77.1", "two": "192.168.77.2"}


class GuestError(Exception):
    """The machine itself fails: it does not boot, or does not answer."""


class Job:
    """A program that runs in a guest, in the background and in a process group of its own."""

    def __init__(self, guest, number, pid):
        self._guest, self._number, self.pid = guest, number, pid

    def read(self, what):
        return self._guest.run(f"cat /jobs/{self._number}.{what} 2>/dev/null")[1]

    @property
    def out(self):
        return self.read("out")

    @property
    def err(self):
        return self.read("err")

    def said(self):
        """Output, then errors."""
        return self._guest.run(f"cat /jobs/{self._number}.out /jobs/{self._number}.err")[1]

    def code(self):
        """Its exit code, or None while it runs."""
        text = self.read("code").strip()
        return int(text) if text else None

    def kill(self, signal="KILL"):
        """To the program and its children, not to the shell that notes the exit code."""
        self._guest.run(f"kill -{signal} -- -$(cat /jobs/{self._number}.pid) 2>/dev/null")

    def wait(self, seconds=60):
        """(exit code, output, errors) when it is over."""
        code, _, _ = self._guest.run(
            f"for i in $(seq {int(seconds * 10)}); do [ -s /jobs/{self._number}.code ] && exit 0; usleep 100000; done; exit 1",
            seconds + SLACK_SECONDS)
        if code != 0:
            raise GuestError(f"{self._guest.name}: a job is not over after {seconds} s; it said:\n{self.out}{self.err}")
        return self.code(), self.out, self.err

    def wait_for(self, text, seconds=60):
        """Until it has said TEXT."""
        end = time.monotonic() + seconds
        while True:
            said = self.said()
            if text in said:
                return said
            if self.code() is not None or time.monotonic() > end:
                raise GuestError(f"{self._guest.name}: a job did not say {text!r} (ended: {self.code()}); it said:\n{said}")
            time.sleep(0.1)


class Guest:
    """One machine, on the processor of this one that is named, or on any. Not for two threads."""

    def __init__(self, name, folder, peers, image, cable, processor=None):
        self.name = name
        self.address = ADDRESSES[name]
        self.console = os.path.join(folder, f"{name}.console")
        self._jobs = 0
        control = os.path.join(folder, f"{name}.control")
        number = list(ADDRESSES).index(name) + 1
        command = [] if processor is None else ["taskset", "--cpu-list", str(processor)]
        command += [
            "setpriv", "--pdeathsig", "KILL",   # however this program ends, ctest's SIGKILL included
            "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
            "-accel", "tcg", "-cpu", "max,la57=off", "-smp", "1", "-m", str(MEMORY_MB),
            "-kernel", peers.kernel, "-initrd", image,
            "-append", "console=ttyS0 panic=-1 mitigations=off audit=0 quiet "
                       f"ibf_name={name} ibf_address={self.address}/24",
            "-serial", f"file:{self.console}",
            "-device", "virtio-serial-pci", "-chardev", f"socket,id=control,path={control},server=on,wait=off",
            "-device", "virtserialport,chardev=control,name=control",
            "-netdev", f"stream,id=cable,addr.type=unix,addr.path={cable},server={'on' if number == 1 else 'off'}",
            "-device", f"virtio-net-pci,netdev=cable,romfile=,mac=52:54:00:00:77:{number:02x}"]
        self._errors = open(os.path.join(folder, f"{name}.qemu"), "w+", encoding="utf-8", errors="replace")
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self._errors, stderr=self._errors)
        self._socket = socket.socket(socket.AF_UNIX)
        self._buffer = b""
        self._until(lambda: os.path.exists(control), "its control socket")
        self._socket.connect(control)
        if number == 1:
            self._until(lambda: os.path.exists(cable), "the socket of the cable")

    def _until(self, probe, what):
        end = time.monotonic() + 30
        while not probe():
            if self._process.poll() is not None or time.monotonic() > end:
                raise self._trouble(f"{what} does not appear")
            time.sleep(0.02)

    def _trouble(self, text):
        self._errors.seek(0)
        said = self._errors.read()[-2000:]
        return GuestError(f"guest {self.name}: {text}\n{said}\nIts console ends:\n{self.console_tail()}")

    def console_tail(self, octets=4000):
        if not os.path.exists(self.console):
            return ""
        with open(self.console, encoding="utf-8", errors="replace") as file:
            return file.read()[-octets:]

    def _receive(self, enough, end, what):
        """Reads until enough(buffer) is a count of octets, and takes these off."""
        while not (count := enough(self._buffer)):
            left = end - time.monotonic()
            ready = select.select([self._socket], [], [], max(left, 0))[0]
            if not ready:
                raise self._trouble(f"does not answer: {what}")
            data = self._socket.recv(65536)
            if not data:
                raise self._trouble(f"is gone: {what}")
            self._buffer += data
        taken, self._buffer = self._buffer[:count], self._buffer[count:]
        return taken

    def _line(self, end, what):
        return self._receive(lambda buffer: buffer.find(b"\n") + 1, end, what).decode().strip()

    def wait_booted(self):
        line = self._line(time.monotonic() + BOOT_SECONDS, "boot")
        if line != "ready":
            raise self._trouble(f"says {line!r} instead of ready")
        return self

    def run(self, command, timeout=60):
        """Runs a shell command; (exit code, output, errors). Raises if it takes longer than TIMEOUT seconds."""
        text = base64.b64encode(command.encode()).decode()
        self._socket.sendall(f"{int(timeout)} {text}\n".encode())
        end = time.monotonic() + timeout + SLACK_SECONDS
        code, out, err = map(int, self._line(end, command).split())
        data = self._receive(lambda buffer: out + err if len(buffer) >= out + err else 0, end, command) if out + err else b""
        if code == 137:
            raise GuestError(f"guest {self.name}: killed after {timeout} s: {command}\n{data.decode(errors='replace')}")
        return code, data[:out].decode(errors="replace"), data[out:].decode(errors="replace")

    def must(self, command, timeout=60):
        """The output of a command that must succeed."""
        code, out, err = self.run(command, timeout)
        if code != 0:
            raise GuestError(f"guest {self.name}: {command}: exit code {code}\n{out}{err}")
        return out

    def put(self, path, content, mode="644"):
        data = content.encode() if isinstance(content, str) else content
        self.must(f"mkdir -p $(dirname {path}) && base64 -d >{path} <<'.'\n{base64.encodebytes(data).decode()}.\nchmod {mode} {path}")

    def background(self, command):
        self._jobs += 1
        files = f"/jobs/{self._jobs}"
        pid = self.must(f"""
            ( setsid sh -c 'echo $$ >{files}.pid; exec sh -c "$0"' {shlex.quote(command)} </dev/null >{files}.out 2>{files}.err
              echo $? >{files}.code ) >/dev/null 2>&1 &
            while [ ! -s {files}.pid ]; do usleep 10000; done; cat {files}.pid""")
        return Job(self, self._jobs, int(pid))

    def counters(self):
        """hw_counters of the RDMA device."""
        out = self.must("cd /sys/class/infiniband/rxe0/ports/1/hw_counters; for f in *; do echo $f $(cat $f); done")
        return {name: int(value) for name, value in (line.split() for line in out.splitlines()) if name != "lifespan"}

    def stop(self):
        self._process.kill()
        self._process.wait()
        self._socket.close()
        self._errors.close()


class Pair:
    """Two guests, booted side by side; on a processor each, if they are to be apart and there are two."""

    def __init__(self, build_folder, programs, peers_folder=None, apart=False):
        if shutil.which("qemu-system-x86_64") is None:
            raise NotSetUp("there is no qemu-system-x86_64: run ./dev setup vm")
        peers = Peers(peers_folder or os.path.join(os.path.dirname(build_folder), "peers"))
        image = build(peers, programs, os.path.join(build_folder, "vm"))
        self._folder = tempfile.TemporaryDirectory(prefix="ibf-vm-")
        self.guests = []
        processors = sorted(os.sched_getaffinity(0))
        if not apart or len(processors) < len(ADDRESSES):
            processors = [None] * len(ADDRESSES)
        try:
            for name, processor in zip(ADDRESSES, processors):
                self.guests.append(Guest(name, self._folder.name, peers, image, os.path.join(self._folder.name, "cable"), processor))
            for guest in self.guests:
                guest.wait_booted()
                # Their clock is a second behind ours or two, and a certificate made here is not to come from the future.
                guest.must(f"date -s @{int(time.time()) + 2}")
        except BaseException:
            self.stop()
            raise

    def stop(self):
        for guest in self.guests:
            guest.stop()
        self._folder.cleanup()
