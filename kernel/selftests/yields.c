// SPDX-License-Identifier: GPL-2.0-only
/* The adaptive floor gives way where nobody needs it. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "wsp.h"

#define TRACED "/sys/kernel/tracing/events/vmscan/mm_vmscan_wsp/enable"
#define TRACE "/sys/kernel/tracing/trace"

/* Adaptive, nobody reads the cache again: it is no reason to kill. */
enum result test_cold_cache(void)
{
	long override = vmstat("wsp_override");
	pid_t hog;

	if (meminfo("SwapTotal"))
		return skip("there is swap");
	put(MODE, "2");
	stream("huge", 0);
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
		stream("huge", meminfo("MemTotal") * 15 / 100);
}

/* Adaptive, and the cache was read again and again, but is no longer: it is no reason to kill either. */
enum result test_was_in_use(void)
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
 * Adaptive: a floor of what was in use is given up, but so slowly that, were it in use still, it would be missed before all
 * of it is gone.
 */
enum result test_slowly(void)
{
	enum { MOST = 24, SOON_MS = 300 };
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
		took = -milliseconds();
		take(MOST * MIB);
		took += milliseconds();
		printf("# %d MiB below the floor in %ld ms\n", MOST, took);
		_exit(took < SOON_MS);
	}
	if (waitpid(hog, &status, 0) != hog || !WIFEXITED(status))
		return fail("killed with %ld MiB of cache that nobody reads", meminfo("Cached") / MIB);
	return WEXITSTATUS(status) ? fail("%d MiB of a floor are gone within %d ms", MOST, SOON_MS) : PASS;
}

/* Adaptive, and nothing that was taken comes back: the floor shrinks, a little in each step, and each step is told. */
enum result test_decays(void)
{
	enum { SECONDS = 4, FEW = 10 };
	long before, after;
	time_t until;
	int told;

	if (floors() < 0)
		return skip("no NUMA, so no vmstat of a node");
	stream("huge", 0);
	put(MODE, "2");
	if (put(TRACED, "1") < 0)
		return fail("no tracepoint: %s", TRACED);
	told = -lines_with(TRACE, "mm_vmscan_wsp: ");
	before = floors();
	for (until = time(NULL) + SECONDS; time(NULL) < until;)
		stream("huge", 0);
	after = floors();
	put(TRACED, "0");
	told += lines_with(TRACE, "mm_vmscan_wsp: ");
	printf("# from %ld to %ld pages, told %d times\n", before, after, told);
	if (after >= before || after < before / 4 * 3)
		return fail("the floor went from %ld to %ld pages", before, after);
	return told >= FEW ? PASS : fail("told %d times", told);
}
