/* SPDX-License-Identifier: Apache-2.0 */
/* refused.c: a refused start changes nothing for the existing members. */
#include <errno.h>
#include <unistd.h>

#include "lab.h"

#define PORT 4739

static uint32_t count_of(struct rplb_group *group)
{
	struct rplb_info info;

	lab_need(rplb_info(group, &info), "info");
	return info.count;
}

static struct rplb_group *reopened(uint32_t count)
{
	struct rplb_group *group = NULL;

	lab_need(rplb_group_open("g", &RPLB_OPTIONS(.count = count), &group), "open");
	return group;
}

int main(void)
{
	int first, second, elsewhere;
	struct rplb_group *group, *late, *later;

	lab_enter();
	group = lab_group("g", 3);
	first = lab_udp(PORT);
	second = lab_udp(PORT);
	elsewhere = lab_udp(PORT + 1);
	lab_need(rplb_join(group, first, 0), "join");

	late = reopened(5);
	lab_ok(count_of(group) == 3, "opening a group with another count does not change it");
	lab_error(rplb_join(late, second, 0), -EEXIST, "a taken slot is refused");
	lab_error(rplb_join(late, elsewhere, 4), -EADDRNOTAVAIL, "so is another address");
	lab_error(rplb_join(late, second, 5), -ERANGE, "and a slot that is not below either count");
	lab_ok(count_of(group) == 3, "the count is unchanged");
	lab_error(rplb_join(group, second, 4), -ERANGE, "also by a handle without another count");

	lab_error(rplb_join(late, second, 4), 0, "a slot below the new count can be joined");
	lab_ok(count_of(group) == 5, "and every handle sees the new count");
	lab_error(rplb_leave(late, second), 0, "leave");

	lab_need(rplb_resize(group, 4), "resize");
	lab_error(rplb_join(late, second, 1), 0, "a later join succeeds");
	lab_ok(count_of(group) == 4, "and keeps the count that others have set since");
	lab_need(rplb_leave(late, second), "leave");

	later = reopened(2);
	lab_need(rplb_join(late, second, 3), "join");
	lab_error(rplb_join(later, elsewhere, 1), -EBUSY,
		  "a lower count cuts off no member that has joined since the group was opened");
	lab_ok(count_of(group) == 4, "and then changes nothing");
	close(second);
	second = lab_udp(PORT);
	lab_error(rplb_join(later, second, 1), 0,
		  "once that member has left, the lower count is accepted");
	lab_ok(count_of(group) == 2, "and sets the count");

	close(first);
	close(second);
	close(elsewhere);
	rplb_group_close(later);
	rplb_group_close(late);
	rplb_group_close(group);
	return lab_leave();
}
