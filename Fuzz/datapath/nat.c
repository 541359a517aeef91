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
#include "nat_headers.bpf.h"
#pragma clang diagnostic pop
#undef const

static int parse(const uint8_t *bytes, size_t at_hand, size_t length, struct nat_packet *packet)
{
	struct fuzz_md context = {(uintptr_t)bytes, (uintptr_t)bytes + at_hand, length};
	int kind = lb_nat_parse(&context, packet);

	EXPECT(kind > NAT_NOT_PLAIN && kind <= NAT_ERROR);
	if (kind == NAT_OTHER || kind == NAT_MALFORMED)
		EXPECT(packet->event < LB_NAT_EVENTS);
	else if (kind != NAT_LATER)
		EXPECT(header_at(&context, packet->at.udp, 8));
	return kind;
}

/* Of a frame whose rest lies elsewhere. */
static void check_cut(const struct input *input)
{
	uint8_t *part = cut(input);
	struct nat_packet packet;

	parse(part, input->at_hand, input->bytes, &packet);
	parse_plain(part, part + input->at_hand, &packet);
	free(part);
}

static void check_short_way(const struct input *input, int kind, const struct nat_packet *packet)
{
	struct nat_packet plain;
	int of_plain = parse_plain(input->frame, input->frame + input->bytes, &plain);

	if (of_plain == NAT_NOT_PLAIN)
		return;
	EXPECT(of_plain == kind);
	if (kind == NAT_MALFORMED)
		EXPECT(plain.event == packet->event);
	if (kind != NAT_WHOLE)
		return;
	EXPECT(!memcmp(&plain.at.flow, &packet->at.flow, sizeof(plain.at.flow)));
	EXPECT(plain.at.ip == packet->at.ip && plain.at.udp == packet->at.udp);
	EXPECT(plain.at.payload == packet->at.payload && plain.at.ttl == packet->at.ttl);
	EXPECT(plain.bytes == packet->bytes && plain.protocol == packet->protocol);
	EXPECT(plain.at.is_v6 == packet->at.is_v6);
}

/* What the other parser asks besides, since it takes only what a host would. */
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

static void check_other_parser(const struct input *input, int kind, const struct nat_packet *packet)
{
	struct lb_packet other;
	enum lb_parse of_other = lb_parse_frame(input->frame, input->frame + input->bytes,
						(__u32)input->bytes, &other);

	if (of_other == LB_PARSE_DATAGRAM || of_other == LB_PARSE_FIRST) {
		EXPECT(kind == (of_other == LB_PARSE_FIRST ? NAT_FIRST : NAT_WHOLE));
		EXPECT(packet->protocol == LB_IP_UDP);
		EXPECT(!memcmp(&other.flow, &packet->at.flow, sizeof(other.flow)));
		EXPECT(other.ip == packet->at.ip && other.udp == packet->at.udp);
		EXPECT(other.payload == packet->at.payload && other.ttl == packet->at.ttl);
		EXPECT(other.fragment == packet->at.fragment);
	}
	if (of_other == LB_PARSE_LATER)
		EXPECT(kind == NAT_LATER);
	if (kind == NAT_WHOLE && packet->protocol == LB_IP_UDP && is_for_hosts(&packet->at))
		EXPECT(of_other == LB_PARSE_DATAGRAM);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input;
	struct nat_packet packet;
	int kind;

	if (!open_input(&input, data, size))
		return 0;
	lb_nat_tcp = data[0] & 1;
	kind = parse(input.frame, input.bytes, input.bytes, &packet);
	EXPECT(!memcmp(input.frame, data + HEAD, input.bytes));
	if (kind == NAT_WHOLE)
		EXPECT(packet.at.udp + 8u + packet.at.payload <= input.bytes);
	check_cut(&input);
	check_short_way(&input, kind, &packet);
	check_other_parser(&input, kind, &packet);
	free(input.frame);
	return 0;
}
