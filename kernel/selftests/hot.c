// SPDX-License-Identifier: GPL-2.0-only
/* What is in use stays while memory runs out below a stream. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "wsp.h"

#define COUNTERS "wsp_test: counters\n" /* a mark in the kernel's log */

/* Percent of the hot file that was resident, at least, when it was about to be read. */
static int *least;

/*
 * How soon the Multi-Gen LRU learns that what is read by descriptors is in use is no matter of
 * the floor. What is mapped, as programs are, it knows.
 */
static pid_t reader_start(void)
{
	pid_t pid = forked();

	if (pid)
		return pid;
	for (;;) {
		int percent = resident_percent("hot");

		if (percent < *least)
			*least = percent;
		if (in_mglru)
			touch("hot");
		else
			stream("hot", 0);
		usleep(500000);
	}
}

/* A file below the floor that is read twice a second stays, whatever else happens. */
enum result hot_stays(const char *mode, int percent)
{
	pid_t reader, streamer;
	int round, ran_out = 0;

	least = mmap(NULL, sizeof(*least), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	*least = 100;
	put(MODE, mode);
	/* With the second read the classic LRU has it active. */
	stream("hot", 0);
	stream("hot", 0);
	reader = reader_start();
	streamer = streamer_start();
	for (round = 0; round < BURSTS; round++) {
		int left;

		ran_out += !ended_well(hog_start(meminfo("MemTotal") + meminfo("SwapTotal")));
		left = resident_percent("hot");
		if (left < *least)
			*least = left;
	}
	end(streamer);
	end(reader);
	if (ran_out < BURSTS)
		return fail("memory did not run out");
	printf("# mode %s: %d %% of the hot file, at least, stayed\n", mode, *least);
	return *least >= percent ? PASS : fail("%d %% of the hot file stayed", *least);
}

enum result test_hot(void)
{
	return hot_stays("1", 95);
}

enum result test_counters(void)
{
	long withheld = vmstat("wsp_file_withheld");

	kernel_mark(COUNTERS);
	if (hot_stays("1", 0) == FAIL)
		return FAIL;
	if (vmstat("wsp_file_withheld") == withheld)
		return fail("a counter stands still");
	if (!kernel_said(COUNTERS, "wsp: clean:") || !kernel_said(COUNTERS, "withheld:1"))
		return fail("the report of the OOM kill does not tell the floor");
	return PASS;
}

enum result test_off(void)
{
	long before = vmstat("wsp_file_withheld") + vmstat("wsp_anon_withheld");

	if (hot_stays("0", 95) == PASS)
		return fail("the hot file stays without a floor: the load is none");
	if (vmstat("wsp_file_withheld") + vmstat("wsp_anon_withheld") != before)
		return fail("a counter moves while off");
	return PASS;
}
