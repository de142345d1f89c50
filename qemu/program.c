// A program under QEMU's user mode: its mappings, threads, forks and system calls.
//
// Copyright the Warmset authors. SPDX-License-Identifier: GPL-2.0-or-later

#define _GNU_SOURCE
#include "modes.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "shapes.h"
#include "targets.h"

uint64_t guest_base;
bool follows_forks = true;

// This process has relatives: what it did before a system call is written before what others do after it.
static bool in_family;
static unsigned thread_count;
// The thread that called the kernel last, for fork.
static __thread Thread* caller;

// ---------------------------------------------------------------------------------------------------------------------
// Mappings

static uint64_t program_break; // where the heap begins; 0 until the program has asked
// Anonymous mappings at the start, among which the stack is.
static struct { uint64_t from, end; } at_start[256];
static unsigned at_start_count;
static bool stack_is_known;

// Writes a mapping before what any thread does in it.
static void map(uint32_t kind, uint64_t from, uint64_t end, const char* name)
{
   pthread_mutex_lock(&writing);
   put_mapping(kind, from, end, name);
   send_piece();
   pthread_mutex_unlock(&writing);
}

// What QEMU's loader has mapped before the program's first instruction.
static void read_mappings(void)
{
   char line[4096 + 128];
   FILE* maps = fopen("/proc/self/maps", "re");
   if (maps == NULL)
      return;
   while (fgets(line, sizeof line, maps) != NULL) {
      unsigned long from, end;
      int name_at = 0;
      char* name;
      if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %n", &from, &end, &name_at) < 2 || name_at == 0)
         continue;
      if (from < guest_base)
         continue;
      name = line + name_at;
      name[strcspn(name, "\n")] = 0;
      if (name[0] == '/') {
         map(OF_FILE, from - guest_base, end - guest_base, name);
      } else if (name[0] == 0) {
         map(ANONYMOUS, from - guest_base, end - guest_base, "");
         if (at_start_count < sizeof at_start / sizeof *at_start) {
            at_start[at_start_count].from = from - guest_base;
            at_start[at_start_count++].end = end - guest_base;
         }
      }
   }
   fclose(maps);
}

// A program's first access to a mapping that is of no file is to its stack: there its arguments are.
static void find_stack(const Thread* thread)
{
   uint32_t i;
   unsigned k;
   if (stack_is_known)
      return;
   for (i = 0; i < thread->made_count; i++) {
      for (k = 0; k < at_start_count; k++) {
         uint64_t address = thread->made[i].address;
         if (address < at_start[k].from || address >= at_start[k].end)
            continue;
         stack_is_known = true;
         map(STACK, at_start[k].from, at_start[k].end, "");
         return;
      }
   }
}

// ---------------------------------------------------------------------------------------------------------------------
// Threads, processes, system calls

static const Target* target;

static bool has_begun;

static void start_program(uint64_t id, uint64_t parent)
{
   const char* name = qemu_plugin_path_to_binary();
   start(id, parent, name == NULL ? "" : name);
}

// Before the first block QEMU does not know the program, nor has it mapped it.
static void begin(void)
{
   if (has_begun)
      return;
   has_begun = true;
   start_program(new_id(), 0);
   read_mappings();
}

static uint64_t forked; // the id of the next fork
static uint64_t forks;

static void before_fork(void)
{
   if (caller != NULL) {
      finish(caller);
      flush(caller);
   }
   forked = stirred(id + ++forks);
   pthread_mutex_lock(&writing);
   if (follows_forks) {
      put(tagged(FORK, 0));
      put_long(forked);
      send_piece();
   }
   in_family = true;
}

static void in_parent(void) { pthread_mutex_unlock(&writing); }

static void in_child(void)
{
   unsigned index;
   pthread_mutex_init(&writing, NULL);
   if (!follows_forks) {
      close_pipe();
      return;
   }
   for (index = 0; index < MOST_THREADS; index++)
      if (threads[index] != caller)
         threads[index] = NULL;
   thread_count = 1;
   // The reader does not know which pages the parent's accesses had used by now.
   if (caller != NULL)
      forget_pages(caller);
   start_program(forked, id);
}

static void begins(qemu_plugin_id_t plugin, unsigned index)
{
   (void)plugin;
   new_thread(index);
   thread_count++;
}

static void ends(qemu_plugin_id_t plugin, unsigned index)
{
   Thread* thread = threads[index];
   (void)plugin;
   if (thread == NULL)
      return;
   if (caller == thread)
      caller = NULL;
   thread_count--;
   forget_thread(thread);
}

// What an mmap maps, from its call to its return.
static __thread uint64_t mmap_length, mmap_flags;
static __thread int mmap_file;

static void calls(qemu_plugin_id_t plugin, unsigned index, int64_t number, uint64_t a1, uint64_t a2, uint64_t a3,
                  uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
   Thread* thread = threads[index];
   (void)plugin, (void)a1, (void)a6, (void)a7, (void)a8;
   caller = thread;
   finish(thread);
   if (number == target->execve || number == target->execveat) {
      keep(thread, tagged(EXEC, 0));
      flush(thread);
   } else if (in_family || thread_count > 1) {
      flush(thread);
   }
   if (number == target->mmap) {
      mmap_length = a2;
      mmap_flags = a4;
      mmap_file = (int)a5;
   } else if (number == target->mremap) {
      mmap_length = a3;
   }
}

static void maps_file(uint64_t from, uint64_t end)
{
   char link[64], name[4096];
   ssize_t length;
   snprintf(link, sizeof link, "/proc/self/fd/%d", mmap_file);
   length = readlink(link, name, sizeof name - 1);
   name[length < 0 ? 0 : length] = 0;
   map(OF_FILE, from, end, name);
}

static void returns(qemu_plugin_id_t plugin, unsigned index, int64_t number, int64_t result)
{
   Thread* thread = threads[index];
   uint64_t from = (uint64_t)result, end = from + ((mmap_length + 4095) & ~4095ULL);
   // An error is -4095 to -1, as the kernel returns it.
   bool has_failed = result < 0 && result >= -4095;
   (void)plugin;
   if (thread == NULL || has_failed)
      return;
   if (target->is_32_bit) {
      from = (uint32_t)from;
      end = from + ((mmap_length + 4095) & ~4095ULL);
   }
   if (number == target->brk) {
      if (program_break == 0)
         program_break = from;
      if (from <= program_break)
         return;
      flush(thread);
      map(HEAP, program_break, from, "");
   } else if (number == target->mmap) {
      flush(thread);
      if (mmap_flags & target->anonymous)
         map(ANONYMOUS, from, end, "");
      else
         maps_file(from, end);
   } else if (number == target->mremap) {
      flush(thread);
      map(ANONYMOUS, from, end, "");
   }
}

static void finishes(qemu_plugin_id_t plugin, void* data)
{
   (void)plugin, (void)data;
   if (!has_begun)
      return;
   end_recording();
}

static void accesses_memory(unsigned index, uint32_t info, uint64_t address, void* data)
{
   accesses(threads[index], (uint32_t)(uintptr_t)data, info, address);
}

static void runs_block(unsigned index, void* data) { runs(threads[index], data); }

static void is_translated(qemu_plugin_id_t plugin, struct qemu_plugin_tb* translated)
{
   size_t count = qemu_plugin_tb_n_insns(translated), i;
   Block* block = new_block(count);
   (void)plugin;
   for (i = 0; i < count; i++) {
      struct qemu_plugin_insn* instruction = qemu_plugin_tb_get_insn(translated, i);
      block->instructions[i].address = qemu_plugin_insn_vaddr(instruction);
      block->instructions[i].size = (uint32_t)qemu_plugin_insn_size(instruction);
      qemu_plugin_register_vcpu_mem_cb(instruction, accesses_memory, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                       (void*)(uintptr_t)i);
   }
   qemu_plugin_register_vcpu_tb_exec_cb(translated, runs_block, QEMU_PLUGIN_CB_NO_REGS, block);
}

void record_program(qemu_plugin_id_t plugin, const char* processor)
{
   target = target_of(processor);
   at_first_block = begin;
   has_learned = find_stack;
   pthread_atfork(before_fork, in_parent, in_child);
   qemu_plugin_register_vcpu_init_cb(plugin, begins);
   qemu_plugin_register_vcpu_exit_cb(plugin, ends);
   qemu_plugin_register_vcpu_tb_trans_cb(plugin, is_translated);
   qemu_plugin_register_flush_cb(plugin, are_discarded);
   qemu_plugin_register_vcpu_syscall_cb(plugin, calls);
   qemu_plugin_register_vcpu_syscall_ret_cb(plugin, returns);
   qemu_plugin_register_atexit_cb(plugin, finishes, NULL);
}
