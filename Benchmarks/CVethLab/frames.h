/* SPDX-License-Identifier: Apache-2.0 */
/* frames.h: UDP frames that the kernel generates, and their sink. Functions return 0 or -errno. */
#ifndef CVETHLAB_FRAMES_H
#define CVETHLAB_FRAMES_H

#include "include/CVethLab.h"

enum {
	LAB_FRAME_BYTES = 14 + 20 + 8 + 64,
	LAB_SOURCES = 10 << 24 | 9 << 16, /* 10.9.0.0/16 */
	LAB_CPUS_MAX = 1024,
};

/* Frames of a wire, for the network of its client. */
struct lab_frames {
	int program;
	int count; /* how many were made: a map's one element */
	uint8_t bytes[LAB_FRAME_BYTES];
};

/* The frame of the first source, LAB_FRAME_BYTES. */
void lab_frame(uint8_t *frame, const struct lab_wire *wire);

int lab_frames_open(struct lab_frames *frames, const struct lab_wire *wire);
void lab_frames_close(const struct lab_frames *frames);
/* Sends `count` frames from the client's end of the wire as XDP frames (BPF_F_TEST_XDP_LIVE_FRAMES,
 * Linux 5.18), or until a signal arrives. The other end drops those that it has no room for. Each
 * call takes many more milliseconds, because the kernel prepares the dispatch and waits for all CPUs
 * (net/bpf/test_run.c). */
int lab_frames_send(const struct lab_frames *frames, uint32_t count);
uint64_t lab_frames_count(const struct lab_frames *frames);

/* A program that drops and counts UDP to the wire's port, at the receiver's end, in the calling thread's
 * network. Closing `link` removes it. */
struct lab_sink {
	int link;
	int count;
};

int lab_sink_open(struct lab_sink *sink, const struct lab_wire *wire);
uint64_t lab_sink_count(const struct lab_sink *sink);

/* Moves the calling thread permanently into a network. */
int lab_stay_in(int network);
/* Runs `body` to its end on a separate thread, whose changes of network and CPU affect no other thread. */
int lab_on_a_thread(void *(*body)(void *), void *argument);

#endif
