# SPDX-License-Identifier: Apache-2.0
"""backend.py NAME PORT: replies to each datagram with NAME, from the address to which it was sent."""

import socket
import sys

name, port = sys.argv[1].encode(), int(sys.argv[2])
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("0.0.0.0", port))
print(f"{sys.argv[1]}: answers on port {port}", flush=True)
while True:
    asked, client = server.recvfrom(2048)
    server.sendto(name + b" " + asked, client)
