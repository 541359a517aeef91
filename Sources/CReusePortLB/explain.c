/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c: what an error means and what helps. */
#include <errno.h>
#include <stddef.h>

#include "internal.h"

static const struct {
	int error;
	const char *text;
} texts[] = {
	{EINVAL, "an argument is malformed: a group's name has 1 to 64 characters without '/' and "
		 "'.', a pin root is an absolute path, a build without a program needs one given"},
	{ERANGE, "the slot is not below the group's count, or the count is not 1 to 128"},
	{ENODEV, "the pin root is no BPF file system: mount -t bpf bpf /sys/fs/bpf"},
	{ENOENT, "there is no such group, or it has been destroyed, or the socket is in no slot"},
	{EPERM, "loading the program needs CAP_BPF and CAP_NET_ADMIN: create the group once as "
		"root with its owner set, then members need no privilege"},
	{EACCES, "the group's pins belong to another user, or the pin root cannot be searched: let "
		 "its creator name the owner, and chmod 711 the root"},
	{ESTALE, "the group exists with another key or seed: use the same, or destroy it first"},
	{EBUSY, "a member that lives is in the way: the socket is in a slot already, or a member "
		"would be cut off; end it first"},
	{EPROTONOSUPPORT, "what is pinned there was made by another version or another program: "
			  "end its members and remove the folder, or choose another name"},
	{EOPNOTSUPP, "this kernel has no sk_reuseport programs, which need Linux 4.19"},
	{ENOEXEC, "the kernel or libbpf refused the program, which needs Linux 5.6; the log says why"},
	{ETIMEDOUT, "another process has held the group's lock for 5 seconds: look for one that "
		    "is stopped"},
	{EEXIST, "a member that lives has the slot: end it, or take another slot"},
	{EADDRINUSE, "another socket has the address, without SO_REUSEPORT or of another user: "
		     "ss -ulpn shows whose"},
	{EADDRNOTAVAIL, "this host does not bear the address, or the group's members are bound to "
			"another one"},
	{EDESTADDRREQ, "the socket is not bound: bind it before it joins"},
	{ENOTCONN, "the TCP socket does not listen: call listen before it joins"},
	{ENOPROTOOPT, "the socket has no SO_REUSEPORT: set it before bind"},
	{ENOTSOCK, "the descriptor is no socket"},
	{EBADF, "the descriptor is closed"},
	{EPROTOTYPE, "the socket is neither UDP nor TCP over IP"},
	{ENOMEM, "memory is exhausted, or RLIMIT_MEMLOCK on a kernel before Linux 5.11"},
	{EMFILE, "the process has no descriptor left: raise ulimit -n"},
	{ENFILE, "the system has no descriptor left: raise fs.file-max"},
};

const char *rplb_explain(int error)
{
	int code = error < 0 ? -error : error;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		if (texts[i].error == code)
			return texts[i].text;
	}
	return "the system call failed; its manual page lists the reasons";
}
