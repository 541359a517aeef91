/* SPDX-License-Identifier: Apache-2.0 */
/* Resolver.c: DNS questions by the C library's resolver (resolver(3)). */
#define _GNU_SOURCE
#include <arpa/nameser.h>
#include <errno.h>
#include <resolv.h>
#include <stdlib.h>
#include <string.h>

#include "CNet.h"

/* Uses these servers instead of those of resolv.conf(5). glibc keeps IPv6 addresses in memory that res_nclose
 * frees, only for the first `nscount` servers. */
static int use_servers(res_state state, const struct cnet_name *servers, int count)
{
	for (int i = 0; i < MAXNS; i++) {
		free(state->_u._ext.nsaddrs[i]);
		state->_u._ext.nsaddrs[i] = NULL;
	}
	for (state->nscount = 0; state->nscount < count && state->nscount < MAXNS;) {
		int i = state->nscount++;
		const void *server = servers[i].words;

		memcpy(&state->nsaddr_list[i], server, sizeof(state->nsaddr_list[i]));
		state->_u._ext.nssocks[i] = -1;
		if (state->nsaddr_list[i].sin_family == AF_INET)
			continue;
		state->nsaddr_list[i].sin_family = 0;
		state->_u._ext.nsaddrs[i] = malloc(sizeof(struct sockaddr_in6));
		if (!state->_u._ext.nsaddrs[i])
			return -ENOMEM;
		memcpy(state->_u._ext.nsaddrs[i], server, sizeof(struct sockaddr_in6));
	}
	return 0;
}

/* The response code; REFUSED for a referral, the reply of a server that does not know the name. */
static int reply_code(const unsigned char *reply)
{
	int is_referral = (reply[2] & 0x84) == 0x80 && !(reply[3] & 0x8f) && !reply[6] && !reply[7];

	return is_referral ? ns_r_refused : reply[3] & 0x0f;
}

/* Sends one question: bytes of the reply or -errno. glibc skips servers that refuse or fail and leaves the
 * last such reply in the buffer, so reply_code has the cause of a failure; otherwise it is 0. */
static int exchange(res_state state, const char *name, int type, unsigned char *reply)
{
	/* The OPT record of EDNS (RFC 6891): UDP replies may have 1232 bytes. */
	static const unsigned char edns[] = {0, 0, ns_t_opt, 1232 >> 8, 1232 & 0xff, 0, 0,
					     0, 0, 0,	     0};
	unsigned char question[NS_PACKETSZ];
	int length = res_nmkquery(state, ns_o_query, name, ns_c_in, type, NULL, 0, NULL, question,
				  sizeof(question) - sizeof(edns));

	memset(reply, 0, NS_HFIXEDSZ);
	if (length < 0)
		return -EINVAL;
	if (state->options & RES_USE_EDNS0) {
		memcpy(question + length, edns, sizeof(edns));
		length += sizeof(edns);
		question[11] = 1; /* ARCOUNT */
	}
	length = res_nsend(state, question, length, reply, NS_MAXMSG);
	if (length >= 0)
		return length;
	length = -errno;
	if (memcmp(reply, question, 2) || !(reply[2] & 0x80))
		memset(reply, 0, NS_HFIXEDSZ);
	return length;
}

/* 1; 0 for a record of another type; -1 when its data is too short or holds a bad name. */
static int read_record(const ns_msg *message, const ns_rr *rr, char *target, int room,
		       struct cnet_dns_record *out)
{
	const unsigned char *data = ns_rr_rdata(*rr), *name = data;
	int length = ns_rr_rdlen(*rr);

	*out = (struct cnet_dns_record){rr->name, target, ns_rr_type(*rr), .ttl = ns_rr_ttl(*rr)};
	switch (out->type) {
	case ns_t_a:
		if (length != NS_INADDRSZ)
			return -1;
		out->low = 0xffff00000000 | ns_get32(data);
		return 1;
	case ns_t_aaaa:
		if (length != NS_IN6ADDRSZ)
			return -1;
		out->high = (uint64_t)ns_get32(data) << 32 | ns_get32(data + 4);
		out->low = (uint64_t)ns_get32(data + 8) << 32 | ns_get32(data + 12);
		return 1;
	case ns_t_soa: /* its last word is the negative TTL (RFC 2308 section 4) */
		if (length < 22)
			return -1;
		out->absence_ttl = ns_get32(data + length - 4);
		return 1;
	case ns_t_srv:
		if (length < 7)
			return -1;
		out->priority = ns_get16(data);
		out->weight = ns_get16(data + 2);
		out->port = ns_get16(data + 4);
		name += 6;
		break;
	case ns_t_cname:
		break;
	default:
		return 0;
	}
	return dn_expand(ns_msg_base(*message), ns_msg_end(*message), name, target, room) < 0 ? -1
											      : 1;
}

/* Passes on the records of the answer section, and the SOA of the authority section: 0 or -EBADMSG. */
static int read_reply(const unsigned char *reply, int length, cnet_dns_take *take, void *context)
{
	static const ns_sect sections[] = {ns_s_an, ns_s_ns};
	ns_msg message;

	if (ns_initparse(reply, length, &message))
		return -EBADMSG;
	for (int i = 0; i < 2; i++)
		for (int j = 0; j < ns_msg_count(message, sections[i]); j++) {
			char target[NS_MAXDNAME] = "";
			struct cnet_dns_record record;
			ns_rr rr;
			int is_known;

			if (ns_parserr(&message, sections[i], j, &rr))
				return -EBADMSG;
			if (ns_rr_class(rr) != ns_c_in ||
			    (sections[i] == ns_s_ns && ns_rr_type(rr) != ns_t_soa))
				continue;
			is_known = read_record(&message, &rr, target, sizeof(target), &record);
			if (is_known < 0)
				return -EBADMSG;
			if (is_known)
				take(context, &record);
		}
	return 0;
}

int cnet_dns_ask(const char *name, int type, const struct cnet_name *servers, int count,
		 int seconds, int attempts, cnet_dns_take *take, void *context)
{
	struct __res_state state = {0};
	unsigned char reply[NS_MAXMSG] = {0};
	int result;

	if (res_ninit(&state))
		return -ENOMEM;
	if (seconds)
		state.retrans = seconds;
	if (attempts)
		state.retry = attempts;
	result = count ? use_servers(&state, servers, count) : 0;
	if (!result) {
		state.options |= RES_USE_EDNS0;
		result = exchange(&state, name, type, reply);
		if (reply_code(reply) == ns_r_formerr) { /* an old server, which knows no EDNS */
			state.options &= ~RES_USE_EDNS0;
			result = exchange(&state, name, type, reply);
		}
	}
	res_nclose(&state);
	if (result < 0)
		return reply_code(reply) ?: result;
	if (reply_code(reply) == ns_r_noerror || reply_code(reply) == ns_r_nxdomain)
		result = read_reply(reply, result, take, context);
	return result < 0 ? result : reply_code(reply);
}
