/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c: every error that the header names has a sentence of its own. argv[1], or the environment's
 * HEADER, is the header. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lab.h"

static const struct {
	const char *name;
	int number;
} errors[] = {
	{"EACCES", EACCES},
	{"EADDRINUSE", EADDRINUSE},
	{"EADDRNOTAVAIL", EADDRNOTAVAIL},
	{"EAFNOSUPPORT", EAFNOSUPPORT},
	{"EBUSY", EBUSY},
	{"EDESTADDRREQ", EDESTADDRREQ},
	{"EEXIST", EEXIST},
	{"EINVAL", EINVAL},
	{"ENODEV", ENODEV},
	{"ENOENT", ENOENT},
	{"ENOEXEC", ENOEXEC},
	{"ENOMEM", ENOMEM},
	{"ENOPROTOOPT", ENOPROTOOPT},
	{"ENOTCONN", ENOTCONN},
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

	/* 9999 is no errno, so its sentence is the one for all that has none. */
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
	lab_ok(rplb_explain(9999) && *rplb_explain(9999), "so is what is no error");
	lab_ok(rplb_explain(-2147483647 - 1) != NULL, "so is the lowest number");
	return lab_leave();
}
