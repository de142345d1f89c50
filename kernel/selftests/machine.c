// SPDX-License-Identifier: GPL-2.0-only
/* What the kernel says, and what it is told. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "wsp.h"

/* Writes a kernel file: 0, or the error as a negative number. */
int put(const char *path, const char *text)
{
	int file = open(path, O_WRONLY), error = 0;

	if (file < 0)
		return -errno;
	if (write(file, text, strlen(text)) < 0)
		error = -errno;
	close(file);
	return error;
}

long number(const char *path)
{
	FILE *file = fopen(path, "r");
	long value = -1;

	if (!file)
		return -1;
	if (fscanf(file, "%ld", &value) != 1)
		value = -1;
	fclose(file);
	return value;
}

/* The number after a word at the start of a line; -1 if there is none. */
static long field(const char *path, const char *word)
{
	FILE *file = fopen(path, "r");
	char line[256], name[128];
	long value, found = -1;

	if (!file)
		return -1;
	while (found < 0 && fgets(line, sizeof(line), file))
		if (sscanf(line, "%127[^ :]%*[ :]%ld", name, &value) == 2 && !strcmp(name, word))
			found = value;
	fclose(file);
	return found;
}

/* Since some beginning. */
long milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

long meminfo(const char *word)
{
	return field("/proc/meminfo", word) * 1024;
}

long vmstat(const char *word)
{
	return field("/proc/vmstat", word);
}

/* Free pages that processors keep to themselves go back, but for what their lists may have, and all is counted. */
void settle(void)
{
	int round;

	/* since 6.7 a list is an eighth shorter each time */
	for (round = 0; round < 32; round++)
		number("/proc/sys/vm/stat_refresh");
}

long node_vmstat(int node, const char *word)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/vmstat", node);
	return field(path, word);
}

/* Pages that the zones of a node manage. */
long node_managed(int node)
{
	FILE *file = fopen("/proc/zoneinfo", "r");
	char line[256];
	long managed = 0, pages;
	int at = -1;

	while (file && fgets(line, sizeof(line), file)) {
		sscanf(line, "Node %d", &at);
		if (at == node && sscanf(line, " managed %ld", &pages) == 1)
			managed += pages;
	}
	if (file)
		fclose(file);
	return managed;
}

long managed(void)
{
	long all = 0;
	int node;

	for (node = 0; node < 8; node++)
		all += node_managed(node);
	return all;
}

/* A number of all nodes, in pages; negative without NUMA. */
long of_nodes(const char *word)
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

long floors(void)
{
	return of_nodes("nr_wsp_file_floor");
}

/* A line of our own in the kernel's log: what is before it is not looked at. */
void kernel_mark(const char *line)
{
	put("/dev/kmsg", line);
}

/* Whether the kernel's log has these words after a mark. */
bool kernel_said(const char *mark, const char *words)
{
	static char log[1 << 18];
	long length = syscall(SYS_syslog, 3, log, sizeof(log) - 1);
	char *from;

	if (length < 0)
		return false;
	log[length] = 0;
	from = strstr(log, mark);
	return strstr(from ? from : log, words);
}

int lines_with(const char *path, const char *words)
{
	FILE *file = fopen(path, "r");
	char line[256];
	int found = 0;

	while (file && fgets(line, sizeof(line), file))
		found += !!strstr(line, words);
	if (file)
		fclose(file);
	return found;
}

int swap_on(long bytes)
{
	char text[32];

	snprintf(text, sizeof(text), "%ld", bytes);
	put("/sys/block/zram0/reset", "1");
	if (put("/sys/block/zram0/disksize", text))
		return -1;
	if (system("mkswap /dev/zram0 >/dev/null 2>&1"))
		return -1;
	return swapon("/dev/zram0", 0);
}

void swap_off(void)
{
	swapoff("/dev/zram0");
	put("/sys/block/zram0/reset", "1");
}

int group_make(long limit)
{
	char text[32];

	put("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	mkdir(GROUP, 0755);
	snprintf(text, sizeof(text), "%ld", limit);
	return put(GROUP "/memory.max", text);
}

void group_remove(void)
{
	rmdir(GROUP);
}

long group_event(const char *word)
{
	return field(GROUP "/memory.events", word);
}

long group_stat(const char *word)
{
	return field(GROUP "/memory.stat", word);
}
