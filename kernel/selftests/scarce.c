// SPDX-License-Identifier: GPL-2.0-only
/* What gives, once the page cache is at its floor. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
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
		return fail("the hog was killed with %ld MiB of %ld of slab left", left / MIB,
			    slab / MIB);
	}
	left = meminfo("SReclaimable");
	return left < slab * 3 / 4 ? PASS :
				     fail("slab went from %ld to %ld MiB", slab / MIB, left / MIB);
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
		result = fail("the hog was killed with %ld MiB on the file lists",
			      meminfo("Inactive(file)") / MIB);
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
		result = fail("%d %% of the file is left, %ld pages were swapped", left,
			      vmstat("pswpout") - swapped);
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
 * What does not compress goes to zram at the price of as much memory: reclaim that has used up
 * its own reserve has to come by more, or be over.
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

/*
 * Writes what does not compress to a zram device past the page cache: its memory is asked for
 * without I/O.
 */
static pid_t zram_writer_start(const char *device, long bytes)
{
	pid_t pid = forked();
	unsigned int *block;
	long at, i;
	int file;

	if (pid)
		return pid;
	file = open(device, O_WRONLY | O_DIRECT);
	if (file < 0 || posix_memalign((void **)&block, 4096, MIB))
		_exit(4);
	for (at = 0; at < bytes; at += MIB) {
		for (i = 0; i < MIB / 4; i++)
			block[i] = rand() * 2u + i;
		if (write(file, block, MIB) != MIB)
			_exit(5);
	}
	_exit(0);
}

/*
 * Less than a batch of swap is left: whoever may neither swap nor call the OOM killer has page
 * cache alone, and gets it.
 */
enum result test_last_slots(void)
{
	enum { WRITTEN = 24, SECONDS = 60 };
	char path[64], text[32];
	long id, room, waited;
	pid_t holder, writer;
	enum result result = PASS;
	int status = 0;

	id = number("/sys/class/zram-control/hot_add");
	if (id < 0 || swap_on(128 << 10))
		return skip("no two zram devices");
	snprintf(path, sizeof(path), "/sys/block/zram%ld/disksize", id);
	snprintf(text, sizeof(text), "%ld", 2 * WRITTEN * MIB);
	put(path, text);
	put(MODE, "1");
	stream("huge", meminfo("MemTotal") / 2);
	room = meminfo("MemFree") + meminfo("Active(file)") + meminfo("Inactive(file)") -
	       floors() * 4096;
	/* Locked memory would be on no list, and the floor as much lower. */
	holder = holder_start(room - 8 * MIB, HOLD);
	snprintf(path, sizeof(path), "/dev/zram%ld", id);
	writer = zram_writer_start(path, WRITTEN * MIB);
	for (waited = 0; !waitpid(writer, &status, WNOHANG) && waited < SECONDS * 10; waited++)
		usleep(100000);
	printf("# %d MiB in %ld.%ld s, %ld KiB of swap free\n", WRITTEN, waited / 10, waited % 10,
	       meminfo("SwapFree") / 1024);
	if (waited == SECONDS * 10) {
		end(writer);
		result = fail("%d MiB are not written within %d s", WRITTEN, SECONDS);
	} else if (!WIFEXITED(status) || WEXITSTATUS(status)) {
		result = fail("the writer ended with %x", status);
	}
	if (waitpid(holder, NULL, WNOHANG))
		result = fail("somebody was killed while there was page cache");
	else
		end(holder);
	swap_off();
	snprintf(text, sizeof(text), "%ld", id);
	put("/sys/class/zram-control/hot_remove", text);
	return result;
}

/* What is below a floor is not available, and the ratio counts from when it is written. */
enum result test_available(void)
{
	long before, after, more, share = meminfo("MemTotal") / 100;

	stream("huge", meminfo("MemTotal") / 2);
	put(KNOB("clean_min_ratio"), "10");
	before = meminfo("MemAvailable");
	put(MODE, "1");
	after = meminfo("MemAvailable");
	put(KNOB("clean_min_ratio"), "20");
	more = meminfo("MemAvailable");
	printf("# %ld MiB available without a floor, %ld and %ld with 10 and 20 %%\n", before / MIB,
	       after / MIB, more / MIB);
	if (before - after < 5 * share)
		return fail("a floor of 10 %% takes %ld KiB of MemAvailable",
			    (before - after) / 1024);
	return after - more >= 8 * share ?
		       PASS :
		       fail("a floor of 20 %% takes %ld KiB more", (after - more) / 1024);
}
