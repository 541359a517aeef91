// SPDX-License-Identifier: Apache-2.0
// header.cpp: the header and the library from C++.
#include <cerrno>
#include <cstdio>

#include <reuseport_lb.h>

int main()
{
	rplb_options options{};
	rplb_group *group = nullptr;

	options.size = sizeof(options);
	options.count = 2;
	options.flags = RPLB_EXISTING;
	const int error = rplb_group_open("no group of this name", &options, &group);

	std::printf("%s: %s\n", rplb_version(), rplb_explain_call(RPLB_CALL_OPEN, error));
	// -ENODEV without a BPF file system, -EACCES without the permission to search it.
	return error == -ENOENT || error == -ENODEV || error == -EACCES ? 0 : 1;
}
