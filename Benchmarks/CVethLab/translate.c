/* SPDX-License-Identifier: Apache-2.0 */
/* translate.c: the baseline of address translation: writes constant headers into frames. */
#include <linux/if_link.h>
#include <net/if.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "frames.h"
#include "instructions.h"

enum {
	ETHERNET_WORDS = 3, /* two addresses */
	LIFETIME = 22,
	CHECKSUM = 24,
	DESTINATION = 30,
	UDP_CHECKSUM = 40,
};

static struct bpf_insn put_bytes(const uint8_t *frame, uint8_t size, int at)
{
	uint32_t word = 0;

	memcpy(&word, frame + at, size == BPF_B ? 1 : size == BPF_H ? 2 : 4);
	return put_number(size, BPF_REG_2, at, word);
}

/* The sums are the same for all sources, so they are constants, too. One hop costs the header's sum 0x100. */
static void lower_lifetime(uint8_t *frame)
{
	uint32_t sum = (uint32_t)(frame[CHECKSUM] << 8 | frame[CHECKSUM + 1]) + 0x100;

	frame[LIFETIME]--;
	sum += sum >> 16;
	frame[CHECKSUM] = (uint8_t)(sum >> 8);
	frame[CHECKSUM + 1] = (uint8_t)sum;
}

int lab_bare_translate(const char *at, const char *out, const struct lab_wire *wire,
		       uint64_t mac_to, uint32_t address_to)
{
	LIBBPF_OPTS(bpf_link_create_opts, native, .flags = XDP_FLAGS_DRV_MODE);
	struct lab_wire translated = *wire;
	uint8_t frame[LAB_FRAME_BYTES];
	struct bpf_insn code[32], *end = code;
	const struct bpf_insn open[] = {OPEN_PACKET(44, ETHERNET_WORDS + 5 + 4)};
	int program, link;

	translated.mac = mac_to;
	translated.address = address_to;
	lab_frame(frame, &translated);
	lower_lifetime(frame);
	memcpy(end, open, sizeof(open));
	end += sizeof(open) / sizeof(*open);
	for (int i = 0; i < ETHERNET_WORDS; i++)
		*end++ = put_bytes(frame, BPF_W, 4 * i);
	*end++ = put_bytes(frame, BPF_B, LIFETIME);
	*end++ = put_bytes(frame, BPF_H, CHECKSUM);
	*end++ = put_bytes(frame, BPF_H, DESTINATION);
	*end++ = put_bytes(frame, BPF_H, DESTINATION + 2);
	*end++ = put_bytes(frame, BPF_H, UDP_CHECKSUM);
	*end++ = set(BPF_REG_1, out ? if_nametoindex(out) : 0);
	*end++ = set(BPF_REG_2, 0);
	*end++ = out ? call(BPF_FUNC_redirect) : set(BPF_REG_0, XDP_TX);
	*end++ = leave();
	*end++ = set(BPF_REG_0, XDP_DROP);
	*end++ = leave();
	program = bpf_prog_load(BPF_PROG_TYPE_XDP, "lb_bare", "Dual BSD/GPL", code,
				(size_t)(end - code), NULL);
	if (program < 0)
		return program;
	link = bpf_link_create(program, (int)if_nametoindex(at), BPF_XDP, &native);
	close(program);
	return link;
}
