/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c: a group's state as samples of metrics. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab.h"

#define PORT 4739

/* The samples as lines, such as "reuseportlb_slots{group=g} 2". */
static char page[16384];

static void write_sample(void *context, const struct rplb_sample *sample)
{
	size_t used = strlen(page);

	(void)context;
	used += (size_t)snprintf(page + used, sizeof(page) - used, "%s{", sample->name);
	for (size_t i = 0; i < sample->label_count; i++)
		used += (size_t)snprintf(page + used, sizeof(page) - used, "%s%s=%s", i ? "," : "",
					 sample->labels[i].name, sample->labels[i].value);
	snprintf(page + used, sizeof(page) - used, "} %llu\n", (unsigned long long)sample->value);
}

static void read_page(struct rplb_group *group)
{
	page[0] = 0;
	lab_need(rplb_samples(group, write_sample, NULL), "samples");
}

static void has(const char *line)
{
	lab_ok(strstr(page, line) != NULL, "a page has %.*s", (int)strcspn(line, "\n"), line);
}

/* The value of a sample, 0 if there is none. */
static uint64_t value_of(const char *sample)
{
	const char *line = strstr(page, sample);

	return line ? strtoull(line + strlen(sample), NULL, 10) : 0;
}

int main(void)
{
	struct rplb_group *group;
	int first, other, small = 4096;
	char bytes[1000] = {0};

	lab_enter();
	group = lab_group("g", 3);
	read_page(group);
	has("reuseportlb_members{group=g,state=missing} 3\n");
	lab_ok(!strstr(page, "socket"), "without members there are no sockets");
	first = lab_udp(PORT);
	setsockopt(first, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	lab_need(rplb_join(group, first, 0), "join");
	other = lab_udp(PORT);
	lab_need(rplb_replace(group, other, 0), "replace");
	close(other);
	for (int i = 0; i < 50; i++)
		lab_send(0x7f000102, 0, PORT, bytes, sizeof(bytes));
	other = lab_udp(PORT);
	lab_need(rplb_replace(group, other, 0), "replace");
	read_page(group);
	has("reuseportlb_slots{group=g} 3\n");
	has("reuseportlb_members{group=g,state=current} 1\n");
	has("reuseportlb_members{group=g,state=previous} 1\n");
	has("reuseportlb_members{group=g,state=missing} 2\n");
	has("reuseportlb_left_to_kernel_packets_total{group=g} 0\n");
	has("reuseportlb_socket_drops_total{group=g,slot=0,state=current} 0\n");
	has("reuseportlb_socket_queue_bytes{group=g,slot=0,state=current} 0\n");
	lab_ok(value_of("reuseportlb_selected_packets_total{group=g,slot=0} ") +
			       value_of("reuseportlb_fallback_packets_total{group=g,slot=0} ") ==
		       50,
	       "the slot has 50 packets");
	lab_ok(value_of("reuseportlb_socket_drops_total{group=g,slot=0,state=previous} ") > 0 &&
		       value_of("reuseportlb_socket_queue_bytes{group=g,slot=0,state=previous} ") >
			       1000,
	       "some wait in the socket of the previous member, which dropped the others");
	lab_ok(value_of("reuseportlb_socket_buffer_bytes{group=g,slot=0,state=previous} ") >= 4096,
	       "its buffer is small");
	lab_ok(!strstr(page, "flows"), "without flows there is no metric of them");
	rplb_group_close(group);
	lab_need(rplb_group_open("flows", &RPLB_OPTIONS(.count = 1, .flows = 9), &group), "open");
	read_page(group);
	has("reuseportlb_flows_missed_packets_total{group=flows} 0\n");
	lab_error(rplb_samples(NULL, write_sample, NULL), -EINVAL, "samples need a group");
	lab_error(rplb_samples(group, NULL, NULL), -EINVAL, "and a function");
	rplb_group_close(group);
	return lab_leave();
}
