// SPDX-License-Identifier: GPL-2.0-only
/* What is asked of reclaim, by whom, and how it is set. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "wsp.h"

#define STRESS "wsp_test: stress\n" /* a mark in the kernel's log */

static enum result refused(const char *knob, const char *value)
{
	long before = number(knob);

	if (put(knob, value) != -EINVAL)
		return fail("%s takes %s", knob, value);
	if (number(knob) != before)
		return fail("%s changed although %s is not taken", knob, value);
	return PASS;
}

enum result test_ranges(void)
{
	static const struct {
		const char *knob, *value;
	} bad[] = {
		{ MODE, "2" },
		{ MODE, "-1" },
		{ MODE, "x" },
		{ KNOB("anon_min_ratio"), "101" },
		{ KNOB("anon_min_ratio"), "-1" },
		{ KNOB("clean_min_ratio"), "101" },
		{ KNOB("clean_low_ratio"), "101" },
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (refused(bad[i].knob, bad[i].value) == FAIL)
			return FAIL;
	if (put(MODE, "1") || number(MODE) != 1 || put(MODE, "0") || number(MODE))
		return fail("it is not turned on and off");
	if (put(KNOB("clean_min_ratio"), "4") || put(KNOB("anon_min_ratio"), "1"))
		return fail("the small preset is not taken");
	return PASS;
}

/*
 * A group that fills its own limit with page cache has nothing to do with the floors of the
 * node.
 */
enum result test_group(void)
{
	long killed, held;
	pid_t holder;
	bool well;

	if (group_make(64 * MIB))
		return skip("no memory control group");
	/* little page cache, and enough on the lists for the floor to be above it */
	holder = holder_start(meminfo("MemTotal") / 2, HOLD);
	put(MODE, "1");
	well = group_reads("huge", 256 * MIB);
	end(holder);
	if (!well)
		return fail("the reader was killed");
	killed = group_event("oom_kill");
	held = group_stat("file");
	group_remove();
	if (held < 32 * MIB)
		return fail("the group holds %ld MiB of the %ld it may", held / MIB, 64L);
	return killed ? fail("%ld kills in the group", killed) : PASS;
}

/*
 * What a group takes again from what its own limit evicted: refaults, and which of them became
 * active.
 */
struct again {
	long refaults, active;
};

/*
 * A group of 64 MiB that has an active part, and then reads in a circle: a page of it that is back
 * soon becomes active, and after some rounds the circle fits in place of the rest.
 */
static bool group_again(struct again *again)
{
	enum { LIMIT = 64, ACTIVE = 24, CIRCLE = 52, ROUNDS = 6 };
	pid_t reader;
	bool well;
	int i;

	/* With the inodes goes what the kernel remembers of pages that it evicted before. */
	put("/proc/sys/vm/drop_caches", "3");
	if (group_make(LIMIT * MIB))
		return false;
	reader = child_in_group();
	if (!reader) {
		stream("hot", ACTIVE * MIB);
		stream("hot", ACTIVE * MIB);
		/* The sizes of a group's lists are summed up every other second. */
		sleep(3);
		for (i = 0; i < ROUNDS; i++)
			stream("huge", CIRCLE * MIB);
		_exit(0);
	}
	well = ended_well(reader);
	again->refaults = group_stat("workingset_refault_file");
	again->active = group_stat("workingset_activate_file");
	group_remove();
	return well;
}

/* The same after memory has run out beside the hot file, and is plenty again. */
static enum result group_after(const char *mode, struct again *again)
{
	if (hot_stays(mode, 0) == FAIL)
		return FAIL;
	if (!group_again(again))
		return skip("no memory control group, or the reader was killed");
	printf("# mode %s: %ld refaults, %ld active\n", mode, again->refaults, again->active);
	return PASS;
}

/* A group at its own limit has nothing to do with a floor that memory ran out at. */
enum result test_group_after(void)
{
	struct again off, on;
	enum result result;

	if (meminfo("SwapTotal"))
		return skip("there is swap");
	result = group_after("0", &off);
	if (result == PASS)
		result = group_after("1", &on);
	if (result != PASS)
		return result;
	if (on.refaults > 2 * off.refaults + 4096)
		return fail("%ld refaults, and %ld without floors", on.refaults, off.refaults);
	if (on.active < off.active / 2)
		return fail("%ld became active, and %ld without floors", on.active, off.active);
	return PASS;
}

/* What a person asks to be reclaimed is reclaimed. */
enum result test_requests(void)
{
	long before, after;
	pid_t holder;
	int error;

	if (group_make(1024 * MIB))
		return skip("no memory control group");
	group_reads("hot", 0);
	holder = holder_start(meminfo("MemTotal") / 2, HOLD);
	put(MODE, "1");
	before = group_stat("file");
	if (before < 16 * MIB) {
		end(holder);
		return fail("the group holds %ld MiB", before / MIB);
	}
	error = put(GROUP "/memory.reclaim", "1G");
	end(holder);
	if (error == -ENOENT)
		return skip("no memory.reclaim");
	after = group_stat("file");
	group_remove();
	return after < before / 4 ? PASS : fail("file memory went from %ld to %ld", before, after);
}

/* Who asks for anonymous memory alone gets that, however low it is. */
enum result test_anon_only(void)
{
	long file, anon;
	pid_t holds;
	enum result result = PASS;

	if (swap_on(meminfo("MemTotal") / 2))
		return skip("no zram to swap to");
	if (group_make(1024 * MIB)) {
		swap_off();
		return skip("no memory control group");
	}
	group_reads("hot", 0);
	holds = child_in_group();
	if (!holds) {
		take(48 * MIB);
		for (;;)
			pause();
	}
	while (group_stat("anon") < 48 * MIB)
		usleep(10000);
	put(MODE, "1");
	file = group_stat("file");
	anon = group_stat("anon");
	if (put(GROUP "/memory.reclaim", "32M swappiness=max") == -EINVAL)
		result = skip("no memory.reclaim with swappiness=max");
	else if (group_stat("anon") > anon - 16 * MIB)
		result = fail("anonymous memory went from %ld to %ld MiB", anon / MIB,
			      group_stat("anon") / MIB);
	else if (group_stat("file") < file - MIB)
		result = fail("file memory went from %ld to %ld MiB", file / MIB,
			      group_stat("file") / MIB);
	end(holds);
	group_remove();
	swap_off();
	return result;
}

/* Many writers of every knob, a load, and the LRU switched below it. */
enum result test_stress(void)
{
	static const char *const knobs[] = { MODE, KNOB("anon_min_ratio"), KNOB("clean_low_ratio"),
					     KNOB("clean_min_ratio") };
	pid_t writers[6], streamer;
	unsigned int i;

	for (i = 0; i < 6; i++) {
		writers[i] = forked();
		if (writers[i])
			continue;
		for (srand(i);;) {
			char text[8];
			const char *knob = knobs[rand() % 4];

			snprintf(text, sizeof(text), "%d", rand() % (knob == knobs[0] ? 2 : 100));
			put(knob, text);
			/* One: without jump labels its keys are in the way of each other. */
			if (!i && !(rand() % 16))
				put(LRU, rand() % 2 ? "7" : "0");
		}
	}
	kernel_mark(STRESS);
	streamer = streamer_start();
	for (i = 0; i < 3; i++)
		ended_well(hog_start(meminfo("MemTotal") * 3 / 4));
	end(streamer);
	for (i = 0; i < 6; i++)
		end(writers[i]);
	return kernel_said(STRESS, "WARNING:") || kernel_said(STRESS, "BUG:") ?
		       fail("the kernel complains") :
		       PASS;
}
