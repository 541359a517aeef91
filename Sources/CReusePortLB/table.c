/* SPDX-License-Identifier: Apache-2.0 */
/* table.c: the member of each slot. */
#include <string.h>

#include <lb/slot_table.h>

#include "internal.h"

#define FREE 0xffff

/* The daemon's table for as many receivers of weight 1 at 0.0.0.0, 0.0.0.1, ... port 0: one after another,
 * each member takes the first free slot of its own order. */
static void build_hashed(struct lb_reuseport_table *table, uint32_t count, uint32_t capacity)
{
	struct lb_preference preferences[LB_MEMBERS_MAX];

	table->slots = lb_reuseport_slots(capacity);
	memset(table->owner, 0xff, sizeof(table->owner));
	for (uint32_t member = 0; member < count; member++)
		preferences[member] = lb_preference_of(lb_addr_v4(member), 0);
	for (uint32_t taken = 0; taken < table->slots; taken++) {
		struct lb_preference *preference = &preferences[taken % count];
		uint32_t slot;

		do
			slot = lb_preference_next(preference, table->slots);
		while (table->owner[slot] != FREE);
		table->owner[slot] = (uint16_t)(taken % count);
	}
}

void rplb_table_build(struct lb_reuseport_table *table, uint32_t count, uint32_t key,
		      uint32_t capacity)
{
	table->count = count;
	if (lb_reuseport_is_hashed(key)) {
		build_hashed(table, count, capacity);
		return;
	}
	table->slots = count;
	for (uint32_t member = 0; member < count; member++)
		table->owner[member] = (uint16_t)member;
}
