// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of vm.workingset_protection, to be run as root in a machine that may be
 * pushed out of memory: wsp_test FOLDER [TEST...]
 *
 * FOLDER is on a disk and holds two files: hot, of about a tenth of memory, and
 * huge, which is larger than memory. Output is TAP; a test whose conditions
 * are not there is skipped, and so is everything on a kernel without the patch.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "wsp_help.h"

#define KNOB(name) "/proc/sys/vm/" name
#define MODE KNOB("workingset_protection")

/* Free pages that a processor keeps to itself, up to this fraction of memory, are in no sum; 0 is the default. */
#define LISTS KNOB("percpu_pagelist_high_fraction")

#define TRACED "/sys/kernel/tracing/events/vmscan/mm_vmscan_wsp/enable"
#define TRACE "/sys/kernel/tracing/trace"

#define CPU1 "/sys/devices/system/cpu/cpu1/online"

/* How often memory is made to run out. */
#define BURSTS 4

/* Marks in the kernel's log. */
#define COUNTERS "wsp_test: counters\n"
#define STRESS "wsp_test: stress\n"
#define HOTPLUG "wsp_test: hotplug\n"

static const char *folder;
static bool in_mglru;	/* this test */

/* What every test starts from. */
static void reset(void)
{
	put(MODE, "0");
	put(KNOB("anon_min_ratio"), "15");
	put(KNOB("clean_low_ratio"), "0");
	put(KNOB("clean_min_ratio"), "15");
	put(KNOB("clean_max_ratio"), "30");
	put("/proc/sys/vm/drop_caches", "3");
	put("/proc/sys/vm/swappiness", "60");
	put(LISTS, "0");
}

static enum result refused(const char *knob, const char *value)
{
	long before = number(knob);

	if (put(knob, value) != -EINVAL)
		return fail("%s takes %s", knob, value);
	if (number(knob) != before)
		return fail("%s refused %s and changed", knob, value);
	return PASS;
}

static enum result t1_ranges(void)
{
	static const struct { const char *knob, *value; } bad[] = {
		{ MODE, "3" }, { MODE, "-1" }, { MODE, "x" },
		{ KNOB("anon_min_ratio"), "101" }, { KNOB("anon_min_ratio"), "-1" },
		{ KNOB("clean_min_ratio"), "31" },	/* above clean_max */
		{ KNOB("clean_max_ratio"), "14" },	/* below clean_min */
		{ KNOB("clean_max_ratio"), "66" },	/* with anon_min above 80 */
		{ KNOB("anon_min_ratio"), "51" },	/* with clean_max above 80 */
		{ KNOB("clean_low_ratio"), "101" },
	};
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (refused(bad[i].knob, bad[i].value) == FAIL)
			return FAIL;
	for (i = 0; i <= 2; i++) {
		char text[] = { '0' + i, 0 };

		if (put(MODE, text) || number(MODE) != (long)i)
			return fail("mode %zu is not taken", i);
	}
	if (put(KNOB("clean_min_ratio"), "4") || put(KNOB("anon_min_ratio"), "1"))
		return fail("the small preset is not taken");
	return PASS;
}

/* A group that fills its own limit with page cache has nothing to do with the floors of the node. */
static enum result t2_group(void)
{
	long killed, held;
	pid_t holder, reader;
	bool well;

	if (group_make("wsp", 64 * MIB))
		return skip("no memory control group");
	/* little page cache, and enough on the lists for the floor to be above it */
	holder = hog_hold(meminfo("MemTotal") / 2);
	put(MODE, "1");
	reader = child_in("wsp");
	if (!reader)
		exit(stream(folder, "huge", 256 * MIB) ? 0 : 1);
	well = ended_well(reader);
	end(holder);
	if (!well)
		return fail("the reader was killed");
	killed = group_event("wsp", "oom_kill");
	held = group_stat("wsp", "file");
	group_remove("wsp");
	if (held < 32 * MIB)
		return fail("the group holds %ld MiB of the %ld it may", held / MIB, 64L);
	return killed ? fail("%ld kills in the group", killed) : PASS;
}

/* Whether half of what slab can give is given to who needs it, in this mode. */
static bool slab_gives(const char *mode, long *slab)
{
	put("/proc/sys/vm/drop_caches", "1");
	settle();
	*slab = meminfo("SReclaimable");
	put(MODE, mode);
	return ended_well(hog_start(meminfo("MemFree") + *slab / 2));
}

/* With the page cache at its floor and no swap, what slab can give is still taken. */
static enum result t3_slab(void)
{
	long slab, left, again;

	if (meminfo("SwapTotal"))
		return skip("there is swap");
	put(LISTS, "4096");
	slab = meminfo("SReclaimable");
	negative_dentries(folder, meminfo("MemTotal") / 16);
	if (meminfo("SReclaimable") - slab < meminfo("MemTotal") / 32)
		return skip("reclaimable slab does not grow, or is not counted: CONFIG_SLUB_TINY");
	if (!slab_gives("1", &slab)) {
		left = meminfo("SReclaimable");
		/* as where KASAN keeps what was freed */
		if (!slab_gives("0", &again))
			return skip("the hog is killed without floors, too");
		return fail("the hog was killed with %ld MiB of %ld of slab left", left / MIB, slab / MIB);
	}
	left = meminfo("SReclaimable");
	return left < slab * 3 / 4 ? PASS : fail("slab went from %ld to %ld MiB", slab / MIB, left / MIB);
}

/*
 * Lazily freed memory is on the file lists: what is of it above the floor is given back, and
 * nobody is killed for want of it. Below the floor it is kept, which vm.rst says.
 */
static enum result t4_lazily_freed(void)
{
	long held;
	pid_t lazy;
	enum result result = PASS;

	if (meminfo("SwapTotal"))
		return skip("there is swap");
	held = meminfo("MemTotal") * 45 / 100;
	lazy = holder(held, FREE_LAZILY);
	put(MODE, "1");
	if (!ended_well(hog_start(meminfo("MemFree") + held / 3)))
		result = fail("the hog was killed with %ld MiB on the file lists", meminfo("Inactive(file)") / MIB);
	end(lazy);
	return result;
}

/* Below clean_low_ratio anonymous memory goes first, however little reclaim likes to swap. */
static enum result t24_clean_low(void)
{
	long swapped = vmstat("pswpout");
	enum result result = PASS;
	pid_t idle;
	int left;

	if (swap_on(meminfo("MemTotal") / 2))
		return skip("no zram to swap to");
	idle = hog_hold(meminfo("MemTotal") * 40 / 100);
	put("/proc/sys/vm/swappiness", "1");
	put(KNOB("clean_min_ratio"), "1");
	put(KNOB("anon_min_ratio"), "1");
	put(KNOB("clean_low_ratio"), "30");
	put(MODE, "1");
	stream(folder, "hot", 0);
	if (!ended_well(hog_start(meminfo("MemFree") + meminfo("MemTotal") * 6 / 100)))
		result = fail("killed");
	left = resident_percent(folder, "hot");
	if (result == PASS && (left < 90 || vmstat("pswpout") == swapped))
		result = fail("%d %% of the file is left, %ld pages were swapped", left, vmstat("pswpout") - swapped);
	end(idle);
	swap_off();
	return result;
}

/* Both floors reached and swap free: something must give. */
static enum result t5_both(void)
{
	pid_t locked, hog;
	enum result result = PASS;

	if (swap_on(meminfo("MemTotal") / 2))
		return skip("no zram to swap to");
	locked = locked_start(meminfo("MemTotal") / 2);
	put(KNOB("anon_min_ratio"), "40");
	put(KNOB("clean_min_ratio"), "30");
	put(MODE, "1");
	stream(folder, "hot", 0);
	hog = hog_start(meminfo("MemFree") + meminfo("MemTotal") / 8);
	if (!ended_well(hog))
		result = fail("killed with %ld MiB of swap free", meminfo("SwapFree") / MIB);
	end(locked);
	swap_off();
	return result;
}

/* What a person asks to be reclaimed is reclaimed. */
static enum result t6_requests(void)
{
	long before, after;
	pid_t holder, reader;
	int error;

	if (group_make("wsp", 1024 * MIB))
		return skip("no memory control group");
	reader = child_in("wsp");
	if (!reader)
		exit(stream(folder, "hot", 0) ? 0 : 1);
	ended_well(reader);
	holder = hog_hold(meminfo("MemTotal") / 2);
	put(MODE, "1");
	before = group_stat("wsp", "file");
	if (before < 16 * MIB) {
		end(holder);
		return fail("the group holds %ld MiB", before / MIB);
	}
	error = put("/sys/fs/cgroup/wsp/memory.reclaim", "1G");
	end(holder);
	if (error == -ENOENT)
		return skip("no memory.reclaim");
	after = group_stat("wsp", "file");
	group_remove("wsp");
	return after < before / 4 ? PASS : fail("file memory went from %ld to %ld", before, after);
}

/* Who asks for anonymous memory alone gets that, however low it is. */
static enum result t16_anon_only(void)
{
	long file, anon;
	pid_t reader, holds;
	enum result result = PASS;

	if (swap_on(meminfo("MemTotal") / 2))
		return skip("no zram to swap to");
	if (group_make("wsp", 1024 * MIB)) {
		swap_off();
		return skip("no memory control group");
	}
	reader = child_in("wsp");
	if (!reader)
		exit(stream(folder, "hot", 0) ? 0 : 1);
	ended_well(reader);
	holds = child_in("wsp");
	if (!holds) {
		take(48 * MIB);
		for (;;)
			pause();
	}
	while (group_stat("wsp", "anon") < 48 * MIB)
		usleep(10000);
	put(MODE, "1");
	file = group_stat("wsp", "file");
	anon = group_stat("wsp", "anon");
	if (put("/sys/fs/cgroup/wsp/memory.reclaim", "32M swappiness=max") == -EINVAL)
		result = skip("no memory.reclaim with swappiness=max");
	else if (group_stat("wsp", "anon") > anon - 16 * MIB)
		result = fail("anonymous memory went from %ld to %ld MiB", anon / MIB, group_stat("wsp", "anon") / MIB);
	else if (group_stat("wsp", "file") < file - MIB)
		result = fail("file memory went from %ld to %ld MiB", file / MIB, group_stat("wsp", "file") / MIB);
	end(holds);
	group_remove("wsp");
	swap_off();
	return result;
}

/* Each node has the floors of its own size; one without memory has none. */
static enum result floors_fit(void)
{
	int node, seen = 0;

	for (node = 0; node < 8; node++) {
		long managed = node_managed(node), floor = node_vmstat(node, "nr_wsp_file_floor");
		long lists = node_vmstat(node, "nr_active_file") + node_vmstat(node, "nr_inactive_file") +
			     node_vmstat(node, "nr_active_anon") + node_vmstat(node, "nr_inactive_anon");
		long share = managed / 100 * 15, most = lists / 2;

		if (floor < 0)
			continue;
		seen += managed > 0;
		printf("# node %d: %ld pages, %ld on lists, floor %ld\n", node, managed, lists, floor);
		if (labs(floor - (share < most ? share : most)) > 64 + managed / 100)
			return fail("node %d has another floor", node);
	}
	return seen ? PASS : skip("no NUMA");
}

/* The same once memory is mostly on the lists. */
static enum result filled_floors_fit(void)
{
	stream(folder, "huge", meminfo("MemTotal") / 2);
	return floors_fit();
}

static enum result t7_nodes(void)
{
	put(MODE, "1");
	return filled_floors_fit();
}

/* Memory runs out below a stream while a processor comes and goes. */
static bool runs_out(void)
{
	pid_t streamer, switcher;
	bool fitted;

	streamer = forked();
	if (!streamer)
		for (;;)
			stream(folder, "huge", 0);
	switcher = forked();
	if (!switcher)
		for (;;) {
			put(CPU1, "0");
			put(CPU1, "1");
		}
	fitted = ended_well(hog_start(meminfo("MemTotal")));
	end(switcher);
	end(streamer);
	put(CPU1, "1");
	return !fitted;
}

/*
 * The floors go by the memory that is there. It is taken away between loads: what a stream brings in
 * meanwhile is in the way of that for minutes, floors or not.
 */
static enum result t17_hotplug(void)
{
	char block[64];
	bool blocks = movable_block(block, sizeof(block));
	long managed = node_managed(0), left = managed;
	int round, error;
	enum result result = PASS;

	if (access(CPU1, W_OK) && !blocks)
		return skip("no processor and no memory that can be taken away");
	if (!blocks)
		printf("# no block of memory can be taken away: CONFIG_MEMORY_HOTREMOVE, movablecore=\n");
	put(MODE, "1");
	kernel_mark(HOTPLUG);
	for (round = 0; round < BURSTS && result == PASS; round++) {
		if (filled_floors_fit() == FAIL)
			return FAIL;
		error = blocks ? set_block(block, "offline") : 0;
		if (error)
			return fail("%s cannot be taken away: %s", block, strerror(-error));
		left = node_managed(0);
		result = runs_out() ? filled_floors_fit() : fail("memory did not run out");
		error = blocks ? set_block(block, "online_movable") : 0;
		if (error)
			return fail("%s does not come back: %s", block, strerror(-error));
	}
	if (result == PASS && blocks && left == managed)
		return fail("no memory was taken away");
	if (result == PASS && node_managed(0) != managed)
		return fail("node 0 had %ld pages and has %ld", managed, node_managed(0));
	if (kernel_said(HOTPLUG, "WARNING:") || kernel_said(HOTPLUG, "BUG:"))
		return fail("the kernel complains");
	return result;
}

/* A few free slots of swap are no reason to scan the page cache over and over. */
static enum result t8_full_swap(void)
{
	long scanned, anon, withheld;
	pid_t filler, hog;
	enum result result = PASS;

	if (swap_on(32 * MIB))
		return skip("no zram to swap to");
	put(MODE, "1");
	stream(folder, "hot", 0);
	filler = hog_hold(meminfo("MemTotal") * 7 / 10);
	scanned = vmstat("pgscan_file");
	anon = vmstat("pgscan_anon");
	withheld = vmstat("wsp_file_withheld");
	hog = hog_start(meminfo("MemTotal"));
	if (ended_well(hog))
		result = fail("memory did not run out");
	scanned = vmstat("pgscan_file") - scanned;
	anon = vmstat("pgscan_anon") - anon;
	printf("# %ld pages of file and %ld of anon scanned\n", scanned, anon);
	if (vmstat("wsp_file_withheld") == withheld)
		result = fail("the floor was not reached");
	else if (scanned > meminfo("MemTotal") / 4096)
		result = fail("%ld pages of file scanned", scanned);
	else if (anon > 4 * meminfo("MemTotal") / 4096)
		result = fail("%ld pages of anon scanned", anon);
	end(filler);
	swap_off();
	return result;
}

/*
 * What does not compress goes to zram at the price of as much memory: reclaim that has used up its
 * own reserve has to come by more, or be over.
 */
static enum result t18_reserve(void)
{
	enum { WAITERS = 6 };
	pid_t streamer, waiters[WAITERS];
	long anon, pages = meminfo("MemTotal") / 4096;
	enum result result = PASS;
	int i, round;

	if (swap_on(meminfo("MemTotal") / 2))
		return skip("no zram to swap to");
	put(MODE, "1");
	streamer = forked();
	if (!streamer)
		for (;;)
			stream(folder, "huge", 0);
	/* a little memory now and then, as all that runs takes it */
	for (i = 0; i < WAITERS; i++) {
		waiters[i] = forked();
		if (!waiters[i])
			for (;;) {
				munmap(take(MIB), MIB);
				usleep(100000);
			}
	}
	take_noise = 4096;
	for (round = 0; round < BURSTS && result == PASS; round++) {
		anon = vmstat("pgscan_anon");
		if (ended_well(hog_start(meminfo("MemTotal") + meminfo("SwapTotal"))))
			result = fail("memory did not run out");
		anon = vmstat("pgscan_anon") - anon;
		printf("# %ld pages of anon scanned, of %ld\n", anon, pages);
		if (anon > 8 * pages)
			result = fail("%ld pages of anon scanned", anon);
	}
	take_noise = 2048;
	for (i = 0; i < WAITERS; i++)
		end(waiters[i]);
	end(streamer);
	swap_off();
	return result;
}

/* A number of all nodes, in pages; negative without NUMA. */
static long of_nodes(const char *word)
{
	long all = -1;
	int node;

	for (node = 0; node < 8; node++) {
		long pages = node_vmstat(node, word);

		if (pages >= 0)
			all = (all < 0 ? 0 : all) + pages;
	}
	return all;
}

static long floors(void)
{
	return of_nodes("nr_wsp_file_floor");
}

/* What was seen before each time that the hot file was read. */
static struct seen {
	int least;	/* percent of it that was resident */
	long clean;	/* the least clean page cache in this round, in percent of the floor */
	long floor;	/* the largest, in pages */
} *seen;

/*
 * How soon the Multi-Gen LRU learns that what is read by descriptors is in use is no matter of the floor.
 * What is mapped, as programs are, it knows.
 */
enum reads { AS_IS_KNOWN, BY_DESCRIPTORS };

/* A file below the floor that is read twice a second stays, whatever else happens: the least of it that was found. */
static enum result hot_stays(const char *mode, int percent, enum reads reads)
{
	unsigned int rest = stream_rest;
	pid_t streamer, reader, hog;
	int round, ran_out = 0, least = 100;

	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	seen->clean = 1000;
	put(MODE, mode);
	stream_rest = 0;
	stream(folder, "hot", 0);
	stream(folder, "hot", 0);
	reader = forked();
	if (!reader)
		for (;;) {
			int percent_now = resident_percent(folder, "hot");
			long floor_now = floors();

			if (percent_now < seen->least)
				seen->least = percent_now;
			if (floor_now > seen->floor)
				seen->floor = floor_now;
			if (floor_now > 0 && of_nodes("nr_wsp_clean_file") * 100 / floor_now < seen->clean)
				seen->clean = of_nodes("nr_wsp_clean_file") * 100 / floor_now;
			if (in_mglru && reads == AS_IS_KNOWN)
				touch(folder, "hot");
			else
				stream(folder, "hot", 0);
			usleep(500000);
		}
	stream_rest = rest;
	streamer = forked();
	if (!streamer)
		for (;;)
			stream(folder, "huge", 0);
	for (round = 0; round < BURSTS; round++) {
		seen->least = 100;
		seen->clean = 1000;
		hog = hog_start(meminfo("MemTotal") + meminfo("SwapTotal"));
		ran_out += !ended_well(hog);
		least = seen->least < least ? seen->least : least;
	}
	end(streamer);
	end(reader);
	if (ran_out < BURSTS)
		return fail("memory did not run out");
	printf("# mode %s: %d %% of the hot file, at least, stayed", mode, least);
	printf(seen->clean < 1000 ? "; %ld %% of the floor, at the last kill, was clean\n" : "\n", seen->clean);
	return least >= percent ? PASS : fail("%d %% of the hot file stayed", least);
}

static enum result t9_hot(void)
{
	return hot_stays("1", 95, AS_IS_KNOWN);
}

static enum result t10_counters(void)
{
	long withheld = vmstat("wsp_file_withheld"), scaled = vmstat("wsp_file_scaled"), oom = vmstat("wsp_oom");

	kernel_mark(COUNTERS);
	if (hot_stays("1", 0, AS_IS_KNOWN) == FAIL)
		return FAIL;
	if (vmstat("wsp_file_withheld") == withheld || vmstat("wsp_file_scaled") == scaled || vmstat("wsp_oom") == oom)
		return fail("a counter stands still");
	if (!kernel_said(COUNTERS, "wsp: mode:1"))
		return fail("the report of the OOM kill does not tell the floor");
	return PASS;
}

static enum result t11_off(void)
{
	long before = vmstat("wsp_file_withheld") + vmstat("wsp_file_scaled") + vmstat("wsp_anon_withheld");

	if (hot_stays("0", 95, AS_IS_KNOWN) == PASS)
		return fail("the hot file stays without a floor: the load is none");
	if (vmstat("wsp_file_withheld") + vmstat("wsp_file_scaled") + vmstat("wsp_anon_withheld") != before)
		return fail("a counter moves while off");
	return PASS;
}

/* Adaptive, nobody reads the cache again: it is no reason to kill. */
static enum result t12_cold_cache(void)
{
	long override = vmstat("wsp_override");
	pid_t hog;

	if (meminfo("SwapTotal"))
		return skip("there is swap");
	put(MODE, "2");
	stream(folder, "huge", 0);
	hog = hog_start(meminfo("MemAvailable") * 94 / 100);
	if (!ended_well(hog))
		return fail("killed with %ld MiB of cache that nobody reads", meminfo("Cached") / MIB);
	return vmstat("wsp_override") > override ? PASS : fail("the floor was not in the way");
}

/* A floor of page cache that was read again and again, and is no longer. */
static void use_cache(void)
{
	int i;

	for (i = 0; i < 4; i++)
		stream(folder, "huge", meminfo("MemTotal") * 15 / 100);
}

/* Adaptive, and the cache was read again and again, but is no longer: it is no reason to kill either. */
static enum result t22_was_in_use(void)
{
	if (meminfo("SwapTotal"))
		return skip("there is swap");
	put(MODE, "2");
	use_cache();
	if (!ended_well(hog_start(meminfo("MemAvailable") * 94 / 100)))
		return fail("killed with %ld MiB of cache that nobody reads any more", meminfo("Cached") / MIB);
	return PASS;
}

/*
 * Adaptive, and a file is in use: that is seen before the first who wants all of memory has taken much of it. How much is
 * gone until it was come across twice is luck, too.
 */
static enum result t23_in_use(void)
{
	enum result result = FAIL;
	int tries;

	for (tries = 0; result == FAIL && tries < 3; tries++) {
		reset();
		result = hot_stays("2", 90, BY_DESCRIPTORS);
	}
	return result;
}

/*
 * Adaptive: a floor of what was in use is given up, but so slowly that, were it in use still, it would be missed before all
 * of it is gone.
 */
static enum result t19_slowly(void)
{
	enum { MOST = 24, SOON_MS = 300 };
	struct timespec from, to;
	pid_t hog;
	long took;
	int status;

	if (meminfo("SwapTotal"))
		return skip("there is swap");
	if (floors() < 0)
		return skip("no NUMA, so no vmstat of a node");
	put(MODE, "2");
	use_cache();
	hog = fork();
	if (!hog) {
		munlockall();
		put("/proc/self/oom_score_adj", "1000");
		while (of_nodes("nr_wsp_clean_file") >= floors())
			take(MIB);
		clock_gettime(CLOCK_MONOTONIC, &from);
		take(MOST * MIB);
		clock_gettime(CLOCK_MONOTONIC, &to);
		took = (to.tv_sec - from.tv_sec) * 1000 + (to.tv_nsec - from.tv_nsec) / 1000000;
		printf("# %d MiB below the floor in %ld ms\n", MOST, took);
		_exit(took < SOON_MS);
	}
	if (waitpid(hog, &status, 0) != hog || !WIFEXITED(status))
		return fail("killed with %ld MiB of cache that nobody reads", meminfo("Cached") / MIB);
	return WEXITSTATUS(status) ? fail("%d MiB of a floor are gone within %d ms", MOST, SOON_MS) : PASS;
}

/*
 * Near a floor the inactive list is short, and what is read in a circle, or read ahead, is back soon after it was
 * reclaimed. That is no reason to take it for in use, at the cost of what is.
 */
static enum result t21_circle(void)
{
	enum { CIRCLE = 48, TIMES = 4, FEW = 1000 };
	long active;
	pid_t pid;
	int i;

	if (meminfo("SwapTotal"))
		return skip("there is swap");
	if (floors() < 0)
		return skip("no NUMA, so no vmstat of a node");
	put(MODE, "1");
	stream(folder, "hot", 0);
	stream(folder, "hot", 0);
	stream(folder, "huge", 0);
	pid = holder((of_nodes("nr_wsp_clean_file") - floors()) * 4096 - 8 * MIB, HOLD);
	active = vmstat("workingset_activate_file");
	for (i = 0; i < TIMES; i++)
		stream(folder, "huge", CIRCLE * MIB);
	active = vmstat("workingset_activate_file") - active;
	end(pid);
	printf("# %ld pages of %d MiB that are read in a circle became active\n", active, CIRCLE);
	return active < FEW ? PASS : fail("%ld pages that are read in a circle became active", active);
}

/* Adaptive, and nothing that was taken comes back: the floor shrinks, a little in each step, and each step is told. */
static enum result t25_decays(void)
{
	enum { SECONDS = 4, FEW = 10 };
	long before, after;
	time_t until;
	int told;

	if (floors() < 0)
		return skip("no NUMA, so no vmstat of a node");
	stream(folder, "huge", 0);
	put(MODE, "2");
	if (put(TRACED, "1") < 0)
		return fail("no tracepoint: %s", TRACED);
	told = -lines_with(TRACE, "mm_vmscan_wsp: ");
	before = floors();
	for (until = time(NULL) + SECONDS; time(NULL) < until;)
		stream(folder, "huge", 0);
	after = floors();
	put(TRACED, "0");
	told += lines_with(TRACE, "mm_vmscan_wsp: ");
	printf("# from %ld to %ld pages, told %d times\n", before, after, told);
	if (after >= before || after < before / 4 * 3)
		return fail("the floor went from %ld to %ld pages", before, after);
	return told >= FEW ? PASS : fail("told %d times", told);
}

/* Adaptive, and the file is larger than what is kept of a floor to avert OOM: after a kill all of it is. */
static enum result t20_after_kill(void)
{
	put(KNOB("clean_min_ratio"), "8");
	if (hot_stays("2", 0, AS_IS_KNOWN) == FAIL)
		return FAIL;
	return seen->clean >= 75 ? PASS : fail("%ld %% of the floor is kept", seen->clean);
}

/* Adaptive, and the file that is read again is larger than the floor: the floor grows, but not above its limit. */
static enum result t14_grows(void)
{
	long managed = 0, before;
	enum result result;
	int node;

	for (node = 0; node < 8; node++)
		managed += node_managed(node);
	if (floors() < 0)
		return skip("no NUMA, so no vmstat of a node");
	put(KNOB("clean_min_ratio"), "3");
	put(KNOB("clean_max_ratio"), "20");
	/* The floor moves ten times a second: memory must be short for some. */
	take_rest = 20000;
	/* Nor may the stream be so fast that the refaults of the hot file are from long ago. */
	stream_rest = 3000;
	result = hot_stays("2", 0, AS_IS_KNOWN);
	take_rest = stream_rest = 0;
	if (result == FAIL)
		return FAIL;
	printf("# the floor went from %ld to %ld pages\n", managed * 3 / 100, seen->floor);
	before = floors();
	put(KNOB("clean_low_ratio"), "1");
	if (floors() < before / 2)
		return fail("another knob is written, and the floor goes from %ld to %ld pages", before, floors());
	if (seen->floor > managed * 20 / 100)
		return fail("a floor of %ld pages, of %ld", seen->floor, managed);
	return seen->floor > managed * 6 / 100 ? PASS : fail("a floor of %ld pages, of %ld", seen->floor, managed);
}

/* Many writers of every knob, a load, and the LRU switched below it. */
static enum result t13_stress(void)
{
	static const char *const knobs[] = { MODE, KNOB("anon_min_ratio"), KNOB("clean_low_ratio"),
					     KNOB("clean_min_ratio"), KNOB("clean_max_ratio") };
	pid_t writers[6], streamer;
	unsigned int i;

	for (i = 0; i < 6; i++) {
		writers[i] = forked();
		if (writers[i])
			continue;
		for (srand(i);;) {
			char text[8];
			const char *knob = knobs[rand() % 5];

			snprintf(text, sizeof(text), "%d", rand() % (knob == knobs[0] ? 3 : 40));
			put(knob, text);
			/* One of them: without jump labels its keys are in the way of each other. */
			if (!i && !(rand() % 16))
				put("/sys/kernel/mm/lru_gen/enabled", rand() % 2 ? "7" : "0");
		}
	}
	kernel_mark(STRESS);
	streamer = forked();
	if (!streamer)
		for (;;)
			stream(folder, "huge", 0);
	for (i = 0; i < 3; i++)
		ended_well(hog_start(meminfo("MemTotal") * 3 / 4));
	end(streamer);
	for (i = 0; i < 6; i++)
		end(writers[i]);
	return kernel_said(STRESS, "WARNING:") || kernel_said(STRESS, "BUG:") ? fail("the kernel complains") : PASS;
}

static const struct test {
	const char *name;
	enum result (*run)(void);
	bool both;	/* under both LRUs */
} tests[] = {
	{ "ranges", t1_ranges, false },
	{ "group", t2_group, true },
	{ "slab", t3_slab, true },
	{ "lazily-freed", t4_lazily_freed, true },
	{ "clean-low", t24_clean_low, false },
	{ "both-floors", t5_both, true },
	{ "requests", t6_requests, true },
	{ "anon-only", t16_anon_only, true },
	{ "nodes", t7_nodes, false },
	{ "full-swap", t8_full_swap, true },
	{ "reserve", t18_reserve, true },
	{ "hot", t9_hot, true },
	{ "counters", t10_counters, false },
	{ "off", t11_off, false },
	{ "cold-cache", t12_cold_cache, true },
	{ "was-in-use", t22_was_in_use, true },
	{ "in-use", t23_in_use, true },
	{ "circle", t21_circle, false },
	{ "slowly", t19_slowly, true },
	{ "decays", t25_decays, true },
	{ "after-kill", t20_after_kill, true },
	{ "grows", t14_grows, true },
	{ "stress", t13_stress, false },
	{ "hotplug", t17_hotplug, false },
};

static bool wanted(int argc, char **argv, const char *name)
{
	int i;

	for (i = 2; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return argc <= 2;
}

int main(int argc, char **argv)
{
	bool mglru = !access("/sys/kernel/mm/lru_gen/enabled", W_OK);
	int count = 0, failed = 0, done = 0, lru;
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n");
	if (argc < 2 || access(MODE, W_OK)) {
		printf("1..0 # SKIP %s\n", argc < 2 ? "wsp_test FOLDER [TEST...]" : "no vm.workingset_protection");
		return 4;
	}
	folder = argv[1];
	spare_self();
	spread_self();
	for (i = 0; i < sizeof(tests) / sizeof(*tests); i++)
		if (wanted(argc, argv, tests[i].name))
			count += 1 + (tests[i].both && mglru);
	printf("1..%d\n", count);
	for (i = 0; i < sizeof(tests) / sizeof(*tests); i++) {
		if (!wanted(argc, argv, tests[i].name))
			continue;
		for (lru = 0; lru <= (tests[i].both && mglru); lru++) {
			enum result result;

			if (mglru)
				put("/sys/kernel/mm/lru_gen/enabled", lru ? "7" : "0");
			in_mglru = mglru && lru;
			reset();
			reason[0] = 0;
			result = tests[i].run();
			reset();
			failed += result == FAIL;
			printf("%sok %d - %s%s%s%s\n", result == FAIL ? "not " : "", ++done, tests[i].name,
			       tests[i].both ? (lru ? " mglru" : " classic") : "",
			       result == SKIP ? " # SKIP " : result == FAIL ? " # " : "",
			       result == PASS ? "" : reason);
		}
	}
	return failed != 0;
}
