/* SPDX-License-Identifier: Apache-2.0 */
/*
 * preload.c: libreuseportlb-preload.so, for programs that `collector exec` starts and that do not use the library
 *
 * It sets SO_REUSEPORT before the program binds a socket to the address of --listen. After that bind (UDP) or the
 * following listen (TCP) it runs `collector adopt --fd`, which puts the socket into the slot. It touches no other
 * socket. Since another process joins, this object needs nothing but the C library, and the last close of the
 * socket empties the slot.
 *
 * Environment, set by `collector exec`:
 *   RPLB_EXEC_LISTEN  `ADDRESS PORT`
 *   RPLB_EXEC_ADOPT   the command that joins, one argument a line; --fd and --pid are appended
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LISTEN "RPLB_EXEC_LISTEN"
#define ADOPT "RPLB_EXEC_ADOPT"
#define WORDS_MAX 64
#define STACK_BYTES (64 << 10)

struct address {
	sa_family_t family;
	uint16_t port; /* network order */
	union {
		struct in_addr v4;
		struct in6_addr v6;
	} ip;
};

static bool read_native(const struct sockaddr *native, socklen_t bytes, struct address *out)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)native;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)native;

	memset(out, 0, sizeof(*out));
	if (!native || bytes < sizeof(sa_family_t))
		return false;
	out->family = native->sa_family;
	if (out->family == AF_INET && bytes >= sizeof(*v4)) {
		out->port = v4->sin_port;
		out->ip.v4 = v4->sin_addr;
		return true;
	}
	/* Without a scope (RFC 2133) the structure is shorter. */
	if (out->family == AF_INET6 && bytes >= offsetof(struct sockaddr_in6, sin6_scope_id)) {
		out->port = v6->sin6_port;
		out->ip.v6 = v6->sin6_addr;
		return true;
	}
	return false;
}

/* The address of --listen. */
static bool read_wanted(struct address *out)
{
	char ip[INET6_ADDRSTRLEN];
	unsigned int port;
	const char *text = getenv(LISTEN);

	memset(out, 0, sizeof(*out));
	if (!text || sscanf(text, "%45s %u", ip, &port) != 2)
		return false;
	out->family = strchr(ip, ':') ? AF_INET6 : AF_INET;
	out->port = htons((uint16_t)port);
	return inet_pton(out->family, ip, &out->ip) == 1;
}

static bool has_protocol(int fd, int wanted)
{
	int protocol;
	socklen_t bytes = sizeof(protocol);

	return !getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &bytes) && protocol == wanted;
}

static void report_other(const struct address *bound)
{
	char ip[INET6_ADDRSTRLEN] = "";

	inet_ntop(bound->family, &bound->ip, ip, sizeof(ip));
	fprintf(stderr,
		"collector exec: %s binds %s, port %u, which is not the address of --listen (%s): "
		"this "
		"socket joins no slot\n",
		program_invocation_short_name, ip, ntohs(bound->port), getenv(LISTEN));
}

/* Whether `collector exec` means this socket. Reports one that has only the port. */
static bool is_meant(int fd, const struct sockaddr *native, socklen_t bytes, bool reports)
{
	struct address bound, wanted;

	if (!read_wanted(&wanted) || !read_native(native, bytes, &bound) ||
	    bound.port != wanted.port)
		return false;
	if (!has_protocol(fd, IPPROTO_UDP) && !has_protocol(fd, IPPROTO_TCP))
		return false;
	if (!memcmp(&bound, &wanted, sizeof(bound)))
		return true;
	if (reports)
		report_other(&bound);
	return false;
}

struct command {
	char *words[WORDS_MAX];
	char **environment;
	int fd;
	char *stack; /* two of STACK_BYTES */
};

static int execute(void *argument)
{
	struct command *command = argument;
	sigset_t none;

	/* Only in this copy of the descriptor table. */
	fcntl(command->fd, F_SETFD, 0);
	/* The program's handlers must not run here. */
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve(command->words[0], command->words, command->environment);
	_exit(127);
}

static int exit_status(pid_t child, int flags)
{
	int status = -1;

	while (child >= 0 && waitpid(child, &status, flags) < 0 && errno == EINTR)
		;
	return child >= 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

static int supervise(void *argument)
{
	struct command *command = argument;
	char *top = command->stack + 2 * STACK_BYTES;

	return exit_status(clone(execute, top, CLONE_VM | CLONE_VFORK | SIGCHLD, command), 0);
}

/* Runs the command and returns its exit status, 127 when it could not run.
 *
 * The program must not see a child that it did not start: neither by SIGCHLD nor by wait(2). A child that was cloned
 * without a signal is such a one, until it calls execve(2). So it clones another one, which does. Both share the
 * memory of this process (vfork(2)), and all signals are blocked in them and in this thread. */
static int run(struct command *command)
{
	sigset_t all, before;
	int status = 127;

	command->stack = mmap(NULL, 2 * STACK_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (command->stack == MAP_FAILED)
		return status;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	status = exit_status(
		clone(supervise, command->stack + STACK_BYTES, CLONE_VM | CLONE_VFORK, command),
		__WCLONE);
	sigprocmask(SIG_SETMASK, &before, NULL);
	munmap(command->stack, 2 * STACK_BYTES);
	return status;
}

/* The environment without what is meant for the program. */
static char **clean_environment(void)
{
	static const char *const names[] = {"LD_PRELOAD=", LISTEN "=", ADOPT "="};
	size_t count = 0, kept = 0;
	char **result;

	while (environ[count])
		count++;
	result = calloc(count + 1, sizeof(*result));
	for (size_t i = 0; result && i < count; i++) {
		bool is_ours = false;

		for (size_t j = 0; j < sizeof(names) / sizeof(*names); j++)
			is_ours |= !strncmp(environ[i], names[j], strlen(names[j]));
		if (!is_ours)
			result[kept++] = environ[i];
	}
	return result;
}

/* Puts the socket into the slot: 0, or -1 with errno. */
static int adopt(int fd)
{
	static char fd_flag[] = "--fd", pid_flag[] = "--pid";
	const char *text = getenv(ADOPT);
	char *copy = text ? strdup(text) : NULL, *rest = copy, number[16], pid[16];
	struct command command = {.fd = fd};
	size_t count = 0;
	int status = 127, saved = errno;

	while (rest && count < WORDS_MAX - 5)
		command.words[count++] = strsep(&rest, "\n");
	if (copy && !rest) {
		snprintf(number, sizeof(number), "%d", fd);
		snprintf(pid, sizeof(pid), "%d", getpid());
		command.words[count++] = fd_flag;
		command.words[count++] = number;
		command.words[count++] = pid_flag;
		command.words[count++] = pid;
		command.environment = clean_environment();
		if (command.environment)
			status = run(&command);
		free(command.environment);
	}
	if (status == 127)
		fprintf(stderr, "collector exec: cannot run %s: the socket joins no slot\n",
			command.words[0] ? command.words[0] : ADOPT);
	free(copy);
	errno = status ? EADDRINUSE : saved;
	return status ? -1 : 0;
}

/* Looked up at each call: the program may call before a constructor of this object has run. */
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int bind(int fd, __CONST_SOCKADDR_ARG address, socklen_t bytes)
{
	const struct sockaddr *native = address.__sockaddr__;
	bool meant = is_meant(fd, native, bytes, true);
	int yes = 1;

	if (meant)
		setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof(yes));
	if (NEXT(bind)(fd, address, bytes))
		return -1;
	return meant && has_protocol(fd, IPPROTO_UDP) ? adopt(fd) : 0;
}

int listen(int fd, int backlog)
{
	union {
		struct sockaddr any;
		struct sockaddr_in6 v6;
	} name;
	socklen_t bytes = sizeof(name);
	int listened, was_listening = 0;
	socklen_t size = sizeof(was_listening);

	/* A second call only changes the backlog. */
	getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &was_listening, &size);
	listened = NEXT(listen)(fd, backlog);
	if (listened || was_listening || !has_protocol(fd, IPPROTO_TCP) ||
	    getsockname(fd, &name.any, &bytes) || !is_meant(fd, &name.any, bytes, false))
		return listened;
	return adopt(fd);
}
