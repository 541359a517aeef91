/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame.c: lb_parse_frame reads no byte that is not at hand, changes none, says the same of a frame that is
 * cut or that it wants more of it, and finds what the second reader finds. lb_readdress_frame alters what it has
 * to and nothing else, and a checksum is as right or as wrong as it was.
 */
#include <lb/frame.h>

#include "input.h"
#include "reader.h"

static enum lb_parse parse(const uint8_t *bytes, size_t at_hand, size_t length,
			   struct lb_packet *packet)
{
	return lb_parse_datagram(bytes, bytes + at_hand, (__u32)length, packet);
}

static int is_found(enum lb_parse kind)
{
	return kind == LB_PARSE_DATAGRAM || kind == LB_PARSE_FIRST || kind == LB_PARSE_LATER;
}

/* What a cut frame is said to be, all of it is. */
static void check_cut(const struct input *input, enum lb_parse whole,
		      const struct lb_packet *packet)
{
	uint8_t *part = cut(input);
	struct lb_packet of_part;
	enum lb_parse kind = parse(part, input->at_hand, input->bytes, &of_part);

	EXPECT(kind == LB_PARSE_SHORT || kind == whole);
	if (kind == whole && is_found(kind))
		EXPECT(!memcmp(&of_part, packet, sizeof(of_part)));
	free(part);
}

static void put_address(uint8_t *at, struct lb_addr address, int is_v6)
{
	for (int i = 0; i < 8 && is_v6; i++) {
		at[i] = (uint8_t)(address.high >> (56 - 8 * i));
		at[8 + i] = (uint8_t)(address.low >> (56 - 8 * i));
	}
	for (int i = 0; i < 4 && !is_v6; i++)
		at[i] = (uint8_t)(address.low >> (24 - 8 * i));
}

static void check_fields(const struct input *input, const struct lb_packet *packet,
			 const struct found *found)
{
	const uint8_t *ip = input->frame + found->ip, *udp = input->frame + found->udp;
	size_t bytes = found->is_v6 ? 16 : 4, source = found->is_v6 ? 8 : 12;
	uint8_t address[16];

	EXPECT(packet->ip == found->ip && packet->udp == found->udp);
	EXPECT(packet->payload == found->bytes - 8 && packet->is_v6 == found->is_v6);
	EXPECT(packet->ttl == ip[found->is_v6 ? 7 : 8]);
	EXPECT(packet->flow.source_port == word_at(udp));
	EXPECT(packet->flow.destination_port == word_at(udp + 2));
	put_address(address, packet->flow.source, found->is_v6);
	EXPECT(!memcmp(address, ip + source, bytes));
	put_address(address, packet->flow.destination, found->is_v6);
	EXPECT(!memcmp(address, ip + source + bytes, bytes));
}

/* A plain datagram to a port, with a checksum where one has to be, that no host refuses by its addresses. */
static int has_to_be_taken(const struct input *input, const struct found *found)
{
	const uint8_t *ip = input->frame + found->ip, *udp = input->frame + found->udp;

	if (!found->is_plain || !word_at(udp + 2))
		return 0;
	if (found->is_v6)
		return word_at(udp + 6) && ip[8] == 0x20 && ip[24] == 0x20;
	return ip[12] == 10 && ip[16] == 10;
}

static struct lb_receiver receiver_of(const uint8_t *head, int is_v6)
{
	struct lb_receiver receiver = {
		.port = (__u16)(word_at(head + 16) ? word_at(head + 16) : 1),
		.is_v6 = (__u8)is_v6,
	};

	receiver.address = is_v6 ? lb_addr_v6(head) : lb_addr_v4(lb_be32(head + 12));
	return receiver;
}

/* What may differ in a frame that was led away from what it was. */
static void write_expected(uint8_t *frame, const struct found *found,
			   const struct lb_receiver *receiver, const struct lb_link *link,
			   const uint8_t *led)
{
	uint8_t *ip = frame + found->ip, *udp = frame + found->udp;

	memcpy(ip - 14, link, sizeof(*link));
	ip[found->is_v6 ? 7 : 8]--;
	put_address(ip + (found->is_v6 ? 24 : 16), receiver->address, found->is_v6);
	put_word(udp + 2, receiver->port);
	/* The checksums are judged by themselves. */
	memcpy(udp + 6, led + found->udp + 6, 2);
	if (!found->is_v6)
		memcpy(ip + 10, led + found->ip + 10, 2);
}

static void check_led(const struct input *input, const struct lb_packet *packet,
		      const struct found *found)
{
	static const struct lb_link link = {{2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13}};
	struct lb_receiver receiver = receiver_of(input->head, found->is_v6);
	uint8_t *led = malloc(input->bytes), *ip = led + found->ip, *udp = led + found->udp;
	uint32_t had_check = word_at(input->frame + found->udp + 6);
	uint32_t residue =
		residue_of_udp(input->frame + found->ip, input->frame + found->udp, found->bytes);

	EXPECT(led);
	memcpy(led, input->frame, input->bytes);
	EXPECT(lb_readdress_frame(led, packet, &receiver, &link) == found->ip - 14);
	if (!had_check)
		EXPECT(!word_at(udp + 6));
	else
		EXPECT(word_at(udp + 6) && residue_of_udp(ip, udp, found->bytes) == residue);
	if (!found->is_v6)
		EXPECT(!sum_of(ip, (ip[0] & 15u) * 4));
	write_expected(input->frame, found, &receiver, &link, led);
	EXPECT(!memcmp(led, input->frame, input->bytes));
	free(led);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input;
	struct lb_packet packet;
	struct found found;
	enum lb_parse kind;
	int is_datagram;

	if (!open_input(&input, data, size))
		return 0;
	kind = parse(input.frame, input.bytes, input.bytes, &packet);
	EXPECT(!memcmp(input.frame, data + HEAD, input.bytes));
	EXPECT(kind >= LB_PARSE_OTHER && kind <= LB_PARSE_LATER);
	check_cut(&input, kind, &packet);
	is_datagram = find_datagram(input.frame, input.bytes, &found);
	if (is_datagram && has_to_be_taken(&input, &found))
		EXPECT(kind == LB_PARSE_DATAGRAM);
	if (kind == LB_PARSE_DATAGRAM) {
		EXPECT(is_datagram);
		check_fields(&input, &packet, &found);
		if (packet.ttl > 1)
			check_led(&input, &packet, &found);
	}
	free(input.frame);
	return 0;
}
