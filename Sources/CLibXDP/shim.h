/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/types.h>

/* The ring operations of xsk.h are loads, stores and arithmetic. Said on their first declaration, Swift
 * takes their word for it when it proves a packet loop free of locks and allocations. */
#define CLIBXDP_HOT inline __attribute__((swift_attr("@_noLocks"), swift_attr("@_noAllocation")))
#define CLIBXDP_QUICK static CLIBXDP_HOT

struct xdp_desc;
struct xsk_ring_prod;
struct xsk_ring_cons;

CLIBXDP_HOT __u32 xsk_prod_nb_free(struct xsk_ring_prod *ring, __u32 count);
CLIBXDP_HOT __u32 xsk_ring_prod__reserve(struct xsk_ring_prod *ring, __u32 count, __u32 *index);
CLIBXDP_HOT void xsk_ring_prod__submit(struct xsk_ring_prod *ring, __u32 count);
CLIBXDP_HOT int xsk_ring_prod__needs_wakeup(const struct xsk_ring_prod *ring);
CLIBXDP_HOT __u64 *_Nonnull xsk_ring_prod__fill_addr(struct xsk_ring_prod *ring, __u32 index);
CLIBXDP_HOT struct xdp_desc *_Nonnull xsk_ring_prod__tx_desc(struct xsk_ring_prod *ring,
							     __u32 index);
CLIBXDP_HOT __u32 xsk_ring_cons__peek(struct xsk_ring_cons *ring, __u32 count, __u32 *index);
CLIBXDP_HOT void xsk_ring_cons__release(struct xsk_ring_cons *ring, __u32 count);
CLIBXDP_HOT const __u64 *_Nonnull xsk_ring_cons__comp_addr(const struct xsk_ring_cons *ring,
							   __u32 index);
CLIBXDP_HOT const struct xdp_desc *_Nonnull xsk_ring_cons__rx_desc(const struct xsk_ring_cons *ring,
								   __u32 index);

#include <xdp/xsk.h>

/* How many entries are in a ring that the kernel reads, those included that are written and not yet
 * handed over; and in one that the kernel writes, without those that were peeked at. */
CLIBXDP_QUICK __u32 clibxdp_in_prod(const struct xsk_ring_prod *ring)
{
	return ring->cached_prod - __atomic_load_n(ring->consumer, __ATOMIC_ACQUIRE);
}

CLIBXDP_QUICK __u32 clibxdp_in_cons(const struct xsk_ring_cons *ring)
{
	return __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE) - ring->cached_cons;
}

/* The entries of a ring that the kernel writes and its reader has not released, as a thread sees them that is
 * not the reader. */
CLIBXDP_QUICK __u32 clibxdp_unread(const struct xsk_ring_cons *ring)
{
	__u32 released = __atomic_load_n(ring->consumer, __ATOMIC_ACQUIRE);

	return __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE) - released;
}
