#!/bin/busybox sh
# The first and only process of a guest: brings up its network and its RDMA device, then runs what the host asks for.
#
# The kernel hands what its command line says as ibf_NAME=VALUE over as variables.
# The control channel is a virtio serial port. A request is one line, "LIMIT TEXT": seconds, and a shell script in
# base64. The answer is one line, "CODE OUT ERR", followed by OUT octets of output and ERR octets of errors.
/bin/busybox --install -s /bin
# Its own ip and tc go before those in /tools, whatever PATH says: call them by their full path.
export PATH=/tools:/bin HOME=/ LD_LIBRARY_PATH=/lib/x86_64-linux-gnu
mkdir -p /proc /sys /dev /tmp /run /jobs
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
chmod 1777 /tmp
while read -r module; do
    insmod "/modules/$module" || echo "guest: $module does not load"
done </modules/order
hostname "$ibf_name"
/tools/ip link set lo up
echo 0 >/proc/sys/net/ipv6/conf/eth0/accept_dad # its link-local address, which is GID 0, serves at once
/tools/ip address add "$ibf_address" dev eth0
/tools/ip link set eth0 up
/tools/rdma link add rxe0 type rxe netdev eth0
# As udev's rules have it.
chmod 666 /dev/infiniband/uverbs* /dev/infiniband/rdma_cm
ulimit -l 65536

exec 3<>"$(ls /dev/vport*)"
echo "guest: $ibf_name is ready" >/dev/kmsg
echo ready >&3
while read -r limit text <&3; do
    echo "$text" | base64 -d >/tmp/.request
    timeout -s KILL "$limit" sh /tmp/.request </dev/null >/tmp/.out 2>/tmp/.err 3>&-
    code=$?
    echo "$code $(stat -c %s /tmp/.out) $(stat -c %s /tmp/.err)" >&3
    cat /tmp/.out /tmp/.err >&3
done
poweroff -f
