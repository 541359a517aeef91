/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c: every error that the header names has its own sentence. argv[1], or HEADER in the environment,
 * is the header. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "lab.h"

static const struct {
	const char *name;
	int number;
} errors[] = {
	{"E2BIG", E2BIG},
	{"EACCES", EACCES},
	{"EADDRINUSE", EADDRINUSE},
	{"EADDRNOTAVAIL", EADDRNOTAVAIL},
	{"EAFNOSUPPORT", EAFNOSUPPORT},
	{"EAGAIN", EAGAIN},
	{"EBUSY", EBUSY},
	{"EDESTADDRREQ", EDESTADDRREQ},
	{"EDOM", EDOM},
	{"EEXIST", EEXIST},
	{"EINVAL", EINVAL},
	{"ENODATA", ENODATA},
	{"ENODEV", ENODEV},
	{"ENOENT", ENOENT},
	{"ENOEXEC", ENOEXEC},
	{"ENOMEM", ENOMEM},
	{"ENOPROTOOPT", ENOPROTOOPT},
	{"ENOTCONN", ENOTCONN},
	{"ENOTUNIQ", ENOTUNIQ},
	{"ENXIO", ENXIO},
	{"ESRCH", ESRCH},
	{"ENOTSOCK", ENOTSOCK},
	{"EOPNOTSUPP", EOPNOTSUPP},
	{"EPERM", EPERM},
	{"EPROTONOSUPPORT", EPROTONOSUPPORT},
	{"EPROTOTYPE", EPROTOTYPE},
	{"ERANGE", ERANGE},
	{"ESTALE", ESTALE},
	{"ETIMEDOUT", ETIMEDOUT},
};
#define ERRORS (sizeof(errors) / sizeof(*errors))

static bool is_own(size_t which)
{
	const char *sentence = rplb_explain(errors[which].number);

	/* 9999 is no errno, so it gets the default sentence. */
	if (!strcmp(sentence, rplb_explain(9999)))
		return false;
	for (size_t i = 0; i < ERRORS; i++) {
		if (i != which && !strcmp(sentence, rplb_explain(errors[i].number)))
			return false;
	}
	return true;
}

/* Marks the errors that a line of the header names as -E…; false: one that is not in the table. */
static bool mark(const char *line, bool *named)
{
	bool known = true;

	while ((line = strstr(line, "-E"))) {
		size_t length = strspn(++line, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789");
		size_t i = 0;

		while (i < ERRORS &&
		       (strlen(errors[i].name) != length || strncmp(errors[i].name, line, length)))
			i++;
		if (i < ERRORS)
			named[i] = true;
		else
			known = lab_ok(false, "%.*s is in this test's table", (int)length, line);
	}
	return known;
}

static const char *release = "6.18.0";

/* Also replaces uname for the library. */
int uname(struct utsname *system)
{
	memset(system, 0, sizeof(*system));
	strncpy(system->release, release, sizeof(system->release) - 1);
	return 0;
}

static bool says(enum rplb_call call, int error, const char *words)
{
	return strstr(rplb_explain_call(call, error), words) != NULL;
}

/* An explanation for one call leaves out what applies to others. */
static void by_call(void)
{
	lab_ok(says(RPLB_CALL_DESTROY, EBUSY, "live members") &&
		       !says(RPLB_CALL_DESTROY, EBUSY, "slot"),
	       "destroying a group with members is not explained by slots");
	lab_ok(says(RPLB_CALL_DESTROY, ENOENT, "no such group") &&
		       !says(RPLB_CALL_DESTROY, ENOENT, "socket"),
	       "destroying an unknown group is not explained by sockets");
	lab_ok(says(RPLB_CALL_OPEN, ENOENT, "count"), "a new group needs a count");
	lab_ok(says(RPLB_CALL_SOCKET, EACCES, "port") && !says(RPLB_CALL_SOCKET, EACCES, "group"),
	       "a port that a user may not bind is not explained by groups");
	lab_ok(says(RPLB_CALL_JOIN, EADDRNOTAVAIL, "network namespace") &&
		       !says(RPLB_CALL_SOCKET, EADDRNOTAVAIL, "group"),
	       "nor is an address that the host lacks");
	lab_ok(rplb_explain_call(RPLB_CALL_JOIN, -ENOTCONN) == rplb_explain(ENOTCONN),
	       "an error with one meaning has the same explanation for every call");
	lab_ok(rplb_explain_call((enum rplb_call)99, EBUSY) == rplb_explain(EBUSY),
	       "an unknown call gets the general explanation");
}

static void by_kernel(void)
{
	lab_ok(!strstr(rplb_explain(ENOEXEC), "5.6") && !strstr(rplb_explain(EOPNOTSUPP), "4.19"),
	       "a new kernel is not blamed");
	release = "5.4.0-1-amd64";
	lab_ok(strstr(rplb_explain(ENOEXEC), "Linux 5.6") &&
		       !strstr(rplb_explain(EOPNOTSUPP), "4.19"),
	       "Linux 5.4 is too old for the program, and has sk_reuseport");
	release = "4.18.20";
	lab_ok(strstr(rplb_explain(-ENOEXEC), "Linux 5.6") &&
		       strstr(rplb_explain(-EOPNOTSUPP), "Linux 4.19"),
	       "Linux 4.18 is too old for both");
	release = "6.18.0";
}

int main(int count, char **arguments)
{
	const char *path = count > 1 ? arguments[1] : getenv("HEADER");
	FILE *header = path ? fopen(path, "r") : NULL;
	bool named[ERRORS] = {false};
	int total = 0;
	char line[1024];

	setvbuf(stdout, NULL, _IONBF, 0);
	if (!header)
		lab_need(-ENOENT, "HEADER names reuseport_lb.h");
	while (fgets(line, sizeof(line), header))
		mark(line, named);
	fclose(header);
	for (size_t i = 0; i < ERRORS; i++) {
		if (!named[i])
			continue;
		total++;
		lab_ok(is_own(i), "%s has a sentence of its own", errors[i].name);
		lab_ok(rplb_explain(-errors[i].number) == rplb_explain(errors[i].number),
		       "-%s has the same", errors[i].name);
	}
	lab_ok(total >= 15, "the header names its errors (%d)", total);
	lab_ok(rplb_explain(0) && *rplb_explain(0), "0 is explained as well");
	lab_ok(rplb_explain(9999) && *rplb_explain(9999), "so is an unknown number");
	lab_ok(rplb_explain(-2147483647 - 1) != NULL, "so is the lowest number");
	by_call();
	by_kernel();
	return lab_leave();
}
