/* SPDX-License-Identifier: Apache-2.0 */
/* Poll.c: waits for many sockets at once (epoll(7)), and sets up ICMP sockets. */
#include <errno.h>
#include <linux/icmp.h>
#include <netinet/icmp6.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "CNet.h"

static int or_error(int result)
{
	return result < 0 ? -errno : result;
}

int cnet_poller(void)
{
	return or_error(epoll_create1(EPOLL_CLOEXEC));
}

int cnet_poller_add(int poller, int fd, int for_writing, uint64_t token)
{
	struct epoll_event event = {
		.events = for_writing ? EPOLLOUT : EPOLLIN,
		.data.u64 = token,
	};

	return or_error(epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event));
}

int cnet_poller_wait(int poller, uint64_t *tokens, int count, int milliseconds)
{
	struct epoll_event events[64];
	int ready;

	if (count > (int)(sizeof(events) / sizeof(events[0])))
		count = sizeof(events) / sizeof(events[0]);
	ready = or_error(epoll_wait(poller, events, count, milliseconds));
	for (int i = 0; i < ready; i++)
		tokens[i] = events[i].data.u64;
	return ready == -EINTR ? 0 : ready;
}

int cnet_event(void)
{
	return or_error(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

void cnet_event_raise(int event)
{
	uint64_t one = 1;

	/* It fails only when the counter is at its maximum, and then the event is raised anyway. */
	(void)!write(event, &one, sizeof(one));
}

void cnet_event_clear(int event)
{
	uint64_t count;

	(void)!read(event, &count, sizeof(count));
}

int cnet_report_errors(int fd, int family)
{
	int yes = 1;

	return or_error(family == AF_INET6
				? setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &yes, sizeof(yes))
				: setsockopt(fd, IPPROTO_IP, IP_RECVERR, &yes, sizeof(yes)));
}

int cnet_echo_replies_only(int fd, int family)
{
	if (family == AF_INET6) {
		struct icmp6_filter filter;

		ICMP6_FILTER_SETBLOCKALL(&filter);
		ICMP6_FILTER_SETPASS(ICMP6_ECHO_REPLY, &filter);
		return or_error(
			setsockopt(fd, IPPROTO_ICMPV6, ICMP6_FILTER, &filter, sizeof(filter)));
	}
	/* The bits of the unwanted types (raw(7), ICMP_FILTER of SOL_RAW). */
	struct icmp_filter filter = {.data = ~(1U << ICMP_ECHOREPLY)};

	return or_error(setsockopt(fd, 255, ICMP_FILTER, &filter, sizeof(filter)));
}

int cnet_reset_on_close(int fd)
{
	struct linger linger = {.l_onoff = 1, .l_linger = 0};

	return or_error(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
}
