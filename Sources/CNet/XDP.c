/* SPDX-License-Identifier: Apache-2.0 */
/* XDP.c: options of AF_XDP sockets, and driver settings (Documentation/networking/af_xdp.rst). */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/if_xdp.h>
#include <linux/sockios.h>

#include "CNet.h"

/* asm-generic/socket.h and linux/socket.h; older C libraries lack the names. */
enum {
	LEVEL_XDP = 283,
	OPTION_BUSY_POLL = 46,
	OPTION_PREFER_BUSY_POLL = 69,
	OPTION_BUSY_POLL_BUDGET = 70,
	OPTION_TAKE_HEADERS = 36, /* linux/in6.h, IPV6_HDRINCL */
};

_Static_assert(sizeof(struct cnet_xdp_statistics) == sizeof(struct xdp_statistics) &&
		       offsetof(struct cnet_xdp_statistics, transmit_ring_empty) ==
			       offsetof(struct xdp_statistics, tx_ring_empty_descs),
	       "cnet_xdp_statistics is xdp_statistics");

int cnet_xdp_transmit(int fd)
{
	return sendto(fd, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 ? -errno : 0;
}

int cnet_xdp_receive(int fd)
{
	return recvfrom(fd, NULL, 0, MSG_DONTWAIT, NULL, NULL) < 0 ? -errno : 0;
}

int cnet_wait_readable(int fd, int milliseconds)
{
	struct pollfd wanted = {.fd = fd, .events = POLLIN};
	int ready = poll(&wanted, 1, milliseconds);

	if (ready < 0)
		return errno == EINTR ? 0 : -errno;
	return ready && (wanted.revents & POLLIN) ? 1 : 0;
}

int cnet_wait_packets(int fd, int milliseconds)
{
	struct pollfd wanted = {.fd = fd, .events = POLLIN};

	if (poll(&wanted, 1, milliseconds) <= 0)
		return 0;
	return wanted.revents & POLLIN ? 1 : -1;
}

/* Asks the driver; `question` begins with the command, as linux/ethtool.h has it. */
static int ask_driver(const char *interface, void *question)
{
	struct ifreq request = {.ifr_data = question};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int result;

	if (fd < 0)
		return -errno;
	strncpy(request.ifr_name, interface, sizeof(request.ifr_name) - 1);
	result = ioctl(fd, SIOCETHTOOL, &request) < 0 ? -errno : 0;
	close(fd);
	return result;
}

static int get_channels(const char *interface, struct ethtool_channels *channels)
{
	*channels = (struct ethtool_channels){.cmd = ETHTOOL_GCHANNELS};
	return ask_driver(interface, channels);
}

int cnet_strips_tags(const char *interface)
{
	struct ethtool_value flags = {.cmd = ETHTOOL_GFLAGS};
	int result = ask_driver(interface, &flags);

	return result ? result : (flags.data & ETH_FLAG_RXVLAN) != 0;
}

int cnet_queues(const char *interface, uint32_t *receive, uint32_t *transmit)
{
	struct ethtool_channels channels;
	int result = get_channels(interface, &channels);

	if (result)
		return result;
	*receive = channels.rx_count + channels.combined_count;
	*transmit = channels.tx_count + channels.combined_count;
	return 0;
}

int cnet_has_combined_queues(const char *interface)
{
	struct ethtool_channels channels;
	int result = get_channels(interface, &channels);

	return result ? result : channels.max_combined > 0;
}

int cnet_take_headers(int fd)
{
	int yes = 1;

	return setsockopt(fd, IPPROTO_IPV6, OPTION_TAKE_HEADERS, &yes, sizeof(yes)) ? -errno : 0;
}

static int set(int fd, int option, int value)
{
	return setsockopt(fd, SOL_SOCKET, option, &value, sizeof(value)) ? -errno : 0;
}

int cnet_prefer_busy_poll(int fd, int microseconds, int budget)
{
	int error = set(fd, OPTION_PREFER_BUSY_POLL, 1);

	if (!error)
		error = set(fd, OPTION_BUSY_POLL, microseconds);
	return error ? error : set(fd, OPTION_BUSY_POLL_BUDGET, budget);
}

int cnet_xdp_statistics(int fd, struct cnet_xdp_statistics *out)
{
	struct cnet_xdp_statistics read = {
		0}; /* before Linux 5.9 the kernel fills in the first half */
	socklen_t size = sizeof(read);

	if (getsockopt(fd, LEVEL_XDP, XDP_STATISTICS, &read, &size))
		return -errno;
	*out = read;
	return 0;
}

int cnet_xdp_is_zero_copy(int fd)
{
	struct xdp_options options = {0};
	socklen_t size = sizeof(options);

	if (getsockopt(fd, LEVEL_XDP, XDP_OPTIONS, &options, &size))
		return -errno;
	return options.flags & XDP_OPTIONS_ZEROCOPY ? 1 : 0;
}

void *cnet_map_pages(size_t bytes, int huge)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | (huge ? MAP_HUGETLB : 0);
	void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);

	return start == MAP_FAILED ? NULL : start;
}

int cnet_wish_huge_pages(void *start, size_t bytes)
{
	return madvise(start, bytes, MADV_HUGEPAGE) ? -errno : 0;
}
