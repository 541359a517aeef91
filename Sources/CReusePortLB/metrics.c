/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c: a group's state as samples of metrics. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal.h"

/* The queue of a UDP member, from the kernel's list of sockets. */
struct queue {
	bool is_known;
	uint32_t bytes;
	uint32_t buffer;
	uint32_t drops;
};

struct state {
	struct rplb_info info;
	struct rplb_member *members;
	struct queue *queues; /* as many */
	size_t count;
};

/* ---- the queues, by sock_diag(7) */

static void read_queue(const struct nlmsghdr *header, struct state *state)
{
	const struct inet_diag_msg *socket = NLMSG_DATA(header);
	uint64_t cookie = (uint64_t)socket->id.idiag_cookie[1] << 32 | socket->id.idiag_cookie[0];
	int left = (int)(header->nlmsg_len - NLMSG_LENGTH(sizeof(*socket)));

	for (size_t i = 0; i < state->count; i++) {
		struct queue *queue = &state->queues[i];
		const struct rtattr *each = (const struct rtattr *)(socket + 1);

		if (state->members[i].cookie != cookie)
			continue;
		for (; RTA_OK(each, left); each = RTA_NEXT(each, left)) {
			uint32_t figures[SK_MEMINFO_VARS];

			if (each->rta_type != INET_DIAG_SKMEMINFO ||
			    RTA_PAYLOAD(each) < sizeof(figures))
				continue;
			memcpy(figures, RTA_DATA(each), sizeof(figures));
			*queue = (struct queue){true, socket->idiag_rqueue,
						figures[SK_MEMINFO_RCVBUF],
						figures[SK_MEMINFO_DROPS]};
		}
		return;
	}
}

/* Reads the sockets of one family on the group's port. */
static int list_sockets(int netlink, uint8_t family, uint16_t port, struct state *state)
{
	struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 request;
	} message = {
		.header = {.nlmsg_len = sizeof(message),
			   .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			   .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.request = {.sdiag_family = family,
			    .sdiag_protocol = IPPROTO_UDP,
			    .idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1),
			    .idiag_states = ~0u,
			    .id.idiag_sport = htons(port)},
	};
	union {
		struct nlmsghdr aligned;
		char bytes[16384];
	} answer;

	if (send(netlink, &message, sizeof(message), 0) < 0)
		return -errno;
	for (;;) {
		ssize_t length = recv(netlink, &answer, sizeof(answer), 0);
		const struct nlmsghdr *each = &answer.aligned;

		if (length < 0)
			return -errno;
		for (; NLMSG_OK(each, (size_t)length); each = NLMSG_NEXT(each, length)) {
			if (each->nlmsg_type == NLMSG_DONE)
				return 0;
			if (each->nlmsg_type == NLMSG_ERROR)
				return ((const struct nlmsgerr *)NLMSG_DATA(each))->error;
			read_queue(each, state);
		}
	}
}

static uint16_t port_of(const struct rplb_info *info)
{
	return info->address.ss_family == AF_INET6
		       ? ntohs(((const struct sockaddr_in6 *)&info->address)->sin6_port)
		       : ntohs(((const struct sockaddr_in *)&info->address)->sin_port);
}

/* Without the list, such as in another network namespace, the queues stay unknown. */
static void read_queues(struct state *state)
{
	int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	if (netlink < 0 || !state->count)
		goto out;
	if (!list_sockets(netlink, AF_INET, port_of(&state->info), state))
		list_sockets(netlink, AF_INET6, port_of(&state->info), state);
out:
	if (netlink >= 0)
		close(netlink);
}

/* ---- the samples */

struct metric {
	const char *name;
	const char *help;
	int is_counter;
};

struct output {
	const struct rplb_group *group;
	rplb_sample_fn each;
	void *context;
};

static void give(const struct output *output, const struct metric *metric, struct rplb_label *more,
		 size_t count, uint64_t value)
{
	struct rplb_label labels[3] = {{"group", output->group->name ? output->group->name : ""}};
	struct rplb_sample sample = {.name = metric->name,
				     .help = metric->help,
				     .is_counter = metric->is_counter,
				     .labels = labels,
				     .label_count = 1 + count,
				     .value = value};

	for (size_t i = 0; i < count; i++)
		labels[1 + i] = more[i];
	output->each(output->context, &sample);
}

static void give_members(const struct output *output, const struct state *state)
{
	static const struct metric members = {
		"reuseportlb_members",
		"Sockets in slots by state, and slots without a socket (missing).", 0};
	uint64_t current = 0, previous = 0, missing = state->info.count;
	uint32_t last = UINT32_MAX;

	for (uint32_t slot = 0; slot < state->info.count; slot++) {
		for (size_t i = 0; i < state->count; i++) {
			if (state->members[i].slot != slot)
				continue;
			missing -= last != slot;
			last = slot;
		}
	}
	for (size_t i = 0; i < state->count; i++) {
		if (state->members[i].is_previous)
			previous++;
		else
			current++;
	}
	give(output, &members, &(struct rplb_label){"state", "current"}, 1, current);
	give(output, &members, &(struct rplb_label){"state", "previous"}, 1, previous);
	give(output, &members, &(struct rplb_label){"state", "missing"}, 1, missing);
}

static int give_counters(const struct output *output, struct rplb_group *group,
			 const struct state *state)
{
	static const struct metric metrics[] = {
		{"reuseportlb_selected_packets_total",
		 "Packets that a slot's member got as first choice; merged datagrams count once.",
		 1},
		{"reuseportlb_fallback_packets_total",
		 "Packets that a slot's member got for a missing member.", 1},
		{"reuseportlb_missed_packets_total",
		 "Packets whose first choice was this slot while its member was missing.", 1},
	};

	for (uint32_t slot = 0; slot < state->info.count; slot++) {
		struct rplb_counters counters;
		struct rplb_label label = {"slot", NULL};
		char number[16];
		int error = rplb_counters(group, slot, &counters);

		if (error)
			return error;
		snprintf(number, sizeof(number), "%u", slot);
		label.value = number;
		give(output, &metrics[0], &label, 1, counters.selected);
		give(output, &metrics[1], &label, 1, counters.fallback);
		give(output, &metrics[2], &label, 1, counters.missed);
	}
	return 0;
}

static void give_queues(const struct output *output, const struct state *state)
{
	static const struct metric metrics[] = {
		{"reuseportlb_socket_drops_total",
		 "Datagrams that the kernel dropped at a member's socket, mostly because its "
		 "buffer was "
		 "full.",
		 1},
		{"reuseportlb_socket_queue_bytes",
		 "Memory of the datagrams that wait in a member's socket.", 0},
		{"reuseportlb_socket_buffer_bytes",
		 "Memory that waiting datagrams may use (SO_RCVBUF as the kernel counts it).", 0},
	};

	for (size_t i = 0; i < state->count; i++) {
		const struct queue *queue = &state->queues[i];
		struct rplb_label labels[2] = {{"slot", NULL}, {"state", "current"}};
		char number[16];

		if (!queue->is_known)
			continue;
		snprintf(number, sizeof(number), "%u", state->members[i].slot);
		labels[0].value = number;
		if (state->members[i].is_previous)
			labels[1].value = "previous";
		give(output, &metrics[0], labels, 2, queue->drops);
		give(output, &metrics[1], labels, 2, queue->bytes);
		give(output, &metrics[2], labels, 2, queue->buffer);
	}
}

static int give_all(struct rplb_group *group, const struct output *output,
		    const struct state *state)
{
	static const struct metric slots = {"reuseportlb_slots", "The group's count.", 0};
	static const struct metric left = {"reuseportlb_left_to_kernel_packets_total",
					   "Packets for which there was no member.", 1};
	static const struct metric flows = {
		"reuseportlb_flows_missed_packets_total",
		"Packets of flows that the group did not remember: new or forgotten ones.", 1};
	uint64_t packets;
	int error;

	give(output, &slots, NULL, 0, state->info.count);
	give_members(output, state);
	error = give_counters(output, group, state);
	if (error)
		return error;
	error = rplb_left_to_kernel(group, &packets);
	if (error)
		return error;
	give(output, &left, NULL, 0, packets);
	if (state->info.flows) {
		error = rplb_flows_missed(group, &packets);
		if (error)
			return error;
		give(output, &flows, NULL, 0, packets);
	}
	give_queues(output, state);
	return 0;
}

int rplb_samples(struct rplb_group *group, rplb_sample_fn each, void *context)
{
	struct output output = {group, each, context};
	struct state state = {0};
	size_t room;
	int error;

	if (!group || !each)
		return -EINVAL;
	error = rplb_info(group, &state.info);
	if (error)
		return error;
	room = (size_t)state.info.capacity * 4;
	state.members = calloc(room, sizeof(*state.members));
	state.queues = calloc(room, sizeof(*state.queues));
	error = state.members && state.queues ? 0 : -ENOMEM;
	if (!error)
		error = rplb_members(group, state.members, room, &state.count);
	if (!error) {
		read_queues(&state);
		error = give_all(group, &output, &state);
	}
	free(state.members);
	free(state.queues);
	return error;
}
