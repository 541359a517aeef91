/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c: what an error means, and its remedy. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/utsname.h>

#include "internal.h"

struct text {
	enum rplb_call call;
	int error;
	const char *text;
};

/* What an error means for one call, where that is narrower than its general meaning. */
static const struct text of_calls[] = {
	{RPLB_CALL_OPEN, EINVAL,
	 "an argument is malformed: a group's name has 1 to 64 characters without '/' and '.', a "
	 "pin root is an absolute path, a payload key has 1 to 20 bytes, a build without a program "
	 "needs one given"},
	{RPLB_CALL_OPEN, ERANGE,
	 "a group's count is 1 to its capacity, which is 128 unless its creator gives it up to "
	 "1024"},
	{RPLB_CALL_OPEN, ENOENT, "there is no such group; a new one needs a count"},
	{RPLB_CALL_OPEN, EBUSY,
	 "a live member is in a slot at or above that count: end it first, or give a higher "
	 "count"},
	{RPLB_CALL_OPEN, EACCES,
	 "the group's pins belong to another user, or this user cannot search the pin root: its "
	 "creator names the owner, chmod 711 opens the root; or use another group"},

	{RPLB_CALL_DESTROY, ENOENT, "there is no such group"},
	{RPLB_CALL_DESTROY, EBUSY, "the group has live members: end them first"},
	{RPLB_CALL_DESTROY, EACCES,
	 "the group's pins, or the pin root, belong to another user: let that user or root do it"},

	{RPLB_CALL_SOCKET, EACCES,
	 "this user may not bind the port: it is below net.ipv4.ip_unprivileged_port_start and "
	 "needs CAP_NET_BIND_SERVICE; use a higher one"},
	{RPLB_CALL_SOCKET, EPERM, "something on this host forbids the socket"},
	{RPLB_CALL_SOCKET, EADDRNOTAVAIL,
	 "this host does not have the address: ip addr lists its addresses"},
	{RPLB_CALL_SOCKET, EINVAL, "the address or the size of the receive buffer is malformed"},
	{RPLB_CALL_SOCKET, ENODEV, "there is no such network interface"},

	{RPLB_CALL_JOIN, ERANGE, "the slot is not below the group's count"},
	{RPLB_CALL_JOIN, EBUSY,
	 "the socket is in a slot already, or a lower count would cut off a live member"},
	{RPLB_CALL_JOIN, ENOENT, "the group has been destroyed since it was opened: open it again"},
	{RPLB_CALL_JOIN, EADDRNOTAVAIL,
	 "the group's live members are bound to another address, port or device, or are in "
	 "another network namespace, or differ in IPV6_V6ONLY: use another group"},

	{RPLB_CALL_LEAVE, EAGAIN, "no other live socket has the slot, so this one keeps it"},
	{RPLB_CALL_LEAVE, ENOENT, "the socket is in no slot, or the group has been destroyed"},

	{RPLB_CALL_RESIZE, ERANGE,
	 "a group's count is 1 to its capacity, which is 128 unless its creator gave it up to "
	 "1024"},
	{RPLB_CALL_RESIZE, EBUSY,
	 "a live member is in a slot at or above that count: end it first"},
	{RPLB_CALL_RESIZE, ENOENT, "the group has been destroyed since it was opened"},

	{RPLB_CALL_ADOPT, EPERM,
	 "this process may not trace that one: run as its user or root, with CAP_SYS_PTRACE if "
	 "kernel.yama.ptrace_scope "
	 "is above 0"},
	{RPLB_CALL_ADOPT, ENOPROTOOPT,
	 "the process has bound the socket without SO_REUSEPORT, or has connected it: configure it "
	 "to share its port, "
	 "or start it by collector exec"},
	{RPLB_CALL_ADOPT, ERANGE, "the slot is not below the group's count"},
	{RPLB_CALL_ADOPT, EBUSY,
	 "the socket is in a slot already, or a lower count would cut off a live member"},
	{RPLB_CALL_ADOPT, EADDRNOTAVAIL,
	 "the group's live members are bound to another address, port or device, or are in another "
	 "network namespace, "
	 "or differ in IPV6_V6ONLY: use another group"},

	{RPLB_CALL_REPORT, ERANGE, "there are counters for the slots below the group's capacity"},
	{RPLB_CALL_REPORT, EDESTADDRREQ,
	 "the packet goes by its four-tuple: name the destination too, both with ports"},
	{RPLB_CALL_REPORT, EAFNOSUPPORT, "the address is neither IPv4 nor IPv6"},
};

static const struct text of_all[] = {
	{0, EINVAL,
	 "an argument is malformed: a group's name has 1 to 64 characters without '/' and '.', a "
	 "pin root is an absolute path, a payload key has 1 to 20 bytes, a build without a program "
	 "needs one given"},
	{0, ERANGE,
	 "the slot is not below the group's count, or the count is not 1 to the group's capacity "
	 "(128 by "
	 "default, at most 1024)"},
	{0, ENODEV,
	 "the pin root is on no BPF file system: name a folder on one, or make one with "
	 "mount -t bpf bpf /sys/fs/bpf"},
	{0, ENOENT,
	 "there is no such group, and none is created without a count; or it has been destroyed, "
	 "or the socket is in no slot"},
	{0, EPERM,
	 "there is no such group, and creating it takes CAP_BPF, CAP_NET_ADMIN and the right to "
	 "write to the pin root: let root create it once with its owner set, then members need no "
	 "privilege; or use a group that is there"},
	{0, EACCES,
	 "the group's pins belong to another user, or the pin root cannot be searched: let its "
	 "creator name the owner, and chmod 711 the root; of a socket: its port is below "
	 "net.ipv4.ip_unprivileged_port_start"},
	{0, ESTALE,
	 "the group exists with another key, payload key, seed, capacity or number of flows: use "
	 "the "
	 "same, or destroy it first"},
	{0, EBUSY,
	 "a live member prevents it: the socket is in a slot already, or a member would be "
	 "cut off; end it first"},
	{0, EPROTONOSUPPORT,
	 "what is pinned there was made by another version or another program: end its members and "
	 "remove the folder, or choose another name"},
	{RPLB_CALL_OPEN, EOPNOTSUPP, "this kernel was built without sk_reuseport programs"},
	{0, EOPNOTSUPP,
	 "the group runs on the classic fallback program, which has no slots and counters: close "
	 "the "
	 "socket to leave; as root or with CAP_BPF and CAP_NET_ADMIN, create the group for all of "
	 "it"},
	{0, ENOEXEC, "the kernel or libbpf refused the program; the log says why"},
	{0, ETIMEDOUT,
	 "another process has held the group's lock for 5 seconds: look for one that is stopped"},
	{0, EDOM,
	 "the group's key is no property of a packet: a counter, a random number or the CPU"},
	{0, ENODATA, "the group balances by bytes of the payload: give the payload of a datagram"},
	{0, ESRCH, "there is no such process"},
	{0, ENXIO, "the process has no bound UDP socket with SO_REUSEPORT, or none on that port"},
	{0, ENOTUNIQ, "the process has several such UDP sockets: name the port of one"},
	{0, E2BIG, "the options have a member that this version of the library does not know"},
	{0, EAGAIN, "no other live socket has the slot, so this one keeps it"},
	{0, EEXIST, "a live member has the slot: end it, replace it, or use another slot"},
	{0, EADDRINUSE,
	 "another socket has the address, without SO_REUSEPORT or of another user: ss -ulpn shows "
	 "whose"},
	{0, EADDRNOTAVAIL,
	 "this host does not have the address, or the group's members are bound to another one, "
	 "another port, device or network namespace"},
	{0, EDESTADDRREQ, "the socket is not bound: bind it before it joins"},
	{0, ENOTCONN, "the TCP socket does not listen: call listen before it joins"},
	{0, ENOPROTOOPT,
	 "the socket has no SO_REUSEPORT, got it too late, or is connected: set it before bind, "
	 "and do not connect"},
	{0, EAFNOSUPPORT, "the address is neither IPv4 nor IPv6, or the host has no IPv6"},
	{0, ENOTSOCK, "the descriptor is no socket"},
	{0, EBADF, "the descriptor is closed"},
	{0, EPROTOTYPE, "the socket is neither UDP nor TCP over IP"},
	{0, ENOMEM, "memory is exhausted, or RLIMIT_MEMLOCK on a kernel before Linux 5.11"},
	{0, EMFILE, "the process has no descriptor left: raise ulimit -n"},
	{0, ENFILE, "the system has no descriptor left: raise fs.file-max"},
};

/* Whether the running kernel is older than this version. */
static bool is_before(unsigned long major, unsigned long minor)
{
	struct utsname system;
	unsigned long first, second;
	char *rest;

	if (uname(&system))
		return false;
	first = strtoul(system.release, &rest, 10);
	second = *rest == '.' ? strtoul(rest + 1, NULL, 10) : 0;
	return first < major || (first == major && second < minor);
}

static const char *find(const struct text *texts, size_t count, enum rplb_call call, int error)
{
	for (size_t i = 0; i < count; i++) {
		if (texts[i].call == call && texts[i].error == error)
			return texts[i].text;
	}
	return NULL;
}

const char *rplb_explain_call(enum rplb_call call, int error)
{
	const char *text = NULL;
	int code = error < 0 ? (int)(0u - (unsigned int)error) : error;

	/* Blame the kernel's age only when it is the cause. */
	if (code == EOPNOTSUPP && is_before(4, 19))
		return "this kernel has no sk_reuseport programs, which need Linux 4.19";
	if (code == ENOEXEC && is_before(5, 6))
		return "this kernel refused the program, which needs Linux 5.6; the log says more";
	if (call != RPLB_CALL_ANY)
		text = find(of_calls, sizeof(of_calls) / sizeof(*of_calls), call, code);
	if (!text)
		text = find(of_all, sizeof(of_all) / sizeof(*of_all), RPLB_CALL_ANY, code);
	return text ? text : "the system call failed; its manual page lists the reasons";
}

const char *rplb_explain(int error)
{
	return rplb_explain_call(RPLB_CALL_ANY, error);
}
