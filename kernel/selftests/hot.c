// SPDX-License-Identifier: GPL-2.0-only
/* What is in use stays while memory runs out below a stream; what is not is not taken for it. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "wsp.h"

#define COUNTERS "wsp_test: counters\n"	/* a mark in the kernel's log */

/* What was seen before each time that the hot file was read, and of how fast memory went. */
static struct seen {
	int least;	/* percent of it that was resident */
	long clean;	/* the least clean page cache in this round, in percent of the floor */
	long floor;	/* the largest, in pages */
	long pace;	/* the largest in this round, in percent of where the floor starts */
} *seen;

/*
 * How soon the Multi-Gen LRU learns that what is read by descriptors is in use is no matter of the floor.
 * What is mapped, as programs are, it knows.
 */
enum reads { AS_IS_KNOWN, BY_DESCRIPTORS };

static pid_t streamer, reader;

static pid_t reader_start(enum reads reads)
{
	pid_t pid = forked();

	if (pid)
		return pid;
	for (;;) {
		int percent_now = resident_percent("hot");
		long floor_now = floors();

		if (percent_now < seen->least)
			seen->least = percent_now;
		if (floor_now > seen->floor)
			seen->floor = floor_now;
		if (floor_now > 0 && of_nodes("nr_wsp_clean_file") * 100 / floor_now < seen->clean)
			seen->clean = of_nodes("nr_wsp_clean_file") * 100 / floor_now;
		if (in_mglru && reads == AS_IS_KNOWN)
			touch("hot");
		else
			stream("hot", 0);
		usleep(500000);
	}
}

/* What clean page cache shrinks by near the floor, a quarter of which is forgotten in a tick: as the kernel has it. */
static pid_t watcher_start(void)
{
	long start = managed() * number(KNOB("clean_min_ratio")) / 100, pace = 0, clean = 0, last = 0;
	pid_t pid = forked();

	if (pid)
		return pid;
	for (;; usleep(100000)) {
		long before = clean, now = milliseconds(), since = now - last;

		last = now;
		clean = of_nodes("nr_wsp_clean_file");
		pace = pace * 300 / (300 + since) + (clean < before ? before - clean : 0) * 100 / since;
		if (clean < 2 * floors() && pace * 100 / start > seen->pace)
			seen->pace = pace * 100 / start;
	}
}

/* With the second read the classic LRU has the hot file active. */
static void read_twice(const char *mode)
{
	put(MODE, mode);
	stream("hot", 0);
	stream("hot", 0);
}

/* The hot file is read twice a second from now on, beside a stream. */
static void load_start(const char *mode, enum reads reads)
{
	unsigned int rest = stream_rest;

	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	seen->clean = 1000;
	stream_rest = 0;
	read_twice(mode);
	reader = reader_start(reads);
	stream_rest = rest;
	streamer = streamer_start();
}

static void load_end(void)
{
	end(streamer);
	end(reader);
}

/* Memory runs out, as it should: whether it did. */
static bool burst(void)
{
	bool ran_out;
	int percent;

	seen->least = 100;
	seen->clean = 1000;
	seen->pace = 0;
	ran_out = !ended_well(hog_start(meminfo("MemTotal") + meminfo("SwapTotal")));
	percent = resident_percent("hot");
	if (percent < seen->least)
		seen->least = percent;
	return ran_out;
}

/* A file below the floor that is read twice a second stays, whatever else happens: the least of it that was found. */
static enum result hot_stays(const char *mode, int percent)
{
	int round, ran_out = 0, least = 100;

	load_start(mode, AS_IS_KNOWN);
	for (round = 0; round < BURSTS; round++) {
		ran_out += burst();
		least = seen->least < least ? seen->least : least;
	}
	load_end();
	if (ran_out < BURSTS)
		return fail("memory did not run out");
	printf("# mode %s: %d %% of the hot file, at least, stayed", mode, least);
	printf(seen->clean < 1000 ? "; %ld %% of the floor, at the last kill, was clean\n" : "\n", seen->clean);
	return least >= percent ? PASS : fail("%d %% of the hot file stayed", least);
}

enum result test_hot(void)
{
	return hot_stays("1", 95);
}

enum result test_counters(void)
{
	long withheld = vmstat("wsp_file_withheld"), scaled = vmstat("wsp_file_scaled"), oom = vmstat("wsp_oom");

	kernel_mark(COUNTERS);
	if (hot_stays("1", 0) == FAIL)
		return FAIL;
	if (vmstat("wsp_file_withheld") == withheld || vmstat("wsp_file_scaled") == scaled || vmstat("wsp_oom") == oom)
		return fail("a counter stands still");
	if (!kernel_said(COUNTERS, "wsp: mode:1"))
		return fail("the report of the OOM kill does not tell the floor");
	return PASS;
}

enum result test_off(void)
{
	long before = vmstat("wsp_file_withheld") + vmstat("wsp_file_scaled") + vmstat("wsp_anon_withheld");

	if (hot_stays("0", 95) == PASS)
		return fail("the hot file stays without a floor: the load is none");
	if (vmstat("wsp_file_withheld") + vmstat("wsp_file_scaled") + vmstat("wsp_anon_withheld") != before)
		return fail("a counter moves while off");
	return PASS;
}

/*
 * Adaptive, and a file is in use: where memory goes fast, that is seen before the first who wants all of it has taken
 * much of the file. What goes slowly is left to what is missed, of which nothing is asked here.
 */
enum result test_in_use(void)
{
	enum { STAYS = 95, FAST = 30 };	/* the kernel's bound is 25: then it is early enough */
	bool ran_out = true;
	pid_t watcher;
	int round;

	if (floors() < 0)
		return skip("no NUMA, so no vmstat of a node");
	load_start("2", BY_DESCRIPTORS);
	watcher = watcher_start();
	/* Where it begins with little page cache, little of that can go. */
	while (meminfo("MemFree") > meminfo("MemTotal") / 8)
		usleep(100000);
	for (round = 0; round < BURSTS && ran_out; round++) {
		ran_out = burst();
		printf("# %d %% of the hot file, at least, stayed, while %ld %% of where the floor starts went fast\n",
		       seen->least, seen->pace);
		if (seen->least < STAYS)
			break;
	}
	end(watcher);
	load_end();
	if (!ran_out)
		return fail("memory did not run out");
	if (seen->least < STAYS && seen->pace < FAST)
		return skip("memory did not go fast enough");
	return seen->least < STAYS ? fail("%d %% of the hot file stayed", seen->least) : PASS;
}

/*
 * Near a floor the inactive list is short, and what is read in a circle, or read ahead, is back soon after it was
 * reclaimed. That is no reason to take it for in use, at the cost of what is.
 */
enum result test_circle(void)
{
	enum { CIRCLE = 48, TIMES = 4, FEW = 1000 };
	long active;
	pid_t pid;
	int i;

	if (meminfo("SwapTotal"))
		return skip("there is swap");
	if (floors() < 0)
		return skip("no NUMA, so no vmstat of a node");
	read_twice("1");
	stream("huge", 0);
	pid = holder_start((of_nodes("nr_wsp_clean_file") - floors()) * 4096 - 8 * MIB, HOLD);
	active = vmstat("workingset_activate_file");
	for (i = 0; i < TIMES; i++)
		stream("huge", CIRCLE * MIB);
	active = vmstat("workingset_activate_file") - active;
	end(pid);
	printf("# %ld pages of %d MiB that are read in a circle became active\n", active, CIRCLE);
	return active < FEW ? PASS : fail("%ld pages that are read in a circle became active", active);
}

/*
 * Reclaim comes to its last priority while the inactive list has all that is above the floor, but none of that can be
 * taken: the active list, which it then scans whole, is still only looked at.
 */
enum result test_last_priority(void)
{
	long pinned = managed() * 15 / 100, inactive;
	int percent;
	bool ran_out;
	pid_t pid;

	if (meminfo("SwapTotal"))
		return skip("there is swap");
	read_twice("1");
	pid = pinner_start("huge", pinned * 4096);
	ran_out = !ended_well(hog_start(meminfo("MemTotal")));
	percent = resident_percent("hot");
	inactive = vmstat("nr_inactive_file");
	end(pid);
	if (!ran_out)
		return fail("memory did not run out");
	/* without these the floor alone keeps the file */
	if (inactive < pinned * 9 / 10)
		return fail("%ld pages are inactive, of %ld that cannot be taken", inactive, pinned);
	printf("# %d %% of the hot file stayed\n", percent);
	return percent >= 95 ? PASS : fail("%d %% of the hot file stayed", percent);
}

/* Adaptive, and the file is larger than what is kept of a floor to avert OOM: after a kill all of it is. */
enum result test_after_kill(void)
{
	put(KNOB("clean_min_ratio"), "8");
	if (hot_stays("2", 0) == FAIL)
		return FAIL;
	return seen->clean >= 75 ? PASS : fail("%ld %% of the floor is kept", seen->clean);
}

/* Adaptive, and the file that is read again is larger than the floor: the floor grows, but not above its limit. */
enum result test_grows(void)
{
	long all = managed(), before;
	enum result result;
	int tries;

	if (floors() < 0)
		return skip("no NUMA, so no vmstat of a node");
	put(KNOB("clean_min_ratio"), "3");
	put(KNOB("clean_max_ratio"), "20");
	/* The floor moves ten times a second: memory must be short for some. */
	take_rest = 20000;
	/* Nor may the stream be so fast that the refaults of the hot file are from long ago. */
	stream_rest = 3000;
	/* Each kill ends what it grows by: how many that takes is luck. Nothing is reset in between. */
	for (tries = 0; tries < 3; tries++) {
		result = hot_stays("2", 0);
		if (result == FAIL || seen->floor > all * 6 / 100)
			break;
	}
	take_rest = stream_rest = 0;
	if (result == FAIL)
		return FAIL;
	printf("# the floor went from %ld to %ld pages\n", all * 3 / 100, seen->floor);
	before = floors();
	put(KNOB("clean_low_ratio"), "1");
	if (floors() < before / 2)
		return fail("another knob is written, and the floor goes from %ld to %ld pages", before, floors());
	if (seen->floor > all * 20 / 100)
		return fail("a floor of %ld pages, of %ld", seen->floor, all);
	return seen->floor > all * 6 / 100 ? PASS : fail("a floor of %ld pages, of %ld", seen->floor, all);
}
