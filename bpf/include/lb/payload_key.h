/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/*
 * payload_key.h: the flow key of `balance: payload`, from bytes of the UDP payload.
 *
 * This is the only copy, as with flow_key.h: the same bytes have the same key in every mode. A datagram
 * without the bytes goes by its source address (LB_PAYLOAD_IPFIX_DOMAIN, LB_PAYLOAD_NETFLOW_SOURCE) or by
 * its four-tuple (all others).
 *
 * User space has the payload in memory. A kernel program defines LB_PAYLOAD_COPY(context, offset, to,
 * bytes), a helper that copies bytes of the packet, before it includes this header.
 */
#ifndef LB_PAYLOAD_KEY_H
#define LB_PAYLOAD_KEY_H

#include "flow_key.h"

/* Which bytes are the key. Offsets count from the protocol's own header, behind `skip`. */
enum lb_payload_kind {
	LB_PAYLOAD_BYTES = 1,	     /* `length` bytes at `offset` */
	LB_PAYLOAD_IPFIX_DOMAIN = 2, /* source address, observation domain (RFC 7011, 3.1) */
	LB_PAYLOAD_NETFLOW_SOURCE =
		3,		    /* source address; v9: source ID (RFC 3954, 5.1), v5: engine */
	LB_PAYLOAD_RADIUS_ID = 4,   /* the identifier (RFC 2865, 3) */
	LB_PAYLOAD_SIP_CALL_ID = 5, /* the value of Call-ID (RFC 3261, 20.8) */
	LB_PAYLOAD_QUIC_SERVER_ID =
		6, /* `length` bytes at `offset` of the connection ID (RFC 9000) */
	LB_PAYLOAD_DTLS_SERVER_ID = 7, /* the same of DTLS (RFC 9146; RFC 9147, 4) */
};

#define LB_PAYLOAD_LENGTH_MAX 20
#define LB_PAYLOAD_OFFSET_MAX 1023
/* The longest connection IDs: RFC 9000, 17.2; RFC 9146, 3. */
#define LB_PAYLOAD_QUIC_MAX 20
#define LB_PAYLOAD_DTLS_MAX 255
/* Call-ID: bytes of a message that are searched, and bytes of the value that count. */
#define LB_PAYLOAD_SIP_SEARCHED 1024
#define LB_PAYLOAD_SIP_MAX 64

struct lb_payload_key {
	__u16 kind;   /* enum lb_payload_kind */
	__u16 offset; /* LB_PAYLOAD_BYTES and server IDs; others 0 */
	__u8 length;  /* the same; 1 … LB_PAYLOAD_LENGTH_MAX */
	__u8 skip;    /* bytes of an encapsulation in front of the protocol's header */
	__u16 reserved;
};

_Static_assert(sizeof(struct lb_payload_key) == 8, "no hidden padding");

LB_INLINE int lb_payload_key_is_valid(const struct lb_payload_key *key)
{
	__u32 end = (__u32)key->offset + key->length;

	if (key->kind >= LB_PAYLOAD_IPFIX_DOMAIN && key->kind <= LB_PAYLOAD_SIP_CALL_ID)
		return !end;
	if (!key->length || key->length > LB_PAYLOAD_LENGTH_MAX)
		return 0;
	if (key->kind == LB_PAYLOAD_BYTES)
		return key->offset <= LB_PAYLOAD_OFFSET_MAX;
	return (key->kind == LB_PAYLOAD_QUIC_SERVER_ID && end <= LB_PAYLOAD_QUIC_MAX) ||
	       (key->kind == LB_PAYLOAD_DTLS_SERVER_ID && end <= LB_PAYLOAD_DTLS_MAX);
}

#if !defined(__bpf__) || defined(LB_PAYLOAD_COPY)

struct lb_payload {
	const void *from; /* memory; in a kernel program, the context */
	__u32 start;	  /* where the payload begins in it */
	__u32 bytes;	  /* of the payload; 0: it is not at hand */
};

#ifndef __bpf__
#define LB_PAYLOAD_COPY(from, offset, to, count)                                                   \
	(__builtin_memcpy(to, (const __u8 *)(from) + (offset), count), 0)
#endif

/* Copies 1 … LB_PAYLOAD_SIP_MAX bytes of the payload; 0: it is too short. */
LB_INLINE int lb_payload_copy(const struct lb_payload *payload, __u32 at, void *to, __u32 count)
{
	/* The verifier must see the limits of the number that is used. */
	LB_OPAQUE(count);
	return count && count <= LB_PAYLOAD_SIP_MAX && at + count <= payload->bytes &&
	       !LB_PAYLOAD_COPY(payload->from, payload->start + at, to, count);
}

/* Where the search for Call-ID is, in the low byte of its state. Until LB_SIP_NAMED it is how many letters of
 * "call-id" are read since the line began. */
enum lb_sip {
	LB_SIP_LINE = 0,
	LB_SIP_NAMED = 7, /* after the name, before the colon */
	LB_SIP_COLON = 8, /* after the colon, before the value */
	LB_SIP_VALUE = 9,
	LB_SIP_OTHER = 10, /* in the rest of a line */
	LB_SIP_END =
		11, /* the value has ended, or the headers have; then start and length are set */
};

#ifdef __bpf__
/* A global function, so that the verifier walks it once and not 1024 times. */
#define LB_SIP_STEP __attribute__((noinline))
LB_SIP_STEP __u64 lb_sip_step(__u64 state, __u32 byte, __u32 at);
#else
#define LB_SIP_STEP LB_INLINE
#endif

/* Takes one byte of a SIP message, at `at`. Bits of the state: 0…7 enum lb_sip, 16…31 where the value starts,
 * 32…47 its length. */
LB_SIP_STEP __u64 lb_sip_step(__u64 state, __u32 byte, __u32 at)
{
	__u32 where = state & 0xff, start = (state >> 16) & 0xffff;
	int is_space = byte == ' ' || byte == '\t', is_end = byte == '\r' || byte == '\n';
	__u32 letter = byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte;

	if (where == LB_SIP_VALUE) {
		__u32 length = at - start;

		if (is_space || is_end || length >= LB_PAYLOAD_SIP_MAX)
			return (__u64)length << 32 | (__u64)start << 16 | LB_SIP_END;
		return state;
	}
	if (where == LB_SIP_LINE && is_end)
		return LB_SIP_END;
	if (byte == '\n')
		return LB_SIP_LINE;
	if (where == LB_SIP_OTHER)
		return LB_SIP_OTHER;
	if (where == LB_SIP_COLON) {
		if (is_space)
			return state;
		return is_end ? LB_SIP_OTHER : (__u64)at << 16 | LB_SIP_VALUE;
	}
	if (where == LB_SIP_NAMED)
		return is_space ? LB_SIP_NAMED : byte == ':' ? LB_SIP_COLON : LB_SIP_OTHER;
	if (where == LB_SIP_LINE && letter == 'i')
		return LB_SIP_NAMED;
	/* "call-id", the first letter in the lowest byte. */
	return letter == ((0x64692d6c6c6163ULL >> (where & 7) * 8) & 0xff) ? where + 1
									   : LB_SIP_OTHER;
}

/* The length of the Call-ID, and where it is; 0: none ends within LB_PAYLOAD_SIP_SEARCHED bytes. */
LB_INLINE __u32 lb_sip_find(const struct lb_payload *payload, __u32 skip, __u8 *chunk, __u32 *at)
{
	__u64 state = LB_SIP_LINE;

	for (__u32 searched = 0; searched < LB_PAYLOAD_SIP_SEARCHED;
	     searched += LB_PAYLOAD_SIP_MAX) {
		__u32 from = skip + searched, count = LB_PAYLOAD_SIP_MAX;

		if (from >= payload->bytes)
			return 0;
		if (payload->bytes - from < LB_PAYLOAD_SIP_MAX)
			count = payload->bytes - from;
		if (!lb_payload_copy(payload, from, chunk, count))
			return 0;
		for (__u32 i = 0; i < LB_PAYLOAD_SIP_MAX; i++) {
			if (i >= count)
				return 0;
			/* Most bytes; this spares the call. */
			if (state == LB_SIP_OTHER && chunk[i] != '\n')
				continue;
			state = lb_sip_step(state, chunk[i], from + i);
			if ((state & 0xff) == LB_SIP_END) {
				*at = (state >> 16) & 0xffff;
				return (__u32)(state >> 32);
			}
		}
	}
	return 0;
}

/* The length of a QUIC server ID, and where it is; 0: the packet has none. The client chose the connection ID of
 * Initial and 0-RTT packets. */
LB_INLINE __u32 lb_quic_find(const struct lb_payload_key *key, const struct lb_payload *payload,
			     __u8 *head, __u32 *at)
{
	__u32 skip = key->skip, version, type;

	/* The fixed bit (RFC 9000, 17.2 and 17.3). */
	if (!lb_payload_copy(payload, skip, head, 1) || !(head[0] & 0x40))
		return 0;
	*at = skip + 1 + key->offset;
	if (!(head[0] & 0x80))
		return key->length;
	if (!lb_payload_copy(payload, skip, head, 6))
		return 0;
	version = (__u32)head[1] << 24 | head[2] << 16 | head[3] << 8 | head[4];
	type = (head[0] >> 4) & 3;
	/* Handshake packets of version 1, and of version 2 (RFC 9369, 3.2). */
	if (!(version == 1 && type == 2) && !(version == 0x6b3343cf && type == 3))
		return 0;
	*at = skip + 6 + key->offset;
	return key->offset + key->length <= head[5] ? key->length : 0;
}

/* The number of key bytes, and where they are in the payload; 0: it has none. `head` has LB_PAYLOAD_SIP_MAX bytes. */
LB_INLINE __u32 lb_payload_find(const struct lb_payload_key *key, const struct lb_payload *payload,
				__u8 *head, __u32 *at)
{
	__u32 skip = key->skip;

	*at = skip + key->offset;
	if (key->kind == LB_PAYLOAD_BYTES)
		return key->length;
	if (key->kind == LB_PAYLOAD_SIP_CALL_ID)
		return lb_sip_find(payload, skip, head, at);
	if (key->kind == LB_PAYLOAD_QUIC_SERVER_ID)
		return lb_quic_find(key, payload, head, at);
	if (key->kind == LB_PAYLOAD_RADIUS_ID) {
		*at = skip + 1;
		return skip + 20 <= payload->bytes;
	}
	if (key->kind == LB_PAYLOAD_DTLS_SERVER_ID) {
		if (!lb_payload_copy(payload, skip, head, 1))
			return 0;
		/* tls12_cid, or the unified header with a connection ID. */
		*at = skip + key->offset + (head[0] == 25 ? 11 : 1);
		return head[0] == 25 || (head[0] & 0xf0) == 0x30 ? key->length : 0;
	}
	if (!lb_payload_copy(payload, skip, head, 2) || head[0])
		return 0;
	if (key->kind == LB_PAYLOAD_IPFIX_DOMAIN) {
		*at = skip + 12;
		return head[1] == 10 ? 4 : 0;
	}
	*at = skip + (head[1] == 9 ? 16 : 20);
	return head[1] == 9 ? 4 : head[1] == 5 ? 2 : 0;
}

#define LB_PAYLOAD_WORDS (LB_PAYLOAD_SIP_MAX / 8)

/* Reads the key's bytes into LB_PAYLOAD_WORDS words, zero behind them. Returns their number; 0: the payload has
 * none. */
LB_INLINE __u32 lb_payload_read(const struct lb_payload_key *key, const struct lb_payload *payload,
				__u64 *words)
{
	__u32 at, length;

	for (int i = 0; i < LB_PAYLOAD_WORDS; i++)
		words[i] = 0;
	length = lb_payload_find(key, payload, (__u8 *)words, &at);
	if (!length || length > LB_PAYLOAD_SIP_MAX)
		return 0;
	for (int i = 0; i < LB_PAYLOAD_WORDS; i++)
		words[i] = 0;
	return lb_payload_copy(payload, at, words, length) ? length : 0;
}

LB_INLINE int lb_payload_has_source(const struct lb_payload_key *key)
{
	return key->kind == LB_PAYLOAD_IPFIX_DOMAIN || key->kind == LB_PAYLOAD_NETFLOW_SOURCE;
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LB_LITTLE64(x) (x)
#else
#define LB_LITTLE64(x) __builtin_bswap64(x)
#endif

/* The key of `balance: payload`: the source address if it is part of it, the number of bytes, then the bytes in
 * little-endian words. */
LB_INLINE __u32 lb_key_payload(__u64 seed, const struct lb_payload_key *key,
			       const struct lb_payload *payload, const struct lb_flow *flow)
{
	__u64 words[LB_PAYLOAD_WORDS], hash = seed;
	__u32 length = lb_payload_read(key, payload, words);

	if (lb_payload_has_source(key)) {
		hash = lb_hash_addr(seed, flow->source);
		if (!length)
			return lb_key_of_hash(hash);
	} else if (!length) {
		return lb_key_four_tuple(seed, flow);
	}
	hash = lb_mix64(hash ^ length);
	for (__u32 i = 0; i < LB_PAYLOAD_WORDS; i++) {
		if (i * 8 < length)
			hash = lb_mix64(hash ^ LB_LITTLE64(words[i]));
	}
	return lb_key_of_hash(hash);
}

#endif

#endif
