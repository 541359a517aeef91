/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.h: a second reader of whole UDP datagrams, by the RFCs and not by lb/packet.h. It knows all of the
 * frame and goes wherever headers lead.
 */
#ifndef FUZZ_READER_H
#define FUZZ_READER_H

#include "sums.h"

struct found {
	size_t ip, udp;
	size_t bytes; /* of the datagram, as the UDP header says */
	int is_v6;
	int is_plain; /* no tags, options or extension headers */
};

/* Where UDP begins behind IPv6, in bytes from `ip`; 0 unless it does before `end`. RFC 8200, section 4. */
static inline size_t behind_v6(const uint8_t *ip, size_t end)
{
	size_t at = 40;
	unsigned int protocol = ip[6];

	while (protocol != 17) {
		int is_fragment = protocol == 44, is_routing = protocol == 43;

		if (at + 8 > end || !(is_fragment || is_routing || protocol == 0 || protocol == 60))
			return 0;
		/* Segments left; an offset, or more to come. */
		if ((is_routing && ip[at + 3]) || (is_fragment && (word_at(ip + at + 2) & 0xfff9)))
			return 0;
		protocol = ip[at];
		at += is_fragment ? 8 : (ip[at + 1] + 1u) * 8;
	}
	return at;
}

/* Whether hosts take a packet with these options: RFC 791; loose (131) and strict (137) source routes are not
 * taken by default. */
static inline int are_taken(const uint8_t *options, size_t bytes)
{
	for (size_t at = 0; at + 1 < bytes && options[at];) {
		if (options[at] == 131 || options[at] == 137)
			return 0;
		if (options[at] != 1 && options[at + 1] < 2)
			return 0;
		at += options[at] == 1 ? 1 : options[at + 1];
	}
	return 1;
}

/* Where UDP begins behind a right IPv4 header; 0 unless it does. */
static inline size_t behind_v4(const uint8_t *ip, size_t end)
{
	size_t header = (ip[0] & 15u) * 4;

	if (header < 20 || header > end || ip[9] != 17 || (word_at(ip + 6) & 0x3fff) ||
	    sum_of(ip, header) || !are_taken(ip + 20, header - 20))
		return 0;
	return header;
}

/* Finds the datagram of a frame; 0 when there is none. */
static inline int find_datagram(const uint8_t *frame, size_t bytes, struct found *found)
{
	size_t at = 12, end, behind;
	const uint8_t *ip;
	uint32_t type;

	if (bytes < 14)
		return 0;
	for (type = word_at(frame + at); (type == 0x8100 || type == 0x88a8) && at < 20;) {
		at += 4;
		/* What is in a VLAN is for the VLAN's interface. */
		if (at + 2 > bytes || word_at(frame + at - 2) & 0xfff)
			return 0;
		type = word_at(frame + at);
	}
	found->ip = at + 2;
	found->is_v6 = type == 0x86dd;
	ip = frame + found->ip;
	end = bytes - found->ip;
	if ((type != 0x0800 && !found->is_v6) || end < (found->is_v6 ? 40u : 20u) ||
	    ip[0] >> 4 != (found->is_v6 ? 6 : 4))
		return 0;
	behind = found->is_v6 ? word_at(ip + 4) + 40 : word_at(ip + 2);
	if (behind > end)
		return 0;
	end = behind;
	behind = found->is_v6 ? behind_v6(ip, end) : behind_v4(ip, end);
	if (!behind || behind + 8 > end)
		return 0;
	found->udp = found->ip + behind;
	found->bytes = word_at(frame + found->udp + 4);
	found->is_plain = at == 12 && behind == (found->is_v6 ? 40u : 20u);
	return found->bytes >= 8 && behind + found->bytes <= end;
}

#endif
