/* SPDX-License-Identifier: Apache-2.0 */
/* lab_sockets.c: the groups and sockets of the cases. */
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lab.h"

void lab_remove_pins(const char *name)
{
	char path[600];
	struct dirent *entry;
	DIR *entries;

	snprintf(path, sizeof(path), RPLB_PIN_ROOT "/%s", name);
	entries = opendir(path);
	if (!entries)
		lab_need(-errno, path);
	while ((entry = readdir(entries))) {
		if (strchr(entry->d_name, '.'))
			continue;
		snprintf(path, sizeof(path), RPLB_PIN_ROOT "/%s/%s", name, entry->d_name);
		if (unlink(path))
			lab_need(-errno, path);
	}
	closedir(entries);
	snprintf(path, sizeof(path), RPLB_PIN_ROOT "/%s", name);
	if (rmdir(path))
		lab_need(-errno, path);
}

struct rplb_group *lab_group(const char *name, uint32_t count)
{
	struct rplb_group *group = NULL;

	lab_need(rplb_group_open(name, &RPLB_OPTIONS(.count = count), &group), "a group");
	return group;
}

int lab_socket(struct lab_socket wanted)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(wanted.port),
		.sin_addr.s_addr = htonl(wanted.address ? wanted.address : INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, wanted.type | SOCK_CLOEXEC, 0), yes = 1;

	if (fd < 0)
		lab_need(-errno, "socket");
	if (!wanted.exclusive && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes)))
		lab_need(-errno, "SO_REUSEPORT");
	if (!wanted.unbound && bind(fd, (struct sockaddr *)&address, sizeof(address)))
		lab_need(-errno, "bind");
	if (wanted.type == SOCK_STREAM && !wanted.deaf && !wanted.unbound && listen(fd, 8))
		lab_need(-errno, "listen");
	return fd;
}

int lab_udp(uint16_t port)
{
	return lab_socket((struct lab_socket){.type = SOCK_DGRAM, .port = port});
}

int lab_tcp(uint16_t port)
{
	return lab_socket((struct lab_socket){.type = SOCK_STREAM, .port = port});
}

void lab_send(uint32_t source, uint16_t source_port, uint16_t port, const void *bytes,
	      size_t length)
{
	struct sockaddr_in from = {.sin_family = AF_INET,
				   .sin_port = htons(source_port),
				   .sin_addr.s_addr = htonl(source)};
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int one = 1, fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&from, sizeof(from)) ||
	    sendto(fd, bytes, length, 0, (struct sockaddr *)&to, sizeof(to)) != (ssize_t)length)
		lab_need(-errno, "send");
	close(fd);
}

int lab_arrival(const int *fds, int count)
{
	int found = -1;
	char byte;

	for (int i = 0; i < count; i++) {
		while (recv(fds[i], &byte, 1, MSG_DONTWAIT) >= 0)
			found = i;
	}
	return found;
}
