/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * nat_icmp.bpf.h: ICMP errors about translated packets (RFC 5508, section 4; RFC 4443).
 *
 * An error goes to the source of the packet that it quotes, and quotes it as the error's sender saw it:
 *
 *   about a client's packet, which had left for a server: quotes client → server. It is for the client,
 *   which knows only the service: the quote becomes client → service, and the error comes from the service
 *
 *   about a server's packet, which had left as the service's: quotes service → client. It is for the
 *   service: the quote becomes server → client, and the error goes to the server. With one arm a
 *   router's error gets the service as its source: the gateway would drop a packet from its own address
 *
 * Errors neither make nor keep associations: any host can send one.
 */
#ifndef LB_NAT_ICMP_BPF_H
#define LB_NAT_ICMP_BPF_H

#include "nat_association.bpf.h"
#include "nat_parse.bpf.h"
#include "nat_translate.bpf.h"
#include "nat_way.bpf.h"

/* The relevant part of the packet that an error quotes. */
struct nat_quote {
	struct lb_flow flow;
	__u16 ip; /* the offset of its headers in the frame */
	__u16 transport;
	__u8 protocol;
	__u8 reserved[3];
};

/* header_at, for a quoted packet, which has the same limit of headers. */
#define NAT_QUOTE_MAX 255

static __always_inline __u8 *quoted_at(struct xdp_md *ctx, __u64 offset, __u32 bytes)
{
	__u8 *at, *end = (void *)(long)ctx->data_end;

	LB_OPAQUE(offset);
	if (offset > NAT_QUOTE_MAX)
		return 0;
	at = (__u8 *)(long)ctx->data + offset;
	return at + bytes <= end ? at : 0;
}

/* Skips the extension headers of a quoted packet; 0 when there are no ports after them. */
static __always_inline int skip_extensions(struct xdp_md *ctx, struct nat_quote *quote)
{
	for (int i = 0; i < LB_EXTENSIONS_MAX; i++) {
		const __u8 *at = quoted_at(ctx, LB_FORGET(quote->transport), 8);
		__u32 bytes;

		if (is_translated(quote->protocol))
			return 1;
		bytes = at ? lb_extension_bytes(at, quote->protocol) : 0;
		/* A later fragment has no ports. */
		if (!bytes || (quote->protocol == LB_IP_FRAGMENT && lb_be16(at + 2) >> 3))
			return 0;
		quote->protocol = at[0];
		quote->transport += (__u16)bytes;
	}
	return is_translated(quote->protocol);
}

static __always_inline int read_quote_v4(struct xdp_md *ctx, struct nat_quote *quote)
{
	const __u8 *ip = quoted_at(ctx, quote->ip, 20);

	if (!ip || (ip[0] & 0xf0) != 0x40 || (ip[0] & 0x0f) < 5 ||
	    (lb_be16(ip + 6) & LB_FRAGMENT_OFFSET))
		return 0;
	quote->transport = (__u16)(quote->ip + (ip[0] & 0x0f) * 4);
	quote->protocol = ip[9];
	quote->flow.source = addr_at(ip + 12, 0);
	quote->flow.destination = addr_at(ip + 16, 0);
	return is_translated(quote->protocol);
}

static __always_inline int read_quote_v6(struct xdp_md *ctx, struct nat_quote *quote)
{
	const __u8 *ip = quoted_at(ctx, quote->ip, 40);

	if (!ip || (ip[0] & 0xf0) != 0x60)
		return 0;
	quote->transport = (__u16)(quote->ip + 40);
	quote->protocol = ip[6];
	quote->flow.source = addr_at(ip + 8, 1);
	quote->flow.destination = addr_at(ip + 24, 1);
	return skip_extensions(ctx, quote);
}

/* Reads the quoted headers, with the ports of UDP or TCP, which every error quotes; 0 when there are none.
 * A function of its own, so that it is verified once for all callers. */
static __noinline int read_quote(struct xdp_md *ctx, const struct lb_packet *packet,
				 struct nat_quote *quote)
{
	const __u8 *at;

	quote->ip = packet->udp + 8;
	if (packet->is_v6 ? !read_quote_v6(ctx, quote) : !read_quote_v4(ctx, quote))
		return 0;
	at = quoted_at(ctx, LB_FORGET(quote->transport), 8);
	if (!at || packet->payload < (__u32)(quote->transport - quote->ip) + 8)
		return 0;
	quote->flow.source_port = lb_be16(at);
	quote->flow.destination_port = lb_be16(at + 2);
	return 1;
}

static __always_inline int is_same(struct lb_addr left, struct lb_addr right)
{
	return left.high == right.high && left.low == right.low;
}

/* The association of the client that the quoted packet is from (or to), if its server exists. */
static __always_inline struct lb_nat_association *
association_of(const struct nat_quote *quote, int is_source, __u32 listener, int is_v6)
{
	const struct lb_flow *flow = &quote->flow;
	struct nat_client client = client_of(is_source ? flow->source : flow->destination,
					     is_source ? flow->source_port : flow->destination_port,
					     quote->protocol, listener, is_v6);

	return find_association(&client);
}

/* About a server's packet, for a service. */
static __always_inline int error_for_service(const struct lb_packet *packet,
					     const struct nat_quote *quote, struct nat_move *move)
{
	struct lb_nat_endpoint *endpoint =
		find_endpoint(quote->flow.source, quote->flow.source_port, quote->protocol);
	struct lb_nat_association *known;
	struct lb_nat_server *server;
	__u64 word;

	if (!endpoint || !(endpoint->roles & LB_NAT_SERVICE) ||
	    !is_same(quote->flow.source, packet->flow.destination))
		return 0;
	known = association_of(quote, 0, endpoint->listener, packet->is_v6);
	word = known ? known->word : 0;
	server = find_holder(word);
	if (!server)
		return 0;
	move->direction = LB_NAT_INGRESS;
	move->listener = endpoint->listener;
	move->event = LB_NAT_INGRESS_ICMP_ERROR;
	move_to_server(move, word, server);
	return 1;
}

/* About a client's packet, for the client. */
static __always_inline int error_for_client(const struct lb_packet *packet,
					    const struct nat_quote *quote, struct nat_move *move)
{
	struct lb_nat_endpoint *endpoint = find_endpoint(
		quote->flow.destination, quote->flow.destination_port, quote->protocol);
	struct lb_nat_association *known;
	__u64 word;

	if (!endpoint || !(endpoint->roles & LB_NAT_SERVER) ||
	    !is_same(quote->flow.source, packet->flow.destination))
		return 0;
	known = association_of(quote, 1, endpoint->listener, packet->is_v6);
	word = known ? known->word : 0;
	if (lb_nat_server_of(word) != endpoint->number || !find_holder(word))
		return 0;
	move->direction = LB_NAT_EGRESS;
	move->listener = endpoint->listener;
	move->server = endpoint->number;
	move->event = LB_NAT_EGRESS_ICMP_ERROR;
	return move_to_service(move, lb_nat_service_of(word));
}

/* Translates the quoted packet; the server's end is its source if the error is for a service. Returns the
 * steps of all changes, for the checksum of the error; or -1. */
static __always_inline __s64 rewrite_quote(struct xdp_md *ctx, const struct lb_packet *packet,
					   const struct nat_quote *quote,
					   const struct nat_move *move)
{
	const __u8 *end = (void *)(long)ctx->data_end;
	int is_v6 = packet->is_v6, is_source = move->direction == LB_NAT_INGRESS;
	struct lb_addr from = is_source ? quote->flow.source : quote->flow.destination;
	__u64 steps = lb_csum_step_addr(from, move->address, is_v6), all = steps;
	__u8 *ip = quoted_at(ctx, quote->ip, is_v6 ? 40 : 20);
	__u8 *at = quoted_at(ctx, quote->transport, 8);
	__u32 header = quote->transport - quote->ip;
	__u16 *where, *check, before, to = bpf_htons(move->port);

	if (!ip || !at)
		return -1;
	put_addr(ip + (is_source ? (is_v6 ? 8 : 12) : (is_v6 ? 24 : 16)), move->address, is_v6);
	if (!is_v6) {
		check = (__u16 *)(ip + 10);
		before = *check;
		*check = lb_csum_update(before, steps);
		all += lb_csum_step(before, *check);
	}
	where = (__u16 *)(is_source ? at : at + 2);
	steps += lb_csum_step(*where, to);
	all += lb_csum_step(*where, to);
	*where = to;
	/* The eight bytes of TCP that must be quoted do not include the checksum. */
	check = (__u16 *)(at + (quote->protocol == LB_IP_TCP ? 16 : 6));
	if ((__u8 *)(check + 1) <= end &&
	    (quote->protocol == LB_IP_UDP || packet->payload >= header + 18)) {
		before = *check;
		*check = quote->protocol == LB_IP_TCP ? lb_csum_update(before, steps)
						      : lb_csum_update_udp(before, steps);
		all += lb_csum_step(before, *check);
	}
	return (__s64)all;
}

/* Makes the service the source of the error; the steps of that for its checksum, or -1. */
static __always_inline __s64 rewrite_sender(struct xdp_md *ctx, const struct lb_packet *packet)
{
	int is_v6 = packet->is_v6;
	struct lb_addr to = packet->flow.destination;
	__u8 *ip = header_at(ctx, packet->ip, is_v6 ? 40 : 20);
	__u64 steps = lb_csum_step_addr(packet->flow.source, to, is_v6);
	__u16 *check;

	if (!ip)
		return -1;
	put_addr(ip + (is_v6 ? 8 : 12), to, is_v6);
	/* The ICMPv6 checksum covers the addresses of its own packet, too (RFC 4443, section 2.3). */
	if (is_v6)
		return (__s64)steps;
	check = (__u16 *)(ip + 10);
	*check = lb_csum_update(*check, steps);
	return 0;
}

/*
 * Decides about an ICMP error, and translates its quote: an enum nat_decision. Errors that do not move are
 * counted here.
 *
 * The caller sends the packet: the stack frames of nested calls add up to 512 bytes at most.
 */
__noinline int lb_nat_error(struct xdp_md *ctx, const struct lb_packet *packet,
			    struct nat_move *move)
{
	struct nat_quote quote = {};
	__s64 steps, sender = 0;
	__u16 *check;
	__u8 *icmp;

	if (!packet || !move)
		return NAT_UNTOUCHED;
	if (!read_quote(ctx, packet, &quote) ||
	    (!error_for_service(packet, &quote, move) && !error_for_client(packet, &quote, move))) {
		count_event(LB_NAT_NO_LISTENER, LB_NAT_UNHANDLED_TRAFFIC);
		return NAT_UNTOUCHED;
	}
	if (packet->ttl <= 1) {
		count_event(LB_NAT_NO_LISTENER, LB_NAT_LIFETIME_EXPIRED);
		return NAT_DROP;
	}
	steps = rewrite_quote(ctx, packet, &quote, move);
	if (steps >= 0 && !lb_nat_routed && move->direction == LB_NAT_INGRESS &&
	    !is_same(packet->flow.source, quote.flow.destination))
		sender = rewrite_sender(ctx, packet);
	icmp = header_at(ctx, packet->udp, 8);
	if (steps < 0 || sender < 0 || !icmp)
		return NAT_DROP;
	steps += sender;
	if (packet->is_v6)
		steps += (__s64)lb_csum_step_addr(move->direction == LB_NAT_INGRESS
							  ? packet->flow.destination
							  : packet->flow.source,
						  move->address, 1);
	check = (__u16 *)(icmp + 2);
	*check = lb_csum_update(*check, (__u64)steps);
	return NAT_MOVE;
}

#endif
