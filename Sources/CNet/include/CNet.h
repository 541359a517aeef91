/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CNet.h: the system calls, macros and resolver functions that Swift cannot see (_GNU_SOURCE, CMSG_*,
 * CPU_SET, resolver(3)); nothing else. Every function returns its result, 0 or -errno, so that no caller
 * needs errno.
 *
 * Functions with CNET_HOT are called once a batch. They neither allocate nor take a lock in user space; the
 * attributes tell the compiler so, which checks the worker's loop.
 */
#ifndef CNET_H
#define CNET_H

#include <malloc.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#define CNET_HOT __attribute__((swift_attr("@_noLocks"), swift_attr("@_noAllocation")))

/* struct mmsghdr, which glibc hides: one datagram (or super-packet) of a batch. */
struct cnet_message {
	struct msghdr header;
	unsigned int length; /* recvmmsg and sendmmsg write it: bytes received or sent */
};

/* recvmmsg(2) without a time limit: messages received, or -errno. */
int cnet_receive_batch(int fd, struct cnet_message *messages, unsigned int count,
		       int flags) CNET_HOT;

/* sendmmsg(2): messages sent, at least 1, or -errno of the first one. */
int cnet_send_batch(int fd, struct cnet_message *messages, unsigned int count, int flags) CNET_HOT;

/* A socket address of either family: a sockaddr_in or sockaddr_in6, and how long it is. */
struct cnet_name {
	uint32_t words[7];
	uint32_t bytes;
};

/* Reconnects a connected socket to its peer, so that the kernel chooses route and source address again: 0 or
 * -errno. */
int cnet_reconnect(int fd, const struct cnet_name *peer) CNET_HOT;

/* How cnet_settle has waited. */
enum cnet_settled {
	CNET_SETTLED_BY_BARRIER,
	CNET_SETTLED_BY_TABLE,
	CNET_SETTLED_BY_TIME,
};

/* Waits until the kernel's receive path has finished all packets in progress, so that they are in the
 * queues of their sockets: an RCU grace period (membarrier(2)), some 10 ms. */
enum cnet_settled cnet_settle(void);

/* Sleeps about that long, at most one second. */
void cnet_pause(unsigned int microseconds) CNET_HOT;

enum {
	CNET_WAIT_FOR_ONE = 0x10000, /* MSG_WAITFORONE */
	CNET_DONT_WAIT = 0x40,	     /* MSG_DONTWAIT */
	CNET_TRUNCATED = 0x20,	     /* MSG_TRUNC */

	/* Room for what a received message can carry: UDP_GRO and packet information. */
	CNET_RECEIVE_CONTROL = 128,
	/* Room for what a sent message can carry: UDP_SEGMENT, or packet information. */
	CNET_SEND_CONTROL = 64,
};

/* The control data of a received message. */
struct cnet_received {
	int segment; /* bytes of each datagram in a super-packet (udp(7), UDP_GRO); 0: one datagram */
	int has_destination; /* whether packet information was received */
	/* The destination address: bytes 0..7 and 8..15 in host order, IPv4 as ::ffff:a.b.c.d. */
	uint64_t destination_high;
	uint64_t destination_low;
};
void cnet_read_control(const struct msghdr *header, struct cnet_received *out) CNET_HOT;

/* Each writes one control message into the CNET_SEND_CONTROL bytes at `control` and returns the length
 * to put into msg_controllen. */
size_t cnet_write_segment(void *control, uint16_t bytes) CNET_HOT;
size_t cnet_write_source_v4(void *control, uint32_t address) CNET_HOT;		  /* host order */
size_t cnet_write_source_v6(void *control, uint64_t high, uint64_t low) CNET_HOT; /* host order */

/* Options by their kernel numbers; older glibc lacks the names. 0 or -errno. */
int cnet_enable_gro(int fd);
int cnet_enable_packet_information(int fd, int family);
/* Allows sending from addresses that this host does not have (ip(7), IP_TRANSPARENT): needs CAP_NET_RAW. */
int cnet_enable_transparent(int fd, int family);
/* SO_RCVBUFFORCE (CAP_NET_ADMIN, no cap), else SO_RCVBUF. *granted is the size that the kernel then
 * reports, twice the usable one (socket(7)). */
int cnet_set_receive_buffer(int fd, int bytes, int *granted);
int cnet_set_send_buffer(int fd, int bytes);
/* A filter that drops every datagram on arrival. */
int cnet_drop_all_input(int fd);
/* Datagrams that the kernel dropped at this socket (SO_MEMINFO, SK_MEMINFO_DROPS), or -errno. */
int64_t cnet_socket_drops(int fd);

/* One instruction of classic BPF: the kernel's sock_filter (linux/filter.h). */
struct cnet_instruction {
	uint16_t code;
	uint8_t jump_true, jump_false; /* instructions to skip */
	uint32_t operand;
};

enum cnet_opcode {
	CNET_LOAD_WORD = 0x20,	     /* A = the network-order word at `operand` */
	CNET_JUMP_IF_EQUAL = 0x15,   /* by whether A == operand */
	CNET_COPY_TO_X = 0x07,	     /* X = A */
	CNET_SHIFT_RIGHT = 0x74,     /* A >>= operand */
	CNET_XOR_X = 0xac,	     /* A ^= X */
	CNET_MULTIPLY = 0x24,	     /* A *= operand, modulo 2^32 */
	CNET_MODULO = 0x94,	     /* A %= operand */
	CNET_RETURN_A = 0x16,	     /* the result is A */
	CNET_RETURN_CONSTANT = 0x06, /* the result is operand */
};

/* Offsets of CNET_LOAD_WORD outside the payload. */
#define CNET_NETWORK_HEADER 0xfff00000U /* plus an offset in the IP header */
#define CNET_ETHER_PROTOCOL 0xfffff000U /* the EtherType, in host order */
#define CNET_CPU 0xfffff024U		/* the CPU that runs the program */

/* Attaches a program to the SO_REUSEPORT group of `fd` (socket(7), SO_ATTACH_REUSEPORT_CBPF; any user). Its
 * result is the index, in the kernel's array, of the socket that gets a datagram. It replaces the previous
 * program at once. */
int cnet_attach_group_program(int fd, const struct cnet_instruction *program, unsigned int count);
/* Returns the choice to the kernel's hash (Linux 5.3); -ENOENT when there was no program. */
int cnet_detach_group_program(int fd);
/* Removes a connected socket from its group's array, if the connect has not (Linux 5.7; before that with
 * CAP_NET_RAW). */
int cnet_leave_group(int fd);

/* The CPUs that the calling process may use, as bits of `words` words: how many CPUs, or -errno. */
int cnet_get_affinity(uint64_t *mask, unsigned int words);
/* Keeps the calling thread on one CPU. */
int cnet_pin_thread(unsigned int cpu);

/* Signals that are sent to our threads: no thread may block them, and libdispatch's threads do not block the
 * first one. */
#define CNET_SIGNAL_KEEP SIGSYS
#define CNET_SIGNAL_WAKE SIGUSR2

/* Releases every capability whose bit is 0, permanently, in every thread (capset(2), PR_CAPBSET_DROP): 0,
 * -ETIMEDOUT when a thread does not follow within a second, or -errno. */
int cnet_keep_capabilities(uint64_t mask);
/* The permitted capabilities of the calling thread: 0 or -errno. */
int cnet_permitted_capabilities(uint64_t *out);
/* 1 when a file has capabilities (setxattr(2), security.capability), else 0. */
int cnet_has_capabilities(const char *path);

/* Starts a thread that blocks all signals but these two, with a name for `top -H` (at most 15 characters). */
int cnet_thread_start(unsigned long *thread, size_t stack_bytes, const char *name,
		      void (*body)(void *), void *argument);
int cnet_thread_join(unsigned long thread);
/* Detaches a thread: it frees its resources when it ends. */
void cnet_thread_detach(unsigned long thread);

/* Limits the number of heaps that the threads share (mallopt(3)); existing heaps stay. */
void cnet_limit_heaps(int count);
/* Returns unused heap memory to the kernel. Swift does not see malloc_trim(3) itself. */
static inline void cnet_trim_heaps(void)
{
	malloc_trim(0);
}

/* Ends the system call in which a thread waits, with EINTR. A thread that is about to wait misses it. */
void cnet_thread_interrupt(unsigned long thread);

/* AF_XDP sockets. The first two make the kernel process the rings: 0 or -errno. */
int cnet_xdp_transmit(int fd) CNET_HOT;
int cnet_xdp_receive(int fd) CNET_HOT;
/* Waits for input: 1, 0 after this many milliseconds (-1: no limit) or a signal, or -errno. */
int cnet_wait_readable(int fd, int milliseconds) CNET_HOT;
/* Waits for a packet at a socket: 1, 0 after this many milliseconds or a signal, -1 when its interface is
 * gone or down. */
int cnet_wait_packets(int fd, int milliseconds) CNET_HOT;
/* The number of receive and transmit queues in use (ethtool(8) -l; ETHTOOL_GCHANNELS): 0 or -errno,
 * EOPNOTSUPP when the driver does not report it. */
int cnet_queues(const char *interface, uint32_t *receive, uint32_t *transmit);
/* Whether the driver counts pairs of queues (`ethtool -L IF combined N`) or, like veth, each direction
 * (`rx N tx N`): 1, 0, or -errno when it does not report it. */
int cnet_has_combined_queues(const char *interface);
/* Whether the driver strips VLAN tags of received frames (ethtool(8) -K IF rxvlan; ETHTOOL_GFLAGS): 1, 0, or
 * -errno when it does not report it. */
int cnet_strips_tags(const char *interface);
/* Makes a raw IPv6 socket send whole packets, as IPPROTO_RAW does for IPv4 (IPV6_HDRINCL, Linux 4.5): 0 or
 * -errno. */
int cnet_take_headers(int fd);
/* Prefetches the cache line at an address. */
CNET_HOT static inline void cnet_prefetch(const void *at)
{
	__builtin_prefetch(at);
}
/* Lets the socket's calls poll the device instead of interrupts (SO_PREFER_BUSY_POLL, Linux 5.11): the most
 * microseconds and packets per call. */
int cnet_prefer_busy_poll(int fd, int microseconds, int budget);

/* struct xdp_statistics (linux/if_xdp.h, XDP_STATISTICS). */
struct cnet_xdp_statistics {
	uint64_t receive_dropped;
	uint64_t receive_invalid;
	uint64_t transmit_invalid;
	uint64_t receive_ring_full; /* this and what follows: Linux 5.9 */
	uint64_t fill_ring_empty;
	uint64_t transmit_ring_empty;
};
int cnet_xdp_statistics(int fd, struct cnet_xdp_statistics *out);
/* Whether the device reads and writes the frames itself (XDP_OPTIONS): 1, 0 or -errno. */
int cnet_xdp_is_zero_copy(int fd);

/* Maps fresh pages, with `huge` from the pool of huge pages (mmap(2), MAP_HUGETLB); NULL when there are none.
 * munmap releases them. */
void *cnet_map_pages(size_t bytes, int huge);
/* Asks the kernel to use huge pages (madvise(2), MADV_HUGEPAGE): 0 or -errno. */
int cnet_wish_huge_pages(void *start, size_t bytes);

/* The number of filters at the clsact hooks of an interface, ingress and egress (rtnetlink(7),
 * RTM_GETTFILTER), or -errno. */
int cnet_clsact_filters(uint32_t ifindex);

/* A poller (epoll(7)), level-triggered: a descriptor, or -errno. */
int cnet_poller(void);
/* Adds a descriptor until it is closed. Errors wake the poller too. */
int cnet_poller_add(int poller, int fd, int for_writing, uint64_t token);
/* Waits for ready descriptors and returns their tokens, at most 64: how many, 0 after `milliseconds` (-1: no
 * limit), or -errno. */
int cnet_poller_wait(int poller, uint64_t *tokens, int count, int milliseconds);
/* A descriptor that is readable while it is raised (eventfd(2)), or -errno. */
int cnet_event(void);
void cnet_event_raise(int event);
void cnet_event_clear(int event);

/* Makes calls on the socket fail with every ICMP error, not only port unreachable (ip(7), IP_RECVERR). */
int cnet_report_errors(int fd, int family);
/* Makes a raw ICMP socket receive echo replies only. */
int cnet_echo_replies_only(int fd, int family);
/* Makes close reset the connection, so that nothing stays in TIME_WAIT (socket(7), SO_LINGER). */
int cnet_reset_on_close(int fd);

/* A stream socket that listens at a free path: a non-blocking descriptor, or -errno. `mode` is the mode of
 * the file, reduced by the umask (unix(7)). */
int cnet_unix_listen(const char *path, unsigned int mode, int backlog);
/* A stream socket connected to the one that listens at a path, or -errno; -EAGAIN when its queue of
 * connections stays full for this long. A send on it has the same limit. */
int cnet_unix_connect(const char *path, unsigned int milliseconds);
/* The next connection, or -EAGAIN when there is none, or -errno. */
int cnet_unix_accept(int fd);
/* The process that called connect or listen at the other end (unix(7), SO_PEERCRED): 0 or -errno. */
int cnet_unix_peer(int fd, uint32_t *uid, int32_t *pid);

/* A descriptor that is readable once the process has ended (pidfd_open(2), Linux 5.3), or -errno. */
int cnet_pidfd_open(int32_t pid);

/* Descriptors that one message can carry (net/core/scm.h, SCM_MAX_FD). */
enum {
	CNET_DESCRIPTORS_MAX = 253
};
/* Sends at least one byte, and descriptors with the first one (SCM_RIGHTS): bytes sent or -errno. */
int64_t cnet_send_descriptors(int fd, const void *bytes, size_t count, const int *descriptors,
			      unsigned int descriptor_count);
/* Receives bytes and up to CNET_DESCRIPTORS_MAX descriptors: bytes, 0 at the end, or -errno. The caller must
 * close the descriptors. */
int64_t cnet_receive_descriptors(int fd, void *bytes, size_t count, int *descriptors,
				 unsigned int *descriptor_count);

/* The type of the file system at a path, such as BPF_FS_MAGIC (statfs(2)), or -errno. */
int64_t cnet_file_system(const char *path);

/* A record of a DNS reply, in host order. Names have no dot at the end. */
struct cnet_dns_record {
	const char *name;
	const char *target; /* CNAME, SRV */
	uint16_t type;
	uint16_t priority, weight, port; /* SRV */
	uint32_t ttl;
	uint32_t absence_ttl; /* SOA */
	uint64_t high, low;   /* A as ::ffff:a.b.c.d, AAAA */
};
typedef void cnet_dns_take(void *context, const struct cnet_dns_record *record);

/* Asks name servers for the records of a name without search domains, and waits as resolver(3) does:
 * `count` servers, or those of resolv.conf(5) when it is 0; `seconds` and `attempts` as in resolv.conf(5)
 * when they are 0. Passes the records of the reply to `take`. The response code (RFC 1035: 0, or 3 when
 * there is no such name), or -errno: ETIMEDOUT, EBADMSG when the reply is malformed, ... */
int cnet_dns_ask(const char *name, int type, const struct cnet_name *servers, int count,
		 int seconds, int attempts, cnet_dns_take *take, void *context);

/* The name of an error, such as "EADDRINUSE", and its text; never NULL. */
const char *cnet_error_name(int code);
const char *cnet_error_text(int code);

#endif
