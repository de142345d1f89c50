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
#include <unistd.h>

#include "wsp.h"

#define PROC "/proc/"

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

long meminfo(const char *word)
{
	return field(PROC "meminfo", word) * 1024;
}

long vmstat(const char *word)
{
	return field(PROC "vmstat", word);
}

/*
 * Free pages that processors keep to themselves go back, but for what their lists may have,
 * and all is counted.
 */
void settle(void)
{
	int round;

	/* since 6.7 a list is an eighth shorter each time */
	for (round = 0; round < 32; round++)
		number("/proc/sys/vm/stat_refresh");
}

/* Pages that the zones of a node manage. */
long node_managed(int node)
{
	FILE *file = fopen("/proc/zoneinfo", "r");
	char line[256];
	long managed = 0, pages;
	int at = -1;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Node %d", &at) == 1)
			continue;
		if (at == node && sscanf(line, " managed %ld", &pages) == 1)
			managed += pages;
	}
	if (file)
		fclose(file);
	return managed;
}

/* What the kernel's report on memory says of a node's floors, in pages. */
bool node_view(int node, const char *word, long *pages)
{
	static char log[1 << 18];
	char mark[64], head[32], *at, *next;
	static int reports;
	long length;

	snprintf(mark, sizeof(mark), "wsp_test: report %d\n", ++reports);
	kernel_mark(mark);
	put("/proc/sysrq-trigger", "m");
	length = syscall(SYS_syslog, 3, log, sizeof(log) - 1);
	if (length < 0)
		return false;
	log[length] = 0;
	at = strstr(log, mark);
	snprintf(head, sizeof(head), "Node %d wsp:", node);
	at = at ? strstr(at, head) : NULL;
	next = at ? strchr(at, '\n') : NULL;
	if (next)
		*next = 0;
	snprintf(head, sizeof(head), " %s:", word);
	at = at ? strstr(at, head) : NULL;
	if (!at)
		return false;
	*pages = atol(at + strlen(head)) / 4;
	return true;
}

/* The floors under page cache of all nodes, in pages. */
long floors(void)
{
	long all = 0, pages;
	int node;

	for (node = 0; node < 8; node++)
		if (node_managed(node) && node_view(node, "clean_floor", &pages))
			all += pages;
	return all;
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
