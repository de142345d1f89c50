// SPDX-License-Identifier: GPL-2.0-only
/* Floors go by the memory of each node, also where it is taken away. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wsp.h"

#define CPU1 "/sys/devices/system/cpu/cpu1/online"

#define HOTPLUG "wsp_test: hotplug\n" /* a mark in the kernel's log */

/* Each node has the floors of its own size; one without memory has none. */
static enum result floors_fit(void)
{
	int node, seen = 0;

	for (node = 0; node < 8; node++) {
		long managed = node_managed(node), share = managed / 100 * 15, floor, clean, anon,
		     most;

		if (!node_view(node, "clean_floor", &floor) || !node_view(node, "clean", &clean) ||
		    !node_view(node, "anon", &anon))
			continue;
		seen += managed > 0;
		most = (clean + anon) / 2;
		printf("# node %d: %ld pages, %ld on lists, floor %ld\n", node, managed,
		       clean + anon, floor);
		if (labs(floor - (share < most ? share : most)) > 64 + managed / 100)
			return fail("node %d has another floor", node);
	}
	return seen ? PASS : skip("no report on memory: CONFIG_MAGIC_SYSRQ");
}

/* The same once memory is mostly on the lists. */
static enum result filled_floors_fit(void)
{
	stream("huge", meminfo("MemTotal") / 2);
	return floors_fit();
}

enum result test_nodes(void)
{
	put(MODE, "1");
	return filled_floors_fit();
}

/*
 * The state file of the first block of memory that holds nothing but what can be moved; the
 * last has what the firmware keeps.
 */
static bool movable_block(char *path, size_t size)
{
	char zones[96], line[64];
	int block;

	for (block = 0; block < 64; block++) {
		FILE *file;
		bool movable;

		snprintf(zones, sizeof(zones), "/sys/devices/system/memory/memory%d/valid_zones",
			 block);
		file = fopen(zones, "r");
		if (!file)
			continue;
		movable = fgets(line, sizeof(line), file) && !strncmp(line, "Movable", 7);
		fclose(file);
		if (!movable)
			continue;
		snprintf(path, size, "/sys/devices/system/memory/memory%d/state", block);
		return true;
	}
	return false;
}

/* Tried for a while: what is in use for a moment cannot be moved then. */
static int set_block(const char *path, const char *state)
{
	int tries, error = -EBUSY;

	for (tries = 0; error == -EBUSY && tries < 20; tries++)
		error = put(path, state);
	return error;
}

/* Memory runs out below a stream while a processor comes and goes. */
static bool runs_out(void)
{
	pid_t streamer, switcher;
	bool fitted;

	streamer = streamer_start();
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
 * The floors go by the memory that is there. It is taken away between loads: what a stream
 * brings in meanwhile is in the way of that for minutes, floors or not.
 */
enum result test_hotplug(void)
{
	char block[64];
	bool blocks = movable_block(block, sizeof(block));
	long managed = node_managed(0), left = managed;
	int round, error;
	enum result result = PASS;

	if (access(CPU1, W_OK) && !blocks)
		return skip("no processor and no memory that can be taken away");
	if (!blocks)
		printf("# no block of memory can be taken away: CONFIG_MEMORY_HOTREMOVE\n");
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
