/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reuseport_lb.h: processes share one UDP or TCP port, and each source goes to one of them
 *
 * A *group* is a BPF program of type sk_reuseport with its maps, pinned below a BPF file system. Its
 * *members* are UDP sockets or TCP listeners bound to one address with SO_REUSEPORT, each in a *slot*
 * below the group's *count*. UDP sockets and TCP listeners have separate slots: slot 0 may have one of
 * each. A table names the preferred member of each source. While that member is gone, a fallback member
 * that depends only on the source takes its packets. The sources of other members do not move, and its
 * own return with it. Without any member the kernel chooses among the sockets on the port.
 *
 *     struct rplb_group *group;
 *     int fd;
 *     int error = rplb_socket_udp(address, address_length, 0, &fd);
 *     if (!error) error = rplb_group_open("netflow", &RPLB_OPTIONS(.count = 3), &group);
 *     if (!error) error = rplb_join(group, fd, 0);
 *     if (error) fprintf(stderr, "%s: %s\n", strerror(-error), rplb_explain(error));
 *
 * Functions that return int return 0, or -errno with unchanged out-parameters. `rplb_explain` explains
 * each errno with its remedy. The library does not print, exit or touch signals; descriptors are
 * close-on-exec. Functions may be called from any thread; only `rplb_group_close` must be the last call
 * with its group. A group must not be used by both processes after fork(2). Processes exclude each other by
 * flock(2) on the group's folder.
 */

/* `make reference` turns the comments into docs/reference/c-api.md and the manual page: `@name` begins a parameter,
 * the name of an errno with a minus an error, four spaces begin code. */
#ifndef REUSEPORT_LB_H
#define REUSEPORT_LB_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The highest capacity of a group: its slots, and thus the highest count. */
#define RPLB_MEMBERS_MAX 1024
/* The capacity of a group unless rplb_options says otherwise. */
#define RPLB_CAPACITY 128
/* Most sockets that rplb_members lists: two of each slot, UDP and TCP. */
#define RPLB_MEMBERS_LISTED (4 * RPLB_MEMBERS_MAX)
/* The highest value of rplb_options.flows. */
#define RPLB_FLOWS_MAX (1 << 20)

/* Where groups are pinned by default. */
#define RPLB_PIN_ROOT "/sys/fs/bpf"

/* The flow key of a group. */
enum rplb_key {
	RPLB_KEY_ANY = 0,	  /* the group's key; a new group: RPLB_KEY_SOURCE_IP */
	RPLB_KEY_SOURCE_IP = 1,	  /* a source address goes to one member */
	RPLB_KEY_FOUR_TUPLE = 2,  /* a flow (both addresses, both ports) goes to one member */
	RPLB_KEY_ROUND_ROBIN = 3, /* each datagram or connection to the next member, per CPU */
	RPLB_KEY_RANDOM = 4,	  /* each datagram or connection to a random member */
	RPLB_KEY_PAYLOAD = 5,	  /* bytes of the UDP payload: rplb_options.payload */
	RPLB_KEY_CPU = 6,	  /* each packet to the member of its CPU, CPU modulo count */
};

/* Which bytes of the UDP payload RPLB_KEY_PAYLOAD hashes. A datagram without them goes by its source address
 * (RPLB_PAYLOAD_IPFIX_DOMAIN, RPLB_PAYLOAD_NETFLOW_SOURCE) or its four-tuple (all others). So does TCP. */
enum rplb_payload_kind {
	RPLB_PAYLOAD_BYTES = 1,		 /* `length` bytes at `offset` */
	RPLB_PAYLOAD_IPFIX_DOMAIN = 2,	 /* source address and observation domain */
	RPLB_PAYLOAD_NETFLOW_SOURCE = 3, /* source address and source ID (v9) or engine (v5) */
	RPLB_PAYLOAD_RADIUS_ID = 4,	 /* the identifier */
	RPLB_PAYLOAD_SIP_CALL_ID = 5,	 /* 64 bytes of a Call-ID within 1024 bytes */
	RPLB_PAYLOAD_QUIC_SERVER_ID = 6, /* bytes of a connection ID that a server chose */
	RPLB_PAYLOAD_DTLS_SERVER_ID = 7, /* bytes of a connection ID */
};

/* All zero unless the key is RPLB_KEY_PAYLOAD. */
struct rplb_payload_key {
	enum rplb_payload_kind kind;
	uint32_t offset; /* of BYTES 0..1023; of server IDs within the connection ID; else 0 */
	uint32_t length; /* of BYTES and server IDs 1..20; else 0 */
	uint32_t skip;	 /* bytes of an encapsulation in front of the header, 0..255 */
};

/* Flags of rplb_options. */
enum rplb_flags {
	/* Only open a group that exists: -ENOENT otherwise. */
	RPLB_EXISTING = 1 << 0,
	/* Mount a BPF file system (mode 0711) at the pin root if there is none, which needs root. */
	RPLB_MOUNT = 1 << 1,
	/* Without the privilege to create the group, choose by source address with a classic BPF program, and say so at
	 * RPLB_LOG_ERROR. The sockets on the port are then numbered in the order of binding, all processes must name the
	 * same count, and the kernel chooses by its own hash while there are fewer sockets. When a member ends, sources
	 * of others move too. rplb_join, rplb_attach and rplb_info work; to leave, close the socket. Not for a group with
	 * another key or with flows. */
	RPLB_FALLBACK = 1 << 2,
};

/* The levels of log lines. */
enum rplb_level {
	RPLB_LOG_ERROR, /* warnings of libbpf, and the verifier's log */
	RPLB_LOG_INFO,
	RPLB_LOG_DEBUG, /* other messages of libbpf; with --enable-debug also the library's */
};

/* Gets each log line without its newline, on the thread that called the library. It must not call the library. */
typedef void (*rplb_log_fn)(void *context, enum rplb_level level, const char *line);

/* Made by RPLB_OPTIONS, or all zero but the size. */
struct rplb_options {
	/* sizeof(struct rplb_options). A library that is older than its caller refuses members that it does not
	 * know, unless they are zero. */
	size_t size;
	/* An absolute path on a BPF file system; NULL: RPLB_PIN_ROOT. */
	const char *pin_root;
	/* The number of members, 1..capacity; 0 keeps the group's count, and the group must exist.
	 * The first successful rplb_join through this handle resizes a group with another count, so that a
	 * refused start changes nothing; rplb_resize resizes it at once. */
	uint32_t count;
	enum rplb_key key;
	/* Mixed into the hash; hosts with the same seed and count choose alike. NULL: the group's seed; a
	 * new group: 0. */
	const uint64_t *seed;
	/* Owner, group and mode of the pins of a new group. 0 or -1: the caller; mode 0: 0600. All members
	 * must have the same uid (socket(7)). */
	uid_t owner;
	gid_t owner_group;
	mode_t mode;
	unsigned int flags; /* enum rplb_flags */
	/* A compiled program that replaces the embedded one; NULL and 0: the embedded one. Required if the
	 * library was built without one. */
	const void *object;
	size_t object_bytes;
	rplb_log_fn log; /* may be NULL */
	void *log_context;
	struct rplb_payload_key payload;
	/* The slots of a new group, 1..RPLB_MEMBERS_MAX; 0: the group's, a new group: RPLB_CAPACITY. */
	uint32_t capacity;
	/* How many flows a new group remembers, up to RPLB_FLOWS_MAX: a flow stays with its member as long as that is
	 * in its slot, also when the count changes; a flow whose member has gone stays with its fallback. A flow is
	 * what the key hashes, such as a source address. The kernel forgets those that were idle longest, in batches
	 * of up to 128. 0: the group's, a new group: none. */
	uint32_t flows;
};

/* Options with these members, as in &RPLB_OPTIONS(.count = 3); the others have their defaults. In C++: rplb_options
 * options{}; options.size = sizeof(options); */
#define RPLB_OPTIONS(...) ((struct rplb_options){.size = sizeof(struct rplb_options), __VA_ARGS__})

/* An open group. */
struct rplb_group;

/*
 * Opens the group `name` below the pin root, or creates it if it does not exist. Creating needs CAP_BPF and
 * CAP_NET_ADMIN (before Linux 5.8: CAP_SYS_ADMIN) or root; opening needs only the permission to read and write
 * the pins.
 *
 * @name     1..64 characters without '/' and '.', or NULL for a private group: nothing is pinned, no
 *           other process can open it, and it lasts as long as a member's socket
 * @options  may be NULL
 *
 * -EINVAL           name or options are malformed
 * -E2BIG            the options have a member that this version does not know
 * -ERANGE           count above the capacity, or 0 for a private group; capacity above RPLB_MEMBERS_MAX
 * -ENODEV           the pin root is no BPF file system
 * -ENOENT           the group does not exist, and RPLB_EXISTING is set or count is 0
 * -EPERM            the group does not exist, and the privilege to create it is missing
 * -EACCES           the pins belong to another user, or the pin root cannot be searched
 * -ESTALE           the group exists with another key, payload key, seed, capacity or number of flows
 * -EBUSY            a lower count would cut off a live member
 * -EPROTONOSUPPORT  another version of this library, or another program, made the pins
 * -EOPNOTSUPP       the kernel has no sk_reuseport programs (Linux 4.19)
 * -ENOEXEC          the kernel (Linux 5.6 or later is required) or libbpf refused the program; the
 *                   log has the cause
 * -ETIMEDOUT        another process has held the group's lock for 5 seconds
 *
 * With RPLB_FALLBACK, what the classic program cannot do fails with -EOPNOTSUPP in the other functions.
 */
int rplb_group_open(const char *name, const struct rplb_options *options,
		    struct rplb_group **group);

/* Closes a group. Members stay in their slots, and pins stay. NULL is allowed. */
void rplb_group_close(struct rplb_group *group);

/*
 * Removes the pins of a group that has no members, and those of a group whose creator died.
 *
 * @pin_root  NULL: RPLB_PIN_ROOT
 *
 * -EBUSY  the group has a live member
 * -ENOENT, -EACCES, -EPROTONOSUPPORT, -ETIMEDOUT  as for `rplb_group_open`
 */
int rplb_group_destroy(const char *pin_root, const char *name);

/*
 * Creates a UDP socket with SO_REUSEPORT and binds it. Bind before opening the group: if bind fails, no new
 * group is left behind.
 *
 * @receive_buffer  bytes for SO_RCVBUF, above net.core.rmem_max with CAP_NET_ADMIN only; 0: the
 *                  system's default. getsockopt(2) returns the granted size.
 * @fd              the socket: blocking, not connected, in no slot
 *
 * -EADDRINUSE     a socket without SO_REUSEPORT, or of another uid, has the address
 * -EADDRNOTAVAIL  the host does not have the address
 * -EAFNOSUPPORT   the address is neither IPv4 nor IPv6
 * -EACCES         the port is below net.ipv4.ip_unprivileged_port_start, and CAP_NET_BIND_SERVICE is missing
 *
 * Also errors of socket(2) and bind(2).
 */
int rplb_socket_udp(const struct sockaddr *address, socklen_t length, int receive_buffer, int *fd);

/*
 * Puts a socket into a slot, then attaches the program to the socket's SO_REUSEPORT group; in this order no
 * packet is lost in between. A UDP socket must be bound, a TCP socket must listen, both with SO_REUSEPORT
 * set before bind(2). The caller keeps the socket. When it is closed, or its process dies, its slot is empty at
 * once. The first member fixes the address and port while any member lives.
 *
 * -ERANGE         the slot is not below the count, the group's or the one that it was opened with
 * -EEXIST         a live member is in the slot
 * -EBUSY          the socket is in a slot already, or the count that the group was opened with would
 *                 cut off a live member
 * -ENOTSOCK, -EPROTOTYPE  the descriptor is no socket, or neither UDP nor TCP over IP
 * -EDESTADDRREQ   the socket is not bound
 * -ENOTCONN       the TCP socket does not listen
 * -ENOPROTOOPT    the socket has no SO_REUSEPORT, or set it after bind, or is a connected UDP socket
 * -EADDRNOTAVAIL  the live members are bound to another address, port or device, are in another
 *                 network namespace, or differ in IPV6_V6ONLY
 * -ENOENT         the group has been destroyed since it was opened
 * -ESTALE         this handle created the group while members of a live group whose pins were removed have
 *                 the address, and that group has another key or seed
 * -ETIMEDOUT      as for `rplb_group_open`
 *
 * If the pins of a group are removed while its members live, a second group would take all packets. So the
 * first member of a new group looks for members of another group with its address. With CAP_SYS_ADMIN it pins
 * that group again, joins it, and logs a line at RPLB_LOG_ERROR. Without the privilege it logs that the program
 * of another group has been replaced.
 */
int rplb_join(struct rplb_group *group, int fd, uint32_t slot);

/*
 * As `rplb_join`, but a live member of the slot stays until it leaves: the socket becomes the slot's current one in
 * one step, and the other one its previous one, which gets packets again if the current one closes first. No
 * source goes to another slot. In an empty slot it is `rplb_join`.
 *
 * -EEXIST  the slot has a current and a previous member: the previous one has not left yet
 */
int rplb_replace(struct rplb_group *group, int fd, uint32_t slot);

/*
 * Puts a UDP socket of another process into a slot: of a program that binds with SO_REUSEPORT itself and does not use
 * this library. The process keeps its socket; when it closes it or ends, the slot is empty. Needs the permission to
 * trace the process (ptrace(2)): the same user, or root.
 *
 * @pid       the process
 * @port      the port of the socket; 0: the only bound UDP socket with SO_REUSEPORT
 * @replaces  1: as `rplb_replace`; 0: as `rplb_join`
 *
 * -ESRCH     there is no such process
 * -EPERM     this process may not trace it
 * -ENXIO     it has no such socket
 * -ENOTUNIQ  it has several such sockets
 *
 * Also errors of `rplb_join` and `rplb_replace`.
 */
int rplb_adopt(struct rplb_group *group, pid_t pid, uint16_t port, uint32_t slot, int replaces);

/*
 * Puts a socket into a slot as the socket of another process, which shares it with this one: `rplb_members` lists that
 * process.
 *
 * @pid       the process
 * @replaces  1: as `rplb_replace`; 0: as `rplb_join`
 *
 * Errors of `rplb_join` and `rplb_replace`.
 */
int rplb_adopt_fd(struct rplb_group *group, int fd, pid_t pid, uint32_t slot, int replaces);

/* Whether another live socket has replaced this one: 1 or 0; -ENOENT: it is in no slot. */
int rplb_is_replaced(struct rplb_group *group, int fd);

/*
 * Empties the socket's slot: its sources go to other members, and its queue can still be read. Until the socket is
 * closed, the kernel may deliver packets to it while the group has no member. It also works after the group's pins
 * have been removed.
 *
 * -ENOENT  the socket is in no slot
 */
int rplb_leave(struct rplb_group *group, int fd);

/*
 * Leaves the slot for good: empties it, connects the UDP socket to a port that sends nothing, so that the kernel
 * skips it, and waits about 10 ms for packets that are on their way into it. The socket cannot join again.
 *
 * To close the socket without loss call `rplb_retire`, then recv(2) with MSG_DONTWAIT until it fails with EAGAIN,
 * then close(2).
 *
 * -EPROTOTYPE  not a UDP socket
 * -ENOENT      the socket is in no slot
 *
 * Also errors of connect(2).
 */
int rplb_retire(struct rplb_group *group, int fd);

/* As rplb_retire, but only while another live socket has replaced this one: -EAGAIN otherwise. A replaced
 * member calls it some time after rplb_is_replaced, so that it keeps the slot if the new one fails at its
 * start. */
int rplb_retire_replaced(struct rplb_group *group, int fd);

/* Attaches the program to the SO_REUSEPORT group of a socket without joining, so that it also chooses for
 * sockets that other processes have bound. Errors of the socket as for `rplb_join`. */
int rplb_attach(struct rplb_group *group, int fd);

/*
 * Changes the count of a group, 1..capacity. From N to N+1 about 1 source in N+1 moves.
 *
 * -EBUSY   a lower count would cut off a live member
 * -ERANGE  the count is not 1..capacity
 */
int rplb_resize(struct rplb_group *group, uint32_t count);

/* The properties of a group. */
struct rplb_info {
	uint32_t abi; /* version of the layout of the pins */
	uint32_t count;
	enum rplb_key key;
	uint64_t seed;
	/* The members' address; ss_family is 0 before the first one has joined. */
	struct sockaddr_storage address;
	struct rplb_payload_key payload;
	uint32_t capacity;
	uint32_t flows;	 /* how many flows it remembers; 0: none */
	int is_fallback; /* RPLB_FALLBACK */
};

/* Reports the properties of a group. */
int rplb_info(struct rplb_group *group, struct rplb_info *info);

/* The counters of a slot since the group was created, UDP and TCP together. They count packets as the kernel delivers
 * them: datagrams that the kernel has merged (GRO, UDP_SEGMENT) count once. */
struct rplb_counters {
	uint64_t selected; /* packets that the member took as first choice */
	uint64_t fallback; /* packets that it took as fallback for one that was gone */
	uint64_t missed;   /* packets whose first choice it was while it was gone */
};

/*
 * Reports the counters of a slot.
 *
 * -ERANGE  the slot is not below the capacity
 */
int rplb_counters(struct rplb_group *group, uint32_t slot, struct rplb_counters *counters);

/* Reports the number of packets without a member: the kernel chose among the sockets on the port. */
int rplb_left_to_kernel(struct rplb_group *group, uint64_t *packets);

/* Reports the number of packets of flows that the group did not remember, because they were new or forgotten; 0
 * without rplb_options.flows. */
int rplb_flows_missed(struct rplb_group *group, uint64_t *packets);

/* A socket in a slot. */
struct rplb_member {
	uint32_t slot;
	int protocol;	    /* IPPROTO_UDP or IPPROTO_TCP */
	uint64_t cookie;    /* SO_COOKIE of the socket; bpftool shows it as the value */
	uint64_t joined_ns; /* since 1970; 0: not put there by this library */
	uint64_t
		generation; /* 1 for the first socket of the slot, one more for each later one; or 0 */
	pid_t pid;	    /* of the process that joined, in its own pid namespace; or 0 */
	uid_t uid;	    /* its effective uid */
	int is_previous;    /* 1: another socket has replaced it, and it has not left yet */
};

/* Lists the members by protocol and slot, the current one of a slot first, at most `capacity` of them; *found is
 * the full number, at most RPLB_MEMBERS_LISTED. */
int rplb_members(struct rplb_group *group, struct rplb_member *members, size_t capacity,
		 size_t *found);

/*
 * Finds the member that gets the packets of a source now, by the steps of the kernel program.
 *
 * @protocol     IPPROTO_UDP or IPPROTO_TCP
 * @source       the sender's address; its port matters for RPLB_KEY_FOUR_TUPLE alone
 * @destination  the receiver's address, for RPLB_KEY_FOUR_TUPLE; else NULL
 * @slot         the slot of the source
 * @member       the slot's member, or a member of another slot that is its fallback; cookie 0: the group has no member
 *
 * -EDOM          the group's key is no property of a packet (round robin, random, CPU)
 * -EDESTADDRREQ  the key needs a destination
 * -ENODATA       the key needs a payload: call rplb_slot_of_payload
 * -EAFNOSUPPORT  an address is neither IPv4 nor IPv6
 */
int rplb_slot_of(struct rplb_group *group, int protocol, const struct sockaddr *source,
		 const struct sockaddr *destination, uint32_t *slot, struct rplb_member *member);

/*
 * As `rplb_slot_of`, for a datagram with this payload.
 *
 * @destination  may be NULL if the payload has the key's bytes
 * @payload      the UDP payload; other keys than RPLB_KEY_PAYLOAD ignore it
 */
int rplb_slot_of_payload(struct rplb_group *group, int protocol, const struct sockaddr *source,
			 const struct sockaddr *destination, const void *payload, size_t bytes,
			 uint32_t *slot, struct rplb_member *member);

struct rplb_label {
	const char *name;
	const char *value;
};

/* One sample of a metric, named as Prometheus expects it. Its pointers are valid during the call. */
struct rplb_sample {
	const char *name; /* such as reuseportlb_selected_packets_total */
	const char *help;
	int is_counter;			 /* else a gauge */
	const struct rplb_label *labels; /* `group` first, then `slot`, `state` */
	size_t label_count;
	uint64_t value;
};

typedef void (*rplb_sample_fn)(void *context, const struct rplb_sample *sample);

/*
 * Calls `each` with the group's samples: slots, members by state, the counters of each slot, packets left to the kernel,
 * flows missed, and drops, queue and buffer of each UDP member's socket if the members are in the caller's network
 * namespace. `each` must not call the library.
 */
int rplb_samples(struct rplb_group *group, rplb_sample_fn each, void *context);

/* What the kernel does for the reader of a UDP socket. */
enum rplb_prepare {
	/* Datagrams of one sender come merged (UDP_GRO, Linux 5.0), which makes bursts cheap. Other ways to read
	 * the socket than rplb_receive_batch then return several datagrams as one. Where the network card or a sender on this host
	 * merges them, the group's counters count a merged packet once. */
	RPLB_GRO = 1,
	/* rplb_datagram.received_ns (SO_TIMESTAMPNS). */
	RPLB_TIMESTAMPS = 2,
	/* rplb_datagram.drops (SO_RXQ_OVFL). */
	RPLB_DROPS = 4,
};

/*
 * Prepares a UDP socket for rplb_receive_batch.
 *
 * @flags  enum rplb_prepare, combined
 *
 * -EINVAL       an unknown flag
 * -ENOPROTOOPT  the kernel has no UDP_GRO
 *
 * Also errors of setsockopt(2).
 */
int rplb_socket_prepare(int fd, unsigned int flags);

/* Memory for the datagrams of one call, for one thread at a time. */
struct rplb_batch;

/*
 * Allocates a batch: 64 KiB of address space a message, of which the kernel provides what datagrams reach.
 *
 * @messages  1..1024: datagrams, or packets that the kernel has merged, received by one call
 * @bytes     at least 1: what is kept of a datagram
 * @batch     for rplb_batch_free
 */
int rplb_batch_new(uint32_t messages, uint32_t bytes, struct rplb_batch **batch);
/* Frees a batch. NULL is allowed. */
void rplb_batch_free(struct rplb_batch *batch);

/* A received datagram. Its pointers are valid until the next call with the batch. */
struct rplb_datagram {
	const void *bytes;
	uint32_t kept;	 /* at `bytes` */
	uint32_t length; /* of the datagram; above `kept` if it was cut */
	const struct sockaddr *source;
	/* When the kernel received it, nanoseconds since 1970; 0 without RPLB_TIMESTAMPS. */
	uint64_t received_ns;
	/* Datagrams that the kernel had dropped at the socket before it queued this one; wraps around at 2^32. 0 without
	 * RPLB_DROPS. */
	uint32_t drops;
};

enum rplb_receive {
	RPLB_DONT_WAIT = 1
};

/*
 * Receives what waits in a UDP socket in one recvmmsg(2), and splits merged datagrams without copying them. It waits for
 * the first datagram; shutdown(fd, SHUT_RD) ends the wait.
 *
 * @limit      most messages to receive; 0: as many as the batch has room for
 * @flags      RPLB_DONT_WAIT, or 0
 * @datagrams  those received
 * @count      how many; 0: the queue is empty, or the wait was ended
 *
 * Errors of recvmmsg(2); an interrupted call is repeated.
 */
int rplb_receive_batch(struct rplb_batch *batch, int fd, uint32_t limit, unsigned int flags,
		       const struct rplb_datagram **datagrams, size_t *count);

/* Explains an error, errno or -errno, with its remedy. Returns a constant string, never NULL. */
const char *rplb_explain(int error);

/* The calls with their own meanings of errors. */
enum rplb_call {
	RPLB_CALL_ANY = 0,
	RPLB_CALL_OPEN,	   /* rplb_group_open */
	RPLB_CALL_DESTROY, /* rplb_group_destroy */
	RPLB_CALL_SOCKET,  /* rplb_socket_udp */
	RPLB_CALL_JOIN,	   /* rplb_join, rplb_replace, rplb_attach */
	RPLB_CALL_LEAVE,   /* rplb_leave, rplb_retire, rplb_retire_replaced, rplb_is_replaced */
	RPLB_CALL_RESIZE,  /* rplb_resize */
	RPLB_CALL_REPORT, /* rplb_info, rplb_counters, rplb_left_to_kernel, rplb_flows_missed, rplb_members,
			      rplb_samples */
	RPLB_CALL_ADOPT, /* rplb_adopt */
};

/* Explains an error of one call with its remedy. Returns a constant string, never NULL. */
const char *rplb_explain_call(enum rplb_call call, int error);

/* Returns the version of the library, such as "0.1.0". */
const char *rplb_version(void);

#ifdef __cplusplus
}
#endif

#endif
