/* SPDX-License-Identifier: Apache-2.0 */
/* delivery.c: whether the forwarder forwards at all. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "frames.h"

int lab_take_frames(const char *end)
{
	struct ethtool_value gro = {.cmd = ETHTOOL_SGRO, .data = 1};
	struct ifreq request = {.ifr_data = (void *)&gro};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), error = 0;

	if (fd < 0)
		return -errno;
	strncpy(request.ifr_name, end, IFNAMSIZ - 1);
	if (ioctl(fd, SIOCETHTOOL, &request))
		error = -errno;
	close(fd);
	return error;
}

/* Whether a datagram arrives in time. */
static int takes_one(int fd)
{
	struct pollfd wanted = {.fd = fd, .events = POLLIN};
	char byte;

	return poll(&wanted, 1, 20) == 1 && recv(fd, &byte, sizeof(byte), MSG_DONTWAIT) >= 0;
}

static int delivers(const struct lab_wire *wire)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(wire->port)};
	struct lab_frames frames = {.program = -1, .count = -1};
	int error = lab_stay_in(wire->receiver), fd, came;

	if (error)
		return error;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)))
		error = -errno;
	if (!error)
		error = lab_stay_in(wire->client);
	if (!error)
		error = lab_frames_open(&frames, wire);
	if (!error)
		error = lab_frames_send(&frames, 16);
	lab_frames_close(&frames);
	came = error ? 0 : takes_one(fd);
	while (came && takes_one(fd))
		;
	close(fd);
	return error ? error : came;
}

struct question {
	const struct lab_wire *wire;
	int answer;
};

static void *answer(void *argument)
{
	struct question *question = argument;

	question->answer = delivers(question->wire);
	return NULL;
}

int lab_wire_delivers(const struct lab_wire *wire)
{
	struct question question = {.wire = wire};
	int error = lab_on_a_thread(answer, &question);

	return error ? error : question.answer;
}
