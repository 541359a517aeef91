/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * nat_row.h: what xdp_nat.bpf.c counts.
 */
#ifndef LB_NAT_ROW_H
#define LB_NAT_ROW_H

#include "counters.h"
#include "tables.h"

/* The fate of a packet. The daemon shows the names in lower case, without LB_NAT_. The first block
 * has sbulb's names, where it has one for the same thing. */
enum lb_nat_event {
	/* Translated. */
	LB_NAT_INGRESS_REUSED_NAT, /* to the associated server */
	LB_NAT_INGRESS_NEW_NAT,	   /* no association, or its server is removed */
	LB_NAT_EGRESS_REUSED_NAT,  /* from the associated server */
	LB_NAT_EGRESS_NEW_NAT,	   /* the server sent first, or the previous one is removed */
	/* Dropped. */
	LB_NAT_EGRESS_NOT_AUTHORIZED,	   /* from another server than the associated one */
	LB_NAT_INGRESS_CANNOT_CREATE_ASSO, /* no server is ready, or no memory */
	LB_NAT_EGRESS_CANNOT_CREATE_ASSO,
	LB_NAT_LIFETIME_EXPIRED, /* TTL or hop limit 1 */
	LB_NAT_INVALID_IP_SIZE,	 /* a length beyond the frame, or without room for what follows */
	LB_NAT_TOO_SMALL_IP_HEADER, /* an IPv4 header below 20 bytes */
	LB_NAT_INVALID_UDP_SIZE,    /* UDP or TCP headers that do not fit their packet */
	/* Passed on untouched. */
	LB_NAT_TOO_BIG_IP_HEADER,    /* options or extension headers beyond the limit */
	LB_NAT_FRAGMENTED_IP_PACKET, /* a later fragment came before the first one */
	LB_NAT_NOT_UDP,		     /* nor TCP, when that is served, nor an ICMP error */
	LB_NAT_NOT_IP,
	LB_NAT_INGRESS_NOT_HANDLED_PORT, /* to the address of a service, another port */
	LB_NAT_EGRESS_NOT_HANDLED_PORT,	 /* from the address of a server, another port */
	LB_NAT_UNHANDLED_TRAFFIC, /* neither to a service nor from a server, or not to our MAC */

	/* Events without a name in sbulb. Translated: */
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
	LB_NAT_UNREACHABLE,	     /* by the route, or the link is down */
	LB_NAT_NOT_PERMITTED,	     /* by the route */
	LB_NAT_REWRITE_FAILED,	     /* the packet changed under the program */
	LB_NAT_MESSAGE_TOO_LONG, /* above the MTU, not to be fragmented; the sender is informed */
	/* Passed on: */
	LB_NAT_TO_STACK, /* translated, and the stack sends it: see nat_way.bpf.h; counted besides */
	LB_NAT_TO_HOST,	 /* from a server to this host itself */
	/* Besides: */
	LB_NAT_ANSWERED, /* an association moved from `unanswered` to `associations` */
	/* Passed on: */
	LB_NAT_EGRESS_WRONG_INTERFACE, /* from a server's address, by an interface that is not its own */
	/* Translated: */
	LB_NAT_EGRESS_STATELESS_NAT, /* the server spoke first, and servers begin too many associations */
	LB_NAT_EVENTS,		     /* the number of events; keep last */
};

/*
 * Map `nat_rows`, per CPU: two rows a listener, lb_nat_row_of, and a last one for packets without a known
 * listener. In the rows of listeners received = forwarded + the sum of drops. Packets that pass untouched,
 * later fragments and ICMP errors are only events.
 */
struct lb_nat_row {
	struct lb_row common;
	__u64 event[LB_NAT_EVENTS];
};

enum {
	LB_NAT_NO_LISTENER = 2 * LB_LISTENERS_MAX,
	LB_NAT_ROWS = LB_NAT_NO_LISTENER + 1,
};

/* From clients, and from servers. A direction is the number of a row within a listener's two, and within
 * a server's two of the map `server_rows` (struct lb_row, per CPU: forwarded, and the server's drops). */
enum lb_nat_direction {
	LB_NAT_INGRESS = 0,
	LB_NAT_EGRESS = 1,
};

LB_INLINE __u32 lb_nat_row_of(__u32 number, enum lb_nat_direction direction)
{
	return 2 * number + (__u32)direction;
}

_Static_assert(sizeof(struct lb_nat_row) == 8 * (LB_COUNTERS + LB_NAT_EVENTS), "all words");

#endif
