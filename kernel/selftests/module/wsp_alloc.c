// SPDX-License-Identifier: GPL-2.0-only
/*
 * Allocates pages with flags that no program can ask for.
 *
 * Write "KIND PAGES" to /proc/wsp_alloc: KIND is nofs, noio or retry.
 * Reading it gives how many pages the last request got, and in how many
 * milliseconds. The pages are freed before the write returns.
 */
#include <linux/gfp.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

static const struct kind {
	const char *name;
	gfp_t flags;
} kinds[] = {
	{ "nofs", GFP_NOFS },
	{ "noio", GFP_NOIO },
	{ "retry", GFP_KERNEL | __GFP_RETRY_MAYFAIL },
};

static unsigned long got;
static s64 took;

static void allocate(gfp_t flags, unsigned long wanted)
{
	ktime_t began = ktime_get();
	struct page *page, *next;
	LIST_HEAD(pages);

	got = 0;
	while (got < wanted && !fatal_signal_pending(current)) {
		page = alloc_page(flags | __GFP_NOWARN);
		if (!page)
			break;
		list_add(&page->lru, &pages);
		got++;
	}
	took = ktime_ms_delta(ktime_get(), began);
	list_for_each_entry_safe(page, next, &pages, lru) {
		list_del(&page->lru);
		__free_page(page);
	}
}

static ssize_t ask(struct file *file, const char __user *buffer, size_t count,
		   loff_t *at)
{
	unsigned long wanted;
	char text[64], name[16];
	int i;

	if (count >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, buffer, count))
		return -EFAULT;
	text[count] = '\0';
	if (sscanf(text, "%15s %lu", name, &wanted) != 2)
		return -EINVAL;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!strcmp(kinds[i].name, name)) {
			allocate(kinds[i].flags, wanted);
			return count;
		}
	}
	return -EINVAL;
}

static int show(struct seq_file *out, void *unused)
{
	seq_printf(out, "%lu %lld\n", got, took);
	return 0;
}

static int open(struct inode *inode, struct file *file)
{
	return single_open(file, show, NULL);
}

static const struct proc_ops operations = {
	.proc_open = open,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_write = ask,
	.proc_release = single_release,
};

static int __init start(void)
{
	return proc_create("wsp_alloc", 0600, NULL, &operations) ? 0 : -ENOMEM;
}

static void __exit end(void)
{
	remove_proc_entry("wsp_alloc", NULL);
}

module_init(start);
module_exit(end);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("allocates with flags that no program can ask for");
