/* SPDX-License-Identifier: Apache-2.0 */
/* join.c: which sockets may join, which may not, and how a slot becomes free. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lab.h"

#define PORT 4739

static struct rplb_group *group;

static size_t members(void)
{
	size_t found = 0;

	lab_need(rplb_members(group, NULL, 0, &found), "members");
	return found;
}

/* Expects that each call that takes a socket refuses this one, then closes it. */
static void refuse(int fd, int want, const char *sentence)
{
	lab_error(rplb_join(group, fd, 0), want, "join: %s", sentence);
	lab_error(rplb_attach(group, fd), want, "attach: %s", sentence);
	lab_error(rplb_leave(group, fd), want, "leave: %s", sentence);
	if (fd >= 0)
		close(fd);
}

static void sockets(void)
{
	int ends[2];

	refuse(lab_socket((struct lab_socket){.type = SOCK_DGRAM, .unbound = true}), -EDESTADDRREQ,
	       "a UDP socket is bound");
	refuse(lab_socket((struct lab_socket){.type = SOCK_STREAM, .unbound = true}), -EDESTADDRREQ,
	       "a TCP socket is bound");
	refuse(lab_socket((struct lab_socket){.type = SOCK_STREAM, .deaf = true}), -ENOTCONN,
	       "a TCP socket listens");
	refuse(lab_socket((struct lab_socket){.type = SOCK_DGRAM, .exclusive = true}), -ENOPROTOOPT,
	       "a UDP socket has SO_REUSEPORT");
	refuse(lab_socket((struct lab_socket){.type = SOCK_STREAM, .exclusive = true}),
	       -ENOPROTOOPT, "a TCP socket has SO_REUSEPORT");

	refuse(open("/dev/null", O_RDONLY | O_CLOEXEC), -ENOTSOCK, "a file is no socket");
	refuse(-1, -EBADF, "-1 is no descriptor");
	refuse(socket(AF_UNIX, SOCK_DGRAM, 0), -EPROTOTYPE, "a Unix socket is not of IP");
	refuse(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP), -EPROTOTYPE, "a raw socket is not UDP");
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		lab_need(-errno, "socketpair");
	close(ends[1]);
	refuse(ends[0], -EPROTOTYPE, "a Unix stream is not TCP");
	lab_ok(members() == 0, "no refused socket is in a slot");
}

static void slots(void)
{
	int first = lab_udp(PORT), second = lab_udp(PORT);
	struct lab_socket elsewhere = {
		.type = SOCK_DGRAM, .port = PORT, .address = INADDR_LOOPBACK + 1};
	int other_port, other_address, tcp;

	lab_error(rplb_join(group, first, 3), -ERANGE, "a slot is below the count");
	lab_error(rplb_join(group, first, UINT32_MAX), -ERANGE, "the highest number is no slot");
	lab_error(rplb_leave(group, first), -ENOENT, "a socket that has not joined cannot leave");
	lab_error(rplb_join(group, first, 0), 0, "a bound socket joins");
	lab_error(rplb_join(group, first, 1), -EBUSY, "a socket is in one slot only");
	lab_error(rplb_join(group, second, 0), -EEXIST, "a slot has one member");

	other_port = lab_udp(PORT + 1);
	lab_error(rplb_join(group, other_port, 1), -EADDRNOTAVAIL, "a group has one port");
	other_address = lab_socket(elsewhere);
	lab_error(rplb_join(group, other_address, 1), -EADDRNOTAVAIL, "a group has one address");
	tcp = lab_tcp(PORT);
	lab_error(rplb_join(group, tcp, 0), 0,
		  "a listener joins the same slot: TCP has its own slots");
	lab_ok(members() == 2, "both are members, and no refused socket is");

	lab_error(rplb_leave(group, first), 0, "a member leaves");
	lab_error(rplb_leave(group, first), -ENOENT, "once");
	lab_error(rplb_join(group, second, 0), 0, "its slot is free then");
	close(second);
	lab_error(rplb_join(group, first, 0), 0, "a closed socket's slot is free at once");
	close(first);
	close(tcp);
	lab_ok(members() == 0, "closed sockets are no members");
	lab_error(rplb_join(group, other_port, 1), 0,
		  "a group without members takes a new address");
	close(other_port);
	close(other_address);
}

static int join_first(void *unused)
{
	(void)unused;
	return rplb_join(group, lab_udp(PORT), 0);
}

/* getsockopt reports these sockets as valid, but the kernel refuses them. */
static void late(void)
{
	struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(PORT)};
	int only, both, yes = 1,
			bare = lab_socket((struct lab_socket){
				.type = SOCK_DGRAM, .exclusive = true, .port = PORT + 2});
	int connected = lab_udp(PORT), plain = lab_udp(PORT);
	int device = lab_socket((struct lab_socket){.type = SOCK_DGRAM, .unbound = true});
	struct sockaddr_in name;
	socklen_t length = sizeof(name);

	if (setsockopt(bare, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes)))
		lab_need(-errno, "SO_REUSEPORT");
	lab_error(rplb_join(group, bare, 0), -ENOPROTOOPT, "SO_REUSEPORT after bind is too late");
	lab_error(rplb_attach(group, bare), -ENOPROTOOPT, "for attaching, too");
	close(bare);
	if (getsockname(plain, (struct sockaddr *)&name, &length) ||
	    connect(connected, (struct sockaddr *)&name, length))
		lab_need(-errno, "connect");
	lab_error(rplb_join(group, connected, 0), -ENOPROTOOPT, "a connected socket cannot join");
	close(connected);

	if (setsockopt(device, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3) ||
	    bind(device, (struct sockaddr *)&name, length))
		lab_need(-errno, "SO_BINDTODEVICE");
	lab_need(rplb_join(group, plain, 0), "join");
	lab_error(rplb_join(group, device, 1), -EADDRNOTAVAIL, "a group has one device");
	close(plain);
	close(device);

	only = socket(AF_INET6, SOCK_DGRAM, 0);
	if (setsockopt(only, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes)) ||
	    setsockopt(only, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes)) ||
	    bind(only, (struct sockaddr *)&any, sizeof(any)))
		lab_need(-errno, "an IPv6 socket");
	lab_need(rplb_socket_udp((struct sockaddr *)&any, sizeof(any), 0, &both), "bind");
	lab_need(rplb_join(group, both, 0), "join");
	lab_error(rplb_join(group, only, 1), -EADDRNOTAVAIL, "all members agree in IPV6_V6ONLY");
	close(only);
	close(both);
}

static void death(void)
{
	int fd;
	pid_t child = lab_start(join_first, NULL);

	fd = lab_udp(PORT);
	lab_error(rplb_join(group, fd, 0), -EEXIST, "a slot of another process is taken");
	lab_end(child);
	lab_error(rplb_join(group, fd, 0), 0, "a killed process leaves its slot");
	close(fd);
}

static void nothing(void)
{
	int fd = lab_udp(PORT);

	lab_error(rplb_join(NULL, fd, 0), -EINVAL, "a join needs a group");
	lab_error(rplb_leave(NULL, fd), -EINVAL, "leaving needs a group");
	lab_error(rplb_attach(NULL, fd), -EINVAL, "attaching needs a group");
	lab_error(rplb_attach(group, fd), 0, "attaching needs no slot");
	lab_ok(members() == 0, "an attached socket is no member");
	close(fd);
}

int main(void)
{
	lab_enter();
	group = lab_group("joined", 3);
	sockets();
	slots();
	late();
	death();
	nothing();
	rplb_group_close(group);
	return lab_leave();
}
