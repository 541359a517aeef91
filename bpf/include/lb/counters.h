/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * counters.h: what every data plane counts. A row is LB_COUNTERS words of 64 bits; listeners and
 * receivers have rows of the same shape. A row has one writer (a worker, or a CPU in a per-CPU map);
 * readers add rows up.
 */
#ifndef LB_COUNTERS_H
#define LB_COUNTERS_H

#include "drop_reason.h"

enum lb_counter {
	LB_COUNT_PACKETS_RECEIVED, /* listener rows only */
	LB_COUNT_BYTES_RECEIVED,   /* listener rows only; UDP payload, as all bytes are */
	LB_COUNT_PACKETS_FORWARDED,
	LB_COUNT_BYTES_FORWARDED,
	LB_COUNT_RECEIVE_CALLS, /* userspace, listener rows only */
	LB_COUNT_SEND_CALLS,	/* userspace, listener rows only */
	LB_COUNT_REFUSALS,	/* userspace, receiver rows only: an ICMP error came back */
	LB_COUNT_DROPS,		/* the first of LB_DROP_REASONS words, by enum lb_drop_reason */
	LB_COUNTERS = LB_COUNT_DROPS + LB_DROP_REASONS,
};

#endif
