/* SPDX-License-Identifier: Apache-2.0 */
/* adopt.c: puts the socket of a process that does not use the library into a slot. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "internal.h"

#ifndef __NR_pidfd_open
#define __NR_pidfd_open 434
#endif
#ifndef __NR_pidfd_getfd
#define __NR_pidfd_getfd 438
#endif

static int port_of(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} at;
	socklen_t bytes = sizeof(at);

	if (getsockname(fd, &at.any, &bytes))
		return 0;
	/* The port is in the same place in both. */
	return at.any.sa_family == AF_INET || at.any.sa_family == AF_INET6 ? ntohs(at.v4.sin_port)
									   : 0;
}

static bool has_option(int fd, int option, int wanted)
{
	int value = 0;
	socklen_t bytes = sizeof(value);

	return !getsockopt(fd, SOL_SOCKET, option, &value, &bytes) && value == wanted;
}

/* Whether this is the bound UDP socket that the caller means. Without a port it must have SO_REUSEPORT. */
static bool is_meant(int fd, uint16_t port)
{
	int bound = port_of(fd);

	return has_option(fd, SO_PROTOCOL, IPPROTO_UDP) && bound &&
	       (port ? bound == port : has_option(fd, SO_REUSEPORT, 1));
}

static bool is_same(int one, int other)
{
	uint64_t cookies[2] = {0, 1};
	socklen_t bytes = sizeof(uint64_t);

	return !getsockopt(one, SOL_SOCKET, SO_COOKIE, &cookies[0], &bytes) &&
	       !getsockopt(other, SOL_SOCKET, SO_COOKIE, &cookies[1], &bytes) &&
	       cookies[0] == cookies[1];
}

static bool is_socket(int folder, const char *name)
{
	char target[16];
	ssize_t length = readlinkat(folder, name, target, sizeof(target));

	return length > 8 && !strncmp(target, "socket:[", 8);
}

/* Copies the one socket that is meant: -ENXIO if there is none, -ENOTUNIQ if there are several. */
static int copy_socket(int process, DIR *entries, uint16_t port, int *out)
{
	struct dirent *entry;
	int found = -1, error = 0;

	while (!error && (entry = readdir(entries))) {
		int fd;

		if (!is_socket(dirfd(entries), entry->d_name))
			continue;
		fd = (int)syscall(__NR_pidfd_getfd, process, atoi(entry->d_name), 0);
		if (fd < 0) {
			/* The process has closed it meanwhile. */
			error = errno == EBADF ? 0 : -errno;
			continue;
		}
		if (!is_meant(fd, port) || (found >= 0 && is_same(found, fd)))
			close(fd);
		else if (found < 0)
			found = fd;
		else {
			close(fd);
			error = -ENOTUNIQ;
		}
	}
	if (!error && found < 0)
		error = -ENXIO;
	if (error && found >= 0)
		close(found);
	*out = found;
	return error;
}

static int open_process(pid_t pid, int *process, DIR **entries, uid_t *uid)
{
	char path[32];
	struct stat facts;

	*process = (int)syscall(__NR_pidfd_open, pid, 0);
	if (*process < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	*entries = opendir(path);
	if (!*entries || fstat(dirfd(*entries), &facts)) {
		int error = errno == EACCES ? -EPERM : errno == ENOENT ? -ESRCH : -errno;

		if (*entries)
			closedir(*entries);
		close(*process);
		return error;
	}
	*uid = facts.st_uid;
	return 0;
}

int rplb_adopt_fd(struct rplb_group *group, int fd, pid_t pid, uint32_t slot, int replaces)
{
	struct rplb_socket socket;
	int error = group && pid > 0 ? rplb_socket_inspect(fd, &socket) : -EINVAL;

	if (error)
		return error;
	socket.pid = pid;
	return rplb_join_as(group, fd, &socket, slot, replaces);
}

int rplb_adopt(struct rplb_group *group, pid_t pid, uint16_t port, uint32_t slot, int replaces)
{
	struct rplb_socket socket;
	int process, fd, error;
	DIR *entries = NULL;
	uid_t uid = 0;

	if (!group || pid <= 0)
		return -EINVAL;
	error = open_process(pid, &process, &entries, &uid);
	if (error)
		return error;
	error = copy_socket(process, entries, port, &fd);
	if (!error) {
		error = rplb_socket_inspect(fd, &socket);
		socket.pid = pid;
		socket.uid = uid;
		if (!error)
			error = rplb_join_as(group, fd, &socket, slot, replaces);
		/* The process keeps the socket, so its end empties the slot. */
		close(fd);
	}
	closedir(entries);
	close(process);
	return error;
}
