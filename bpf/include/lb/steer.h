/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* steer.h: the data of the interface for the program of mode `af_xdp`, besides the listeners. */
#ifndef LB_STEER_H
#define LB_STEER_H

#include <linux/types.h>

/* Map `steer`, one element, which user space writes before steering starts and when the interface
 * changes. While it is all zero nothing is steered. */
struct lb_steer {
	__u8 mac[6];   /* of the interface; frames to others pass, as the stack would drop them */
	__u16 longest; /* bytes of the longest packet that a frame of the sockets holds */
};

_Static_assert(sizeof(struct lb_steer) == 8, "no hidden padding");

#endif
