# SPDX-License-Identifier: Apache-2.0
"""300 clients on 30 addresses: who answers them, and is that what the strategy promises?"""
import collections
import os
import socket
import subprocess
import sys
import time

service, strategy = (sys.argv[1], 5683), sys.argv[2]
addresses = [f"10.90.1.{100 + number}" for number in range(30)]
for address in addresses:
    subprocess.run(["ip", "address", "add", f"{address}/24", "dev", "eth0"], check=True)


def ask(client, limit):
    """The name of the server that answers, asked anew each second."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        client.sendto(b"who?", service)
        try:
            answer, source = client.recvfrom(2048)
        except TimeoutError:
            continue
        assert source == service, f"answered from {source}"
        return answer
    raise SystemExit(f"no answer within {limit} s")


def open_client(address, port):
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.bind((address, port))
    client.settimeout(1)
    return client


# The balancer takes a moment to start; this client is none of the 300.
ask(open_client("10.90.1.20", 20000), 60)
clients = [open_client(addresses[number % 30], 21000 + number) for number in range(300)]
first = [ask(client, 10) for client in clients]
assert [ask(client, 10) for client in clients] == first, "a client has changed its server"
shares = collections.Counter(first)
print(strategy, dict(shares))
assert len(shares) == 3, "a server has no client"
if strategy == "roundrobin":
    # Each processor has turns of its own.
    assert all(abs(share - 100) <= os.cpu_count() for share in shares.values()), "not equal"
elif strategy == "random":
    # Binomial, n = 300, p = 1/3: 100 +- 6 x 8.2.
    assert all(51 <= share <= 149 for share in shares.values()), "shares are not by chance"
else:
    for number in range(30):
        assert len(set(first[number::30])) == 1, "an address has several servers"
