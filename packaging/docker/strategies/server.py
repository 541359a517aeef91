# SPDX-License-Identifier: Apache-2.0
"""Answers each datagram with the name of this host."""
import socket

listening = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
listening.bind(("0.0.0.0", 5683))
name = socket.gethostname().encode()
while True:
    _, client = listening.recvfrom(2048)
    listening.sendto(name, client)
