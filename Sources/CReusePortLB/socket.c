/* SPDX-License-Identifier: Apache-2.0 */
/* socket.c: creates sockets, and checks sockets that are to join. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "internal.h"

/* Older C libraries lack the numbers (include/uapi/asm-generic/socket.h). */
#ifndef SO_COOKIE
#define SO_COOKIE 57
#endif
#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

#ifndef SO_BINDTOIFINDEX
#define SO_BINDTOIFINDEX 62
#endif

static int int_option(int fd, int option, int *value)
{
	socklen_t bytes = sizeof(*value);

	return getsockopt(fd, SOL_SOCKET, option, value, &bytes) ? -errno : 0;
}

static uint32_t device_of(int fd)
{
	int index;

	/* Linux 5.0; on an older kernel members are not distinguished by device. */
	return int_option(fd, SO_BINDTOIFINDEX, &index) ? 0 : (uint32_t)index;
}

static uint32_t is_v6only(int fd)
{
	int only;
	socklen_t bytes = sizeof(only);

	return !getsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, &bytes) && only;
}

static int set_buffer(int fd, int bytes)
{
	if (!setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)))
		return 0;
	return setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)) ? -errno : 0;
}

int rplb_socket_udp(const struct sockaddr *address, socklen_t length, int receive_buffer, int *out)
{
	int yes = 1, error = 0, fd;

	if (!address || length < sizeof(sa_family_t) || receive_buffer < 0 || !out)
		return -EINVAL;
	if (address->sa_family != AF_INET && address->sa_family != AF_INET6)
		return -EAFNOSUPPORT;
	fd = socket(address->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP);
	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes)))
		error = -errno;
	if (!error && receive_buffer)
		error = set_buffer(fd, receive_buffer);
	if (!error && bind(fd, address, length))
		error = -errno;
	if (error) {
		close(fd);
		return error;
	}
	*out = fd;
	return 0;
}

static uint64_t word(const uint8_t *bytes)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | bytes[i];
	return value;
}

static int inspect_address(int fd, struct rplb_socket *out)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} name;
	socklen_t bytes = sizeof(name);

	memset(&name, 0, sizeof(name));
	if (getsockname(fd, &name.any, &bytes))
		return -errno;
	out->family = name.any.sa_family;
	if (out->family == AF_INET) {
		out->address = lb_addr_v4(ntohl(name.v4.sin_addr.s_addr));
		out->port = ntohs(name.v4.sin_port);
	} else if (out->family == AF_INET6) {
		out->address.high = word(name.v6.sin6_addr.s6_addr);
		out->address.low = word(name.v6.sin6_addr.s6_addr + 8);
		out->port = ntohs(name.v6.sin6_port);
	} else {
		return -EPROTOTYPE;
	}
	return out->port ? 0 : -EDESTADDRREQ;
}

int rplb_socket_inspect(int fd, struct rplb_socket *out)
{
	struct rplb_socket found = {0};
	socklen_t bytes = sizeof(found.cookie);
	int shared, listens, error;

	error = int_option(fd, SO_PROTOCOL, &found.protocol);
	if (error)
		return error;
	if (found.protocol != IPPROTO_UDP && found.protocol != IPPROTO_TCP)
		return -EPROTOTYPE;
	error = inspect_address(fd, &found);
	if (error)
		return error;
	error = int_option(fd, SO_REUSEPORT, &shared);
	if (!error && !shared)
		error = -ENOPROTOOPT;
	if (!error && found.protocol == IPPROTO_TCP)
		error = int_option(fd, SO_ACCEPTCONN, &listens);
	if (!error && found.protocol == IPPROTO_TCP && !listens)
		error = -ENOTCONN;
	if (error)
		return error;
	if (getsockopt(fd, SOL_SOCKET, SO_COOKIE, &found.cookie, &bytes))
		return -errno;
	bytes = sizeof(found.netns);
	/* Linux 5.14; on an older kernel members are not distinguished by namespace. */
	if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &found.netns, &bytes))
		found.netns = 0;
	found.device = device_of(fd);
	found.v6only = found.family == AF_INET6 && is_v6only(fd);
	found.pid = getpid();
	found.uid = geteuid();
	*out = found;
	return 0;
}

bool rplb_socket_is_at(const struct rplb_socket *socket, const struct lb_reuseport_group *record)
{
	return record->family == socket->family && record->port == socket->port &&
	       record->address.high == socket->address.high &&
	       record->address.low == socket->address.low && record->device == socket->device &&
	       record->v6only == socket->v6only &&
	       (!record->netns || !socket->netns || record->netns == socket->netns);
}
