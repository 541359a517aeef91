/* SPDX-License-Identifier: Apache-2.0 */
/* upkeep.c: resizing, describing, counting, listing and destroying. */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lab.h"

#define PORT 4739

static void resize(void)
{
	struct rplb_group *group = lab_group("sized", 4), *again = (void *)0x5a5a;
	int fd = lab_udp(PORT);
	struct rplb_info info;

	lab_error(rplb_resize(group, 0), -ERANGE, "a count is not 0");
	lab_error(rplb_resize(group, RPLB_CAPACITY + 1), -ERANGE, "a count is not 129");
	lab_error(rplb_resize(NULL, 2), -EINVAL, "resizing needs a group");
	lab_need(rplb_join(group, fd, 2), "join");
	lab_error(rplb_resize(group, 2), -EBUSY, "a live member is not cut off");
	lab_error(rplb_group_open("sized", &RPLB_OPTIONS(.count = 2), &again), -EBUSY,
		  "nor by opening the group with a lower count");
	lab_ok(again == (void *)0x5a5a, "which leaves the group alone");
	lab_need(rplb_info(group, &info), "info");
	lab_ok(info.count == 4, "the count is unchanged");
	lab_error(rplb_resize(group, 3), 0, "a free slot may be removed");
	close(fd);
	lab_error(rplb_resize(group, 1), 0, "so may the slot of a member that has left");
	lab_error(rplb_resize(group, RPLB_CAPACITY), 0, "a count may be 128");
	lab_need(rplb_info(group, &info), "info");
	lab_ok(info.count == RPLB_CAPACITY, "and is then");
	rplb_group_close(group);
}

static void description(void)
{
	struct rplb_group *group = lab_group("described", 2);
	int fd = lab_udp(PORT);
	struct rplb_info info;
	const struct sockaddr_in *address = (const struct sockaddr_in *)&info.address;

	lab_error(rplb_info(group, NULL), -EINVAL, "a description needs a place");
	lab_error(rplb_info(NULL, &info), -EINVAL, "a description needs a group");
	lab_need(rplb_join(group, fd, 0), "join");
	lab_need(rplb_info(group, &info), "info");
	lab_ok(address->sin_family == AF_INET && address->sin_port == htons(PORT) &&
		       address->sin_addr.s_addr == htonl(INADDR_LOOPBACK),
	       "a group has the address of its members");
	close(fd);
	rplb_group_close(group);
}

static void counting(void)
{
	struct rplb_group *group = lab_group("counted", 2);
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons(PORT),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct rplb_counters counts[2], untouched = {1, 2, 3}, kept = untouched;
	int fds[2] = {lab_udp(PORT), lab_udp(PORT)};
	int sender = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint64_t left = 99;

	lab_error(rplb_counters(group, RPLB_CAPACITY, &kept), -ERANGE,
		  "there are counters for 128 slots");
	lab_ok(!memcmp(&kept, &untouched, sizeof(kept)), "the counters are not written");
	lab_error(rplb_counters(group, RPLB_CAPACITY - 1, &kept), 0,
		  "slots beyond the count have counters too");
	lab_error(rplb_counters(group, 0, NULL), -EINVAL, "counters need a place");
	lab_error(rplb_counters(NULL, 0, &kept), -EINVAL, "counters need a group");
	lab_error(rplb_left_to_kernel(group, NULL), -EINVAL, "a number needs a place");
	lab_error(rplb_left_to_kernel(NULL, &left), -EINVAL, "a number needs a group");
	lab_ok(left == 99, "the number is not written");

	lab_need(rplb_join(group, fds[0], 0), "join");
	lab_need(rplb_join(group, fds[1], 1), "join");
	/* One source address, so one member has it. The members leave one after the other. */
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 10; i++)
			sendto(sender, "x", 1, 0, (struct sockaddr *)&address, sizeof(address));
		lab_need(rplb_counters(group, 0, &counts[0]), "counters");
		lab_need(rplb_counters(group, 1, &counts[1]), "counters");
		lab_need(rplb_left_to_kernel(group, &left), "left to the kernel");
		int owner = counts[1].selected > 0, other = 1 - owner;
		if (round == 0) {
			lab_ok(counts[owner].selected == 10 && counts[other].selected == 0,
			       "one source reaches one member");
			lab_need(rplb_leave(group, fds[owner]), "leave");
		} else if (round == 1) {
			lab_ok(counts[owner].missed == 10 && counts[other].fallback == 10,
			       "when it has left, the other is the fallback");
			lab_need(rplb_leave(group, fds[other]), "leave");
		} else {
			lab_ok(counts[owner].missed == 20 && left == 10,
			       "without members the kernel chooses");
		}
	}
	close(sender);
	close(fds[0]);
	close(fds[1]);
	rplb_group_close(group);
}

static void listing(void)
{
	struct rplb_group *group = lab_group("listed", 4);
	int udp = lab_udp(PORT), tcp = lab_tcp(PORT);
	struct rplb_member list[3];
	struct timespec now;
	uint64_t cookie;
	socklen_t length = sizeof(cookie);
	size_t found = 77;

	lab_error(rplb_members(group, NULL, 1, &found), -EINVAL, "a list needs a place");
	lab_error(rplb_members(NULL, list, 3, &found), -EINVAL, "a list needs a group");
	lab_error(rplb_members(group, list, 3, NULL), -EINVAL, "so does its length");
	lab_ok(found == 77, "the length is not written");
	lab_need(rplb_join(group, tcp, 1), "join");
	lab_need(rplb_join(group, udp, 3), "join");
	memset(list, 0x5a, sizeof(list));
	lab_error(rplb_members(group, list, 1, &found), 0, "a short list is no error");
	lab_ok(found == 2 && list[1].slot == 0x5a5a5a5a,
	       "it returns the full number and stays within its length");
	lab_need(rplb_members(group, list, 3, &found), "members");
	lab_ok(list[0].protocol == IPPROTO_UDP && list[0].slot == 3 &&
		       list[1].protocol == IPPROTO_TCP && list[1].slot == 1,
	       "members are listed by protocol and slot");
	if (getsockopt(udp, SOL_SOCKET, SO_COOKIE, &cookie, &length))
		lab_need(-errno, "SO_COOKIE");
	lab_ok(list[0].cookie == cookie && list[0].pid == getpid() && list[0].uid == geteuid(),
	       "a member is known by its socket, process and user");
	clock_gettime(CLOCK_REALTIME, &now);
	lab_ok(list[0].joined_ns / 1000000000 + 60 > (uint64_t)now.tv_sec &&
		       list[0].joined_ns / 1000000000 <= (uint64_t)now.tv_sec,
	       "and by when it joined");

	lab_error(rplb_group_destroy(NULL, "listed"), -EBUSY,
		  "a group with members is not destroyed");
	close(udp);
	lab_error(rplb_group_destroy(NULL, "listed"), -EBUSY, "a listener is a member too");
	close(tcp);
	lab_error(rplb_group_destroy(NULL, "listed"), 0, "a group without members is");
	udp = lab_udp(PORT);
	lab_error(rplb_join(group, udp, 0), -ENOENT, "a destroyed group cannot be joined");
	close(udp);
	rplb_group_close(group);
}

static void destruction(void)
{
	lab_error(rplb_group_destroy(NULL, NULL), -EINVAL, "a group to destroy has a name");
	lab_error(rplb_group_destroy(NULL, "a.b"), -EINVAL, "and a good one");
	lab_error(rplb_group_destroy("bpf", "g"), -EINVAL, "below an absolute root");
	lab_error(rplb_group_destroy(NULL, "absent"), -ENOENT, "and it must exist");
	lab_error(rplb_group_destroy(LAB_PLAIN_ROOT, "g"), -ENODEV, "on a BPF file system");
}

int main(void)
{
	lab_enter();
	resize();
	description();
	counting();
	listing();
	destruction();
	return lab_leave();
}
