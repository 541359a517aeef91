/* SPDX-License-Identifier: Apache-2.0 */
/* log.c: sends messages to the caller's function, if any. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "internal.h"

void rplb_log(const struct rplb_group *group, enum rplb_level level, const char *format, ...)
{
	char line[512];
	va_list arguments;

	if (!group->options.log)
		return;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	group->options.log(group->options.log_context, level, line);
}

/* libbpf has one print hook per process. It is ours while one of our threads loads a program; libbpf's
 * messages from other threads go to the previous hook. */
static struct {
	pthread_mutex_t mutex;
	const struct rplb_group *group;
	pthread_t thread;
	libbpf_print_fn_t before;
} hook = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static int print(enum libbpf_print_level level, const char *format, va_list arguments)
{
	char *text, *line, *rest;

	if (!pthread_equal(pthread_self(), hook.thread))
		return hook.before ? hook.before(level, format, arguments) : 0;
	if (!hook.group->options.log)
		return 0;
	/* The verifier's log comes in one call, and its end has the cause. */
	if (vasprintf(&text, format, arguments) < 0)
		return 0;
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		if (*line)
			hook.group->options.log(
				hook.group->options.log_context,
				level == LIBBPF_WARN ? RPLB_LOG_ERROR : RPLB_LOG_DEBUG, line);
	}
	free(text);
	return 0;
}

void rplb_hook_libbpf(const struct rplb_group *group)
{
	pthread_mutex_lock(&hook.mutex);
	hook.group = group;
	hook.thread = pthread_self();
	hook.before = libbpf_set_print(print);
}

void rplb_unhook_libbpf(void)
{
	libbpf_set_print(hook.before);
	pthread_mutex_unlock(&hook.mutex);
}
