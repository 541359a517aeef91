/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * nat.h: what xdp_nat.bpf.c and the daemon share: who serves an address, which server a client is
 * associated with, and what the program counts.
 *
 *   endpoint     an address and port that packets come to or from: of a service or of a server
 *   service      the address, port and protocol that clients know (the VIP); a listener has one for each
 *                of its addresses
 *   server       a receiver of a listener: its answers leave as its service
 *   association  a client's endpoint and the server that it stays with
 *
 * Services and servers have numbers, below LB_SERVICES_MAX and LB_SERVERS_MAX. Associations name them,
 * and are kept while the daemon is away, so a number keeps its meaning as long as the maps live.
 *
 * A server leaves by its generation: user space sets it to 0, and from then on every association that
 * names the old one is void, without a walk. A generation is never used again.
 */
#ifndef LB_NAT_H
#define LB_NAT_H

#include "counters.h"
#include "flow_key.h"
#include "tables.h"

#define LB_SERVICES_MAX 1024
#define LB_SERVERS_MAX 4096

/* Protocol numbers (IANA) beside LB_IP_UDP. */
#define LB_IP_ICMP 1
#define LB_IP_TCP 6
#define LB_IP_ICMPV6 58

/* Whose an endpoint is; bits, since of an address several may hold. */
enum lb_nat_role {
	LB_NAT_SERVICE = 1,
	LB_NAT_SERVER = 2,
	/* An address of the host itself, port 0: a server's packets to it are not for clients, such as the
	 * answer to a health probe, and go to the stack untouched. */
	LB_NAT_HOST = 4,
};

/*
 * One place of the table of endpoints: map `endpoints`, whose one value is a map with one value, all places.
 * User space fills a new one and puts it in the old one's place, as with listeners' tables (tables.h).
 *
 * A hash table, since the kernel's take twice the time: an endpoint is in the place that lb_nat_place says,
 * or in one of the LB_NAT_PROBES - 1 after it, with no free place before it. User space makes the table
 * large enough for that; sixteen times as many places as endpoints are plenty. Of every service and server
 * there are two: one with its port and protocol, and one with both 0, for packets that have no port
 * (fragments, malformed ones).
 */
struct lb_nat_endpoint {
	struct lb_addr address;
	__u16 port;    /* host order */
	__u8 protocol; /* LB_IP_UDP, LB_IP_TCP; 0 with port 0 */
	__u8 roles; /* enum lb_nat_role, of which a service goes before a server; 0: the place is free */
	__u16 number;	/* of the service or server; unused with port 0 */
	__u16 listener; /* the index of its table; unused with port 0 */
};

#define LB_NAT_PROBES 4

/* The first place to look in for an endpoint, of a number of places that is a power of two. */
LB_INLINE __u32 lb_nat_place(struct lb_addr address, __u16 port, __u8 protocol, __u32 places)
{
	__u64 hash = address.high * 0x9e3779b97f4a7c15ULL;

	hash = (hash ^ address.low ^ ((__u64)port << 40 | (__u64)protocol << 32)) *
	       0xff51afd7ed558ccdULL;
	return (__u32)(hash >> 40) & (places - 1);
}

/* Map `services`, by number, written by user space. */
struct lb_nat_service {
	struct lb_addr address;
	__u32 listener;
	__u16 port; /* host order */
	__u8 protocol;
	__u8 is_v6;
};

/* Map `servers`, by number, written by user space. To put another server in a number's place: store
 * generation 0, then the rest, then the new generation. */
struct lb_nat_server {
	struct lb_addr address;
	__u32 generation; /* 0: there is no such server any more */
	__u32 listener;
	__u32 service; /* that its packets leave as when it speaks first */
	__u16 port;    /* host order */
	__u8 protocol;
	__u8 is_v6;
};

/*
 * The key of an association: the client's address and port, the protocol (LB_IP_UDP, LB_IP_TCP) and the
 * listener's number. A client that speaks to two listeners has an association with each. Each family has
 * its own maps, since hashing eight bytes takes a third of the time; of IPv4 the key is `words[0]` alone.
 *
 * The words are made and read by the functions below. They are stored whole: a load of what several
 * stores left, which is what hashing would make of a structure, takes as long as the hash.
 */
struct lb_nat_client {
	__u64 words[3];
};

/* An association: maps `associations4`, `associations6`, `unanswered4`, `unanswered6`, written by the
 * program. */
struct lb_nat_association {
	__u64 owner;   /* lb_nat_owner: one word, so that it changes in one step */
	__u32 made_s;  /* CLOCK_MONOTONIC, in seconds */
	__u32 service; /* that the client spoke to last, so that the answers come from there */
};

/* What becomes of a packet. The daemon shows the names in lower case, without LB_NAT_. The first block
 * are those of sbulb, where it has one for the same thing. */
enum lb_nat_event {
	/* Translated. */
	LB_NAT_INGRESS_REUSED_NAT, /* to the associated server */
	LB_NAT_INGRESS_NEW_NAT,	   /* there was no association, or its server is gone */
	LB_NAT_EGRESS_REUSED_NAT,  /* from the associated server */
	LB_NAT_EGRESS_NEW_NAT,	   /* the server spoke first, or the one before is gone */
	/* Dropped. */
	LB_NAT_EGRESS_NOT_AUTHORIZED,	   /* from another server than the associated one */
	LB_NAT_INGRESS_CANNOT_CREATE_ASSO, /* no server is ready, or no memory */
	LB_NAT_EGRESS_CANNOT_CREATE_ASSO,
	LB_NAT_LIFETIME_EXPIRED, /* TTL or hop limit 1 */
	LB_NAT_INVALID_IP_SIZE,	 /* a length beyond the frame, or without room for what follows */
	LB_NAT_TOO_SMALL_IP_HEADER, /* an IPv4 header below 20 bytes */
	LB_NAT_INVALID_UDP_SIZE,    /* UDP or TCP headers that do not fit their packet */
	/* Passed on untouched. */
	LB_NAT_TOO_BIG_IP_HEADER,    /* options or extension headers beyond what is looked at */
	LB_NAT_FRAGMENTED_IP_PACKET, /* a later fragment came before the first one */
	LB_NAT_NOT_UDP,		     /* nor TCP, when that is served, nor an ICMP error */
	LB_NAT_NOT_IP,
	LB_NAT_INGRESS_NOT_HANDLED_PORT, /* to the address of a service, another port */
	LB_NAT_EGRESS_NOT_HANDLED_PORT,	 /* from the address of a server, another port */
	LB_NAT_UNHANDLED_TRAFFIC,	 /* neither to a service nor from a server */

	/* Those that sbulb has no name for. Translated: */
	LB_NAT_INGRESS_FRAGMENT, /* a later fragment; its datagram counted with the first one */
	LB_NAT_EGRESS_FRAGMENT,
	LB_NAT_INGRESS_ICMP_ERROR, /* about a packet that a server sent */
	LB_NAT_EGRESS_ICMP_ERROR,  /* about a packet that a client sent */
	/* Dropped: */
	LB_NAT_INVALID_IP_CHECKSUM,
	LB_NAT_INVALID_UDP_CHECKSUM, /* none, over IPv6, where it is required */
	LB_NAT_DROPPED_FRAGMENT,     /* its datagram was dropped and counted */
	LB_NAT_OVERSIZE,	     /* above max_packet_size */
	LB_NAT_FAMILY_MISMATCH,	     /* the server's addresses are of the other family */
	LB_NAT_UNREACHABLE,	     /* the route says so */
	LB_NAT_NOT_PERMITTED,	     /* the route says so */
	LB_NAT_REWRITE_FAILED,	     /* the packet changed under the program */
	/* Passed on: */
	LB_NAT_TO_STACK, /* translated, and the stack sends it: see nat_way.bpf.h; counted besides */
	LB_NAT_TO_HOST,	 /* from a server to this host itself */
	/* Besides: */
	LB_NAT_ANSWERED, /* an association moved from `unanswered` to `associations` */
	LB_NAT_EVENTS,	 /* how many there are; keep last */
};

/*
 * Map `nat_rows`, per CPU: two rows a listener, lb_nat_row_of, and last one for packets that no listener
 * can be told of. In the rows of listeners received = forwarded + the sum of drops. What was passed on
 * untouched, later fragments and ICMP errors are events only.
 */
struct lb_nat_row {
	struct lb_row common;
	__u64 event[LB_NAT_EVENTS];
};

enum {
	LB_NAT_NOBODY = 2 * LB_LISTENERS_MAX,
	LB_NAT_ROWS = LB_NAT_NOBODY + 1,
};

/* From clients, and from servers; a direction is the number of a row within a listener's two, and within
 * a server's two of the map `server_rows` (struct lb_row, per CPU: forwarded, and the drops that lie
 * with a server). */
enum lb_nat_direction {
	LB_NAT_INGRESS = 0,
	LB_NAT_EGRESS = 1,
};

LB_INLINE __u32 lb_nat_row_of(__u32 number, enum lb_nat_direction direction)
{
	return 2 * number + (__u32)direction;
}

LB_INLINE struct lb_nat_client lb_nat_client_of(struct lb_addr address, __u16 port, __u8 protocol,
						__u8 listener, int is_v6)
{
	__u64 rest = (__u64)listener << 24 | (__u64)protocol << 16 | port;
	struct lb_nat_client client = {{address.high, address.low, rest}};

	if (!is_v6) {
		client.words[0] = rest << 32 | (__u32)address.low;
		client.words[1] = client.words[2] = 0;
	}
	return client;
}

LB_INLINE struct lb_addr lb_nat_client_address(const struct lb_nat_client *client, int is_v6)
{
	struct lb_addr address = {client->words[0], client->words[1]};

	return is_v6 ? address : lb_addr_v4((__u32)client->words[0]);
}

/* Bits 0...15 the port, 16...23 the protocol, 24...31 the listener. */
LB_INLINE __u32 lb_nat_client_rest(const struct lb_nat_client *client, int is_v6)
{
	return (__u32)(is_v6 ? client->words[2] : client->words[0] >> 32);
}

/* Who holds an association: a server's number and the generation that it had. */
LB_INLINE __u64 lb_nat_owner(__u32 server, __u32 generation)
{
	return (__u64)generation << 32 | server;
}

LB_INLINE __u32 lb_nat_owner_server(__u64 owner)
{
	return (__u32)owner;
}

LB_INLINE __u32 lb_nat_owner_generation(__u64 owner)
{
	return (__u32)(owner >> 32);
}

_Static_assert(sizeof(struct lb_nat_endpoint) == 24, "no hidden padding");
_Static_assert(sizeof(struct lb_nat_service) == 24, "no hidden padding");
_Static_assert(sizeof(struct lb_nat_server) == 32, "no hidden padding");
_Static_assert(sizeof(struct lb_nat_client) == 24, "no hidden padding");
_Static_assert(sizeof(struct lb_nat_association) == 16, "no hidden padding");
_Static_assert(sizeof(struct lb_nat_row) == 8 * (LB_COUNTERS + LB_NAT_EVENTS), "all words");
_Static_assert(LB_LISTENERS_MAX <= 0x100, "a listener's number has 8 bits in a key");
_Static_assert(LB_SERVICES_MAX <= 0xffff && LB_SERVERS_MAX <= 0xffff, "numbers have 16 bits");

#endif
