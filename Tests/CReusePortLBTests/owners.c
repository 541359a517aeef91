/* SPDX-License-Identifier: Apache-2.0 */
/* owners.c: who may create, open, join and destroy. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab.h"

struct attempt {
	const char *name;
	const struct rplb_options *options;
};

static int open_it(void *context)
{
	const struct attempt *attempt = context;
	struct rplb_group *group = NULL;
	int error = rplb_group_open(attempt->name, attempt->options, &group);

	rplb_group_close(group);
	return error;
}

static int open_as(uid_t uid, const char *name, struct rplb_options options)
{
	return lab_as(uid, open_it, &(struct attempt){name, &options});
}

static int destroy_it(void *name)
{
	return rplb_group_destroy(NULL, name);
}

/* Does all that a member does, up to a datagram that the program has selected it for. */
static int be_a_member(void *name)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons(4739),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct rplb_counters counters = {0};
	struct rplb_group *group = NULL;
	int fd, sender, error;

	error = rplb_group_open(name, &RPLB_OPTIONS(.flags = RPLB_EXISTING), &group);
	if (!error)
		error = rplb_socket_udp((struct sockaddr *)&address, sizeof(address), 0, &fd);
	if (error)
		return error;
	error = rplb_join(group, fd, 1);
	sender = socket(AF_INET, SOCK_DGRAM, 0);
	if (!error && sendto(sender, "x", 1, 0, (struct sockaddr *)&address, sizeof(address)) != 1)
		error = -errno;
	if (!error)
		error = rplb_counters(group, 1, &counters);
	if (!error && counters.selected + counters.fallback != 1)
		error = -ENODATA;
	if (!error)
		error = rplb_leave(group, fd);
	close(sender);
	close(fd);
	rplb_group_close(group);
	return error;
}

static int bind_it(void *address)
{
	int fd = -1;
	int error = rplb_socket_udp(address, sizeof(struct sockaddr_in), 0, &fd);

	if (error && fd != -1)
		return -EFAULT;
	return error;
}

static void creation(void)
{
	lab_error(open_as(LAB_NONE, "g", RPLB_OPTIONS(.count = 2, .pin_root = LAB_OPEN_ROOT)),
		  -EPERM, "loading the program needs privilege");
	lab_error(rplb_group_destroy(LAB_OPEN_ROOT, "g"), -ENOENT,
		  "an unprivileged process leaves no folder behind");
	lab_error(open_as(LAB_NONE, NULL, RPLB_OPTIONS(.count = 2)), -EPERM,
		  "so does a private group");
	lab_error(open_as(LAB_NONE, "g", RPLB_OPTIONS(.count = 2)), -EPERM,
		  "creating in another user's root is refused");
	lab_error(open_as(LAB_NONE, "g", RPLB_OPTIONS(.count = 0)), -ENOENT,
		  "a group that does not exist is not found there");
	lab_need(chmod(RPLB_PIN_ROOT, 0700) ? -errno : 0, "chmod");
	lab_error(open_as(LAB_NONE, "g", RPLB_OPTIONS(.count = 2)), -EACCES,
		  "in a root that cannot be searched access is denied");
	lab_need(chmod(RPLB_PIN_ROOT, 0711) ? -errno : 0, "chmod");
	lab_error(
		open_as(LAB_NONE, "g",
			RPLB_OPTIONS(.count = 2, .pin_root = LAB_PLAIN_ROOT, .flags = RPLB_MOUNT)),
		-ENODEV, "mounting needs privilege, and what was missing is still missing");
}

static void use(void)
{
	struct rplb_group *group = lab_group("of_root", 2);
	struct rplb_options owned =
		RPLB_OPTIONS(.count = 2, .owner = LAB_NONE, .owner_group = LAB_NONE);

	lab_error(open_as(LAB_NONE, "of_root", RPLB_OPTIONS(.count = 0)), -EACCES,
		  "a group of root is closed to others");
	lab_error(lab_as(LAB_NONE, destroy_it, "of_root"), -EACCES, "nor may others destroy it");
	rplb_group_close(group);

	lab_need(rplb_group_open("owned", &owned, &group), "a group with an owner");
	rplb_group_close(group);
	lab_error(lab_as(LAB_NONE, be_a_member, "owned"), 0,
		  "its owner opens it, joins, receives and leaves without any privilege");
	lab_error(open_as(LAB_STRANGER, "owned", RPLB_OPTIONS(.count = 0)), -EACCES,
		  "a stranger is refused");
	lab_error(lab_as(LAB_STRANGER, destroy_it, "owned"), -EACCES,
		  "another user does not destroy it");
	lab_error(open_as(LAB_NONE, "owned", RPLB_OPTIONS(.count = 3)), 0,
		  "its owner resizes it without any privilege");

	owned = RPLB_OPTIONS(.count = 2, .mode = 0660, .owner_group = LAB_STRANGER);
	lab_need(rplb_group_open("shared", &owned, &group), "a group with a mode");
	rplb_group_close(group);
	lab_error(open_as(LAB_STRANGER, "shared", RPLB_OPTIONS(.count = 0)), 0,
		  "mode 0660 opens the group to the group of its owner");
	lab_error(open_as(LAB_NONE, "shared", RPLB_OPTIONS(.count = 0)), -EACCES,
		  "and to no other user");
}

static void address(void)
{
	int fd = lab_udp(4740), exclusive;
	struct sockaddr_in taken = {.sin_family = AF_INET,
				    .sin_port = htons(4740),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	lab_error(lab_as(LAB_NONE, bind_it, &taken), -EADDRINUSE,
		  "an address that another user has is in use");
	close(fd);
	exclusive = lab_socket(
		(struct lab_socket){.type = SOCK_DGRAM, .exclusive = true, .port = 4740});
	lab_error(bind_it(&taken), -EADDRINUSE,
		  "an address that a socket without SO_REUSEPORT has is in use");
	close(exclusive);
	lab_error(bind_it(&taken), 0, "an address that is free is not");
	taken.sin_port = htons(53);
	lab_error(lab_as(LAB_NONE, bind_it, &taken), -EACCES, "a port below 1024 needs privilege");
	taken.sin_family = AF_UNIX;
	lab_error(bind_it(&taken), -EAFNOSUPPORT, "an address of another family is refused");
}

int main(void)
{
	lab_enter();
	creation();
	use();
	address();
	return lab_leave();
}
