/* SPDX-License-Identifier: Apache-2.0 */
/* collector20.c: a collector in 20 lines; collector20 PORT SLOT COUNT. The manual page shows it too. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <reuseport_lb.h>

int main(int count, char **arguments)
{
	if (count != 4)
		return fputs("usage: collector20 PORT SLOT COUNT\n", stderr), 2;
	struct sockaddr_in from,
		at = {.sin_family = AF_INET, .sin_port = htons(atoi(arguments[1]))};
	struct rplb_options options =
		RPLB_OPTIONS(.count = atoi(arguments[3]), .flags = RPLB_MOUNT);
	struct rplb_group *group;
	socklen_t size = sizeof(from);
	char data[65536];
	int fd, error = rplb_socket_udp((struct sockaddr *)&at, sizeof(at), 0, &fd);
	if (!error)
		error = rplb_group_open("collector20", &options, &group);
	if (!error)
		error = rplb_join(group, fd, atoi(arguments[2]));
	if (error)
		return fprintf(stderr, "%s: %s\n", strerror(-error), rplb_explain(error)), 1;
	fprintf(stderr, "slot %s receives\n", arguments[2]);
	for (ssize_t n;
	     (n = recvfrom(fd, data, sizeof(data), 0, (struct sockaddr *)&from, &size)) >= 0;)
		printf("%s: %zd bytes\n", inet_ntoa(from.sin_addr), n), fflush(stdout);
	return 1;
}
