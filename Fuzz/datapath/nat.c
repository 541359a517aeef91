/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nat.c: the parser of xdp_nat (bpf/lib), compiled for user space: it reads within the frame alone, its short
 * way and its long way agree, and of UDP it finds what lb_parse_frame finds.
 */
#include <stddef.h>
#include <stdint.h>

#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <lb/checksum.h>
#include <lb/nat.h>
#include <lb/packet.h>

#include "input.h"

/* The kernel's has room for 32 bits of a pointer; the kernel's verifier fills in the rest. */
struct fuzz_md {
	uintptr_t data, data_end;
	uint64_t length;
};
#define xdp_md fuzz_md
#define bpf_xdp_get_buff_len(context) ((context)->length)
/* What the loader sets is set here. */
#define const
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wincompatible-pointer-types-discards-qualifiers"
#include "nat_parse.bpf.h"
#pragma clang diagnostic pop
#undef const

static int parse(const uint8_t *bytes, size_t at_hand, size_t length, struct lb_packet *packet)
{
	struct fuzz_md context = {(uintptr_t)bytes, (uintptr_t)bytes + at_hand, length};
	int kind = lb_nat_parse(&context, packet);

	EXPECT(kind >= LB_PARSE_OTHER && kind <= LB_PARSE_ERROR && kind != LB_PARSE_SHORT);
	if (kind == LB_PARSE_OTHER || kind == LB_PARSE_MALFORMED)
		EXPECT(packet->reason <= LB_REASON_UDP_CHECKSUM);
	else if (kind != LB_PARSE_LATER)
		EXPECT(header_at(&context, packet->udp, 8));
	return kind;
}

/* Of a frame whose rest lies elsewhere. */
static void check_cut(const struct input *input)
{
	uint8_t *part = cut(input);
	struct lb_packet packet;

	parse(part, input->at_hand, input->bytes, &packet);
	parse_plain(part, part + input->at_hand, &packet);
	free(part);
}

static void check_short_way(const struct input *input, int kind, const struct lb_packet *packet)
{
	struct lb_packet plain;

	if (!parse_plain(input->frame, input->frame + input->bytes, &plain))
		return;
	EXPECT(kind == LB_PARSE_DATAGRAM);
	EXPECT(!memcmp(&plain.flow, &packet->flow, sizeof(plain.flow)));
	EXPECT(plain.ip == packet->ip && plain.udp == packet->udp);
	EXPECT(plain.payload == packet->payload && plain.ttl == packet->ttl);
	EXPECT(plain.bytes == packet->bytes && plain.protocol == packet->protocol);
	EXPECT(plain.is_v6 == packet->is_v6);
}

/* What lb_parse_datagram asks besides, since it takes only what a host would. */
static int is_for_hosts(const struct lb_packet *packet)
{
	const struct lb_flow *flow = &packet->flow;

	if (!flow->destination_port)
		return 0;
	if (packet->is_v6)
		return !lb_is_martian_v6(flow->source) && !lb_is_martian_v6(flow->destination);
	return !lb_is_martian_v4((__u32)flow->source.low) &&
	       !lb_is_martian_v4((__u32)flow->destination.low);
}

static void check_datagram(const struct input *input, int kind, const struct lb_packet *packet)
{
	struct lb_packet datagram;
	enum lb_parse of_datagram = lb_parse_datagram(input->frame, input->frame + input->bytes,
						      (__u32)input->bytes, &datagram);

	if (of_datagram == LB_PARSE_DATAGRAM || of_datagram == LB_PARSE_FIRST) {
		EXPECT(kind ==
		       (of_datagram == LB_PARSE_FIRST ? LB_PARSE_FIRST : LB_PARSE_DATAGRAM));
		EXPECT(packet->protocol == LB_IP_UDP);
		EXPECT(!memcmp(&datagram.flow, &packet->flow, sizeof(datagram.flow)));
		EXPECT(datagram.ip == packet->ip && datagram.udp == packet->udp);
		EXPECT(datagram.payload == packet->payload && datagram.ttl == packet->ttl);
		EXPECT(datagram.fragment == packet->fragment);
	}
	if (of_datagram == LB_PARSE_LATER)
		EXPECT(kind == LB_PARSE_LATER);
	if (kind == LB_PARSE_DATAGRAM && packet->protocol == LB_IP_UDP && is_for_hosts(packet))
		EXPECT(of_datagram == LB_PARSE_DATAGRAM);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input;
	struct lb_packet packet;
	int kind;

	if (!open_input(&input, data, size))
		return 0;
	lb_nat_tcp = data[0] & 1;
	kind = parse(input.frame, input.bytes, input.bytes, &packet);
	EXPECT(!memcmp(input.frame, data + HEAD, input.bytes));
	if (kind == LB_PARSE_DATAGRAM)
		EXPECT(packet.udp + 8u + packet.payload <= input.bytes);
	check_cut(&input);
	check_short_way(&input, kind, &packet);
	check_datagram(&input, kind, &packet);
	free(input.frame);
	return 0;
}
