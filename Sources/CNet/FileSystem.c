/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/vfs.h>

#include "CNet.h"

int64_t cnet_file_system(const char *path)
{
	struct statfs status;

	return statfs(path, &status) ? -errno : (int64_t)(uint32_t)status.f_type;
}
