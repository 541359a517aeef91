/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "CNet.h"

#include <endian.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* linux/udp.h; netinet/udp.h of Debian 12 has both, older ones do not. */
enum {
	OPTION_UDP_SEGMENT = 103,
	OPTION_UDP_GRO = 104
};

_Static_assert(sizeof(struct cnet_message) == sizeof(struct mmsghdr), "cnet_message is mmsghdr");
_Static_assert(offsetof(struct cnet_message, length) == offsetof(struct mmsghdr, msg_len),
	       "cnet_message is mmsghdr");
_Static_assert(CNET_WAIT_FOR_ONE == MSG_WAITFORONE && CNET_DONT_WAIT == MSG_DONTWAIT &&
		       CNET_TRUNCATED == MSG_TRUNC,
	       "the flags are the kernel's");
_Static_assert(CNET_RECEIVE_CONTROL >= CMSG_SPACE(sizeof(int)) +
					       CMSG_SPACE(sizeof(struct in6_pktinfo)) +
					       CMSG_SPACE(sizeof(struct in_pktinfo)),
	       "a dual-stack socket may carry both kinds of packet information");
_Static_assert(CNET_SEND_CONTROL >= CMSG_SPACE(sizeof(struct in6_pktinfo)), "room for the largest");

_Static_assert(sizeof(((struct cnet_name *)0)->words) >= sizeof(struct sockaddr_in6),
	       "room for either family");

static int result(int value)
{
	return value < 0 ? -errno : value;
}

int cnet_receive_batch(int fd, struct cnet_message *messages, unsigned int count, int flags)
{
	return result(recvmmsg(fd, (struct mmsghdr *)messages, count, flags, NULL));
}

int cnet_send_batch(int fd, struct cnet_message *messages, unsigned int count, int flags)
{
	return result(sendmmsg(fd, (struct mmsghdr *)messages, count, flags));
}

int cnet_reconnect(int fd, const struct cnet_name *peer)
{
	struct sockaddr none = {.sa_family = AF_UNSPEC};

	/* Without this the kernel would keep the source address of the first connect (ip(7)). */
	connect(fd, &none, sizeof(none));
	return result(connect(fd, (const struct sockaddr *)peer->words, peer->bytes));
}

void cnet_pause(unsigned int microseconds)
{
	struct timespec time = {0, microseconds % 1000000 * 1000L};

	nanosleep(&time, NULL);
}

void cnet_read_control(const struct msghdr *header, struct cnet_received *out)
{
	struct msghdr *walk =
		(struct msghdr *)header; /* CMSG_NXTHDR wants it so; nothing is written */

	memset(out, 0, sizeof(*out));
	for (struct cmsghdr *c = CMSG_FIRSTHDR(walk); c; c = CMSG_NXTHDR(walk, c)) {
		const void *data = CMSG_DATA(c);

		if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == OPTION_UDP_GRO) {
			memcpy(&out->segment, data, sizeof(out->segment));
		} else if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO) {
			struct in_pktinfo info;

			memcpy(&info, data, sizeof(info));
			out->has_destination = 1;
			out->destination_high = 0;
			out->destination_low = 0xffff00000000ULL | ntohl(info.ipi_addr.s_addr);
		} else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO &&
			   !out->has_destination) {
			struct in6_pktinfo info;
			uint64_t words[2];

			memcpy(&info, data, sizeof(info));
			memcpy(words, &info.ipi6_addr, sizeof(words));
			out->has_destination = 1;
			out->destination_high = be64toh(words[0]);
			out->destination_low = be64toh(words[1]);
		}
	}
}

static size_t write_control(void *control, int level, int type, const void *data, size_t size)
{
	struct cmsghdr *c = control;

	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(size);
	memcpy(CMSG_DATA(c), data, size);
	return CMSG_SPACE(size);
}

size_t cnet_write_segment(void *control, uint16_t bytes)
{
	return write_control(control, IPPROTO_UDP, OPTION_UDP_SEGMENT, &bytes, sizeof(bytes));
}

size_t cnet_write_source_v4(void *control, uint32_t address)
{
	struct in_pktinfo info = {.ipi_spec_dst.s_addr = htonl(address)};

	return write_control(control, IPPROTO_IP, IP_PKTINFO, &info, sizeof(info));
}

size_t cnet_write_source_v6(void *control, uint64_t high, uint64_t low)
{
	uint64_t words[2] = {htobe64(high), htobe64(low)};
	struct in6_pktinfo info = {.ipi6_ifindex = 0};

	memcpy(&info.ipi6_addr, words, sizeof(words));

	return write_control(control, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof(info));
}

static int enable(int fd, int level, int option)
{
	int on = 1;

	return result(setsockopt(fd, level, option, &on, sizeof(on)));
}

int cnet_enable_gro(int fd)
{
	return enable(fd, IPPROTO_UDP, OPTION_UDP_GRO);
}

int cnet_enable_packet_information(int fd, int family)
{
	int error =
		enable(fd, IPPROTO_IP, IP_PKTINFO); /* also IPv4 traffic of a dual-stack socket */

	return family == AF_INET6 ? enable(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO) : error;
}

int cnet_enable_transparent(int fd, int family)
{
	return family == AF_INET6 ? enable(fd, IPPROTO_IPV6, IPV6_TRANSPARENT)
				  : enable(fd, IPPROTO_IP, IP_TRANSPARENT);
}

int cnet_set_receive_buffer(int fd, int bytes, int *granted)
{
	socklen_t size = sizeof(*granted);

	if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) &&
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)))
		return -errno;
	return result(getsockopt(fd, SOL_SOCKET, SO_RCVBUF, granted, &size));
}

int cnet_set_send_buffer(int fd, int bytes)
{
	return result(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)));
}

int cnet_drop_all_input(int fd)
{
	struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
	struct sock_fprog program = {.len = 1, .filter = &nothing};

	return result(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)));
}

int64_t cnet_socket_drops(int fd)
{
	uint32_t information[SK_MEMINFO_VARS] = {0};
	socklen_t size = sizeof(information);

	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, information, &size))
		return -errno;
	return information[SK_MEMINFO_DROPS];
}

int cnet_get_affinity(uint64_t *mask, unsigned int words)
{
	int count = 0;

	memset(mask, 0, words * sizeof(*mask));
	if (sched_getaffinity(0, words * sizeof(*mask), (cpu_set_t *)mask))
		return -errno;
	for (unsigned int i = 0; i < words; i++)
		count += __builtin_popcountll(mask[i]);
	return count;
}

int cnet_pin_thread(unsigned int cpu)
{
	cpu_set_t set;

	if (cpu >= CPU_SETSIZE)
		return -EINVAL;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return -pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

struct start {
	void (*body)(void *);
	void *argument;
};

static void *run(void *opaque)
{
	struct start start = *(struct start *)opaque;

	free(opaque);
	start.body(start.argument);
	return NULL;
}

int cnet_thread_start(unsigned long *thread, size_t stack_bytes, const char *name,
		      void (*body)(void *), void *argument)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	struct start *start = malloc(sizeof(*start));
	int error;

	if (!start)
		return -ENOMEM;
	*start = (struct start){body, argument};
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, stack_bytes);
	/* The thread inherits the mask, so no signal can reach it before it would have blocked them. */
	sigfillset(&all);
	sigdelset(&all, CNET_SIGNAL_KEEP);
	sigdelset(&all, CNET_SIGNAL_WAKE);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(thread, &attributes, run, start);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	if (error) {
		free(start);
		return -error;
	}
	pthread_setname_np(*thread, name);
	return 0;
}

void cnet_thread_detach(unsigned long thread)
{
	pthread_detach(thread);
}

int cnet_thread_join(unsigned long thread)
{
	return -pthread_join(thread, NULL);
}

const char *cnet_error_name(int code)
{
	const char *name = strerrorname_np(code);

	return name ? name : "unknown error";
}

const char *cnet_error_text(int code)
{
	const char *text = strerrordesc_np(code);

	return text ? text : "unknown error";
}

void cnet_limit_heaps(int count)
{
	mallopt(M_ARENA_MAX, count);
}
