/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * tables.h: the tables of the kernel modes: the listener of a datagram, the owner of its slot, and the
 * path to that receiver.
 *
 * A listener's table is one value of a map of its own, and the map is in an array of maps. User
 * space fills a new map and replaces the old one, which is one store; the kernel frees the old one when
 * no program reads it any more. So no packet sees a partial table.
 */
#ifndef LB_TABLES_H
#define LB_TABLES_H

#include "counters.h"
#include "flow_key.h"
#include "limits.h"
#include "payload_key.h"

/* Listeners of one kernel mode. */
#define LB_LISTENERS_MAX 64

/* Map `listeners`: the key of a datagram's destination; its value is the listener's number. An entry
 * with port 0 means that the address is served on some port, for fragments, which have none. */
struct lb_listener_key {
	struct lb_addr address; /* all zero: every destination (`addresses: any`) */
	__u32 ifindex;		/* where the datagram comes in */
	__u16 port;		/* host order */
	__u16 reserved;		/* zero */
};

/* Map `ports`: how a port is served. Most ports have one destination, which the listener's table has;
 * the map `listeners` has all destinations. */
#define LB_PORT_FREE 0 /* no listener */
#define LB_PORT_SHARED                                                                             \
	0xffffffff /* several destinations; any other value: a listener's number + 1 */

/* The key of a listener's balance; in the order of the daemon's enumeration KeySource. */
enum lb_key_source {
	LB_KEY_COUNTER = 1, /* a counter a CPU */
	LB_KEY_RANDOM = 2,
	LB_KEY_SOURCE_IP = 3,
	LB_KEY_FOUR_TUPLE = 4,
	LB_KEY_PAYLOAD = 5, /* bytes of the UDP payload (payload_key.h) */
};

/* The path to a receiver; user space finds it by the routes, and follows their changes. */
enum lb_path {
	LB_PATH_STACK =
		0, /* rewritten, it goes up: a receiver on this host, or a link without addresses */
	LB_PATH_FIB = 1,   /* the route is looked up for each packet: more than one next hop */
	LB_PATH_NEIGH = 2, /* out of `ifindex` to `next_hop`, whose address the kernel resolves */
	LB_PATH_PEER = 3,  /* straight to the other end of the veth `ifindex`, as `mac` */
};

/* Other properties of a receiver: bits of `flags`. */
#define LB_RECEIVER_REMOTE                                                                         \
	1 /* on another host: without a route, or without forwarding, nothing gets there */
#define LB_RECEIVER_UNPLUGGED 2 /* its link has no carrier: packets to it are lost */

/* A receiver, as the programs use it. */
struct lb_receiver {
	struct lb_addr address;
	struct lb_addr next_hop; /* the receiver's own address when it is on the link */
	__u32 ifindex;
	__u32 mtu;  /* of the route, in bytes of IP packet; 0: any */
	__u32 row;  /* in `receiver_rows` */
	__u16 port; /* host order */
	__u8 path;  /* enum lb_path */
	__u8 is_v6;
	__u8 mac[6]; /* the peer's (LB_PATH_PEER) */
	__u8 flags;
	__u8 reserved;
};

/* The head of a listener's table. After it come at most LB_DOWNSTREAMS_MAX receivers, then the slots;
 * the capacity of a map for both is fixed when it is created. */
struct lb_table {
	__u64 seed;
	__u64 seed_v4;		/* lb_hash_high(seed, 0) */
	__u32 key;		/* enum lb_key_source */
	__u32 slots;		/* slots in use; 0: no receiver is ready */
	__u32 max_packet_size;	/* of UDP payload */
	__u32 row;		/* in `listener_rows` */
	struct lb_addr address; /* where the map `ports` leads here: the destination, */
	__u32 ifindex;		/* and where its datagrams come in */
	__u32 reserved;
	struct lb_payload_key payload; /* of LB_KEY_PAYLOAD; else zero */
};

/* A row of counters (counters.h), per CPU. */
struct lb_row {
	__u64 count[LB_COUNTERS];
};

/* Map `fragments`: the fate of a datagram's first fragment, for the later ones. User space neither reads
 * nor writes it. */
struct lb_fragment_key {
	struct lb_addr source;
	struct lb_addr destination;
	__u32 id;
	__u32 ifindex;
};
enum lb_fate {
	LB_FATE_SENT,	 /* to `receiver` */
	LB_FATE_DROPPED, /* and counted */
	LB_FATE_PASSED,	 /* a later fragment came first: all of the datagram goes to the stack */
};
struct lb_fragment {
	/* A copy, so that the rest of a datagram goes to the same receiver when the table changes. */
	struct lb_receiver receiver;
	__u64 seen_ns; /* bpf_ktime_get_ns; identifications come round again */
	__u32 fate;    /* enum lb_fate */
	__u32 reserved;
};

_Static_assert(sizeof(struct lb_listener_key) == 24, "no hidden padding");
_Static_assert(sizeof(struct lb_receiver) == 56, "no hidden padding");
_Static_assert(sizeof(struct lb_table) == 64, "no hidden padding");
_Static_assert(sizeof(struct lb_fragment_key) == 40, "no hidden padding");
_Static_assert(sizeof(struct lb_fragment) == 72, "no hidden padding");

#endif
