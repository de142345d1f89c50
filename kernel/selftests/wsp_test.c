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
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "wsp.h"

const char *folder;
bool in_mglru;

static char reason[256];

enum result fail(const char *format, ...)
{
	va_list words;

	va_start(words, format);
	vsnprintf(reason, sizeof(reason), format, words);
	va_end(words);
	return FAIL;
}

enum result skip(const char *why)
{
	snprintf(reason, sizeof(reason), "%s", why);
	return SKIP;
}

/* What every test starts from. */
void reset(void)
{
	put(MODE, "0");
	put(KNOB("anon_min_ratio"), "15");
	put(KNOB("clean_low_ratio"), "0");
	put(KNOB("clean_min_ratio"), "15");
	put("/proc/sys/vm/drop_caches", "3");
	put("/proc/sys/vm/swappiness", "60");
	put(LISTS, "0");
}

static const struct test {
	const char *name;
	enum result (*run)(void);
	bool both; /* under both LRUs */
	int retries; /* after a failure, where chance has a part */
} tests[] = {
	{ "ranges", test_ranges, false, 0 },
	{ "group", test_group, true, 0 },
	{ "group-after", test_group_after, true, 0 },
	{ "slab", test_slab, true, 0 },
	{ "lazily-freed", test_lazily_freed, true, 0 },
	{ "clean-low", test_clean_low, false, 2 },
	{ "both-floors", test_both_floors, true, 0 },
	{ "requests", test_requests, true, 0 },
	{ "anon-only", test_anon_only, true, 0 },
	{ "nodes", test_nodes, false, 0 },
	{ "full-swap", test_full_swap, true, 0 },
	{ "reserve", test_reserve, true, 0 },
	{ "last-slots", test_last_slots, true, 0 },
	{ "available", test_available, false, 0 },
	{ "hot", test_hot, true, 0 },
	{ "counters", test_counters, false, 0 },
	{ "off", test_off, false, 0 },
	{ "stress", test_stress, false, 0 },
	{ "hotplug", test_hotplug, false, 0 },
};

static bool wanted(int argc, char **argv, const char *name)
{
	int i;

	for (i = 2; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return argc <= 2;
}

/* Runs a test under one LRU and tells how it went; whether it did not fail. */
static bool run(const struct test *test, int done, bool mglru)
{
	enum result result = FAIL;
	int tries;

	if (!access(LRU, W_OK))
		put(LRU, mglru ? "7" : "0");
	in_mglru = mglru;
	for (tries = 0; result == FAIL && tries <= test->retries; tries++) {
		reset();
		reason[0] = 0;
		result = test->run();
	}
	reset();
	printf("%sok %d - %s%s%s%s\n", result == FAIL ? "not " : "", done, test->name,
	       test->both ? (mglru ? " mglru" : " classic") : "",
	       result == SKIP ? " # SKIP " :
	       result == FAIL ? " # " :
				"",
	       result == PASS ? "" : reason);
	return result != FAIL;
}

int main(int argc, char **argv)
{
	bool mglru = !access(LRU, W_OK);
	int count = 0, failed = 0, done = 0, lru;
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n");
	if (argc < 2 || access(MODE, W_OK)) {
		printf("1..0 # SKIP %s\n",
		       argc < 2 ? "wsp_test FOLDER [TEST...]" : "no vm.workingset_protection");
		return 4;
	}
	folder = argv[1];
	spare_self();
	spread_self();
	for (i = 0; i < sizeof(tests) / sizeof(*tests); i++)
		if (wanted(argc, argv, tests[i].name))
			count += 1 + (tests[i].both && mglru);
	printf("1..%d\n", count);
	for (i = 0; i < sizeof(tests) / sizeof(*tests); i++)
		for (lru = 0; wanted(argc, argv, tests[i].name) && lru <= (tests[i].both && mglru);
		     lru++)
			failed += !run(&tests[i], ++done, lru);
	return failed != 0;
}
