/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal.h: what the files of the library share. Functions return 0 or -errno unless they say
 * otherwise.
 */
#ifndef REUSEPORT_LB_INTERNAL_H
#define REUSEPORT_LB_INTERNAL_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

#include <lb/reuseport.h>
#include <reuseport_lb.h>

/* The maps, in the order in which they are pinned: the record comes first, so that a folder whose creator
 * died is recognised as ours. */
enum rplb_map {
	RPLB_MAP_GROUP,
	RPLB_MAP_UDP_TARGETS,
	RPLB_MAP_TCP_TARGETS,
	RPLB_MAP_SIZE,
	RPLB_MAP_NONCE,
	RPLB_MAP_SLOTS,
	RPLB_MAP_COUNTERS,
	RPLB_MAP_UDP_MEMBERS,
	RPLB_MAP_TCP_MEMBERS,
	RPLB_MAP_UDP_SECOND,
	RPLB_MAP_TCP_SECOND,
	RPLB_MAP_FLOWS,
	RPLB_MAPS,
};
/* The name of a map in the program, and of its pin. */
const char *rplb_map_name(enum rplb_map map);
/* Whether a map has the type and the sizes of keys and values of a group's map. Reading a longer value would overflow
 * the buffer. */
bool rplb_map_is_as_named(int fd, enum rplb_map map);
/* How many entries a map of the group has. */
uint32_t rplb_map_entries(enum rplb_map map, const struct lb_reuseport_group *record);
/* Whether a map has the kernel's name of a group's map. */
bool rplb_map_has_name(int fd, enum rplb_map map);
#define RPLB_PROGRAM_PIN "program"
/* libbpf's name of the object. */
#define RPLB_OBJECT "rplb"

struct rplb_group {
	pthread_mutex_t
		mutex; /* keeps the threads of this process apart, as flock does processes */
	char *name;    /* NULL: private */
	char *root;    /* where it is pinned */
	int folder;    /* the pin folder; -1: private */
	int program;
	int maps[RPLB_MAPS];
	uint32_t capacity; /* slots */
	bool is_classic;   /* RPLB_FALLBACK: there is no program and no map */
	/* The count that the first join through this handle sets; 0: unchanged. */
	uint32_t wanted;
	/* The caller's options, with copies of the pin root and the seed, without the object. */
	struct rplb_options options;
	uint64_t seed;
	/* Whether another program may steer the members' port; see rplb_rejoin. */
	bool is_unsure;
};

/* log.c */
void rplb_log(const struct rplb_group *group, enum rplb_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* Sends libbpf's messages to the group's log until the hook is removed. */
void rplb_hook_libbpf(const struct rplb_group *group);
void rplb_unhook_libbpf(void);
#ifdef RPLB_DEBUG
#define rplb_debug(group, ...) rplb_log(group, RPLB_LOG_DEBUG, __VA_ARGS__)
#else
#define rplb_debug(group, ...) ((void)0)
#endif

/* load.c: fills in the program and the maps of a new group, and their first values. */
int rplb_load(struct rplb_group *group, const struct rplb_options *options);

/* folder.c */
bool rplb_name_is_valid(const char *name);
/* Whether a BPF file system is at `root`; mounts one if `flags` say so. */
int rplb_root_check(const char *root, unsigned int flags);
/* Opens the folder of a group and locks it; with `create` creates a missing one. Release *folder with
 * rplb_folder_unlock. */
int rplb_folder_lock(const char *root, const char *name, bool create, int *folder);
/* Locks a folder that is already open; release *lock with rplb_folder_unlock. -ENOENT: it has been
 * removed. */
int rplb_folder_relock(int folder, int *lock);
void rplb_folder_unlock(int lock);
/* Makes the caller the only owner of a locked folder: -EACCES when it may not. */
int rplb_folder_take(const char *root, const char *name, int folder);
/* Removes an empty folder. */
int rplb_folder_remove(const char *root, const char *name);
/* 1 when something is in the folder, 0 when nothing is. */
int rplb_folder_is_used(int folder);

/* pins.c; the caller holds the folder's lock. */
/* Whether a function that needs the maps can be called: 0, -EINVAL without a group, -EOPNOTSUPP for the fallback. */
static inline int rplb_check(const struct rplb_group *group)
{
	return !group ? -EINVAL : group->is_classic ? -EOPNOTSUPP : 0;
}

/* Whether the fallback replaces a group that could not be opened. */
bool rplb_classic_suits(const struct rplb_options *options, int error);
int rplb_classic_attach(const struct rplb_group *group, int fd);

char *rplb_pin_path(const char *root, const char *name, const char *pin);
/* Reads the record of the pinned group: -ENOENT when the folder is empty, -EPROTONOSUPPORT when its content
 * is not of this version. */
int rplb_pins_read(const char *root, const char *name, int folder,
		   struct lb_reuseport_group *record);
int rplb_pins_adopt(struct rplb_group *group, const char *root);
/* Whether the maps of a group have the number of entries that its record says; sets the capacity. */
bool rplb_maps_fit(struct rplb_group *group);
int rplb_pins_create(struct rplb_group *group, const char *root,
		     const struct rplb_options *options);
/* Removes the pins. When that is interrupted, the group counts as half-built, also in processes that have it
 * open. */
int rplb_pins_remove(const char *root, const char *name);

/* record.c: the single-value maps, and the live members. */
int rplb_record_read(const struct rplb_group *group, struct lb_reuseport_group *record);
int rplb_record_write(const struct rplb_group *group, const struct lb_reuseport_group *record);
int rplb_count_read(const struct rplb_group *group, uint32_t *count);
int rplb_seed_read(const struct rplb_group *group, uint64_t *seed);
int rplb_count_write(const struct rplb_group *group, uint32_t count, uint32_t key);
/* The map with the sockets of one place of each slot. */
int rplb_targets(const struct rplb_group *group, int protocol, uint32_t place);
/* The cookie of the socket in one place of a slot; -ENOENT: the place is empty. */
int rplb_cookie_read(const struct rplb_group *group, int protocol, uint32_t slot, uint32_t place,
		     uint64_t *cookie);
/* The place of the current socket of each slot: `places` has LB_MEMBERS_MAX bytes. */
int rplb_places_read(const struct rplb_group *group, int protocol, uint8_t *places);
/* The sockets of a slot, the current one first, at most LB_PLACES; `current` is its place. Adds to *count. */
int rplb_slot_read(const struct rplb_group *group, int protocol, uint32_t slot, uint8_t current,
		   struct rplb_member *members, size_t *count);
int rplb_place_write(const struct rplb_group *group, int protocol, uint32_t slot, uint32_t place);
/* Whether a live member is in slot `first` or above. */
int rplb_is_alive(const struct rplb_group *group, uint32_t first, bool *alive);
/* Whether the group may have this count: -ERANGE, -EBUSY. */
int rplb_count_check(const struct rplb_group *group, uint32_t count);
int rplb_resize_locked(struct rplb_group *group, uint32_t count);

/* table.c: the slot table of `count` members. */
void rplb_table_build(struct lb_reuseport_table *table, uint32_t count, uint32_t key,
		      uint32_t capacity);

/* socket.c: a socket that is to join; makes the checks that rplb_join documents. */
struct rplb_socket {
	int protocol;
	uint16_t family;
	uint16_t port;
	struct lb_addr address;
	uint64_t cookie;
	uint64_t netns;
	uint32_t device;
	uint32_t v6only;
	/* The process that status shows: the caller, unless it adopts another process's socket. */
	pid_t pid;
	uid_t uid;
};
int rplb_socket_inspect(int fd, struct rplb_socket *socket);
/* Whether the members of the record are in the socket's SO_REUSEPORT group: the program cannot select a
 * socket of another one. */
bool rplb_socket_is_at(const struct rplb_socket *socket, const struct lb_reuseport_group *record);

/* rejoin.c: when a group was created while another group has live members at the socket's address, replaces
 * it by that group and pins that again. Sets is_unsure when it may not look. -ESTALE: the live group has
 * another key or seed. */
int rplb_rejoin(struct rplb_group *group, const struct rplb_socket *socket);
/* Opens the pinned group that has replaced this one; the caller holds the folder's lock. */
int rplb_follow(struct rplb_group *group);
/* Logs when another program steers the socket's port, just before the group's program replaces it. It
 * detaches that program, which is the only way to detect it without the privilege to look for it. */
void rplb_warn_of_another(struct rplb_group *group, int fd);

/* members.c: rplb_join or rplb_replace for a socket that has been inspected. */
int rplb_join_as(struct rplb_group *group, int fd, const struct rplb_socket *socket, uint32_t slot,
		 bool replaces);

/* lookup.c: a specification of payload bytes as in the record, and back. */
struct lb_payload_key rplb_payload_of(const struct rplb_payload_key *key);
struct rplb_payload_key rplb_payload_read(const struct lb_reuseport_group *record);

/* group.c: compares the options with the group; sets `wanted`. */
int rplb_group_agree(struct rplb_group *group, const struct rplb_options *options);
/* Takes the lock for a call that changes the group; release *lock with rplb_group_unlock. */
int rplb_group_lock(struct rplb_group *group, int *lock);
void rplb_group_unlock(struct rplb_group *group, int lock);

#endif
