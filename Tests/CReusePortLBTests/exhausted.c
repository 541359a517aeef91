/* SPDX-License-Identifier: Apache-2.0 */
/* exhausted.c: a process that runs out of descriptors loses none, and recovers. */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lab.h"

/* More than creating a group needs at any time. */
#define ENOUGH 64

static int descriptors(void)
{
	int count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void limit(rlim_t most)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		lab_need(-errno, "getrlimit");
	limit.rlim_cur = most;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		lab_need(-errno, "setrlimit");
}

/* Tries with one more descriptor each time until it succeeds. */
static void scarce(const char *name, bool exists, const char *what)
{
	int before = descriptors(), lost = 0, wrong = 0, last = 0, extra;

	if (exists)
		rplb_group_close(lab_group(name, 2));
	for (extra = 0; extra < ENOUGH; extra++) {
		struct rplb_group *group;
		int error;

		limit((rlim_t)(before + extra));
		error = rplb_group_open(name, &RPLB_OPTIONS(.count = 2), &group);
		limit(1024);
		if (!error) {
			rplb_group_close(group);
			break;
		}
		if (error != -EMFILE) {
			wrong++;
			last = error;
		}
		lost += descriptors() - before;
	}
	lab_ok(extra > 0 && extra < ENOUGH, "%s needs at least one descriptor (%d)", what, extra);
	lab_ok(!wrong, "%s without enough of them reports that (%d times not, %d)", what, wrong,
	       last);
	lab_ok(!lost, "%s without enough of them leaves none open (%d)", what, lost);
	lab_ok(descriptors() == before, "%s with enough of them leaves none open", what);
}

int main(void)
{
	lab_enter();
	scarce("scarce", false, "creating a group");
	lab_need(rplb_group_destroy(NULL, "scarce"), "destroy");
	scarce("scarce", false, "creating it again");
	scarce("there", true, "opening a group");
	scarce(NULL, false, "a private group");
	return lab_leave();
}
