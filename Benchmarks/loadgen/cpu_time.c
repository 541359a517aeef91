// SPDX-License-Identifier: Apache-2.0

#include "cpu_time.h"

#include <dirent.h>
#include <err.h>
#include <stdio.h>

static uint64_t thread_ns(const char *tasks, const char *thread)
{
	char path[320];
	unsigned long long ns = 0;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s/schedstat", tasks, thread);
	file = fopen(path, "r");
	if (!file)
		return 0; /* the thread ended since the folder was read */
	if (fscanf(file, "%llu", &ns) != 1)
		ns = 0;
	fclose(file);
	return ns;
}

uint64_t cpu_time_ns(int pid)
{
	char tasks[32];
	uint64_t total = 0;
	struct dirent *entry;
	DIR *folder;

	snprintf(tasks, sizeof(tasks), "/proc/%d/task", pid);
	folder = opendir(tasks);
	if (!folder)
		err(1, "the forwarder is gone: %s", tasks);
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] != '.')
			total += thread_ns(tasks, entry->d_name);
	}
	closedir(folder);
	if (!total)
		errx(1, "%s: no schedstat; the kernel needs CONFIG_SCHED_INFO", tasks);
	return total;
}
