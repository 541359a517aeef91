/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CVethLab.h: namespaces, baselines and floods for a lab of veths. Functions return 0 or a descriptor,
 * or -errno.
 */
#ifndef CVETHLAB_H
#define CVETHLAB_H

#include <stdint.h>

enum {
	LAB_LANES_MAX = 4
};

/* A new network namespace; it ends with the descriptor and its last process. */
int lab_network(void);
/* Moves the calling thread into a network namespace; the descriptor of the one that it was in. */
int lab_enter(int network);

/*
 * Programs at the TC ingress hook of the interface `at`, in the network of the calling thread (TCX,
 * Linux 6.6). They are gone when the descriptor is closed. Neither parses, looks up nor counts.
 *
 * lab_bare_peer   bpf_redirect_peer to the other end of the veth `out`
 * lab_bare_neigh  bpf_redirect_neigh to `next_hop`, an IPv4 address in host order, by way of `out`
 */
int lab_bare_peer(const char *at, const char *out);
int lab_bare_neigh(const char *at, const char *out, uint32_t next_hop);

/* A client, a receiver, and a forwarder between them. */
struct lab_lane {
	int client, receiver; /* networks */
	uint32_t address;     /* where datagrams are sent to, IPv4 in host order */
	uint16_t port;	      /* of that, and of the receiver */
};

/* Forwarders alternate every few milliseconds, because a machine's speed changes from second to second. */
struct lab_cases {
	int cpu;     /* of the sender, and of all the kernel does on the way */
	int warm_up; /* of each, milliseconds */
	int turns;   /* of each */
	int milliseconds;
};

struct lab_count {
	uint64_t nanoseconds; /* all turns of a lane together */
	uint64_t arrived;     /* in that time */
	/* Warm-up included, and once nothing was under way any more. */
	uint64_t sent_in_all, arrived_in_all;
};

/*
 * Sends datagrams of 64 bytes from 16 ports, as many as one CPU can, and counts those at the receiver's
 * socket. The lanes' order changes with every turn.
 *
 * @lanes, @counts  LAB_LANES_MAX at most
 */
int lab_flood(const struct lab_lane *lanes, int count, const struct lab_cases *turns,
	      struct lab_count *counts);

/* A client, a receiver and a forwarder between them, with XDP frames as input. */
struct lab_wire {
	int client, receiver; /* networks */
	const char *end;      /* the name of the veth's end in both */
	uint64_t mac;	  /* of the balancer's end of the client's veth, the first byte highest */
	uint32_t address; /* where datagrams are sent to, IPv4 in host order */
	uint16_t port;	  /* of that, and of the receiver */
	int forwarder;	  /* the process; it runs during its turns, and is stopped otherwise. 0: the
			* kernel forwards */
	uint32_t sources; /* used round robin: 1 … 2^20, a power of two */
	uint32_t known;	  /* that have sent before the first turn: a power of two, >= sources */
};

struct lab_rate {
	uint64_t nanoseconds; /* all turns of a wire together */
	uint64_t arrived;     /* in that time */
	uint64_t cpu_ns;      /* of the forwarder's threads, in that time */
	/* Warm-up included, and once nothing was under way any more. */
	uint64_t sent_in_all, arrived_in_all;
};

/* Lets the veth's end accept XDP frames without a program there; in the calling thread's network. */
int lab_take_frames(const char *end);

/* CPU time that a process has used, in ns; 0 when it is gone. */
uint64_t lab_cpu_ns(int process);

/*
 * Sends a few datagrams and waits for one at the receiver's socket, whose kernel verifies its checksums.
 *
 * @return  1 when one arrived within 20 ms, and none is in flight any more; 0 otherwise
 */
int lab_wire_delivers(const struct lab_wire *wire);

/*
 * A native program at the XDP hook of the interface `at`, in the calling thread's network: it overwrites the
 * Ethernet and IP addresses of the wire's frames, and sends them out of `out`, or back when that is NULL. It
 * parses, looks up and counts nothing. Closing the descriptor removes it.
 */
int lab_bare_translate(const char *at, const char *out, const struct lab_wire *wire,
		       uint64_t mac_to, uint32_t address_to);

/*
 * Sends datagrams of 64 bytes from all sources, more than any forwarder can forward, and counts those at the
 * receiver's end of the wire. Each turn begins with a warm-up. The order changes with every turn.
 *
 * @wires, @rates  LAB_LANES_MAX at most
 */
int lab_wire_flood(const struct lab_wire *wires, int count, const struct lab_cases *turns,
		   struct lab_rate *rates);

#endif
