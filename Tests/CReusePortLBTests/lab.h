/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lab.h: what the test programs share. Each program tests one subject and prints its cases as sentences
 * in the Test Anything Protocol, which Automake reads.
 *
 * A program runs in its own mount and network namespaces, with a BPF file system at RPLB_PIN_ROOT and a
 * loopback interface, and changes nothing outside.
 */
#ifndef LAB_H
#define LAB_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <reuseport_lb.h>

/* A folder on no BPF file system, and a BPF file system in which every user may create. */
#define LAB_PLAIN_ROOT "/sys/fs/plain"
#define LAB_OPEN_ROOT "/sys/fs/open"

/* Unprivileged users. */
#define LAB_NONE 65534
#define LAB_STRANGER 65533

/* Enters the namespaces. Without root the program reports that and ends as skipped. */
void lab_enter(void);
/* Prints the plan. Returns the exit status of the program. */
int lab_leave(void);

/* A case: `good` must hold. Returns it. */
bool lab_ok(bool good, const char *sentence, ...) __attribute__((format(printf, 2, 3)));
/* A case: a call returned `got` and must have returned `want`, 0 or -errno. */
bool lab_error(int got, int want, const char *sentence, ...) __attribute__((format(printf, 3, 4)));
/* Checks a precondition of a case: when it fails, the program ends with a failure. */
void lab_need(int error, const char *what);

/* Calls `work` in an unprivileged child of another user. Returns its result. */
int lab_as(uid_t uid, int (*work)(void *), void *context);
/* Starts `work` in a child that then waits for lab_end. Returns its pid once the work is done. */
pid_t lab_start(int (*work)(void *), void *context);
/* Kills a child (SIGKILL) and reaps it. */
void lab_end(pid_t child);

/* Opens a group; on failure the program ends. */
struct rplb_group *lab_group(const char *name, uint32_t count);
/* Removes the pins of a group, as rm -r does. */
void lab_remove_pins(const char *name);
/* Sockets on 127.0.0.1 with SO_REUSEPORT: UDP bound, TCP listening. Port 0 is any. */
int lab_udp(uint16_t port);
int lab_tcp(uint16_t port);
/* A socket in the state that a case asks for. */
struct lab_socket {
	int type;	/* SOCK_DGRAM or SOCK_STREAM */
	bool exclusive; /* without SO_REUSEPORT */
	bool unbound;
	bool deaf; /* does not listen */
	uint16_t port;
	uint32_t address; /* host order; 0 is 127.0.0.1 */
};
int lab_socket(struct lab_socket wanted);

/* Sends a datagram from an address in 127.0.0.0/8 (host order; port 0 is any) to 127.0.0.1. */
void lab_send(uint32_t source, uint16_t source_port, uint16_t port, const void *bytes,
	      size_t length);
/* Empties the sockets. Returns which one had a datagram, -1 if none had. */
int lab_arrival(const int *fds, int count);

#endif
