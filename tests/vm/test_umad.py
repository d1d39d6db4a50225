"""The daemon and its umad transport on the kernel's own umad devices, of a port whose link layer is Ethernet."""

from machines import TwoMachines

LINK_LAYER = "/sys/class/infiniband/rxe0/ports/1/link_layer"


class Umad(TwoMachines):
    def say_infiniband(self, guest):
        """Makes sysfs say so, until the test is over: the transport then goes on to the kernel."""
        guest.must(f"echo InfiniBand >/tmp/link_layer && mount -o bind /tmp/link_layer {LINK_LAYER}")
        self.addCleanup(guest.run, f"umount {LINK_LAYER}")

    def test_daemon_says_that_the_port_is_ethernet(self):
        code, out, err = self.one.run("ibfabricd --port rxe0 --once --state-dir /tmp/state --socket /tmp/s", 120)
        self.assertIn("rxe0/1: its link layer is Ethernet, which has no subnet manager", out + err)
        self.assertIn(code, (1, 2))

    def test_query_says_that_the_port_is_ethernet(self):
        code, out, err = self.one.run("ibfabric query classportinfo --port rxe0", 120)
        self.assertIn("rxe0/1: its link layer is Ethernet, which has no subnet manager", out + err)
        self.assertNotIn(code, (0, 1, 134, 139))

    def test_a_device_that_is_not_there_is_named_beside_those_that_are(self):
        _, out, err = self.one.run("ibfabric query classportinfo --port mlx5_7", 120)
        self.assertIn("mlx5_7 does not exist; there is rxe0/1", out + err)

    def test_classes_that_the_kernel_registers(self):
        """No SMI, so no subnet management; the general services are there."""
        lines = self.one.must("umad_gsi register rxe0").splitlines()
        self.assertEqual(lines, ["class 0x81: Protocol not supported", "class 0x01: Protocol not supported",
                                 "class 0x03: registered", "class 0x04: registered", "class 0x09: registered"])

    def test_daemon_says_what_the_kernel_refused(self):
        """Were sysfs wrong about the link layer, the kernel would still refuse, and the daemon would say what."""
        self.say_infiniband(self.one)
        code, out, err = self.one.run("ibfabricd --port rxe0 --once --state-dir /tmp/state --socket /tmp/s", 120)
        self.assertIn("the kernel refused to register management class 0x81 on rxe0/1 (Protocol not supported)", out + err)
        self.assertIn(code, (1, 2))

    def test_open_register_send_and_receive_on_qp1(self):
        """The transport's own open, registration, sending thread and receiving thread, to a peer and back."""
        self.say_infiniband(self.one)
        peer = self.two.background("umad_gsi answer rxe0")
        peer.wait_for("ready")
        gid = self.two.must("cat /sys/class/infiniband/rxe0/ports/1/gids/0").strip()
        # The kernel waits a second for the neighbour's address, which is short on a busy machine: it shall know it.
        self.one.must(f"for i in $(seq 30); do ping -6 -c 1 -W 2 -I eth0 {gid} && exit 0; done; exit 1", 90)
        out = self.one.must(f"umad_gsi ask rxe0 {gid}", 120)
        self.assertIn("by LID: rxe0/1: the kernel refused to send a MAD: Invalid argument", out)
        self.assertIn("by GID: sent", out)
        self.assertIn("answered: method 0x81 mark 0xa5, with a GRH: yes", out)
        self.assertIn("asked by QP 1, class 0x03, with a GRH: yes", peer.wait()[1])
