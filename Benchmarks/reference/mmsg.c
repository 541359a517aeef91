// SPDX-License-Identifier: Apache-2.0
/* mmsg.c: a batch of datagrams in with one system call, the same batch out with another. */

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>

#include "forward.h"

enum {
	BATCH = 64,
	DATAGRAM_MAX = 9216
};

void forward_mmsg(struct forwarder *forwarder)
{
	static char buffers[BATCH][DATAGRAM_MAX];
	struct mmsghdr messages[BATCH];
	struct iovec parts[BATCH];

	for (;;) {
		int received;

		for (int i = 0; i < BATCH; i++) {
			parts[i].iov_base = buffers[i];
			parts[i].iov_len = sizeof(buffers[i]);
			messages[i] = (struct mmsghdr){
				.msg_hdr = {.msg_iov = &parts[i], .msg_iovlen = 1},
			};
		}
		received = recvmmsg(forwarder->in, messages, BATCH, MSG_WAITFORONE, NULL);
		if (received < 0) {
			if (errno == EINTR)
				continue;
			return;
		}
		/* The received messages are sent unchanged, except for length and address. */
		for (int i = 0; i < received; i++) {
			parts[i].iov_len = messages[i].msg_len;
			messages[i].msg_hdr.msg_name = &forwarder->sinks[next_sink(forwarder)];
			messages[i].msg_hdr.msg_namelen = sizeof(forwarder->sinks[0]);
		}
		sendmmsg(forwarder->out, messages, (unsigned int)received, MSG_DONTWAIT);
	}
}
