/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * nat.h: shared by xdp_nat.bpf.c and the daemon: the endpoints, and the associations of clients with
 * servers. The counters are in nat_row.h.
 *
 *   endpoint     an address and port that packets come to or from: of a service or of a server
 *   service      the address, port and protocol that clients know (the VIP); a listener has one for each
 *                of its addresses
 *   server       a receiver of a listener: its replies leave as its service
 *   association  a client's endpoint and its server
 *
 * Services and servers have numbers, below LB_SERVICES_MAX and LB_SERVERS_MAX. Associations name them,
 * and are kept while the daemon is away, so a number keeps its meaning as long as the maps live.
 *
 * A server is removed by its generation: user space sets it to 0, which invalidates every association
 * with the old one at once. A generation of a number is never reused; when a number has had
 * LB_GENERATIONS of them, it is retired.
 */
#ifndef LB_NAT_H
#define LB_NAT_H

#include "flow_key.h"
#include "tables.h"

#define LB_SERVICES_MAX 1024
#define LB_SERVERS_MAX 4096
/* Generations are 1 … LB_GENERATIONS; 0 means none. */
#define LB_GENERATIONS 0xffff

/* The roles of an endpoint, as bits, since an address may have several. */
enum lb_nat_role {
	LB_NAT_SERVICE = 1,
	LB_NAT_SERVER = 2,
	/* An address of the host itself, port 0: a server's packets to it are not for clients, such as
	 * the reply to a health probe, and go to the stack untouched. */
	LB_NAT_HOST = 4,
	/* A recently removed server, which still answers earlier requests. Together with LB_NAT_SERVER
	 * when it has been added again. */
	LB_NAT_LEFT = 8,
};

/*
 * One place of the table of endpoints: map `endpoints`, whose one value is a map with one value, all places.
 * User space fills a new one and replaces the old one, as with listeners' tables (tables.h).
 *
 * The kernel's hash tables take twice the time, so this is a hash table of its own: an endpoint is in the
 * place lb_nat_place, or in one of the LB_NAT_PROBES - 1 after it, with no free place before it. User
 * space makes the table large enough for that; sixteen times as many places as endpoints are plenty.
 * Every service and server has two entries: one with its port and protocol, and one with both 0, for
 * packets without a port (fragments, malformed ones).
 */
struct lb_nat_endpoint {
	struct lb_addr address;
	__u16 port;    /* host order */
	__u8 protocol; /* LB_IP_UDP, LB_IP_TCP; 0 with port 0 */
	__u8 roles; /* enum lb_nat_role, of which a service goes before a server; 0: the place is free */
	/* With port 0 the rest is unused. */
	__u16 number;	  /* of the service or server */
	__u16 listener;	  /* the index of its table */
	__u16 generation; /* of a server: as in the map `servers` */
	__u16 service;	  /* of a server: the service of its packets when it sends first */
	/* Of a server: the only interface of its packets. 0: its interface has clients, too, so a client can
	 * send with the server's address. A place has half a cache line. */
	__u32 from;
};

#define LB_NAT_PROBES 4

/*
 * The hooked interfaces, each in place `ifindex` modulo LB_NAT_HOOKS or in one of the LB_NAT_PROBES - 1
 * after it, with no free place before it. User space writes all places as the one value of a map, which
 * the program reads without a lookup.
 */
#define LB_NAT_HOOKS 1024
#define LB_NAT_HOOKS_MAP ".data.hooks"

struct lb_nat_hook {
	__u32 ifindex; /* 0: the place is free */
	__u8 mac[6];   /* of the interface; frames to others pass, as the stack drops them */
	__u8 reserved[6];
};

/* The first place for an endpoint; the number of places is a power of two. */
LB_INLINE __u32 lb_nat_place(struct lb_addr address, __u16 port, __u8 protocol, __u32 places)
{
	__u64 hash = address.high * 0x9e3779b97f4a7c15ULL;

	hash = (hash ^ address.low ^ ((__u64)port << 40 | (__u64)protocol << 32)) *
	       0xff51afd7ed558ccdULL;
	return (__u32)(hash >> 40) & (places - 1);
}

/* The listener of a removed service, whose address stays for late replies. */
#define LB_NAT_SERVICE_LEFT 0xffffffffU

/* Map `services`, by number, written by user space. */
struct lb_nat_service {
	struct lb_addr address;
	__u32 listener; /* for user space only */
	__u16 port;	/* host order */
	__u8 protocol;
	__u8 is_v6;
};

/*
 * Map `servers`, by number, written by user space. A server is removed in this order: a table of its
 * listener without it, generation 0 here, a table of endpoints without it. A server is added with a
 * generation of its own: first here, then among the endpoints, then in its listener's table; a new
 * listener has its table before its endpoints. The previous server of a number must be removed first.
 *
 * A removed server keeps its address and port here until its number is reused: the kernel copies a value
 * piece by piece while programs read it.
 */
struct lb_nat_server {
	struct lb_addr address;
	__u32 generation; /* 1 … LB_GENERATIONS; 0: there is no such server any more */
	__u32 listener;
	__u32 reserved; /* for user space: the last generation of a removed one */
	__u16 port;	/* host order */
	__u8 protocol;
	__u8 is_v6;
};

/*
 * The key of an association: the client's address and port, the protocol (LB_IP_UDP, LB_IP_TCP) and the
 * listener's number. A client of two listeners has an association with each. Each family has
 * its own maps, since hashing eight bytes takes a third of the time; for IPv4 the key is only `words[0]`.
 *
 * The functions below make and read the words. They are stored whole: a load of several earlier stores,
 * as for the hash of a structure, takes as long as the hash.
 */
struct lb_nat_client {
	__u64 words[3];
};

/*
 * An association: maps `associations4`, `associations6`, `unanswered4`, `unanswered6`, written by the
 * program. It is one word, so that it changes in one step, and so that an IPv4 one fits a cache line.
 * lb_nat_associate makes it, the functions below it read it:
 *
 *   bits  0…11  the client's server
 *        12…21  the service that the client used last, from which the replies come
 *        22…37  the generation of the server
 *        38…63  when it was made: seconds of CLOCK_MONOTONIC, without those above 26 bits (2 years)
 */
struct lb_nat_association {
	__u64 word;
};

#define LB_NAT_MADE_BITS 26
/* The part that all associations with the same server have in common. */
#define LB_NAT_OWNER_MASK ((__u64)LB_GENERATIONS << 22 | (LB_SERVERS_MAX - 1))

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

/* The owner of an association: the bits LB_NAT_OWNER_MASK of it; 0 without a server. */
LB_INLINE __u64 lb_nat_owner(__u32 server, __u32 generation)
{
	return (__u64)generation << 22 | server;
}

LB_INLINE __u64 lb_nat_associate(__u64 owner, __u32 service, __u64 seconds)
{
	return seconds << 38 | owner | service << 12;
}

LB_INLINE __u32 lb_nat_server_of(__u64 word)
{
	return (__u32)word & (LB_SERVERS_MAX - 1);
}

LB_INLINE __u32 lb_nat_generation_of(__u64 word)
{
	return (__u32)(word >> 22) & LB_GENERATIONS;
}

LB_INLINE __u32 lb_nat_service_of(__u64 word)
{
	return (__u32)(word >> 12) & (LB_SERVICES_MAX - 1);
}

/* The age in seconds, if it is below 2 years. `now` is CLOCK_MONOTONIC in seconds. */
LB_INLINE __u32 lb_nat_age_of(__u64 word, __u64 now)
{
	return (__u32)(now - (word >> 38)) & ((1u << LB_NAT_MADE_BITS) - 1);
}

/*
 * Map `ways`, per CPU, written by the program when packets are routed: the cached results of
 * bpf_fib_lookup for UDP. A result is valid for lb_nat_way_ticks, and while the one word of the map
 * `routes` is unchanged: user space adds 2 to it at each change of routes, rules, neighbours, addresses
 * or links. The key is destination, traffic class and interface; with LB_NAT_BY_FLOW in the word, also
 * source and ports. User space sets it when rules match these, or a route has several next hops.
 */
#define LB_NAT_BY_FLOW 1

struct lb_nat_way {
	struct lb_addr source;
	struct lb_addr destination;
	__u32 ports;	 /* the source's in the upper half; source and ports 0 unless by flow */
	__u32 kind;	 /* lb_nat_way_kind */
	__u32 from;	 /* the interface that it came in by */
	__u32 to;	 /* the interface that it leaves by; 0: there is no answer yet */
	__u32 since;	 /* when it was asked, in ticks of the kernel (jiffies) */
	__u32 routes;	 /* the word of the map `routes`, then */
	__u8 header[12]; /* the two addresses of Ethernet, as in the frame */
	__u32 mtu;	 /* bytes of IP packet that the way takes */
};

LB_INLINE __u32 lb_nat_way_kind(__u8 traffic_class, int is_v6)
{
	return (is_v6 ? 0x100u : 0) | traffic_class;
}

/*
 * Map `links`, by the index of an interface, written by user space when packets are routed: enum
 * lb_nat_link. User space adds 2 to the word of the map `routes` at each change. An interface without an
 * entry is unknown.
 */
enum lb_nat_link {
	/* The driver sends frames that a program redirects to it (NETDEV_XDP_ACT_NDO_XMIT, Linux 6.3). For any
	 * other interface a program in a driver passes them to the stack: they would be lost. */
	LB_NAT_LINK_TRANSMITS = 1,
	LB_NAT_LINK_TRANSMITS_PIECES = 2, /* those of several buffers, too */
	LB_NAT_LINK_TX = 4,		  /* the driver sends back what came in by it (XDP_TX) */
	LB_NAT_LINK_DOWN = 8,		  /* it is down, or has no carrier */
};

/* The place of a way; the number of places is a power of two. */
LB_INLINE __u32 lb_nat_way_place(struct lb_addr source, struct lb_addr destination, __u32 ports,
				 __u32 places)
{
	__u64 hash = (source.high ^ source.low ^ (__u64)ports << 16) * 0x9e3779b97f4a7c15ULL;

	/* Carries of a product go only upwards. */
	hash ^= hash >> 32;
	hash = (hash ^ destination.high ^ destination.low) * 0xff51afd7ed558ccdULL;
	return (__u32)(hash >> 40) & (places - 1);
}

_Static_assert(sizeof(struct lb_nat_endpoint) == 32, "no hidden padding");
_Static_assert(sizeof(struct lb_nat_hook) == 16, "no hidden padding");
_Static_assert(sizeof(struct lb_nat_service) == 24, "no hidden padding");
_Static_assert(sizeof(struct lb_nat_server) == 32, "no hidden padding");
_Static_assert(sizeof(struct lb_nat_client) == 24, "no hidden padding");
_Static_assert(sizeof(struct lb_nat_association) == 8, "one word");
_Static_assert(sizeof(struct lb_nat_way) == 72, "no hidden padding");
_Static_assert(LB_LISTENERS_MAX <= 0x100, "a listener's number has 8 bits in a key");
_Static_assert(LB_SERVERS_MAX <= 1 << 12 && LB_SERVICES_MAX <= 1 << 10, "bits in an association");

#endif
