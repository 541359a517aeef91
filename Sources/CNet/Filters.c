/* SPDX-License-Identifier: Apache-2.0 */
/* Filters.c: counts the filters at the TC hooks of an interface. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "CNet.h"

/* A filter with a handle is one; the kernel also lists their chain. */
static int count(const struct nlmsghdr *message, int bytes, bool *done)
{
	int filters = 0;

	for (; NLMSG_OK(message, bytes); message = NLMSG_NEXT(message, bytes)) {
		if (message->nlmsg_type == NLMSG_DONE) {
			*done = true;
			break;
		}
		if (message->nlmsg_type == NLMSG_ERROR) {
			const struct nlmsgerr *error = NLMSG_DATA(message);

			return error->error ? error->error : -EPROTO;
		}
		if (message->nlmsg_type == RTM_NEWTFILTER &&
		    ((const struct tcmsg *)NLMSG_DATA(message))->tcm_handle)
			filters++;
	}
	return filters;
}

static int filters_at(int fd, uint32_t ifindex, uint32_t parent)
{
	struct {
		struct nlmsghdr header;
		struct tcmsg body;
	} request = {
		.header =
			{
				.nlmsg_len = sizeof(request),
				.nlmsg_type = RTM_GETTFILTER,
				.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
			},
		.body = {.tcm_family = AF_UNSPEC,
			 .tcm_ifindex = (int)ifindex,
			 .tcm_parent = parent},
	};
	union {
		struct nlmsghdr first;
		char bytes[32768];
	} answer;
	bool done = false;
	int filters = 0;

	if (send(fd, &request, sizeof(request), 0) < 0)
		return -errno;
	while (!done) {
		ssize_t got = recv(fd, &answer, sizeof(answer), 0);
		int more;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -EPROTO;
		more = count(&answer.first, (int)got, &done);
		if (more < 0)
			return more;
		filters += more;
	}
	return filters;
}

int cnet_clsact_filters(uint32_t ifindex)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	int in, out;

	if (fd < 0)
		return -errno;
	in = filters_at(fd, ifindex, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS));
	out = in < 0 ? in : filters_at(fd, ifindex, TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS));
	close(fd);
	return out < 0 ? out : in + out;
}
