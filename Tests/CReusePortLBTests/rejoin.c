/* SPDX-License-Identifier: Apache-2.0 */
/* rejoin.c: pins are removed while members live; the next member joins the live group. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lab.h"

#define PORT 4739
#define MEMBERS 3
#define SOURCES 60

/* The last line at RPLB_LOG_ERROR. */
static char heard[512];

static void hear(void *context, enum rplb_level level, const char *line)
{
	(void)context;
	if (level == RPLB_LOG_ERROR)
		snprintf(heard, sizeof(heard), "%s", line);
}

static struct rplb_group *open_group(const char *name, struct rplb_options options)
{
	struct rplb_group *group = NULL;

	options.log = hear;
	heard[0] = 0;
	lab_need(rplb_group_open(name, &options, &group), "open");
	return group;
}

/* Finds which socket each of SOURCES addresses reaches. */
static void homes(const int fds[MEMBERS], int home[SOURCES])
{
	for (uint32_t i = 0; i < SOURCES; i++) {
		lab_send(0x7f000100u + i, 0, PORT, "x", 1);
		home[i] = lab_arrival(fds, MEMBERS);
	}
}

struct lives {
	struct rplb_group *group;
	int fds[MEMBERS];
	int home[SOURCES];
};

/* A group whose last member has ended and whose pins are gone. */
static struct lives orphaned(const char *name, struct rplb_options options)
{
	struct lives lives;

	options.count = MEMBERS;
	lives.group = open_group(name, options);
	for (int i = 0; i < MEMBERS; i++) {
		lives.fds[i] = lab_udp(PORT);
		lab_need(rplb_join(lives.group, lives.fds[i], (uint32_t)i), "join");
	}
	homes(lives.fds, lives.home);
	close(lives.fds[MEMBERS - 1]);
	lab_remove_pins(name);
	return lives;
}

static void end(const struct lives *lives)
{
	for (int i = 0; i < MEMBERS; i++)
		close(lives->fds[i]);
	rplb_group_close(lives->group);
}

static void rejoining(void)
{
	uint64_t seed = 77, other = 78;
	struct lives lives =
		orphaned("lost", RPLB_OPTIONS(.seed = &seed, .key = RPLB_KEY_SOURCE_IP));
	struct rplb_group *group = open_group("lost", RPLB_OPTIONS(.count = 4)), *late;
	int home[SOURCES], fourth = lab_udp(PORT);
	struct rplb_member list[RPLB_MEMBERS_LISTED];
	struct rplb_info info;
	size_t found = 0;

	/* This handle has the group open that will be replaced. */
	late = open_group("lost", RPLB_OPTIONS(.count = 0));
	lives.fds[2] = lab_udp(PORT);
	lab_error(rplb_join(group, lives.fds[2], 0), -EEXIST, "a slot of the live group is taken");
	lab_ok(strstr(heard, "pins of group lost were removed") != NULL,
	       "the log says that the pins were removed (%s)", heard);
	lab_error(rplb_join(late, lives.fds[2], 2), 0,
		  "a member that restarts joins the live group, with either handle");
	homes(lives.fds, home);
	lab_ok(!memcmp(home, lives.home, sizeof(home)), "no source has moved");
	rplb_group_close(late);
	late = open_group("lost", RPLB_OPTIONS(.flags = RPLB_EXISTING));
	lab_need(rplb_members(late, list, RPLB_MEMBERS_LISTED, &found), "members");
	lab_need(rplb_info(late, &info), "info");
	lab_ok(found == MEMBERS && info.count == MEMBERS && info.seed == seed,
	       "the pins are back: %zu members of %u", found, info.count);
	lab_error(rplb_group_open("lost", &RPLB_OPTIONS(.count = 3, .seed = &other), &late),
		  -ESTALE, "another seed is still refused");
	lab_error(rplb_join(group, fourth, 3), 0, "the count of the start is applied");
	lab_need(rplb_info(group, &info), "info");
	lab_ok(info.count == 4, "the count is 4 (%u)", info.count);
	close(fourth);
	rplb_group_close(late);
	rplb_group_close(group);
	end(&lives);
	lab_error(rplb_group_destroy(NULL, "lost"), 0, "the group can be destroyed");
}

static void disagreeing(void)
{
	uint64_t seed = 77, other = 78;
	struct lives lives = orphaned("split", RPLB_OPTIONS(.seed = &seed));
	struct rplb_group *group = open_group("split", RPLB_OPTIONS(.count = 3, .seed = &other));

	lives.fds[2] = lab_udp(PORT);
	lab_error(rplb_join(group, lives.fds[2], 2), -ESTALE,
		  "a start with another seed than the live group's is refused");
	rplb_group_close(group);
	lab_ok(access(RPLB_PIN_ROOT "/split", F_OK) && errno == ENOENT,
	       "and leaves no second group");
	group = open_group("split", RPLB_OPTIONS(.count = 3, .seed = &seed));
	lab_error(rplb_join(group, lives.fds[2], 2), 0, "the same seed joins");
	rplb_group_close(group);
	end(&lives);
	lab_need(rplb_group_destroy(NULL, "split"), "destroy");
}

static void two_names(void)
{
	struct rplb_group *first = open_group("first", RPLB_OPTIONS(.count = 1)), *second;
	int fds[2] = {lab_udp(PORT), lab_udp(PORT)};
	struct rplb_info info;

	lab_need(rplb_join(first, fds[0], 0), "join");
	second = open_group("second", RPLB_OPTIONS(.count = 2));
	lab_error(rplb_join(second, fds[1], 0), 0, "a group of another name keeps its members");
	lab_ok(strstr(heard, "takes the packets of group first") != NULL,
	       "the log names the group whose port it takes (%s)", heard);
	lab_need(rplb_info(second, &info), "info");
	lab_ok(info.count == 2, "each has its own count");
	close(fds[0]);
	close(fds[1]);
	rplb_group_close(first);
	rplb_group_close(second);
}

static void leaving(void)
{
	struct lives lives = orphaned("left", RPLB_OPTIONS(.count = 0));

	lives.fds[2] = lab_udp(PORT);
	lab_error(rplb_join(lives.group, lives.fds[2], 2), -ENOENT,
		  "the handle of a member whose group has lost its pins joins no socket");
	lab_error(rplb_leave(lives.group, lives.fds[0]), 0, "but its member can leave");
	lab_error(rplb_retire(lives.group, lives.fds[1]), 0, "and retire");
	end(&lives);
}

/* Joins in a process that may create groups but may not look for programs. */
static int join_blindly(void *fd)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	struct rplb_group *group = NULL;
	int error;

	if (syscall(SYS_capget, &header, data))
		return -errno;
	data[0].effective &= ~(1u << CAP_SYS_ADMIN);
	if (syscall(SYS_capset, &header, data))
		return -errno;
	heard[0] = 0;
	error = rplb_group_open("blind", &RPLB_OPTIONS(.count = 3, .log = hear), &group);
	if (!error)
		error = rplb_join(group, *(int *)fd, 2);
	rplb_group_close(group);
	return error ? error : !strstr(heard, "another program steered");
}

static void blind(void)
{
	struct lives lives = orphaned("blind", RPLB_OPTIONS(.count = 0));

	lives.fds[2] = lab_udp(PORT);
	lab_error(lab_as(0, join_blindly, &lives.fds[2]), 0,
		  "without the privilege to find the live group the log has a warning");
	close(lives.fds[2]);
	lab_remove_pins("blind");
	end(&lives);

	lives.fds[2] = lab_udp(PORT);
	lab_error(lab_as(0, join_blindly, &lives.fds[2]), 1,
		  "and has none when no other program steered the port");
	close(lives.fds[2]);
	lab_need(rplb_group_destroy(NULL, "blind"), "destroy");
}

/* After how many calls of unlink(2) and chmod(2) this process is killed; 0: never. The definitions below also
 * replace those functions for the library. */
static int calls_left;

static int counted(int result)
{
	if (calls_left && !--calls_left)
		raise(SIGKILL);
	return result;
}

int unlink(const char *path)
{
	return counted((int)syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

int chmod(const char *path, mode_t mode)
{
	return counted((int)syscall(SYS_fchmodat, AT_FDCWD, path, mode));
}

/* Joins slot 2 in a process that dies after some calls. Returns whether it died. */
static bool join_and_die(struct rplb_group *group, int fd, int calls)
{
	int status;
	pid_t child = fork();

	if (child == 0) {
		calls_left = calls;
		_exit(rplb_join(group, fd, 2) ? 1 : 0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		lab_need(-errno, "a child");
	return WIFSIGNALED(status);
}

static void cut_short(void)
{
	struct lives lives = orphaned("cut", RPLB_OPTIONS(.count = 0));
	int deaths = 0, home[SOURCES];
	bool died = true;

	lives.fds[2] = lab_udp(PORT);
	while (died) {
		struct rplb_group *group = open_group("cut", RPLB_OPTIONS(.count = 3));

		died = join_and_die(group, lives.fds[2], deaths + 1);
		deaths += died;
		rplb_group_close(group);
	}
	lab_ok(deaths == 26, "thirteen pins are removed and thirteen created (%d)", deaths);
	homes(lives.fds, home);
	lab_ok(!memcmp(home, lives.home, sizeof(home)),
	       "after a process that died halfway, the next one joins the live group");
	end(&lives);
	lab_need(rplb_group_destroy(NULL, "cut"), "destroy");
}

int main(void)
{
	lab_enter();
	rejoining();
	disagreeing();
	two_names();
	leaving();
	blind();
	cut_short();
	return lab_leave();
}
