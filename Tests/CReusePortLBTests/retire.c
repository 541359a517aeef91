/* SPDX-License-Identifier: Apache-2.0 */
/* retire.c: a member that retires loses nothing, however busy the port is. */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "lab.h"

#define PORT 4739
#define CYCLES 100
/* Sockets of the sender: the program chooses between two members by their ports. */
#define SOURCES 16
/* Datagrams on their way at most: fewer than a socket's default buffer holds. */
#define AHEAD 150

static atomic_long sent, received;
static atomic_bool over;

static void *flood(void *unused)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(PORT),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int sockets[SOURCES];

	(void)unused;
	for (int i = 0; i < SOURCES; i++) {
		struct sockaddr_in from = {.sin_family = AF_INET,
					   .sin_addr.s_addr = htonl(0x7f000100u + (uint32_t)i)};

		sockets[i] = socket(AF_INET, SOCK_DGRAM, 0);
		if (bind(sockets[i], (struct sockaddr *)&from, sizeof(from)))
			lab_need(-errno, "bind a sender");
	}
	for (unsigned int i = 0; !atomic_load(&over); i++) {
		while (atomic_load(&sent) - atomic_load(&received) > AHEAD && !atomic_load(&over))
			;
		if (sendto(sockets[i % SOURCES], "x", 1, 0, (struct sockaddr *)&to, sizeof(to)) ==
		    1)
			atomic_fetch_add(&sent, 1);
	}
	for (int i = 0; i < SOURCES; i++)
		close(sockets[i]);
	return NULL;
}

static long drain(int fd)
{
	long count = 0;
	char byte;

	while (recv(fd, &byte, 1, MSG_DONTWAIT) >= 0)
		count++;
	atomic_fetch_add(&received, count);
	return count;
}

/* A member joins beside one that stays, gets its share, and retires. */
static long cycle(struct rplb_group *group, int stays)
{
	time_t limit = time(NULL) + 10;
	int goes = lab_udp(PORT);
	long got = 0;

	lab_need(rplb_join(group, goes, 1), "join");
	while (!got && time(NULL) < limit) {
		drain(stays);
		got += drain(goes);
	}
	lab_need(rplb_retire(group, goes), "retire");
	got += drain(goes);
	close(goes);
	return got;
}

static void under_load(struct rplb_group *group)
{
	int stays = lab_udp(PORT);
	pthread_t sender;
	long got = 0;

	lab_need(rplb_join(group, stays, 0), "join");
	lab_need(-pthread_create(&sender, NULL, flood, NULL), "start the sender");
	for (int i = 0; i < CYCLES; i++)
		got += cycle(group, stays);
	atomic_store(&over, true);
	pthread_join(sender, NULL);
	drain(stays);
	lab_ok(got > 0, "members that come and go get their share");
	lab_ok(sent == received, "no datagram is lost with them");
	close(stays);
}

int main(void)
{
	struct rplb_group *group;
	struct sockaddr_in peer;
	socklen_t bytes = sizeof(peer);
	int udp, tcp;

	lab_enter();
	group = lab_group("retire", 2);
	udp = lab_udp(4740);
	tcp = lab_tcp(4740);
	lab_error(rplb_retire(group, udp), -ENOENT, "a socket that is in no slot cannot retire");
	lab_ok(getpeername(udp, (struct sockaddr *)&peer, &bytes) && errno == ENOTCONN,
	       "nor is it changed");
	lab_need(rplb_join(group, tcp, 0), "join");
	lab_error(rplb_retire(group, tcp), -EPROTOTYPE, "a TCP listener cannot retire");
	lab_need(rplb_join(group, udp, 0), "join");
	lab_error(rplb_retire(group, udp), 0, "a UDP member can");
	lab_error(rplb_leave(group, udp), -ENOENT, "it is in no slot then");
	lab_error(rplb_join(group, udp, 0), -ENOPROTOOPT, "and cannot join again");
	close(udp);
	close(tcp);
	under_load(group);
	rplb_group_close(group);
	return lab_leave();
}
