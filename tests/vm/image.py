"""The file system in memory that a guest starts from: busybox, kernel modules, RDMA tools, and programs of ours.

Made of what `./dev setup vm` unpacked into build/peers, in a second or two, and kept by its content: a second run with the same
programs finds it. Not compressed, since QEMU copies it into the guest's memory at once and a guest without KVM unpacks slowly.
"""

import glob
import hashlib
import os
import re
import shutil
import stat
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# rdma_rxe takes its checksum from the crypto API by name: no module depends on it in writing.
MODULES = ("crc32_generic", "crc32c_generic", "virtio_pci", "virtio_console", "virtio_net", "rdma_rxe", "ib_umad", "rdma_ucm",
           "sch_netem", "sch_prio", "cls_u32")
TOOLS = ("bin/ip", "sbin/tc", "usr/bin/rdma", "usr/bin/ibv_devinfo", "usr/bin/ibv_rc_pingpong", "usr/bin/ibv_ud_pingpong",
         "usr/bin/rping", "usr/bin/ib_send_lat", "usr/bin/ib_send_bw", "usr/bin/ib_write_bw", "usr/bin/ib_write_lat",
         "usr/bin/ib_read_bw", "usr/bin/ib_read_lat", "usr/sbin/ibstat", "usr/sbin/perfquery", "usr/sbin/smpquery")
LIBRARY_FOLDERS = ("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu")


class CannotBuild(Exception):
    """Something is not there; the message says what to run."""


class NotSetUp(CannotBuild):
    """./dev setup vm has not been run, or cannot be."""


class Peers:
    """What ./dev unpacked."""

    def __init__(self, folder):
        self.guest = os.path.join(folder, "guest")
        kernels = sorted(glob.glob(os.path.join(folder, "kernel", "boot", "vmlinuz-*")))
        if not kernels or not os.path.isdir(self.guest):
            raise NotSetUp(f"no kernel or no guest tools in {folder}: run ./dev setup vm")
        self.kernel = kernels[-1]
        version = os.path.basename(self.kernel).partition("-")[2]
        self._modules = {}
        for path in glob.glob(os.path.join(folder, "kernel", "lib", "modules", version, "kernel", "**", "*.ko*"), recursive=True):
            self._modules[os.path.basename(path).partition(".")[0].replace("-", "_")] = path

    def modules(self, wanted):
        """Files of the modules and of all that they depend on, in the order they can be loaded."""
        order = []

        def add(name):
            path = self._modules.get(name)
            if path is None:
                raise CannotBuild(f"the kernel has no module {name}")
            if not path.endswith(".ko"):
                raise CannotBuild(f"{path} is compressed; busybox's insmod takes it plain")
            if path in order:
                return
            with open(path, "rb") as file:
                found = re.search(rb"\0depends=([^\0]*)\0", file.read())
            for other in filter(None, (found.group(1).decode() if found else "").split(",")):
                add(other.replace("-", "_"))
            order.append(path)

        for name in wanted:
            add(name)
        return order

    def libraries(self, program):
        """Shared libraries of a program: {path in the guest: file here}."""
        own = [os.path.join(self.guest, folder) for folder in LIBRARY_FOLDERS]
        done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False,
                              env={**os.environ, "LD_LIBRARY_PATH": ":".join(own)})
        missing = re.findall(r"^\s*(\S+) => not found", done.stdout, re.MULTILINE)
        if missing:
            raise CannotBuild(f"{program} needs {', '.join(missing)}: is it in guest_packages of ./dev?")
        files = {}
        for name, path in re.findall(r"^\s*(\S+) => (/\S+)", done.stdout, re.MULTILINE):
            files["lib/x86_64-linux-gnu/" + os.path.basename(name)] = path
        for path in re.findall(r"^\s*(/lib64/\S+)", done.stdout, re.MULTILINE):
            files[path.lstrip("/")] = path
        return files


def stripped(path, scratch):
    """The file's bytes without debug information: ours have a hundred megabytes of it."""
    out = os.path.join(scratch, "stripped")
    tool = shutil.which("strip")
    if tool and subprocess.run([tool, "-s", "-o", out, path], capture_output=True, check=False).returncode == 0:
        path = out
    with open(path, "rb") as file:
        return file.read()


def entry(name, mode, content, number):
    """One member of a cpio archive, format newc."""
    raw_name = name.encode() + b"\0"
    links = 2 if stat.S_ISDIR(mode) else 1
    fields = (number, mode, 0, 0, links, 0, len(content), 0, 0, 0, 0, len(raw_name), 0)
    head = b"070701" + b"".join(b"%08X" % field for field in fields) + raw_name
    return head + b"\0" * (-len(head) % 4) + content + b"\0" * (-len(content) % 4)


def archive(files):
    """A cpio archive of {path: (mode, bytes)}, with the folders that they need."""
    folders = {}
    for path in files:
        while path := os.path.dirname(path):
            folders[path] = (stat.S_IFDIR | 0o755, b"")
    members = sorted({**folders, **files}.items())
    parts = [entry(name, mode, content, number) for number, (name, (mode, content)) in enumerate(members, 1)]
    return b"".join(parts) + entry("TRAILER!!!", 0, b"", 0)


def contents(peers, programs):
    """{path in the guest: (mode, bytes)}."""
    files, here = {}, {}
    openssl = shutil.which("openssl")
    if openssl is None:
        raise NotSetUp("there is no openssl: run ./dev setup vm")
    for tool in (*(os.path.join(peers.guest, tool) for tool in TOOLS), openssl, *programs):
        here["tools/" + os.path.basename(tool)] = tool
        here.update(peers.libraries(tool))
    for plugin in glob.glob(os.path.join(peers.guest, "usr/lib/x86_64-linux-gnu/libibverbs/librxe-*.so")):
        here["usr/lib/x86_64-linux-gnu/libibverbs/" + os.path.basename(plugin)] = plugin
        here.update(peers.libraries(plugin))
    here["bin/busybox"] = os.path.join(peers.guest, "bin/busybox")
    here["etc/libibverbs.d/rxe.driver"] = os.path.join(peers.guest, "etc/libibverbs.d/rxe.driver")
    with tempfile.TemporaryDirectory(prefix="ibf-vm-") as scratch:
        for name, path in here.items():
            files[name] = (stat.S_IFREG | 0o755, stripped(path, scratch))
    modules = peers.modules(MODULES)
    for path in modules:
        with open(path, "rb") as file:
            files["modules/" + os.path.basename(path)] = (stat.S_IFREG | 0o644, file.read())
    text = {"modules/order": "".join(os.path.basename(path) + "\n" for path in modules),
            "etc/passwd": "root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n",
            "etc/group": "root:x:0:\nnogroup:x:65534:\n",
            "etc/hosts": "127.0.0.1 localhost\n192.168.77.1 one\n192.168.77.2 two\n",
            "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n"}
    for name, content in text.items():
        files[name] = (stat.S_IFREG | 0o644, content.encode())
    with open(os.path.join(HERE, "init.sh"), "rb") as file:
        files["init"] = (stat.S_IFREG | 0o755, file.read())
    return files


def build(peers, programs, folder):
    """The image's path, made if it is not there yet. Every older one in the folder goes."""
    inputs = [os.path.join(HERE, name) for name in ("image.py", "init.sh")] + list(programs)
    digest = hashlib.sha256(os.path.basename(peers.kernel).encode())
    for path in inputs:
        with open(path, "rb") as file:
            digest.update(hashlib.sha256(file.read()).digest())
    target = os.path.join(folder, f"guest-{digest.hexdigest()[:16]}.cpio")
    if os.path.exists(target):
        return target
    os.makedirs(folder, exist_ok=True)
    data = archive(contents(peers, programs))
    for old in glob.glob(os.path.join(folder, "guest-*.cpio")):
        os.unlink(old)
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        file.write(data)
    os.replace(file.name, target)
    return target
