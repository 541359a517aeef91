# SPDX-License-Identifier: Apache-2.0
"""load.py IP PORT CLIENTS DATAGRAMS [ADDRESS...]: sends DATAGRAMS requests from each of CLIENTS sockets of
each ADDRESS, and prints the replies of each backend as JSON.

Sockets are connected, so that they receive replies only from the address to which they sent. One client sends at
a time. A request without a reply within a second is lost and not sent again.
"""

import collections
import contextlib
import json
import os
import socket
import sys

target = (sys.argv[1], int(sys.argv[2]))
clients, datagrams = int(sys.argv[3]), int(sys.argv[4])
addresses = sys.argv[5:] or ["10.88.0.20"]
# A program in the kernel may have one schedule for each CPU.
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

answers = collections.Counter()  # by backend
lost = 0
faithless = 0  # clients with replies of more than one backend
homes = {}  # the backends of each address
# All sockets stay open to the end: a reused port would be another client with an old association.
with contextlib.ExitStack() as sockets:
    for address in addresses:
        for _ in range(clients):
            client = sockets.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            client.bind((address, 0))
            client.connect(target)
            client.settimeout(1)
            served = set()
            for number in range(datagrams):
                asked = b"question %d" % number
                client.send(asked)
                try:
                    backend, answer = client.recv(2048).split(b" ", 1)
                except (TimeoutError, ConnectionError):
                    lost += 1
                    continue
                if answer != asked:
                    sys.exit(f"load: asked {asked!r}, answered {answer!r}")
                served.add(backend.decode())
                answers[backend.decode()] += 1
            faithless += len(served) > 1
            homes.setdefault(address, set()).update(served)
print(json.dumps({
    "sent": len(addresses) * clients * datagrams,
    "answers": dict(sorted(answers.items())),
    "lost": lost,
    "faithless": faithless,
    "split_addresses": sum(len(backends) > 1 for backends in homes.values()),
}))
