/* SPDX-License-Identifier: Apache-2.0 */
/* payload.c: groups that balance by bytes of the payload, and by the CPU. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab.h"

#define SLOTS 4
#define NAME "payload"

#define KEY(...)                                                                                   \
	RPLB_OPTIONS(.count = SLOTS, .key = RPLB_KEY_PAYLOAD,                                      \
		     .payload = (struct rplb_payload_key){__VA_ARGS__})

static int members[SLOTS];
static uint16_t port;

static struct sockaddr_in at(uint32_t address, uint16_t number)
{
	return (struct sockaddr_in){.sin_family = AF_INET,
				    .sin_port = htons(number),
				    .sin_addr.s_addr = htonl(address)};
}

static struct rplb_group *start(const struct rplb_options *options)
{
	struct sockaddr_in bound = {0};
	socklen_t length = sizeof(bound);
	struct rplb_group *group;

	lab_need(rplb_group_open(NAME, options, &group), "a group");
	port = 0;
	for (uint32_t slot = 0; slot < SLOTS; slot++) {
		members[slot] = lab_udp(port);
		getsockname(members[slot], (struct sockaddr *)&bound, &length);
		port = ntohs(bound.sin_port);
		lab_need(rplb_join(group, members[slot], slot), "join");
	}
	return group;
}

static void end(struct rplb_group *group)
{
	for (int slot = 0; slot < SLOTS; slot++)
		close(members[slot]);
	rplb_group_close(group);
	lab_need(rplb_group_destroy(NULL, NAME), "destroy");
}

/* Sends a datagram from a source (127.0.0.0/8) and returns the slot that it arrives at. */
static int slot_of(uint32_t source, uint16_t source_port, const void *payload, size_t bytes)
{
	lab_send(source, source_port, port, payload, bytes);
	return lab_arrival(members, SLOTS);
}

/* Whether the program and rplb_slot_of_payload agree about a datagram. */
static bool agree(struct rplb_group *group, uint32_t source, const void *payload, size_t bytes)
{
	struct sockaddr_in from = at(source, 40000), to = at(INADDR_LOOPBACK, port);
	struct rplb_member member;
	uint32_t slot = SLOTS;
	int error = rplb_slot_of_payload(group, IPPROTO_UDP, (struct sockaddr *)&from,
					 (struct sockaddr *)&to, payload, bytes, &slot, &member);

	return !error && (int)slot == slot_of(source, 40000, payload, bytes);
}

/* Datagrams that have the key, with a byte that changes it, and a byte that does not. */
struct shape {
	const char *name;
	struct rplb_payload_key key;
	const char *bytes;
	size_t length;
	size_t of_key;
	size_t other;
};

#define SIP                                                                                        \
	"OPTIONS sip:a@b SIP/2.0\r\nVia: SIP/2.0/UDP h;branch=1\r\nI:  12345678@h \r\n"            \
	"Content-Length: 0\r\n\r\n"

static const struct shape shapes[] = {
	{"bytes", {RPLB_PAYLOAD_BYTES, 2, 4, 1}, "0123456789", 10, 3, 7},
	{"ipfix_domain",
	 {RPLB_PAYLOAD_IPFIX_DOMAIN, 0, 0, 0},
	 "\0\12\0\20....----\0\0\0\1",
	 16,
	 15,
	 5},
	{"netflow_source, v9",
	 {RPLB_PAYLOAD_NETFLOW_SOURCE, 0, 0, 0},
	 "\0\11\0\1....----....\0\0\0\1",
	 20,
	 19,
	 5},
	{"netflow_source, v5",
	 {RPLB_PAYLOAD_NETFLOW_SOURCE, 0, 0, 0},
	 "\0\5\0\1....----....----\1\2\0\0",
	 24,
	 21,
	 5},
	{"radius_id", {RPLB_PAYLOAD_RADIUS_ID, 0, 0, 0}, "\1.\0\24................", 20, 1, 5},
	{"sip_call_id", {RPLB_PAYLOAD_SIP_CALL_ID, 0, 0, 0}, SIP, sizeof(SIP) - 1, 59, 10},
	{"quic_server_id, short",
	 {RPLB_PAYLOAD_QUIC_SERVER_ID, 1, 4, 0},
	 "\100.0123....data",
	 14,
	 2,
	 8},
	{"quic_server_id, Handshake",
	 {RPLB_PAYLOAD_QUIC_SERVER_ID, 1, 4, 0},
	 "\340\0\0\0\1\10.0123...\0data",
	 19,
	 7,
	 12},
	{"dtls_server_id, 1.2",
	 {RPLB_PAYLOAD_DTLS_SERVER_ID, 0, 2, 0},
	 "\31\376\375\0\1\0\0\0\0\0\1ID..data",
	 19,
	 11,
	 13},
	{"dtls_server_id, 1.3", {RPLB_PAYLOAD_DTLS_SERVER_ID, 0, 2, 0}, "\62ID..data", 9, 1, 4},
};

static void check_shape(const struct shape *shape)
{
	struct rplb_options options =
		RPLB_OPTIONS(.count = SLOTS, .key = RPLB_KEY_PAYLOAD, .payload = shape->key);
	struct rplb_group *group = start(&options);
	char payload[256];
	bool agreed = true, stayed = true;
	int met[SLOTS] = {0};

	memcpy(payload, shape->bytes, shape->length);
	for (int i = 0; i < 32; i++) {
		int slot;

		payload[shape->of_key] = (char)('A' + i);
		slot = slot_of(INADDR_LOOPBACK, 0, payload, shape->length);
		met[slot < 0 ? 0 : slot]++;
		agreed &= agree(group, INADDR_LOOPBACK, payload, shape->length);
		payload[shape->other] ^= 0x55;
		stayed &= slot_of(INADDR_LOOPBACK, 0, payload, shape->length) == slot;
		payload[shape->other] ^= 0x55;
	}
	lab_ok(met[0] && met[1] && met[2] && met[3], "%s: its bytes reach every member",
	       shape->name);
	lab_ok(stayed, "%s: other bytes and the source port do not matter", shape->name);
	for (size_t length = 0; length <= shape->length; length++)
		agreed &= agree(group, INADDR_LOOPBACK + (uint32_t)length, payload, length);
	lab_ok(agreed, "%s: rplb_slot_of_payload agrees, also about datagrams that are too short",
	       shape->name);
	end(group);
}

static void look_up(void)
{
	struct rplb_group *group = start(&KEY(RPLB_PAYLOAD_BYTES, 0, 4, 0));
	struct sockaddr_in from = at(INADDR_LOOPBACK, 1), to = at(INADDR_LOOPBACK, port);
	struct sockaddr *source = (struct sockaddr *)&from;
	struct rplb_member member;
	uint32_t slot;

	lab_error(rplb_slot_of(group, IPPROTO_UDP, source, NULL, &slot, &member), -ENODATA,
		  "a payload is needed");
	lab_error(rplb_slot_of_payload(group, IPPROTO_UDP, source, NULL, "abcd", 4, &slot, &member),
		  0, "a destination is not");
	lab_error(rplb_slot_of_payload(group, IPPROTO_UDP, source, NULL, "abc", 3, &slot, &member),
		  -EDESTADDRREQ, "unless the payload is too short");
	lab_error(rplb_slot_of(group, IPPROTO_TCP, source, (struct sockaddr *)&to, &slot, &member),
		  0, "a TCP connection has none");
	end(group);
}

static int reopen(struct rplb_options options)
{
	struct rplb_group *group;
	int error = rplb_group_open(NAME, &options, &group);

	if (!error)
		rplb_group_close(group);
	return error;
}

static void refuse(void)
{
	struct rplb_group *group;
	struct rplb_info info;

	lab_error(reopen(RPLB_OPTIONS(.count = SLOTS, .key = RPLB_KEY_PAYLOAD)), -EINVAL,
		  "a payload key needs its bytes");
	lab_error(reopen(RPLB_OPTIONS(.count = SLOTS, .payload.kind = RPLB_PAYLOAD_RADIUS_ID)),
		  -EINVAL, "bytes need the payload key");
	lab_error(reopen(KEY(RPLB_PAYLOAD_BYTES, 0, 21, 0)), -EINVAL, "21 bytes are too many");
	lab_error(reopen(KEY(RPLB_PAYLOAD_BYTES, 1024, 1, 0)), -EINVAL, "1024 is too far");
	lab_error(reopen(KEY(RPLB_PAYLOAD_BYTES, 0, 1, 256)), -EINVAL, "256 is too much to skip");
	lab_error(reopen(KEY(RPLB_PAYLOAD_RADIUS_ID, 0, 1, 0)), -EINVAL,
		  "RADIUS has its own bytes");
	lab_error(reopen(KEY(RPLB_PAYLOAD_QUIC_SERVER_ID, 17, 4, 0)), -EINVAL,
		  "a connection ID of QUIC has 20 bytes");
	lab_error(reopen(KEY(8, 0, 4, 0)), -EINVAL, "there is no such kind");
	group = start(&KEY(RPLB_PAYLOAD_BYTES, 2, 4, 1));
	lab_error(reopen(KEY(RPLB_PAYLOAD_BYTES, 2, 4, 1)), 0, "the same bytes open it again");
	lab_error(reopen(RPLB_OPTIONS(.count = SLOTS)), 0, "so does any key");
	lab_error(reopen(KEY(RPLB_PAYLOAD_BYTES, 2, 3, 1)), -ESTALE, "other bytes do not");
	lab_error(rplb_info(group, &info), 0, "the group reports its key");
	lab_ok(info.key == RPLB_KEY_PAYLOAD && info.payload.kind == RPLB_PAYLOAD_BYTES &&
		       info.payload.offset == 2 && info.payload.length == 4 &&
		       info.payload.skip == 1,
	       "with its bytes");
	end(group);
}

static void by_cpu(void)
{
	struct rplb_group *group = start(&RPLB_OPTIONS(.count = SLOTS, .key = RPLB_KEY_CPU));
	struct sockaddr_in from = at(INADDR_LOOPBACK, 1);
	struct rplb_member member;
	cpu_set_t all, one;
	bool right = true;
	uint32_t slot;

	sched_getaffinity(0, sizeof(all), &all);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		/* The loopback interface delivers on the sender's CPU. */
		for (int i = 0; i < 8; i++)
			right &= slot_of(INADDR_LOOPBACK + (uint32_t)i, 0, "x", 1) == cpu % SLOTS;
	}
	sched_setaffinity(0, sizeof(all), &all);
	lab_ok(right, "each CPU's datagrams go to its member");
	lab_error(rplb_slot_of(group, IPPROTO_UDP, (struct sockaddr *)&from, NULL, &slot, &member),
		  -EDOM, "no source determines that member");
	end(group);
}

int main(void)
{
	lab_enter();
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		check_shape(&shapes[i]);
	look_up();
	refuse();
	by_cpu();
	return lab_leave();
}
