/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * nat_translate.bpf.h: decides about a packet with ports: its endpoint, the server of its client, and the
 * replacement. Nothing is written to the packet here.
 */
#ifndef LB_NAT_TRANSLATE_BPF_H
#define LB_NAT_TRANSLATE_BPF_H

#include "nat_association.bpf.h"
#include "nat_partial.bpf.h"

/* The maximum of bytes of UDP payload in a client's datagram; the loader sets it. */
const volatile __u32 lb_nat_packet_max = 65535;

/* The result of a decision. */
enum nat_decision {
	NAT_MOVE,      /* the move has the replacement */
	NAT_DROP,      /* the move has the reason */
	NAT_UNTOUCHED, /* not for this program */
	NAT_NEEDS_KEY, /* of the payload, for the listener of the move; then decide again */
};

static __always_inline int dropped(struct nat_move *move, enum lb_nat_event event,
				   enum lb_drop_reason reason)
{
	move->event = event;
	move->reason = reason;
	return NAT_DROP;
}

/* Destination NAT to a server. */
static __always_inline void move_to_server(struct nat_move *move, __u64 association,
					   const struct lb_nat_server *server)
{
	move->address = server->address;
	move->port = server->port;
	move->server = lb_nat_server_of(association);
}

/* Source NAT to a service; 0 when user space has not set one. */
static __always_inline int move_to_service(struct nat_move *move, __u32 number)
{
	struct lb_nat_service *service = bpf_map_lookup_elem(&services, &number);

	if (!service)
		return 0;
	move->address = service->address;
	move->port = service->port;
	return 1;
}

/* Chooses a server for a client's first packet, or the first since its server was removed. Global, as
 * lb_nat_parse is, so that it is verified once.
 *
 * The client is copied here and below: verifiers before 6.2 accept no key from memory that a global
 * function was given. */
__noinline int lb_nat_begin(const struct lb_flow *flow, const struct nat_client *given,
			    __u32 service, struct nat_move *move)
{
	struct nat_client client;
	struct lb_nat_association *known = 0;
	struct lb_receiver *receiver = 0;
	struct lb_nat_server *server;
	__u32 zero = 0, number;
	struct lb_table *table;
	void *map;
	__u64 made;

	if (!flow || !given || !move || is_martian(flow->source, (int)given->is_v6))
		return NAT_UNTOUCHED;
	client = *given;
	if (!client.is_unknown)
		known = find_association(&client);
	map = bpf_map_lookup_elem(&tables, &move->listener);
	table = map ? bpf_map_lookup_elem(map, &zero) : 0;
	/* This function has no room on the stack for the payload. */
	if (table && table->key == LB_KEY_PAYLOAD && !move->has_key)
		return NAT_NEEDS_KEY;
	if (table)
		receiver = choose(table, move->has_key ? move->key
						       : key_of_flow(table, flow, (int)client.is_v6,
								     move->listener));
	number = receiver ? receiver->row : LB_SERVERS_MAX;
	server = bpf_map_lookup_elem(&servers, &number);
	if (!server || !server->generation)
		return dropped(move, LB_NAT_INGRESS_CANNOT_CREATE_ASSO, LB_DROP_NO_HEALTHY);
	move->server = number;
	if (server->is_v6 != client.is_v6)
		return dropped(move, LB_NAT_FAMILY_MISMATCH, LB_DROP_FAMILY_MISMATCH);
	made = associate(&client, known, lb_nat_owner(number, server->generation), service, 1);
	server = find_holder(made);
	if (!server)
		return dropped(move, LB_NAT_INGRESS_CANNOT_CREATE_ASSO, LB_DROP_NO_BUFFERS);
	move_to_server(move, made, server);
	move->event = LB_NAT_INGRESS_NEW_NAT;
	return NAT_MOVE;
}

/* The client uses another service of the listener: replies come from there now. Another CPU may have been
 * quicker; then its service stays. */
static __always_inline void speak_to(struct lb_nat_association *known, __u64 word, __u32 service)
{
	__u64 service_bits = (LB_SERVICES_MAX - 1) << 12;

	__sync_val_compare_and_swap(&known->word, word, (word & ~service_bits) | service << 12);
}

/* Whether a datagram is above the maximum size for clients. TCP has no datagrams, and an aggregate does not
 * show the length of each one. */
static __always_inline int is_oversize(struct xdp_md *ctx, const struct lb_packet *packet)
{
	return packet->protocol == LB_IP_UDP && packet->payload > lb_nat_packet_max &&
	       !(packet->in_stack && is_aggregate(ctx, packet->bytes));
}

/* From a client to a service. */
static __always_inline int ingress(struct xdp_md *ctx, const struct lb_packet *packet,
				   const struct lb_nat_endpoint *endpoint, struct nat_move *move)
{
	struct nat_client client = client_of(packet->flow.source, packet->flow.source_port,
					     packet->protocol, endpoint->listener, packet->is_v6);
	struct lb_nat_association *known;
	struct lb_nat_server *server;
	__u32 service = endpoint->number;
	__u64 word;

	move->direction = LB_NAT_INGRESS;
	move->listener = endpoint->listener;
	move->server = LB_SERVERS_MAX;
	if (is_oversize(ctx, packet))
		return dropped(move, LB_NAT_OVERSIZE, LB_DROP_OVERSIZE);
	if (packet->ttl <= 1)
		return dropped(move, LB_NAT_LIFETIME_EXPIRED, LB_DROP_TTL_EXPIRED);
	known = find_association(&client);
	word = known ? known->word : 0;
	server = find_holder(word);
	if (!server) {
		client.is_unknown = !known;
		return lb_nat_begin(&packet->flow, &client, service, move);
	}
	if (lb_nat_service_of(word) != service)
		speak_to(known, word, service);
	move_to_server(move, word, server);
	move->event = LB_NAT_INGRESS_REUSED_NAT;
	return NAT_MOVE;
}

/* A server's packet to a client without a known reply from it. */
__noinline int lb_nat_speak(const struct lb_packet *packet, const struct nat_client *given,
			    __u64 owner, __u32 service, struct nat_move *move)
{
	struct lb_nat_association *known;
	struct nat_client client;
	__u64 before;
	int lives;

	if (!packet || !given || !move)
		return NAT_UNTOUCHED;
	client = *given;
	known = find_association(&client);
	before = known ? known->word : 0;
	lives = known && find_holder(before);
	if (lives && (before & LB_NAT_OWNER_MASK) != owner)
		return dropped(move, LB_NAT_EGRESS_NOT_AUTHORIZED, LB_DROP_NOT_PERMITTED);
	move->event = LB_NAT_EGRESS_REUSED_NAT;
	if (!lives) {
		/* To this host itself, or to a multicast or broadcast address: not to a client. */
		if (roles_of(&packet->flow.destination) & LB_NAT_HOST) {
			move->event = LB_NAT_TO_HOST;
			return NAT_UNTOUCHED;
		}
		if (is_martian(packet->flow.destination, packet->is_v6)) {
			move->event = LB_NAT_UNHANDLED_TRAFFIC;
			return NAT_UNTOUCHED;
		}
		if (!known && !client.is_certain && !may_begin()) {
			move->event = LB_NAT_EGRESS_STATELESS_NAT;
			return move_to_service(move, service)
				       ? NAT_MOVE
				       : dropped(move, LB_NAT_EGRESS_CANNOT_CREATE_ASSO,
						 LB_DROP_NO_HEALTHY);
		}
		before = associate(&client, known, owner, service, 0);
		if (!before)
			return dropped(move, LB_NAT_EGRESS_CANNOT_CREATE_ASSO, LB_DROP_NO_BUFFERS);
		if ((before & LB_NAT_OWNER_MASK) != owner)
			return dropped(move, LB_NAT_EGRESS_NOT_AUTHORIZED, LB_DROP_NOT_PERMITTED);
		move->event = LB_NAT_EGRESS_NEW_NAT;
	}
	service = lb_nat_service_of(before);
	known = find_unanswered(&client);
	if (known && (known->word & LB_NAT_OWNER_MASK) == owner) {
		answer(&client, known);
		count_event(lb_nat_row_of(move->listener, LB_NAT_EGRESS), LB_NAT_ANSWERED);
	}
	if (!move_to_service(move, service))
		return dropped(move, LB_NAT_EGRESS_CANNOT_CREATE_ASSO, LB_DROP_NO_HEALTHY);
	return NAT_MOVE;
}

/* From a removed server, to a client of the listener: as the service's, whichever server the client has now.
 * 0 if the client has no server; for a server that is `back`, also if it may have the client itself. */
static __always_inline int answer_late(const struct nat_client *client, struct nat_move *move,
				       int back)
{
	struct lb_nat_association *known = find_association(client);

	if (!known || (back && !find_holder(known->word)) ||
	    !move_to_service(move, lb_nat_service_of(known->word)))
		return 0;
	move->event = LB_NAT_EGRESS_REUSED_NAT;
	return 1;
}

/* From a server to a client. */
static __always_inline int egress(const struct lb_packet *packet,
				  const struct lb_nat_endpoint *endpoint, int is_certain,
				  struct nat_move *move)
{
	struct nat_client client =
		client_of(packet->flow.destination, packet->flow.destination_port, packet->protocol,
			  endpoint->listener, packet->is_v6);
	__u32 number = endpoint->number;
	struct lb_nat_server *server = bpf_map_lookup_elem(&servers, &number);
	int is_late = endpoint->roles & LB_NAT_LEFT;
	struct lb_nat_association *known;
	__u64 owner, word;

	client.is_certain = (__u16)is_certain;
	move->event = LB_NAT_UNHANDLED_TRAFFIC;
	move->direction = LB_NAT_EGRESS;
	move->listener = endpoint->listener;
	move->server = number;
	if (!(endpoint->roles & LB_NAT_SERVER) || !server || !server->generation ||
	    server->generation != endpoint->generation) {
		if (!is_late || !answer_late(&client, move, 0))
			return NAT_UNTOUCHED;
		return packet->ttl > 1
			       ? NAT_MOVE
			       : dropped(move, LB_NAT_LIFETIME_EXPIRED, LB_DROP_TTL_EXPIRED);
	}
	if (packet->ttl <= 1)
		return dropped(move, LB_NAT_LIFETIME_EXPIRED, LB_DROP_TTL_EXPIRED);
	owner = lb_nat_owner(number, server->generation);
	known = find_answered(&client);
	word = known ? known->word : 0;
	if ((word & LB_NAT_OWNER_MASK) != owner) {
		if (is_late && answer_late(&client, move, 1))
			return NAT_MOVE;
		return lb_nat_speak(packet, &client, owner, endpoint->service, move);
	}
	if (!move_to_service(move, lb_nat_service_of(word)))
		return dropped(move, LB_NAT_EGRESS_CANNOT_CREATE_ASSO, LB_DROP_NO_HEALTHY);
	move->event = LB_NAT_EGRESS_REUSED_NAT;
	return NAT_MOVE;
}

/* Decides about a packet with ports; an enum nat_decision. The event of an untouched one is the move's. Not
 * inlined: its stack frame is released before the packet is sent, which needs the room. */
static __noinline int decide(struct xdp_md *ctx, const struct lb_packet *packet,
			     struct nat_move *move)
{
	const struct lb_flow *flow = &packet->flow;
	struct lb_nat_endpoint *endpoint =
		find_endpoint(flow->destination, flow->destination_port, packet->protocol);

	move->reason = -1;
	move->event = LB_NAT_UNHANDLED_TRAFFIC;
	if (endpoint && endpoint->roles & LB_NAT_SERVICE)
		return ingress(ctx, packet, endpoint, move);
	endpoint = find_endpoint(flow->source, flow->source_port, packet->protocol);
	if (endpoint && endpoint->roles & (LB_NAT_SERVER | LB_NAT_LEFT)) {
		if (comes_from(ctx, endpoint->from))
			return egress(packet, endpoint, endpoint->from == ctx->ingress_ifindex,
				      move);
		move->event = LB_NAT_EGRESS_WRONG_INTERFACE;
		return NAT_UNTOUCHED;
	}
	if (roles_of(&flow->destination) & LB_NAT_SERVICE)
		move->event = LB_NAT_INGRESS_NOT_HANDLED_PORT;
	else if (roles_of(&flow->source) & LB_NAT_SERVER)
		move->event = LB_NAT_EGRESS_NOT_HANDLED_PORT;
	return NAT_UNTOUCHED;
}

#endif
