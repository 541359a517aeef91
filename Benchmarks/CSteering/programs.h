/* SPDX-License-Identifier: Apache-2.0 */
/* programs.h: the programs that the measurements attach to the members' group. Descriptors, 0 or -errno. */
#ifndef STEERING_PROGRAMS_H
#define STEERING_PROGRAMS_H

#include "include/CSteering.h"

/* The program of the open group; do not close it. */
int steering_group_program(void);
/* A program that chooses among the open group's members in the simplest way; close it after use. */
int steering_bare_program(void);
/* A program that leaves the choice to the kernel; close it after use. */
int steering_empty_program(void);
int steering_attach(int member, int program);
int steering_detach(int member);

#endif
