// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * xdp_steer.bpf.c: selects the packets of an interface for the AF_XDP sockets, in mode `af_xdp`.
 *
 *   whole     the whole packet is in one buffer, and fits a socket's frame
 *   ours      the frame is for this interface, by the stack's rules
 *   parse     headers (lb/packet.h); other packets than whole, well-formed UDP datagrams pass
 *   listener  by destination address, port and interface; no listener: passes
 *   steer     to the socket of the queue by which it came; a queue without a socket passes
 *
 * Nothing is changed or counted here: the worker behind the socket parses the packet anyway, to rewrite
 * it, and looks up the listener and counts there. One program serves every listener of an interface.
 * Fragments pass, so that the stack gets all of a datagram or nothing.
 *
 * For drivers it is a multi-buffer program (`xdp.frags`, Linux 5.18): otherwise they refuse it when the
 * MTU is more than a page.
 *
 * Maps read: listeners, steer, xsks. Maps written: none.
 * Verdicts: XDP_REDIRECT (to the socket), XDP_PASS.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <lb/limits.h>
#include <lb/packet.h>
#include <lb/steer.h>
#include <lb/tables.h>

#define LOOPBACK_IFINDEX 1 /* net/flow.h */

/* The loader checks it before it accepts a given object. */
const volatile __u32 lb_abi = LB_ABI_VERSION;
/* Whether a listener serves every destination (`addresses: any`). */
const volatile __u8 lb_serves_any = 0;

/* As in mode `tc_ebpf`; only user space uses the listener's number. The loader sizes it. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, struct lb_listener_key);
	__type(value, __u32);
} listeners SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lb_steer);
} steer SEC(".maps");

/* The socket of each queue; the loader sizes it for the maximum of queues. */
struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u32);
} xsks SEC(".maps");

/* Whether the packet is in one buffer, is for this interface and fits the sockets' frames. */
static __always_inline int is_ours(struct xdp_md *ctx)
{
	const __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u64 length = bpf_xdp_get_buff_len(ctx);
	struct lb_steer *known;
	__u32 zero = 0;

	known = bpf_map_lookup_elem(&steer, &zero);
	if (!known || length > known->longest || length != (__u64)(end - data) || data + 14 > end)
		return 0;
	return LB_LOAD(__u32, data) == *(__u32 *)known->mac &&
	       LB_LOAD(__u16, data + 4) == *(__u16 *)(known->mac + 4);
}

/* A packet's headers: an enum lb_parse. A global function is verified on its own; otherwise the verifier
 * would walk the rest of the program for each path through the headers. */
__noinline int lb_parse_xdp(struct xdp_md *ctx, struct lb_packet *packet)
{
	const __u8 *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;

	if (!packet)
		return LB_PARSE_OTHER;
	return lb_parse_datagram(data, end, (__u32)(end - data), packet);
}

static __always_inline int has_listener(const struct lb_packet *packet, __u32 ifindex)
{
	struct lb_listener_key key = {
		.address = packet->flow.destination,
		.ifindex = ifindex,
		.port = packet->flow.destination_port,
	};

	if (bpf_map_lookup_elem(&listeners, &key))
		return 1;
	if (!lb_serves_any)
		return 0;
	key.address.high = key.address.low = 0;
	return bpf_map_lookup_elem(&listeners, &key) != 0;
}

static __always_inline int choose(struct xdp_md *ctx)
{
	__u32 ifindex = ctx->ingress_ifindex;
	struct lb_packet packet;

	if (!is_ours(ctx) || lb_parse_xdp(ctx, &packet) != LB_PARSE_DATAGRAM)
		return XDP_PASS;
	if (lb_is_loopback(packet.flow.source) && ifindex != LOOPBACK_IFINDEX)
		return XDP_PASS;
	if (!has_listener(&packet, ifindex))
		return XDP_PASS;
	return bpf_redirect_map(&xsks, ctx->rx_queue_index, XDP_PASS);
}

/* In the driver. */
SEC("xdp.frags")
int udp_fanout_xdp(struct xdp_md *ctx)
{
	return choose(ctx);
}

/* In the network stack, which puts every packet into one buffer. See xdp_nat_skb. */
SEC("xdp")
int udp_fanout_xdp_skb(struct xdp_md *ctx)
{
	return choose(ctx);
}

char _license[] SEC("license") = "Dual BSD/GPL";
