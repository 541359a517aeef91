/* SPDX-License-Identifier: Apache-2.0 */
/* folder.c: the pin root, and the folder of a group with its lock. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include <linux/magic.h>

#include "internal.h"

#define NAME_MAX_BYTES 64
#define LOCK_SECONDS 5
#define LOCK_STEP_NS 2000000

bool rplb_name_is_valid(const char *name)
{
	size_t length = strlen(name);

	/* The kernel reserves names with dots (kernel/bpf/inode.c, bpf_lookup). */
	return length > 0 && length <= NAME_MAX_BYTES && !strpbrk(name, "/.");
}

static int is_bpf_fs(const char *root)
{
	struct statfs status;

	if (statfs(root, &status))
		return errno == ENOENT || errno == ENOTDIR ? -ENODEV : -errno;
	return status.f_type == BPF_FS_MAGIC ? 0 : -ENODEV;
}

/* flock(2) with a time limit, so that a stopped process with the lock does not block others for ever. */
static int lock(int folder)
{
	struct timespec now, end, step = {.tv_nsec = LOCK_STEP_NS};

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += LOCK_SECONDS;
	while (flock(folder, LOCK_EX | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return -errno;
		clock_gettime(CLOCK_MONOTONIC, &now);
		if (now.tv_sec > end.tv_sec ||
		    (now.tv_sec == end.tv_sec && now.tv_nsec >= end.tv_nsec))
			return -ETIMEDOUT;
		nanosleep(&step, NULL);
	}
	return 0;
}

/* One of several processes mounts. Another process that only holds the lock does not block them. */
static int mount_once(const char *root)
{
	int folder = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), error;

	if (folder >= 0)
		lock(folder);
	error = is_bpf_fs(root);
	/* 0711: members of other uids can open the groups whose names they know. */
	if (error == -ENODEV &&
	    mount("bpf", root, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0711"))
		error = errno == EPERM || errno == ENOENT ? -ENODEV : -errno;
	else if (error == -ENODEV)
		error = is_bpf_fs(root);
	if (folder >= 0)
		rplb_folder_unlock(folder);
	return error;
}

int rplb_root_check(const char *root, unsigned int flags)
{
	int error = is_bpf_fs(root);

	return error == -ENODEV && (flags & RPLB_MOUNT) ? mount_once(root) : error;
}

/* Whether the folder at `path` is still the open one. */
static bool is_still_there(const char *path, int folder)
{
	struct stat at_path, open_one;

	return !lstat(path, &at_path) && !fstat(folder, &open_one) &&
	       at_path.st_dev == open_one.st_dev && at_path.st_ino == open_one.st_ino;
}

int rplb_folder_lock(const char *root, const char *name, bool create, int *folder)
{
	char *path = rplb_pin_path(root, name, NULL);
	int fd, error;

	if (!path)
		return -ENOMEM;
	for (;;) {
		if (create && mkdir(path, S_IRWXU) && errno != EEXIST) {
			error = -errno;
			/* A caller that may search the root would have found an existing group. */
			if (error == -EACCES && !faccessat(AT_FDCWD, root, X_OK, AT_EACCESS))
				error = -EPERM;
			break;
		}
		/* A symbolic link may lead to a foreign folder, or nowhere. */
		fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0) {
			error = -errno;
			/* Another process removed it between the two calls. */
			if (create && error == -ENOENT)
				continue;
			break;
		}
		error = lock(fd);
		if (!error && is_still_there(path, fd)) {
			*folder = fd;
			break;
		}
		close(fd);
		if (error)
			break;
	}
	free(path);
	return error == -ENOTDIR ? -EPROTONOSUPPORT : error;
}

int rplb_folder_relock(int folder, int *out)
{
	/* A lock belongs to an open file description, so each call opens the folder again. */
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat status;
	int error;

	if (fd < 0)
		return -errno;
	error = lock(fd);
	if (!error && fstat(fd, &status))
		error = -errno;
	if (!error && status.st_nlink == 0)
		error = -ENOENT;
	if (error) {
		close(fd);
		return error;
	}
	*out = fd;
	return 0;
}

void rplb_folder_unlock(int lock)
{
	/* Closing is not enough when another thread has forked meanwhile: the child has the file too. */
	flock(lock, LOCK_UN);
	close(lock);
}

int rplb_folder_take(const char *root, const char *name, int folder)
{
	char *path = rplb_pin_path(root, name, NULL);
	int error = 0;

	if (!path)
		return -ENOMEM;
	if (fchmod(folder, S_IRWXU) || fchown(folder, geteuid(), (gid_t)-1))
		error = errno == EPERM ? -EACCES : -errno;
	else if (!is_still_there(path, folder))
		error = -EACCES;
	free(path);
	return error;
}

int rplb_folder_is_used(int folder)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	int used = 0;

	if (!entries) {
		int error = -errno;

		if (fd >= 0)
			close(fd);
		return error;
	}
	while (!used && (entry = readdir(entries)))
		used = strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..");
	closedir(entries);
	return used;
}

int rplb_folder_remove(const char *root, const char *name)
{
	char *path = rplb_pin_path(root, name, NULL);
	int error = 0;

	if (!path)
		return -ENOMEM;
	if (rmdir(path))
		error = errno == EPERM ? -EACCES : -errno;
	free(path);
	return error;
}
