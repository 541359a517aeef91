/* SPDX-License-Identifier: Apache-2.0 */
/* Unix.c: stream sockets with a path (unix(7)), and sending descriptors over them. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "CNet.h"

static int or_error(int result)
{
	return result < 0 ? -errno : result;
}

/* The name of a path: its length, or -ENAMETOOLONG. */
static int name_of(const char *path, struct sockaddr_un *name)
{
	size_t length = strlen(path);

	if (length >= sizeof(name->sun_path))
		return -ENAMETOOLONG;
	memset(name, 0, sizeof(*name));
	name->sun_family = AF_UNIX;
	memcpy(name->sun_path, path, length + 1);
	return (int)(offsetof(struct sockaddr_un, sun_path) + length + 1);
}

int cnet_unix_listen(const char *path, unsigned int mode, int backlog)
{
	struct sockaddr_un name;
	int length = name_of(path, &name);
	int fd, error;

	if (length < 0)
		return length;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	/* bind creates the file with the mode of the socket (net/unix/af_unix.c). */
	if (fchmod(fd, mode) || bind(fd, (struct sockaddr *)&name, length) || listen(fd, backlog)) {
		error = -errno;
		close(fd);
		return error;
	}
	return fd;
}

int cnet_unix_connect(const char *path, unsigned int milliseconds)
{
	struct timeval limit = {milliseconds / 1000, milliseconds % 1000 * 1000L};
	struct sockaddr_un name;
	int length = name_of(path, &name);
	int fd, error;

	if (length < 0)
		return length;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	/* The send timeout also limits connect (net/unix/af_unix.c, unix_stream_connect). */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) ||
	    connect(fd, (struct sockaddr *)&name, length)) {
		error = -errno;
		close(fd);
		return error;
	}
	return fd;
}

int cnet_unix_accept(int fd)
{
	return or_error(accept4(fd, NULL, NULL, SOCK_CLOEXEC));
}

int cnet_unix_peer(int fd, uint32_t *uid, int32_t *pid)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		return -errno;
	*uid = peer.uid;
	*pid = peer.pid;
	return 0;
}

union control {
	char bytes[CMSG_SPACE(sizeof(int) * CNET_DESCRIPTORS_MAX)];
	struct cmsghdr align;
};

int64_t cnet_send_descriptors(int fd, const void *bytes, size_t count, const int *descriptors,
			      unsigned int descriptor_count)
{
	union control control;
	struct iovec vector = {.iov_base = (void *)bytes, .iov_len = count};
	struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
	ssize_t sent;

	if (descriptor_count > CNET_DESCRIPTORS_MAX)
		return -E2BIG;
	if (descriptor_count) {
		size_t size = sizeof(int) * descriptor_count;

		memset(&control, 0, sizeof(control));
		message.msg_control = control.bytes;
		message.msg_controllen = CMSG_SPACE(size);

		struct cmsghdr *header = CMSG_FIRSTHDR(&message);

		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(size);
		memcpy(CMSG_DATA(header), descriptors, size);
	}
	do {
		sent = sendmsg(fd, &message, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : sent;
}

int64_t cnet_receive_descriptors(int fd, void *bytes, size_t count, int *descriptors,
				 unsigned int *descriptor_count)
{
	union control control;
	struct iovec vector = {.iov_base = bytes, .iov_len = count};
	struct msghdr message = {
		.msg_iov = &vector,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t received;

	*descriptor_count = 0;
	do {
		received = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	} while (received < 0 && errno == EINTR);
	if (received < 0)
		return -errno;
	for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header;
	     header = CMSG_NXTHDR(&message, header)) {
		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;

		unsigned int more = (unsigned int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));

		for (unsigned int i = 0; i < more; i++) {
			int passed;

			memcpy(&passed, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
			if (*descriptor_count < CNET_DESCRIPTORS_MAX)
				descriptors[(*descriptor_count)++] = passed;
			else
				close(passed);
		}
	}
	return received;
}
