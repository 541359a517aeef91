/* SPDX-License-Identifier: Apache-2.0 */
/*
 * payload.c: keys of payloads. AddressSanitizer sees a read beyond the payload; the key bytes are compared with
 * those at their place, and a Call-ID with another search for it.
 */
#include <lb/payload_key.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sums.h"

/* The value of the first Call-ID; its length, or 0. */
static uint32_t call_id(const char *text, uint32_t bytes, const char **value)
{
	const char *end = text + bytes, *line = text, *at;

	while (line < end && *line != '\r' && *line != '\n') {
		const char *next = memchr(line, '\n', (size_t)(end - line));
		size_t name = end - line >= 7 && !strncasecmp(line, "call-id", 7) ? 7
			      : *line == 'i' || *line == 'I'			  ? 1
										  : 0;

		for (at = line + name; name && at < end && (*at == ' ' || *at == '\t'); at++)
			;
		if (name && at < end && *at == ':') {
			for (at++; at < end && (*at == ' ' || *at == '\t'); at++)
				;
			*value = at;
			while (at < end && !memchr(" \t\r\n", *at, 4) && at - *value < 64)
				at++;
			if (at == end)
				return 0;
			if (at > *value)
				return (uint32_t)(at - *value);
		}
		if (!next)
			return 0;
		line = next + 1;
	}
	return 0;
}

static void check(const struct lb_payload_key *key, const uint8_t *bytes, uint32_t count)
{
	struct lb_payload payload = {.from = bytes, .bytes = count};
	struct lb_flow flow = {.source = {1, 2}, .destination = {3, 4}, .source_port = 5};
	__u64 words[LB_PAYLOAD_WORDS];
	uint32_t length = lb_payload_read(key, &payload, words);
	const uint8_t *read = (const uint8_t *)words;
	const char *value;

	EXPECT(length <= LB_PAYLOAD_SIP_MAX && length <= count);
	for (uint32_t i = length; length && i < sizeof(words); i++)
		EXPECT(!read[i]);
	EXPECT(!length || memmem(bytes, count, read, length));
	if (!length)
		EXPECT(lb_key_payload(7, key, &payload, &flow) ==
		       (lb_payload_has_source(key) ? lb_key_source_ip(7, flow.source)
						   : lb_key_four_tuple(7, &flow)));
	if (key->kind == LB_PAYLOAD_BYTES)
		EXPECT(length == ((uint32_t)key->skip + key->offset + key->length <= count
					  ? key->length
					  : 0));
	if (key->kind == LB_PAYLOAD_SIP_CALL_ID && key->skip <= count) {
		uint32_t searched = count - key->skip;

		if (searched > LB_PAYLOAD_SIP_SEARCHED)
			searched = LB_PAYLOAD_SIP_SEARCHED;
		EXPECT(length == call_id((const char *)bytes + key->skip, searched, &value));
		EXPECT(!length || !memcmp(value, read, length));
	}
}

/* The input: a specification, then the payload. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct lb_payload_key key;
	uint8_t *bytes;

	if (size < sizeof(key))
		return 0;
	memcpy(&key, data, sizeof(key));
	size -= sizeof(key);
	if (!lb_payload_key_is_valid(&key) || size > 65507)
		return 0;
	/* A block of its own, so that the sanitizer knows its end. */
	bytes = malloc(size ? size : 1);
	if (!bytes)
		return 0;
	memcpy(bytes, data + sizeof(key), size);
	check(&key, bytes, (uint32_t)size);
	free(bytes);
	return 0;
}
