/* SPDX-License-Identifier: Apache-2.0 */
/* packet.h: the frame that the measurement sends, and its destinations. */
#ifndef FORWARDING_PACKET_H
#define FORWARDING_PACKET_H

#include <stdint.h>

#include <lb/packet.h>

enum {
	FORWARDING_PAYLOAD = 64,
	FORWARDING_FRAME = 128, /* room for it and the headers */
	FORWARDING_PORT = 514
};

/* Fills in a frame with a datagram of 64 bytes; returns its length. */
int forwarding_frame(uint8_t frame[FORWARDING_FRAME], int is_v6);
struct lb_addr forwarding_service(int is_v6);
struct lb_addr forwarding_receiver(int is_v6, int number);

#endif
