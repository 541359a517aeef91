# SPDX-License-Identifier: Apache-2.0
"""Tests of reuseport_lb on real sockets. Run as root in a mount and a network namespace of their own:

    unshare --mount --net python3 bindings/python/test_reuseport_lb.py
"""

import errno
import os
import socket
import subprocess
import unittest

import reuseport_lb as lb

ROOT = "/sys/fs/bpf"


def setUpModule():
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["mount", "-t", "bpf", "bpf", ROOT], check=True)


def source(number):
    return f"127.0.1.{number}"


def send(address, port, payload=b"x"):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.bind((address, 0))
        sender.sendto(payload, ("127.0.0.1", port))


def arrivals(socks):
    """By source address, the numbers of the sockets that got a datagram."""
    found = {}
    for number, sock in enumerate(socks):
        while True:
            try:
                _, (address, _) = sock.recvfrom(2048, socket.MSG_DONTWAIT)
            except BlockingIOError:
                break
            found.setdefault(address, set()).add(number)
    return found


class Groups(unittest.TestCase):
    def setUp(self):
        self.first = lb.udp_socket("127.0.0.1", 0)
        self.port = self.first.getsockname()[1]
        self.socks = [self.first] + [lb.udp_socket("127.0.0.1", self.port) for _ in range(2)]
        self.group = lb.Group("python", count=3, seed=7)
        self.members = [self.group.join(sock, slot) for slot, sock in enumerate(self.socks)]

    def tearDown(self):
        for sock in self.socks:
            sock.close()
        self.group.close()
        lb.destroy("python")

    def test_each_source_has_one_member(self):
        for number in range(1, 61):
            for _ in range(2):
                send(source(number), self.port)
        found = arrivals(self.socks)
        self.assertEqual(len(found), 60)
        for address, numbers in found.items():
            slot, now = self.group.slot_of(address)
            self.assertEqual((numbers, now), ({slot}, slot))
        counters = [self.group.counters(slot) for slot in range(3)]
        self.assertEqual(sum(each.selected for each in counters), 120)
        self.assertEqual(self.group.left_to_kernel(), 0)

    def test_a_group_describes_itself(self):
        info = self.group.info()
        self.assertEqual((info.count, info.key, info.seed, info.capacity), (3, "source_ip", 7, 128))
        members = self.group.members()
        self.assertEqual([each.slot for each in members], [0, 1, 2])
        self.assertEqual({each.pid for each in members}, {os.getpid()})
        samples = {(each.name, each.labels.get("state")): each.value for each in self.group.samples()}
        self.assertEqual(samples["reuseportlb_members", "current"], 3)
        with lb.Group("python", existing=True) as again:
            self.assertEqual(again.info().count, 3)

    def test_drain_loses_nothing(self):
        for _ in range(5):
            for number in range(1, 31):
                send(source(number), self.port)
        drained = sum(1 for _ in self.members[1].drain())
        rest = sum(len(numbers) for numbers in arrivals([self.socks[0], self.socks[2]]).values())
        self.assertGreater(drained, 0)
        self.assertEqual(drained % 5, 0)
        self.assertEqual(drained // 5 + rest, 30)
        self.assertEqual([each.slot for each in self.group.members()], [0, 2])

    def test_replacing(self):
        with lb.udp_socket("127.0.0.1", self.port) as late:
            with self.group.join(late, 0, replacing=True):
                self.assertTrue(self.members[0].is_replaced())
                current = [each for each in self.group.members() if each.slot == 0]
                self.assertEqual([each.is_previous for each in current], [False, True])
            self.assertFalse(self.members[0].is_replaced())

    def test_errors_have_a_remedy(self):
        with self.assertRaises(OSError) as caught:
            self.group.join(self.socks[0], 9)
        self.assertEqual(caught.exception.errno, errno.ERANGE)
        self.assertIn("slot", str(caught.exception))
        with self.assertRaises(FileNotFoundError):
            lb.Group("no such group", existing=True)
        self.assertRaises(OSError, lb.destroy, "python")
        self.assertRaises(KeyError, lb.Group, "x", count=1, key="best")


class Others(unittest.TestCase):
    def test_payload_and_flows(self):
        lines = []
        group = lb.Group(
            count=2, key="payload", payload=("bytes", 1, 2, 0), flows=100, capacity=4,
            log=lambda level, line: lines.append(line))
        info = group.info()
        self.assertEqual((info.key, info.flows, info.capacity), ("payload", 100, 4))
        slots = {group.slot_of("192.0.2.1", payload=bytes([0, i, i]))[0] for i in range(64)}
        self.assertEqual(slots, {0, 1})
        group.close()
        self.assertRaises(ValueError, group.info)

    def test_fallback_says_so(self):
        lines = []
        os.seteuid(65534)
        try:
            group = lb.Group(
                "none", count=2, fallback=True, log=lambda level, line: lines.append(line))
        finally:
            os.seteuid(0)
        self.assertTrue(group.info().is_fallback)
        self.assertTrue(any("fallback" in line for line in lines), lines)
        self.assertRaises(OSError, group.members)


if __name__ == "__main__":
    unittest.main()
