/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests read, fill and start. Sizes are bytes. */
#ifndef WSP_HELP_H
#define WSP_HELP_H

#define MIB (1L << 20)

enum result { PASS, FAIL, SKIP };

static char reason[256];

__attribute__((format(printf, 1, 2))) static enum result fail(const char *format, ...)
{
	va_list words;

	va_start(words, format);
	vsnprintf(reason, sizeof(reason), format, words);
	va_end(words);
	return FAIL;
}

static enum result skip(const char *why)
{
	snprintf(reason, sizeof(reason), "%s", why);
	return SKIP;
}

/* Writes a kernel file: 0, or the error as a negative number. */
static int put(const char *path, const char *text)
{
	int file = open(path, O_WRONLY), error = 0;

	if (file < 0)
		return -errno;
	if (write(file, text, strlen(text)) < 0)
		error = -errno;
	close(file);
	return error;
}

static long number(const char *path)
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

static long meminfo(const char *word)
{
	return field("/proc/meminfo", word) * 1024;
}

static long vmstat(const char *word)
{
	return field("/proc/vmstat", word);
}

/* Free pages that processors keep to themselves go back, but for what their lists may have, and all is counted. */
static void settle(void)
{
	int round;

	/* since 6.7 a list is an eighth shorter each time */
	for (round = 0; round < 32; round++)
		number("/proc/sys/vm/stat_refresh");
}

static long node_vmstat(int node, const char *word)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/vmstat", node);
	return field(path, word);
}

/* Pages that the zones of a node manage. */
static long node_managed(int node)
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

/*
 * The state file of the first block of memory that holds nothing but what can be moved; the last
 * has what the firmware keeps.
 */
static bool movable_block(char *path, size_t size)
{
	char zones[96], line[64];
	int block;

	for (block = 0; block < 64; block++) {
		FILE *file;
		bool movable;

		snprintf(zones, sizeof(zones), "/sys/devices/system/memory/memory%d/valid_zones", block);
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

/* A line of our own in the kernel's log: what is before it is not looked at. */
static void kernel_mark(const char *line)
{
	put("/dev/kmsg", line);
}

/* Whether the kernel's log has these words after a mark. */
static bool kernel_said(const char *mark, const char *words)
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

static int lines_with(const char *path, const char *words)
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

/* Over all nodes: a file on one of them may be larger than its floor. */
static void spread_self(void)
{
	unsigned long nodes = 0;
	int node;

	for (node = 0; node < 8; node++)
		if (node_managed(node))
			nodes |= 1UL << node;
	if (nodes & (nodes - 1))
		syscall(SYS_set_mempolicy, 3 /* MPOL_INTERLEAVE */, &nodes, 64UL);
}

static void spare_self(void)
{
	put("/proc/self/oom_score_adj", "-1000");
	mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
}

static pid_t forked(void)
{
	pid_t pid = fork();

	if (!pid)
		put("/proc/self/oom_score_adj", "-900");
	return pid;
}

static bool ended_well(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status);
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Microseconds of rest after each 128 KiB that is streamed. */
static unsigned int stream_rest;

/* Reads a file from its start, all of it or so many bytes. */
static bool stream(const char *folder, const char *name, long bytes)
{
	static char buffer[1 << 17];
	char path[256];
	long total = 0, got;
	int file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = open(path, O_RDONLY);
	if (file < 0)
		return false;
	while ((!bytes || total < bytes) && (got = read(file, buffer, sizeof(buffer))) > 0) {
		total += got;
		if (stream_rest)
			usleep(stream_rest);
	}
	close(file);
	return total > 0;
}

/* Maps a file once, and touches each page of it every time. */
static void touch(const char *folder, const char *name)
{
	static volatile unsigned char *map;
	static struct stat facts;
	char path[256];
	long at;
	int file;

	if (!map) {
		snprintf(path, sizeof(path), "%s/%s", folder, name);
		file = open(path, O_RDONLY);
		if (file < 0 || fstat(file, &facts))
			_exit(4);
		map = mmap(NULL, facts.st_size, PROT_READ, MAP_SHARED, file, 0);
		if (map == MAP_FAILED)
			_exit(5);
		close(file);
	}
	for (at = 0; at < facts.st_size; at += 4096)
		map[at];
}

static int resident_percent(const char *folder, const char *name)
{
	char path[256];
	struct stat facts;
	long pages, page, in = 0;
	unsigned char *map;
	void *at;
	int file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = open(path, O_RDONLY);
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

/* Microseconds of rest after each MiB. */
static unsigned int take_rest;

/* How much of each page does not compress. */
static long take_noise = 2048;

/* Takes memory page by page. */
static char *take(long bytes)
{
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
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
		if (take_rest && !(page % MIB))
			usleep(take_rest);
	}
	return at;
}

static pid_t hog_start(long bytes)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	munlockall();
	put("/proc/self/oom_score_adj", "1000");
	take(bytes);
	_exit(0);
}

enum hold { HOLD, LOCK, FREE_LAZILY };

/* Returns once so much is taken, or the child is gone. */
static pid_t holder(long bytes, enum hold how)
{
	int ready[2];
	char byte, *at;
	pid_t pid;

	if (pipe(ready))
		return -1;
	pid = forked();
	if (pid) {
		close(ready[1]);
		if (read(ready[0], &byte, 1) < 0)
			perror("pipe");
		close(ready[0]);
		return pid;
	}
	munlockall();
	if (how == LOCK)
		mlockall(MCL_FUTURE);
	at = take(bytes);
	/* the kernel may have it from now on, when it wants it */
	if (how == FREE_LAZILY)
		madvise(at, bytes, MADV_FREE);
	if (write(ready[1], "", 1) < 0)
		_exit(3);
	for (;;)
		pause();
}

static pid_t hog_hold(long bytes)
{
	return holder(bytes, HOLD);
}

static pid_t locked_start(long bytes)
{
	return holder(bytes, LOCK);
}

/* Names that are not there, until the kernel keeps so many bytes about them. */
static void negative_dentries(const char *folder, long bytes)
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

static int swap_on(long bytes)
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

static void swap_off(void)
{
	swapoff("/dev/zram0");
	put("/sys/block/zram0/reset", "1");
}

static void group_path(char *path, size_t size, const char *group, const char *file)
{
	snprintf(path, size, "/sys/fs/cgroup/%s/%s", group, file);
}

static int group_make(const char *group, long limit)
{
	char path[128], text[32];

	put("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	group_path(path, sizeof(path), group, "");
	mkdir(path, 0755);
	group_path(path, sizeof(path), group, "memory.max");
	snprintf(text, sizeof(text), "%ld", limit);
	return put(path, text);
}

static void group_remove(const char *group)
{
	char path[128];

	group_path(path, sizeof(path), group, "");
	rmdir(path);
}

static long group_event(const char *group, const char *word)
{
	char path[128];

	group_path(path, sizeof(path), group, "memory.events");
	return field(path, word);
}

static long group_stat(const char *group, const char *word)
{
	char path[128];

	group_path(path, sizeof(path), group, "memory.stat");
	return field(path, word);
}

static pid_t child_in(const char *group)
{
	char path[128];
	pid_t pid = fork();

	if (pid)
		return pid;
	munlockall();
	group_path(path, sizeof(path), group, "cgroup.procs");
	put(path, "0");
	return 0;
}

#endif
