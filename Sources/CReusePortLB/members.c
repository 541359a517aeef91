/* SPDX-License-Identifier: Apache-2.0 */
/* members.c: joining and leaving slots. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/membarrier.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "internal.h"

#ifndef SO_ATTACH_REUSEPORT_EBPF
#define SO_ATTACH_REUSEPORT_EBPF 52
#endif

static int rows(const struct rplb_group *group, int protocol)
{
	return group->maps[protocol == IPPROTO_TCP ? RPLB_MAP_TCP_MEMBERS : RPLB_MAP_UDP_MEMBERS];
}

/* The first member fixes the address of all, as long as one lives. */
static int agree_on_address(struct rplb_group *group, const struct rplb_socket *socket)
{
	struct lb_reuseport_group record;
	bool alive = false;
	int error = rplb_record_read(group, &record);

	if (error || rplb_socket_is_at(socket, &record))
		return error;
	error = rplb_is_alive(group, 0, &alive);
	if (!error && alive)
		error = -EADDRNOTAVAIL;
	if (error)
		return error;
	record.family = socket->family;
	record.port = socket->port;
	record.address = socket->address;
	record.netns = socket->netns;
	record.device = socket->device;
	record.v6only = socket->v6only;
	return rplb_record_write(group, &record);
}

/* Translates the kernel's error for a socket without a SO_REUSEPORT group. */
static int refusal(int error)
{
	return error == EINVAL ? -ENOPROTOOPT : -error;
}

static int attach(const struct rplb_group *group, int fd)
{
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_EBPF, &group->program,
			  sizeof(group->program))
		       ? refusal(errno)
		       : 0;
}

static int read_row(const struct rplb_group *group, int protocol, uint32_t slot, uint32_t place,
		    struct lb_reuseport_member *row)
{
	uint32_t index = place * group->capacity + slot;

	return bpf_map_lookup_elem(rows(group, protocol), &index, row) ? -errno : 0;
}

/* Records the socket as the latest generation of its slot. */
static int write_row(const struct rplb_group *group, const struct rplb_socket *socket,
		     uint32_t slot, uint32_t place)
{
	uint32_t index = place * group->capacity + slot;
	struct lb_reuseport_member row = {
		.cookie = socket->cookie,
		.pid = (uint32_t)socket->pid,
		.uid = socket->uid,
	};
	struct timespec now;

	for (uint32_t other = 0; other < LB_PLACES; other++) {
		struct lb_reuseport_member previous;
		int error = read_row(group, socket->protocol, slot, other, &previous);

		if (error)
			return error;
		if (previous.generation > row.generation)
			row.generation = previous.generation;
	}
	row.generation++;
	clock_gettime(CLOCK_REALTIME, &now);
	row.joined_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	return bpf_map_update_elem(rows(group, socket->protocol), &index, &row, BPF_ANY) ? -errno
											 : 0;
}

/* What the two places of a slot hold. */
struct places {
	uint32_t current;
	uint64_t cookies[LB_PLACES]; /* 0: the place is empty */
};

static int read_places(const struct rplb_group *group, int protocol, uint32_t slot,
		       struct places *places)
{
	uint8_t current[LB_MEMBERS_MAX];
	int error = rplb_places_read(group, protocol, current);

	places->current = current[slot];
	for (uint32_t place = 0; place < LB_PLACES && !error; place++) {
		places->cookies[place] = 0;
		error = rplb_cookie_read(group, protocol, slot, place, &places->cookies[place]);
		if (error == -ENOENT)
			error = 0;
	}
	return error;
}

/* Puts the socket into a free place and makes that the current one. */
static int take_slot(struct rplb_group *group, int fd, const struct rplb_socket *socket,
		     uint32_t slot, bool replaces)
{
	uint64_t value = (uint64_t)fd;
	struct places places;
	uint32_t place;
	int error = read_places(group, socket->protocol, slot, &places);

	if (error)
		return error;
	place = places.cookies[places.current] ? 1 - places.current : places.current;
	/* A member that was replaced and has not left also has the slot. */
	if (places.cookies[place] || (places.cookies[1 - place] && !replaces))
		return -EEXIST;
	if (bpf_map_update_elem(rplb_targets(group, socket->protocol, place), &slot, &value,
				BPF_NOEXIST))
		return refusal(errno);
	error = write_row(group, socket, slot, place);
	/* The slot first, so that the program never runs without members. */
	if (!error) {
		rplb_warn_of_another(group, fd);
		error = attach(group, fd);
	}
	if (!error && place != places.current)
		error = rplb_place_write(group, socket->protocol, slot, place);
	if (error)
		bpf_map_delete_elem(rplb_targets(group, socket->protocol, place), &slot);
	return error;
}

/* Where the socket is; -ENOENT: in no slot. */
static int find(const struct rplb_group *group, const struct rplb_socket *socket, uint32_t *slot,
		uint32_t *place)
{
	uint64_t cookie;

	for (*slot = 0; *slot < group->capacity; ++*slot) {
		for (*place = 0; *place < LB_PLACES; ++*place) {
			if (!rplb_cookie_read(group, socket->protocol, *slot, *place, &cookie) &&
			    cookie == socket->cookie)
				return 0;
		}
	}
	return -ENOENT;
}

static int leave_locked(const struct rplb_group *group, const struct rplb_socket *socket)
{
	uint32_t slot, place;
	int error = find(group, socket, &slot, &place);

	if (!error && bpf_map_delete_elem(rplb_targets(group, socket->protocol, place), &slot))
		error = -errno;
	return error;
}

/* 0 when another live socket is the current one of the socket's slot; -EAGAIN otherwise. */
static int check_replaced(const struct rplb_group *group, const struct rplb_socket *socket)
{
	struct places places;
	uint32_t slot, place;
	int error = find(group, socket, &slot, &place);

	if (!error)
		error = read_places(group, socket->protocol, slot, &places);
	if (error)
		return error;
	return place != places.current && places.cookies[places.current] ? 0 : -EAGAIN;
}

/* The count comes last, when no other step can fail any more. */
static int join_locked(struct rplb_group *group, int fd, const struct rplb_socket *socket,
		       uint32_t slot, bool replaces)
{
	uint32_t count, wanted;
	int error = rplb_rejoin(group, socket);

	if (!error)
		error = rplb_count_read(group, &count);
	if (error)
		return error;
	wanted = group->wanted ? group->wanted : count;
	if (slot >= wanted)
		return -ERANGE;
	if (wanted != count)
		error = rplb_count_check(group, wanted);
	if (!error)
		error = agree_on_address(group, socket);
	if (!error)
		error = take_slot(group, fd, socket, slot, replaces);
	if (!error && wanted != count) {
		error = rplb_resize_locked(group, wanted);
		if (error)
			leave_locked(group, socket);
	}
	if (!error)
		group->wanted = 0;
	return error;
}

int rplb_join_as(struct rplb_group *group, int fd, const struct rplb_socket *socket, uint32_t slot,
		 bool replaces)
{
	int lock, error = rplb_group_lock(group, &lock);

	if (error)
		return error;
	error = join_locked(group, fd, socket, slot, replaces);
	rplb_group_unlock(group, lock);
	rplb_debug(group, "%s: socket %d, slot %u: %d", replaces ? "replace" : "join", fd, slot,
		   error);
	return error;
}

static int join(struct rplb_group *group, int fd, uint32_t slot, bool replaces)
{
	struct rplb_socket socket;
	int error = group ? rplb_socket_inspect(fd, &socket) : -EINVAL;

	if (error)
		return error;
	if (group->is_classic && !replaces)
		return slot < group->capacity ? rplb_classic_attach(group, fd) : -ERANGE;
	return rplb_join_as(group, fd, &socket, slot, replaces);
}

int rplb_join(struct rplb_group *group, int fd, uint32_t slot)
{
	return join(group, fd, slot, false);
}

int rplb_replace(struct rplb_group *group, int fd, uint32_t slot)
{
	return join(group, fd, slot, true);
}

int rplb_is_replaced(struct rplb_group *group, int fd)
{
	struct rplb_socket socket;
	int error = rplb_check(group);

	if (!error)
		error = rplb_socket_inspect(fd, &socket);
	if (!error)
		error = check_replaced(group, &socket);
	return !error ? 1 : error == -EAGAIN ? 0 : error;
}

/* With `replaced` it leaves only if another live socket has replaced it: -EAGAIN. */
static int leave(struct rplb_group *group, int fd, bool replaced)
{
	struct rplb_socket socket;
	int lock, error = rplb_check(group);

	if (!error)
		error = rplb_socket_inspect(fd, &socket);
	if (error)
		return error;
	error = rplb_group_lock(group, &lock);
	/* A member whose group has lost its pins can leave too. No other process uses its slot, so the lock
	 * of this process suffices. */
	if (error == -ENOENT) {
		pthread_mutex_lock(&group->mutex);
		lock = -1;
	} else if (error) {
		return error;
	}
	error = replaced ? check_replaced(group, &socket) : 0;
	if (!error)
		error = leave_locked(group, &socket);
	rplb_group_unlock(group, lock);
	rplb_debug(group, "leave: socket %d: %d", fd, error);
	return error;
}

int rplb_leave(struct rplb_group *group, int fd)
{
	return leave(group, fd, false);
}

/* Connects to the socket's own address, or to the loopback address for a wildcard, at a port that sends
 * nothing (tcpmux). The kernel rehashes the socket, which then gets packets of that peer only. */
static int turn_away(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} peer;
	socklen_t bytes = sizeof(peer);

	memset(&peer, 0, sizeof(peer));
	if (getsockname(fd, &peer.any, &bytes))
		return -errno;
	if (peer.any.sa_family == AF_INET6) {
		if (IN6_IS_ADDR_UNSPECIFIED(&peer.v6.sin6_addr))
			peer.v6.sin6_addr = in6addr_loopback;
		peer.v6.sin6_port = htons(1);
		if (!connect(fd, &peer.any, bytes))
			return 0;
		/* A host with IPv6 switched off binds [::] but has no ::1. */
		peer.v6.sin6_addr = (struct in6_addr){.s6_addr = {[10] = 0xff, 0xff, 127, 0, 0, 1}};
	} else {
		if (peer.v4.sin_addr.s_addr == htonl(INADDR_ANY))
			peer.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		peer.v4.sin_port = htons(1);
	}
	return connect(fd, &peer.any, bytes) ? -errno : 0;
}

static int retire(struct rplb_group *group, int fd, bool replaced)
{
	struct rplb_socket socket;
	int error = group ? rplb_socket_inspect(fd, &socket) : -EINVAL;

	if (!error && socket.protocol != IPPROTO_UDP)
		error = -EPROTOTYPE;
	if (!error)
		error = leave(group, fd, replaced);
	if (!error)
		error = turn_away(fd);
	/* A CPU that has already looked the socket up queues its packet before this returns: receiving runs
	 * under RCU, and the call waits for a grace period (membarrier(2)). A kernel without it leaves a
	 * small risk of loss. */
	if (!error)
		syscall(__NR_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	return error;
}

int rplb_retire(struct rplb_group *group, int fd)
{
	return retire(group, fd, false);
}

int rplb_retire_replaced(struct rplb_group *group, int fd)
{
	return retire(group, fd, true);
}

int rplb_attach(struct rplb_group *group, int fd)
{
	struct rplb_socket socket;
	int error = group ? rplb_socket_inspect(fd, &socket) : -EINVAL;

	if (error)
		return error;
	return group->is_classic ? rplb_classic_attach(group, fd) : attach(group, fd);
}

static int read_member(const struct rplb_group *group, int protocol, uint32_t slot, uint32_t place,
		       struct rplb_member *out)
{
	struct lb_reuseport_member row;
	struct rplb_member member = {.slot = slot, .protocol = protocol};
	int error = rplb_cookie_read(group, protocol, slot, place, &member.cookie);

	if (!error)
		error = read_row(group, protocol, slot, place, &row);
	if (error)
		return error;
	if (row.cookie == member.cookie) {
		member.joined_ns = row.joined_ns;
		member.generation = row.generation;
		member.pid = (pid_t)row.pid;
		member.uid = row.uid;
	}
	*out = member;
	return 0;
}

int rplb_slot_read(const struct rplb_group *group, int protocol, uint32_t slot, uint8_t current,
		   struct rplb_member *members, size_t *count)
{
	bool has_current = false;

	for (uint32_t order = 0; order < LB_PLACES; order++) {
		int error = read_member(group, protocol, slot, current ^ order, &members[*count]);

		if (error == -ENOENT)
			continue;
		if (error)
			return error;
		/* The program uses the second place when the first one is empty. */
		members[*count].is_previous = has_current;
		has_current = true;
		++*count;
	}
	return 0;
}

int rplb_members(struct rplb_group *group, struct rplb_member *members, size_t capacity,
		 size_t *found)
{
	static const int protocols[] = {IPPROTO_UDP, IPPROTO_TCP};
	uint8_t current[LB_MEMBERS_MAX];
	size_t total = 0;

	if (!found || (capacity && !members) || rplb_check(group))
		return group && group->is_classic ? -EOPNOTSUPP : -EINVAL;
	for (uint32_t i = 0; i < 2 * group->capacity; i++) {
		uint32_t slot = i % group->capacity;
		int protocol = protocols[i / group->capacity];
		struct rplb_member list[LB_PLACES];
		size_t count = 0;
		int error = slot ? 0 : rplb_places_read(group, protocol, current);

		if (!error)
			error = rplb_slot_read(group, protocol, slot, current[slot], list, &count);
		if (error)
			return error;
		for (size_t j = 0; j < count; j++, total++) {
			if (total < capacity)
				members[total] = list[j];
		}
	}
	*found = total;
	return 0;
}
