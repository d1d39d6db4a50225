"""The machines themselves: rdma-core's own ping-pong, on a cable with and without faults."""

from machines import TwoMachines


class Strangers(TwoMachines):
    def pingpong(self, size, count):
        server = self.two.background(f"ibv_rc_pingpong -d rxe0 -g 1 -e -s {size} -n {count}")
        # It says nothing before it is connected to.
        self.two.must("for i in $(seq 300); do netstat -ltn | grep -q :18515 && exit 0; usleep 100000; done; exit 1")
        out = self.one.must(f"ibv_rc_pingpong -d rxe0 -g 1 -e -s {size} -n {count} {self.two.address}", 120)
        self.assertIn(f"{count} iters in", out)
        self.assertEqual(server.wait()[0], 0)

    def test_rc_pingpong(self):
        risen = self.counting()
        self.pingpong(4096, 50)
        counted = risen()
        self.assertEqual(counted["rdma_sends"], 100)
        self.assertEqual(counted["rdma_recvs"], 100)
