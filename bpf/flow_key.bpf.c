// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * flow_key.bpf.c: the flow keys as the kernel computes them, for BPF_PROG_TEST_RUN.
 *
 * It is attached to no hook. Its input "packet" is one struct lb_flow; it writes the two keys over
 * the first eight bytes, so that the tests can compare the kernel's hash with Swift's.
 *
 *   in   struct lb_flow (40 bytes)
 *   out  __u32 source_ip key, __u32 four_tuple key, rest unchanged
 *   verdict  XDP_PASS, or XDP_ABORTED when the input is short
 *
 * The program lb_payload does the same for the key of a payload:
 *
 *   in       struct lb_flow (40 bytes), struct lb_payload_key (8 bytes), the payload
 *   verdict  the key
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#define LB_PAYLOAD_COPY(context, offset, to, bytes) bpf_skb_load_bytes(context, offset, to, bytes)
#include <lb/payload_key.h>
#include <lb/limits.h>

const volatile __u64 lb_seed = 0;

SEC("xdp")
int lb_flow_key(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct lb_flow flow;
	__u32 *keys = data;

	if (data + sizeof(flow) > end)
		return XDP_ABORTED;
	__builtin_memcpy(&flow, data, sizeof(flow));
	keys[0] = lb_key_source_ip(lb_seed, flow.source);
	keys[1] = lb_key_four_tuple(lb_seed, &flow);
	return XDP_PASS;
}

SEC("tc")
int lb_payload(struct __sk_buff *skb)
{
	struct lb_payload payload = {.from = skb, .start = sizeof(struct lb_flow) + 8};
	struct lb_payload_key key;
	struct lb_flow flow;

	if (bpf_skb_load_bytes(skb, 0, &flow, sizeof(flow)) ||
	    bpf_skb_load_bytes(skb, sizeof(flow), &key, sizeof(key)))
		return 0;
	payload.bytes = skb->len - payload.start;
	return (int)lb_key_payload(lb_seed, &key, &payload, &flow);
}

/* bpf_fib_lookup, which the other programs need, is for GPL-compatible programs only. */
char _license[] SEC("license") = "Dual BSD/GPL";
