/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the tests of working-set protection share. Sizes are bytes unless they are called
 * pages.
 */
#ifndef WSP_H
#define WSP_H

#include <stdbool.h>
#include <sys/types.h>

#define MIB (1024L * 1024)

#define KNOB(name) "/proc/sys/vm/" name
#define MODE KNOB("workingset_protection")

/*
 * Free pages that a processor keeps to itself, up to this fraction of memory, are in no sum; 0
 * is the default.
 */
#define LISTS KNOB("percpu_pagelist_high_fraction")

#define LRU "/sys/kernel/mm/lru_gen/enabled"

/* How often memory is made to run out. */
#define BURSTS 4

/* wsp_test.c */

enum result { PASS, FAIL, SKIP };

extern const char *folder; /* with the files hot and huge */
extern bool in_mglru; /* this test */

enum result fail(const char *format, ...);
enum result skip(const char *why);
void reset(void);

/* machine.c: what the kernel says, and what it is told */

int put(const char *path, const char *text);
long number(const char *path);
long meminfo(const char *word);
long vmstat(const char *word);
void settle(void);

long node_managed(int node);
bool node_view(int node, const char *word, long *pages);
long floors(void);

void kernel_mark(const char *line);
bool kernel_said(const char *mark, const char *words);

int swap_on(long bytes);
void swap_off(void);

/* The one control group that tests make. */
#define GROUP "/sys/fs/cgroup/wsp"

int group_make(long limit);
void group_remove(void);
long group_event(const char *word);
long group_stat(const char *word);

/* load.c: who reads, and who takes memory */

extern long take_noise; /* how much of each page does not compress */

enum hold { HOLD, LOCK, FREE_LAZILY };

void spread_self(void);
void spare_self(void);
pid_t forked(void);
bool ended_well(pid_t pid);
void end(pid_t pid);

bool stream(const char *name, long bytes);
pid_t streamer_start(void);
void touch(const char *name);
int resident_percent(const char *name);

char *take(long bytes);
pid_t hog_start(long bytes);
pid_t holder_start(long bytes, enum hold how);
void negative_dentries(long bytes);

pid_t child_in_group(void);
bool group_reads(const char *name, long bytes);

/* asked.c: what is asked of reclaim, by whom, and how it is set */
enum result test_ranges(void);
enum result test_group(void);
enum result test_group_after(void);
enum result test_requests(void);
enum result test_anon_only(void);
enum result test_stress(void);

/* scarce.c: what gives, once the page cache is at its floor */
enum result test_slab(void);
enum result test_lazily_freed(void);
enum result test_clean_low(void);
enum result test_both_floors(void);
enum result test_full_swap(void);
enum result test_reserve(void);
enum result test_last_slots(void);
enum result test_available(void);

/* nodes.c: floors go by the memory of each node */
enum result test_nodes(void);
enum result test_hotplug(void);

/* hot.c: what is in use stays */
enum result hot_stays(const char *mode, int percent);
enum result test_hot(void);
enum result test_counters(void);
enum result test_off(void);

#endif
