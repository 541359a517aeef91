/* SPDX-License-Identifier: Apache-2.0 */
/* cost.c: the rounds of a measurement, on a thread in its own network namespace. */
#include <errno.h>
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
	const struct nat_case *way;
	int rounds, repeat;
	double *program, *empty;
	int error;
};

extern char **environ;

/* The servers are on the link and their addresses known; clients are behind the first. */
static const char network[] =
	"ip link set lo up && ip link add near type veth peer name far && "
	"ip link set near up && ip link set far up && "
	"ip addr add 10.1.0.254/24 dev near && ip addr add 2001:db8:1::fe/64 dev near nodad && "
	"for i in 1 2 3; do ip neigh add 10.1.0.$i lladdr 02:00:00:00:00:01 dev near && "
	"ip neigh add 2001:db8:1::$i lladdr 02:00:00:00:00:01 dev near || exit 1; done && "
	"ip route add default via 10.1.0.1 && ip route add default via 2001:db8:1::1 && "
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
	LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame, .data_size_in = (uint32_t)bytes,
		    .repeat = repeat);
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

static int wrap(struct wrapped *wrapped, const struct measurement *all, const uint8_t *frame,
		int bytes, int program)
{
	/* All headers, in whole words. */
	int headers = (bytes - NAT_PAYLOAD + 7) / 8 * 8;

	wrapped->wrapper = -1;
	wrapped->array = nat_array(program);
	if (wrapped->array >= 0)
		wrapped->wrapper = nat_wrapper(frame, headers, wrapped->array, all->way);
	return wrapped->array < 0 ? wrapped->array : wrapped->wrapper < 0 ? wrapped->wrapper : 0;
}

static void unwrap(struct wrapped *wrapped)
{
	if (wrapped->wrapper >= 0)
		close(wrapped->wrapper);
	if (wrapped->array >= 0)
		close(wrapped->array);
}

static int run_rounds(const struct measurement *all, int program, int nothing)
{
	uint8_t frame[NAT_FRAME];
	int bytes = nat_frame(frame, all->way);
	uint32_t verdict = all->way->is_routed ? XDP_REDIRECT : XDP_TX;
	struct wrapped full, bare = {-1, -1};
	int error = wrap(&full, all, frame, bytes, program);

	if (!error)
		error = wrap(&bare, all, frame, bytes, nothing);
	for (int i = 0; i < all->rounds && !error; i++) {
		error = run(full.wrapper, frame, bytes, all->repeat, verdict, &all->program[i]);
		if (!error)
			error = run(bare.wrapper, frame, bytes, all->repeat, XDP_PASS,
				    &all->empty[i]);
	}
	unwrap(&full);
	unwrap(&bare);
	return error;
}

static int measure(const struct measurement *all)
{
	struct bpf_object *object = bpf_object__open_mem(all->object, all->bytes, NULL);
	int nothing, program, error;

	if (!object)
		return -errno;
	error = nat_prepare(object, all->way);
	if (!error)
		error = bpf_object__load(object);
	if (!error)
		error = nat_fill(object, all->way);
	if (!error) {
		program = bpf_program__fd(bpf_object__find_program_by_name(object, "xdp_nat"));
		nothing = nat_nothing();
		error = nothing < 0 ? nothing : run_rounds(all, program, nothing);
		if (nothing >= 0)
			close(nothing);
	}
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

int nat_cost(const void *object, size_t bytes, const struct nat_case *way, int rounds, int repeat,
	     double *program, double *empty)
{
	struct measurement all = {.object = object,
				  .bytes = bytes,
				  .way = way,
				  .rounds = rounds,
				  .repeat = repeat,
				  .program = program,
				  .empty = empty};
	pthread_t thread;
	int error = pthread_create(&thread, NULL, work, &all);

	if (error)
		return -error;
	pthread_join(thread, NULL);
	return all.error;
}
