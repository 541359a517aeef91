/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * drop_reason.h: why a received datagram was not forwarded. One datagram has at most one reason, so
 * that received = forwarded + the sum over reasons, in every mode.
 */
#ifndef LB_DROP_REASON_H
#define LB_DROP_REASON_H

enum lb_drop_reason {
	LB_DROP_NO_HEALTHY,	 /* the slot table is empty: no receiver is ready */
	LB_DROP_OVERSIZE,	 /* above max_packet_size, or cut by the buffer (MSG_TRUNC) */
	LB_DROP_FAMILY_MISMATCH, /* source cannot be kept: client and receiver differ in family */
	LB_DROP_WOULD_BLOCK,	 /* EAGAIN: the send buffer is full */
	LB_DROP_NO_BUFFERS,	 /* ENOBUFS, ENOMEM: the kernel is out of memory or queue space */
	LB_DROP_REFUSED,     /* ECONNREFUSED twice in a row: no socket listens at the receiver */
	LB_DROP_UNREACHABLE, /* ENETUNREACH, EHOSTUNREACH, E*DOWN, EADDRNOTAVAIL */
	LB_DROP_MESSAGE_TOO_LONG, /* EMSGSIZE: more than the receiver's family or path can carry */
	LB_DROP_NOT_PERMITTED,	  /* EPERM, EACCES: a firewall or the socket forbids it */
	LB_DROP_SEND_ERROR,	  /* any other error of the send */
	LB_DROP_TTL_EXPIRED, /* kernel modes: TTL or hop limit 1, which a router does not forward */
	LB_DROP_REWRITE_FAILED, /* kernel modes: the kernel refused to alter the packet */
	LB_DROP_REASONS,	/* the number of reasons; keep last */
};

#endif
