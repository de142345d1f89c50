// SPDX-License-Identifier: GPL-2.0-only
/* Who reads, and who takes memory. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "wsp.h"

/* Over all nodes: a file on one of them may be larger than its floor. */
void spread_self(void)
{
	unsigned long nodes = 0, bit = 1;
	int node;

	for (node = 0; node < 8; node++, bit *= 2)
		if (node_managed(node))
			nodes |= bit;
	if (nodes & (nodes - 1))
		syscall(SYS_set_mempolicy, 3 /* MPOL_INTERLEAVE */, &nodes, 64UL);
}

void spare_self(void)
{
	put("/proc/self/oom_score_adj", "-1000");
	mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
}

pid_t forked(void)
{
	pid_t pid = fork();

	if (!pid)
		put("/proc/self/oom_score_adj", "-900");
	return pid;
}

bool ended_well(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static int opened(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return open(path, O_RDONLY);
}

/* Reads a file from its start, all of it or so many bytes. */
bool stream(const char *name, long bytes)
{
	static char buffer[1 << 17];
	long total = 0, got;
	int file;

	file = opened(name);
	if (file < 0)
		return false;
	while ((!bytes || total < bytes) && (got = read(file, buffer, sizeof(buffer))) > 0)
		total += got;
	close(file);
	return total > 0;
}

/* Reads what is larger than memory, again and again. */
pid_t streamer_start(void)
{
	pid_t pid = forked();

	if (pid)
		return pid;
	for (;;)
		stream("huge", 0);
}

/* Of no use, but the compiler does not know. */
unsigned long touched;

/* Maps a file once, and touches each page of it every time. */
void touch(const char *name)
{
	static unsigned char *map;
	static struct stat facts;
	long at;
	int file;

	if (!map) {
		file = opened(name);
		if (file < 0 || fstat(file, &facts))
			_exit(4);
		map = mmap(NULL, facts.st_size, PROT_READ, MAP_SHARED, file, 0);
		if (map == MAP_FAILED)
			_exit(5);
		close(file);
	}
	for (at = 0; at < facts.st_size; at += 4096)
		touched += map[at];
}

int resident_percent(const char *name)
{
	struct stat facts;
	long pages, page, in = 0;
	unsigned char *map;
	void *at;
	int file;

	file = opened(name);
	if (file < 0 || fstat(file, &facts))
		return -1;
	pages = (facts.st_size + 4095) / 4096;
	map = calloc(pages, 1);
	at = mmap(NULL, facts.st_size, PROT_READ, MAP_SHARED, file, 0);
	if (at != MAP_FAILED && !mincore(at, facts.st_size, map))
		for (page = 0; page < pages; page++)
			in += map[page] & 1;
	munmap(at, facts.st_size);
	free(map);
	close(file);
	return in * 100 / pages;
}

/* How much of each page does not compress. */
long take_noise = 2048;

/* Takes memory page by page. */
char *take(long bytes)
{
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned long word = getpid();
	long page, i;

	if (at == MAP_FAILED)
		_exit(2);
	madvise(at, bytes, MADV_NOHUGEPAGE);
	for (page = 0; page < bytes; page += 4096) {
		for (i = 0; i < take_noise; i += 8) {
			word = word * 6364136223846793005UL + 1442695040888963407UL;
			memcpy(at + page + i, &word, 8);
		}
	}
	return at;
}

pid_t hog_start(long bytes)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	munlockall();
	put("/proc/self/oom_score_adj", "1000");
	take(bytes);
	_exit(0);
}

/*
 * Returns in the child at once, with where to say that it is ready, and in the parent once it
 * is, or is gone.
 */
static pid_t forked_ready(int *tell)
{
	int ready[2];
	char byte;
	pid_t pid;

	if (pipe(ready))
		return -1;
	pid = forked();
	*tell = ready[1];
	if (!pid)
		return pid;
	close(ready[1]);
	if (read(ready[0], &byte, 1) < 0)
		perror("pipe");
	close(ready[0]);
	return pid;
}

static void hold(int tell)
{
	if (write(tell, "", 1) < 0)
		_exit(3);
	for (;;)
		pause();
}

/* Returns once so much is taken, or the child is gone. */
pid_t holder_start(long bytes, enum hold how)
{
	int tell;
	pid_t pid = forked_ready(&tell);
	char *at;

	if (pid)
		return pid;
	munlockall();
	if (how == LOCK)
		mlockall(MCL_FUTURE);
	at = take(bytes);
	/* the kernel may have it from now on, when it wants it */
	if (how == FREE_LAZILY)
		madvise(at, bytes, MADV_FREE);
	hold(tell);
	return 0;
}

/* Names that are not there, until the kernel keeps so many bytes about them. */
void negative_dentries(long bytes)
{
	long start = meminfo("SReclaimable"), name = 0;
	char path[512];

	/* long names, for the kernel keeps those beside the entry */
	while (meminfo("SReclaimable") - start < bytes && name < 200000) {
		long until = name + 10000;

		for (; name < until; name++) {
			snprintf(path, sizeof(path), "%s/%0200ld", folder, name);
			access(path, F_OK);
		}
	}
}

pid_t child_in_group(void)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	munlockall();
	put(GROUP "/cgroup.procs", "0");
	return 0;
}

bool group_reads(const char *name, long bytes)
{
	pid_t reader = child_in_group();

	if (!reader)
		exit(stream(name, bytes) ? 0 : 1);
	return ended_well(reader);
}
