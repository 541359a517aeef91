// SPDX-License-Identifier: Apache-2.0
/* cpu_time.h: the CPU time of a process so far. */
#ifndef LOADGEN_CPU_TIME_H
#define LOADGEN_CPU_TIME_H

#include <stdint.h>

/*
 * Nanoseconds on a CPU of every live thread of the process: the first field of
 * /proc/PID/task/TID/schedstat (Documentation/scheduler/sched-stats.rst). Ends the program with a
 * message when there is no such process: a dead forwarder has no cost.
 */
uint64_t cpu_time_ns(int pid);

#endif
