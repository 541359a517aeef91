/* SPDX-License-Identifier: Apache-2.0 */
/* refused.c: a start that is refused changes nothing for those who are there. */
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

	lab_need(rplb_group_open("g", &(struct rplb_options){.count = count}, &group), "open");
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
	lab_ok(count_of(group) == 3, "who opens a group with another count has not changed it");
	lab_error(rplb_join(late, second, 0), -EEXIST, "a slot that is taken is refused");
	lab_error(rplb_join(late, elsewhere, 4), -EADDRNOTAVAIL, "so is another address");
	lab_error(rplb_join(late, second, 5), -ERANGE, "and a slot that is not below either count");
	lab_ok(count_of(group) == 3, "the count is still what it was");
	lab_error(rplb_join(group, second, 4), -ERANGE, "for those too who want no other");

	lab_error(rplb_join(late, second, 4), 0, "a slot below the new count is taken");
	lab_ok(count_of(group) == 5, "and the group has the new count, whoever asks");
	lab_error(rplb_leave(late, second), 0, "leave");

	lab_need(rplb_resize(group, 4), "resize");
	lab_error(rplb_join(late, second, 1), 0, "who joins again");
	lab_ok(count_of(group) == 4, "leaves the count as others have made it since");
	lab_need(rplb_leave(late, second), "leave");

	later = reopened(2);
	lab_need(rplb_join(late, second, 3), "join");
	lab_error(rplb_join(later, elsewhere, 1), -EBUSY,
		  "a lower count cuts off nobody who has come since the group was opened");
	lab_ok(count_of(group) == 4, "and changes nothing then");
	close(second);
	second = lab_udp(PORT);
	lab_error(rplb_join(later, second, 1), 0, "once the member has gone it is taken");
	lab_ok(count_of(group) == 2, "with the count");

	close(first);
	close(second);
	close(elsewhere);
	rplb_group_close(later);
	rplb_group_close(late);
	rplb_group_close(group);
	return lab_leave();
}
