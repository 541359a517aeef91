// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only)
/*
 * xdp_errors.bpf.c: counts the frames that drivers refused, by their output interface.
 *
 * A frame that an XDP program sends is given to a driver after the program has ended, in batches; the
 * program does not learn of a refusal. The kernel's tracepoints report it (include/trace/events/xdp.h):
 *
 *   xdp_devmap_xmit    a driver did not accept all frames of a redirected batch
 *   xdp_redirect_err   a frame was not given to the driver: the interface is down, cannot transmit, or has
 *                      too small an MTU
 *   xdp_bulk_tx        a batch that goes back out of the interface (XDP_TX); only veth
 *   xdp_exception      the driver reports that XDP_TX failed
 *
 * Tracepoints report every interface of the host. Counted are only those of the daemon's network namespace,
 * and only frames that came in by an interface with one of our programs.
 *
 * Maps read: sources. Map written: transmit_errors.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

/* The maximum of interfaces with counters. */
#define LB_INTERFACES_MAX 1024

/* The daemon's network namespace: the inode number of /proc/self/ns/net. The loader sets it. */
const volatile __u32 lb_namespace = 0;

/* Only the used fields; libbpf finds their offsets in the running kernel. */
struct ns_common {
	unsigned int inum;
} __attribute__((preserve_access_index));

struct net {
	struct ns_common ns;
} __attribute__((preserve_access_index));

typedef struct {
	struct net *net;
} __attribute__((preserve_access_index)) possible_net_t;

struct net_device {
	int ifindex;
	possible_net_t nd_net;
} __attribute__((preserve_access_index));

/* The interfaces with our programs, by index, written by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LB_INTERFACES_MAX);
	__type(key, __u32);
	__type(value, __u32);
} sources SEC(".maps");

/* Frames that were not sent, by their output interface. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, LB_INTERFACES_MAX);
	__type(key, __u32);
	__type(value, __u64);
} transmit_errors SEC(".maps");

/* Counts frames that came in by `from` and were not sent by `interface`. */
static __always_inline int count(const struct net_device *from, __u32 interface, int frames)
{
	__u32 source = (__u32)from->ifindex;
	__u64 *known, none = 0;

	if (from->nd_net.net->ns.inum != lb_namespace || !bpf_map_lookup_elem(&sources, &source))
		return 0;
	known = bpf_map_lookup_elem(&transmit_errors, &interface);
	if (!known) {
		bpf_map_update_elem(&transmit_errors, &interface, &none, BPF_NOEXIST);
		known = bpf_map_lookup_elem(&transmit_errors, &interface);
	}
	if (known)
		*known += (__u32)frames;
	return 0;
}

/* The arguments of a tracepoint are words, in the order in which include/trace/events/xdp.h has them. */

SEC("tp_btf/xdp_devmap_xmit")
int count_devmap_xmit(__u64 *arguments)
{
	const struct net_device *from = (void *)arguments[0], *to = (void *)arguments[1];
	int drops = (int)arguments[3];

	return drops > 0 ? count(from, (__u32)to->ifindex, drops) : 0;
}

SEC("tp_btf/xdp_redirect_err")
int count_redirect_err(__u64 *arguments)
{
	const struct net_device *from = (void *)arguments[0];
	__u32 map_type = (__u32)arguments[4], index = (__u32)arguments[6];

	/* Without a map the index is that of the interface. */
	return map_type == BPF_MAP_TYPE_UNSPEC ? count(from, index, 1) : 0;
}

SEC("tp_btf/xdp_bulk_tx")
int count_bulk_tx(__u64 *arguments)
{
	const struct net_device *device = (void *)arguments[0];
	int drops = (int)arguments[2];

	return drops > 0 ? count(device, (__u32)device->ifindex, drops) : 0;
}

SEC("tp_btf/xdp_exception")
int count_exception(__u64 *arguments)
{
	const struct net_device *device = (void *)arguments[0];
	__u32 verdict = (__u32)arguments[2];

	/* For redirected frames drivers report here, too, after xdp_redirect_err. */
	return verdict == XDP_TX ? count(device, (__u32)device->ifindex, 1) : 0;
}

char _license[] SEC("license") = "Dual BSD/GPL";
