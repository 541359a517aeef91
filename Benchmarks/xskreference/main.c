// SPDX-License-Identifier: Apache-2.0
/*
 * xskreference: two minimal round-robin forwarders of UDP over IPv4 that receive by AF_XDP. They show the
 * cost of the kernel and the rewrite, as the baseline for mode `af_xdp`.
 *
 *   taskset -c 0 ./xskreference ring|mmsg IN OUT SERVICE PORT MAC RECEIVER...
 *
 *   ring  rewrites in place and sends by the transmit ring of the interface OUT, to the Ethernet address MAC
 *   mmsg  sends the payload by sendmmsg, a call a batch; OUT and MAC are unused
 *
 * Datagrams to SERVICE:PORT, which come in by queue 0 of IN without tags and options, go to that port of the
 * receivers. IN needs an XDP hook in the driver. They do not poll busily, since that does nothing where the
 * kernel copies (Linux 6.18: SO_INCOMING_NAPI_ID of the socket stays 0). They count nothing, ignore failed sends
 * and run until they are killed.
 */
#include <arpa/inet.h>
#include <err.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "forward.h"

static uint32_t address_of(const char *text)
{
	struct in_addr address;

	if (inet_pton(AF_INET, text, &address) != 1)
		errx(2, "not an IPv4 address: %s", text);
	return address.s_addr;
}

/* From the interface OUT to MAC. */
static void find_link(struct forwarder *forwarder, const char *interface, const char *mac)
{
	struct ifreq request = {0};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint8_t *to = forwarder->link;

	strncpy(request.ifr_name, interface, IFNAMSIZ - 1);
	if (fd < 0 || ioctl(fd, SIOCGIFHWADDR, &request))
		err(1, "address of %s", interface);
	close(fd);
	if (sscanf(mac, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", to, to + 1, to + 2, to + 3, to + 4,
		   to + 5) != 6)
		errx(2, "not an Ethernet address: %s", mac);
	memcpy(to + 6, request.ifr_hwaddr.sa_data, 6);
}

/* The increase of the sum when the receiver's address replaces the service's. */
static struct receiver receiver_at(uint32_t address, uint32_t service)
{
	uint32_t steps =
		(address & 0xffff) + (address >> 16) + (~service & 0xffff) + (~service >> 16);

	return (struct receiver){.address = address, .steps = steps};
}

int main(int argc, char **argv)
{
	static struct forwarder forwarder;
	int ring;

	if (argc < 8 || argc > 7 + RECEIVERS_MAX ||
	    (strcmp(argv[1], "ring") && strcmp(argv[1], "mmsg"))) {
		fprintf(stderr,
			"usage: xskreference ring|mmsg IN OUT SERVICE PORT MAC RECEIVER...\n");
		return 2;
	}
	ring = !strcmp(argv[1], "ring");
	forwarder.service = address_of(argv[4]);
	forwarder.port = htons((uint16_t)atoi(argv[5]));
	for (int i = 7; i < argc; i++)
		forwarder.receivers[forwarder.receiver_count++] =
			receiver_at(address_of(argv[i]), forwarder.service);
	open_input(&forwarder, argv[2]);
	if (ring) {
		find_link(&forwarder, argv[3], argv[6]);
		open_output(&forwarder, argv[3]);
	}
	steer(&forwarder, argv[2]);
	if (ring)
		forward_ring(&forwarder);
	else
		forward_mmsg(&forwarder);
}
