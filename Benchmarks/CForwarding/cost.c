/* SPDX-License-Identifier: Apache-2.0 */
/* cost.c: the rounds of a measurement, on a thread in its own network namespace. */
#include <errno.h>
#include <linux/pkt_cls.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "load.h"

struct measurement {
	const void *object;
	size_t bytes;
	const struct forwarding_case *forwarding;
	int rounds, repeat;
	double *program, *bare, *empty;
	int error;
};

extern char **environ;

/* The receivers are on the link and their addresses known. */
static const char network[] =
	"ip link set lo up && ip link add near type veth peer name far && "
	"ip link set near up && ip link set far up && "
	"ip addr add 10.1.0.254/24 dev near && ip addr add 2001:db8:1::fe/64 dev near nodad && "
	"for i in 1 2 3; do ip neigh add 10.1.0.$i lladdr 02:00:00:00:00:01 dev near && "
	"ip neigh add 2001:db8:1::$i lladdr 02:00:00:00:00:01 dev near || exit 1; done && "
	"echo 1 >/proc/sys/net/ipv4/conf/all/forwarding && "
	"echo 1 >/proc/sys/net/ipv6/conf/all/forwarding";

static int make_network(void)
{
	char *const arguments[] = {"sh", "-c", (char *)network, NULL};
	pid_t child;
	int status, error;

	if (unshare(CLONE_NEWNET))
		return -errno;
	error = posix_spawn(&child, "/bin/sh", NULL, NULL, arguments, environ);
	if (error)
		return -error;
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return status ? -ENETUNREACH : 0;
}

static int run(int wrapper, const uint8_t *frame, int bytes, int repeat, uint32_t verdict,
	       double *nanoseconds)
{
	struct __sk_buff context = {.ingress_ifindex = FORWARDING_INGRESS};
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame, .data_size_in = (uint32_t)bytes,
		    .ctx_in = &context, .ctx_size_in = sizeof(context), .repeat = repeat);
	int error = bpf_prog_test_run_opts(wrapper, &options);

	if (error)
		return error;
	*nanoseconds = options.duration;
	/* Another verdict means another path through the program. */
	return options.retval == verdict ? 0 : -EBADMSG;
}

/* A program under test behind the wrapper that restores its packet. */
struct wrapped {
	int array;
	int wrapper;
};

static int wrap(struct wrapped *wrapped, const uint8_t *frame, int bytes, int program)
{
	/* All headers, in whole words. */
	int headers = (bytes - FORWARDING_PAYLOAD + 7) / 8 * 8;

	wrapped->wrapper = -1;
	wrapped->array = forwarding_array(program);
	if (wrapped->array >= 0)
		wrapped->wrapper = forwarding_wrapper(frame, headers, wrapped->array);
	return wrapped->array < 0 ? wrapped->array : wrapped->wrapper < 0 ? wrapped->wrapper : 0;
}

static void unwrap(struct wrapped *wrapped)
{
	if (wrapped->wrapper >= 0)
		close(wrapped->wrapper);
	if (wrapped->array >= 0)
		close(wrapped->array);
}

/* The programs of a round, in order. */
enum {
	PROGRAM,
	BARE,
	EMPTY,
	KINDS
};

static int run_rounds(const struct measurement *all, const int programs[KINDS],
		      const uint8_t *frame, int bytes)
{
	double *figures[KINDS] = {all->program, all->bare, all->empty};
	struct wrapped wrapped[KINDS] = {{-1, -1}, {-1, -1}, {-1, -1}};
	int error = 0;

	for (int kind = 0; kind < KINDS && !error; kind++)
		error = wrap(&wrapped[kind], frame, bytes, programs[kind]);
	for (int i = 0; i < all->rounds * KINDS && !error; i++) {
		int kind = i % KINDS;

		error = run(wrapped[kind].wrapper, frame, bytes, all->repeat,
			    kind == EMPTY ? TC_ACT_OK : TC_ACT_REDIRECT, &figures[kind][i / KINDS]);
	}
	for (int kind = 0; kind < KINDS; kind++)
		unwrap(&wrapped[kind]);
	return error;
}

static int run_beside(const struct measurement *all, const struct bpf_object *object)
{
	uint8_t frame[FORWARDING_FRAME];
	int bytes = forwarding_frame(frame, all->forwarding->is_v6);
	int programs[KINDS] = {
		bpf_program__fd(bpf_object__find_program_by_name(object, "udp_fanout")),
		forwarding_bare(frame, all->forwarding),
		forwarding_nothing(),
	};
	int error = programs[BARE] < 0 ? programs[BARE] : programs[EMPTY] < 0 ? programs[EMPTY] : 0;

	if (!error)
		error = run_rounds(all, programs, frame, bytes);
	/* The object closes its own. */
	for (int kind = BARE; kind < KINDS; kind++) {
		if (programs[kind] >= 0)
			close(programs[kind]);
	}
	return error;
}

static int measure(const struct measurement *all)
{
	struct bpf_object *object = bpf_object__open_mem(all->object, all->bytes, NULL);
	int error;

	if (!object)
		return -errno;
	error = bpf_object__load(object);
	if (!error)
		error = forwarding_fill(object, all->forwarding);
	if (!error)
		error = run_beside(all, object);
	bpf_object__close(object);
	return error;
}

static void *work(void *argument)
{
	struct measurement *all = argument;

	all->error = make_network();
	if (!all->error)
		all->error = measure(all);
	return NULL;
}

int forwarding_cost(const void *object, size_t bytes, const struct forwarding_case *forwarding,
		    int rounds, int repeat, double *program, double *bare, double *empty)
{
	struct measurement all = {.object = object,
				  .bytes = bytes,
				  .forwarding = forwarding,
				  .rounds = rounds,
				  .repeat = repeat,
				  .program = program,
				  .bare = bare,
				  .empty = empty};
	pthread_t thread;
	int error = pthread_create(&thread, NULL, work, &all);

	if (error)
		return -error;
	pthread_join(thread, NULL);
	return all.error;
}
