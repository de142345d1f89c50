// SPDX-License-Identifier: GPL-2.0-only
/* What gives, once the page cache is at its floor. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "wsp.h"

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
enum result test_slab(void)
{
	long slab, left, again;

	if (meminfo("SwapTotal"))
		return skip("there is swap");
	put(LISTS, "4096");
	slab = meminfo("SReclaimable");
	negative_dentries(meminfo("MemTotal") / 16);
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
enum result test_lazily_freed(void)
{
	long held;
	pid_t lazy;
	enum result result = PASS;

	if (meminfo("SwapTotal"))
		return skip("there is swap");
	held = meminfo("MemTotal") * 45 / 100;
	lazy = holder_start(held, FREE_LAZILY);
	put(MODE, "1");
	if (!ended_well(hog_start(meminfo("MemFree") + held / 3)))
		result = fail("the hog was killed with %ld MiB on the file lists", meminfo("Inactive(file)") / MIB);
	end(lazy);
	return result;
}

/* Below clean_low_ratio anonymous memory goes first, however little reclaim likes to swap. */
enum result test_clean_low(void)
{
	long swapped = vmstat("pswpout");
	enum result result = PASS;
	pid_t idle;
	int left;

	if (swap_on(meminfo("MemTotal") / 2))
		return skip("no zram to swap to");
	idle = holder_start(meminfo("MemTotal") * 40 / 100, HOLD);
	put("/proc/sys/vm/swappiness", "1");
	put(KNOB("clean_min_ratio"), "1");
	put(KNOB("anon_min_ratio"), "1");
	put(KNOB("clean_low_ratio"), "30");
	put(MODE, "1");
	stream("hot", 0);
	if (!ended_well(hog_start(meminfo("MemFree") + meminfo("MemTotal") * 6 / 100)))
		result = fail("killed");
	left = resident_percent("hot");
	if (result == PASS && (left < 90 || vmstat("pswpout") == swapped))
		result = fail("%d %% of the file is left, %ld pages were swapped", left, vmstat("pswpout") - swapped);
	end(idle);
	swap_off();
	return result;
}

/* Both floors reached and swap free: something must give. */
enum result test_both_floors(void)
{
	pid_t locked, hog;
	enum result result = PASS;

	if (swap_on(meminfo("MemTotal") / 2))
		return skip("no zram to swap to");
	locked = holder_start(meminfo("MemTotal") / 2, LOCK);
	put(KNOB("anon_min_ratio"), "40");
	put(KNOB("clean_min_ratio"), "30");
	put(MODE, "1");
	stream("hot", 0);
	hog = hog_start(meminfo("MemFree") + meminfo("MemTotal") / 8);
	if (!ended_well(hog))
		result = fail("killed with %ld MiB of swap free", meminfo("SwapFree") / MIB);
	end(locked);
	swap_off();
	return result;
}

/* A few free slots of swap are no reason to scan the page cache over and over. */
enum result test_full_swap(void)
{
	long scanned, anon, withheld;
	pid_t filler, hog;
	enum result result = PASS;

	if (swap_on(32 * MIB))
		return skip("no zram to swap to");
	put(MODE, "1");
	stream("hot", 0);
	filler = holder_start(meminfo("MemTotal") * 7 / 10, HOLD);
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
enum result test_reserve(void)
{
	enum { WAITERS = 6 };
	pid_t streamer, waiters[WAITERS];
	long anon, pages = meminfo("MemTotal") / 4096;
	enum result result = PASS;
	int i, round;

	if (swap_on(meminfo("MemTotal") / 2))
		return skip("no zram to swap to");
	put(MODE, "1");
	streamer = streamer_start();
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
