/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * nat_known.bpf.h: the fast path for nearly every packet: a whole UDP datagram after plain headers, of a
 * client that is associated with a server, or of an unknown client.
 *
 * It does the same as the slow path (xdp_nat.bpf.c), and leaves unusual packets to that before it changes
 * or counts them. Families and directions are constants here, so each has its own code, whose values stay
 * in registers: no structure is filled in or read back.
 */
#ifndef LB_NAT_KNOWN_BPF_H
#define LB_NAT_KNOWN_BPF_H

#include "nat_association.bpf.h"
#include "nat_parse.bpf.h"
#include "nat_translate.bpf.h"
#include "nat_way.bpf.h"

/* Not verdicts: the packet takes the slow path, unchanged; its client was associated just now. */
#define NAT_LONG_WAY -1
#define NAT_LONG_WAY_BEGUN -2

/* A packet of the fast path. */
struct nat_quick {
	struct lb_flow flow;
	__u32 payload;
	__u16 bytes; /* of the IP packet */
	__u8 traffic_class;
};

/* Reads the headers; 0 when something about them is unusual. */
static __always_inline int read_quick(const __u8 *data, const __u8 *end, int is_v6,
				      struct nat_quick *packet)
{
	const __u8 *ip = data + 14, *udp = ip + (is_v6 ? 40 : 20);
	__u32 bytes, length;

	if (udp + 8 > end)
		return 0;
	if (is_v6) {
		/* Version and traffic class; next header and hop limit. */
		if ((ip[0] & 0xf0) != 0x60 || ip[6] != LB_IP_UDP || ip[7] <= 1)
			return 0;
		bytes = lb_be16(ip + 4) + 40u;
		packet->traffic_class = (__u8)(lb_be16(ip) >> 4);
		packet->flow.source = lb_addr_v6(ip + 8);
		packet->flow.destination = lb_addr_v6(ip + 24);
	} else {
		if (ip[0] != 0x45 || (LB_LOAD(__u16, ip + 6) & bpf_htons(0x3fff)) || ip[8] <= 1 ||
		    ip[9] != LB_IP_UDP || lb_fold(lb_sum_v4(ip)) != 0xffff)
			return 0;
		bytes = lb_be16(ip + 2);
		packet->traffic_class = ip[1];
		packet->flow.source = lb_addr_v4(lb_be32(ip + 12));
		packet->flow.destination = lb_addr_v4(lb_be32(ip + 16));
	}
	length = lb_be16(udp + 4);
	if (bytes > (__u64)(end - ip) || length < 8 || length + (is_v6 ? 40 : 20) > bytes ||
	    length - 8 > lb_nat_packet_max || (is_v6 && !LB_LOAD(__u16, udp + 6)))
		return 0;
	packet->payload = length - 8;
	packet->bytes = (__u16)bytes;
	packet->flow.source_port = lb_be16(udp);
	packet->flow.destination_port = lb_be16(udp + 2);
	return 1;
}

/* The address and port that replace those of the packet, and the rows to count in. */
struct nat_target {
	struct lb_addr address;
	__u32 listener;
	__u32 server;
	__u32 event;
	__u16 port;
};

/* From a client without an association. */
static __always_inline int to_new_server(const struct nat_quick *packet,
					 const struct lb_nat_client *key,
					 const struct lb_nat_endpoint *service, int is_v6,
					 struct nat_target *target)
{
	/* Copies: the function needs its values in memory; without the call they stay in registers. */
	struct nat_client client = {.key = *key, .is_v6 = (__u32)is_v6, .is_unknown = 1};
	struct nat_move move = {.listener = service->listener};
	struct lb_flow flow = packet->flow;

	if (lb_nat_begin(&flow, &client, service->number, &move) != NAT_MOVE)
		return 0;
	target->address = move.address;
	target->port = move.port;
	target->server = move.server;
	target->listener = service->listener;
	target->event = LB_NAT_INGRESS_NEW_NAT;
	return 1;
}

static __always_inline int to_known_server(const struct nat_quick *packet,
					   const struct lb_nat_endpoint *service, int is_v6,
					   struct nat_target *target)
{
	struct lb_nat_client client =
		lb_nat_client_of(packet->flow.source, packet->flow.source_port, LB_IP_UDP,
				 (__u8)service->listener, is_v6);
	struct lb_nat_association *known = is_v6 ? bpf_map_lookup_elem(&associations6, &client)
						 : bpf_map_lookup_elem(&associations4, &client);
	struct lb_nat_server *server;
	__u64 word;

	if (!known && lb_nat_waits)
		known = is_v6 ? bpf_map_lookup_elem(&unanswered6, &client)
			      : bpf_map_lookup_elem(&unanswered4, &client);
	if (!known)
		return to_new_server(packet, &client, service, is_v6, target);
	word = known->word;
	server = find_holder(word);
	if (!server || lb_nat_service_of(word) != service->number)
		return 0;
	target->address = server->address;
	target->port = server->port;
	target->server = lb_nat_server_of(word);
	target->listener = service->listener;
	target->event = LB_NAT_INGRESS_REUSED_NAT;
	return 1;
}

static __always_inline int to_known_client(const struct xdp_md *ctx, const struct nat_quick *packet,
					   const struct lb_nat_endpoint *server, int is_v6,
					   struct nat_target *target)
{
	struct lb_nat_client client =
		lb_nat_client_of(packet->flow.destination, packet->flow.destination_port, LB_IP_UDP,
				 (__u8)server->listener, is_v6);
	struct lb_nat_association *known = is_v6 ? bpf_map_lookup_elem(&associations6, &client)
						 : bpf_map_lookup_elem(&associations4, &client);
	__u64 owner = lb_nat_owner(server->number, server->generation), word;
	struct lb_nat_service *service;
	__u32 number;

	if (!known || !comes_from(ctx, server->from))
		return 0;
	word = known->word;
	number = lb_nat_service_of(word);
	service = bpf_map_lookup_elem(&services, &number);
	if ((word & LB_NAT_OWNER_MASK) != owner || !service)
		return 0;
	target->address = service->address;
	target->port = service->port;
	target->server = server->number;
	target->listener = server->listener;
	target->event = LB_NAT_EGRESS_REUSED_NAT;
	return 1;
}

static __always_inline int count_quick(const struct nat_quick *packet,
				       const struct nat_target *target,
				       enum lb_nat_direction direction)
{
	__u32 row = lb_nat_row_of(target->listener, direction);
	__u32 row_of_server = lb_nat_row_of(target->server, direction);
	struct lb_nat_row *counters = bpf_map_lookup_elem(&nat_rows, &row);
	struct lb_row *of_server = bpf_map_lookup_elem(&server_rows, &row_of_server);
	__u32 event = target->event;

	if (!counters || !of_server || event >= LB_NAT_EVENTS)
		return 0;
	count_packet(&counters->common, LB_COUNT_PACKETS_RECEIVED, packet->payload);
	count_packet(&counters->common, LB_COUNT_PACKETS_FORWARDED, packet->payload);
	counters->event[event]++;
	count_packet(of_server, LB_COUNT_PACKETS_FORWARDED, packet->payload);
	return 1;
}

/* The cached way of the translated packet, if there is one. */
static __always_inline struct lb_nat_way *way_of(const struct xdp_md *ctx,
						 const struct nat_quick *packet,
						 const struct nat_target *target, int is_source,
						 int is_v6)
{
	const struct lb_flow *flow = &packet->flow;
	struct nat_question asked = {
		.source = is_source ? target->address : flow->source,
		.destination = is_source ? flow->destination : target->address,
		.source_port = is_source ? target->port : flow->source_port,
		.destination_port = is_source ? flow->destination_port : target->port,
		.bytes = packet->bytes,
		.traffic_class = packet->traffic_class,
		.from = ctx->ingress_ifindex,
		.is_v6 = (__u32)is_v6,
	};

	return find_way(&asked);
}

static __always_inline int send_quick(struct xdp_md *ctx, __u8 *data, const __u8 *end,
				      const struct nat_quick *packet,
				      const struct nat_target *target,
				      enum lb_nat_direction direction, int is_v6, int in_stack)
{
	int is_source = direction == LB_NAT_EGRESS;
	int otherwise = target->event == LB_NAT_INGRESS_NEW_NAT ? NAT_LONG_WAY_BEGUN : NAT_LONG_WAY;
	struct lb_nat_way *way = 0;
	struct nat_change change = {
		.address = target->address,
		.port = target->port,
		.protocol = LB_IP_UDP,
		.is_source = (__u8)is_source,
		.is_v6 = (__u8)is_v6,
	};

	if (lb_nat_routed) {
		way = way_of(ctx, packet, target, is_source, is_v6);
		if (!way)
			return otherwise;
	}
	if (!count_quick(packet, target, direction))
		return otherwise;
	if (in_stack)
		change.is_partial =
			lb_nat_is_partial(ctx, 14, is_v6 ? 54 : 34, LB_IP_UDP, (__u32)is_v6) != 0;
	rewrite_at(data + 14, data + (is_v6 ? 54 : 34), end, &change, NAT_HAS_HEADER);
	if (!way) {
		turn_around(data);
		return XDP_TX;
	}
	head_for(data, way);
	return way->to == ctx->ingress_ifindex ? XDP_TX : (int)bpf_redirect(way->to, 0);
}

static __always_inline int translate_quick(struct xdp_md *ctx, __u8 *data, const __u8 *end,
					   int is_v6, int in_stack)
{
	struct nat_quick packet;
	struct nat_target target;
	struct lb_nat_endpoint *places, *endpoint;

	if (data + (is_v6 ? 62 : 42) > end || !read_quick(data, end, is_v6, &packet))
		return NAT_LONG_WAY;
	places = find_places();
	if (!places)
		return NAT_LONG_WAY;
	endpoint = find_endpoint_in(places, packet.flow.destination, packet.flow.destination_port,
				    LB_IP_UDP);
	if (endpoint && endpoint->roles & LB_NAT_SERVICE)
		return to_known_server(&packet, endpoint, is_v6, &target)
			       ? send_quick(ctx, data, end, &packet, &target, LB_NAT_INGRESS, is_v6,
					    in_stack)
			       : NAT_LONG_WAY;
	endpoint = find_endpoint_in(places, packet.flow.source, packet.flow.source_port, LB_IP_UDP);
	if (endpoint && endpoint->roles & LB_NAT_SERVER)
		return to_known_client(ctx, &packet, endpoint, is_v6, &target)
			       ? send_quick(ctx, data, end, &packet, &target, LB_NAT_EGRESS, is_v6,
					    in_stack)
			       : NAT_LONG_WAY;
	return NAT_LONG_WAY;
}

/* A verdict, or one of the above with the packet unchanged. */
static __always_inline int take_quick_way(struct xdp_md *ctx, int in_stack)
{
	__u8 *data = (void *)(long)ctx->data;
	const __u8 *end = (void *)(long)ctx->data_end;
	__u16 type;

	if (data + 42 > end)
		return NAT_LONG_WAY;
	type = LB_LOAD(__u16, data + 12);
	if (type == bpf_htons(LB_ETHERTYPE_IPV4))
		return translate_quick(ctx, data, end, 0, in_stack);
	if (type == bpf_htons(LB_ETHERTYPE_IPV6))
		return translate_quick(ctx, data, end, 1, in_stack);
	return NAT_LONG_WAY;
}

/* One for each program: the driver's has no code that only the stack needs. */
static __noinline int go_quickly(struct xdp_md *ctx)
{
	return take_quick_way(ctx, 0);
}

static __noinline int go_quickly_in_stack(struct xdp_md *ctx)
{
	return take_quick_way(ctx, 1);
}

#endif
