// A whole machine under QEMU: which pages of its physical memory its CPUs use.
//
// Copyright the Warmset authors. SPDX-License-Identifier: GPL-2.0-or-later
//
// The machine says itself from where to where it is recorded, by an instruction that does nothing: a no-operation whose number
// of four bytes is a mark. Until then only the marks are looked for, so it boots about as fast as without the plugin. QEMU must
// run all CPUs in one thread (-accel tcg,thread=single), and have the memory in one piece below 2 GiB (memory-backend-memfd):
// a physical address is a place in it then.

#define _GNU_SOURCE
#include "modes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shapes.h"

const char* machine_name = "machine";
uint64_t memory_size;

// The kernel has pages of this size at least, and neighbours in one address space may be anywhere in memory.
#define SMALLEST_PAGE 4096

// A no-operation of eight bytes: `nopl MARK(%rax,%rax)`. crates/vmlab/src/guest/mark.rs executes it.
static const unsigned char BEGIN_MARK[8] = { 0x0f, 0x1f, 0x84, 0x00, 'U', 'S', 'E', 'B' };
static const unsigned char END_MARK[8] = { 0x0f, 0x1f, 0x84, 0x00, 'U', 'S', 'E', 'E' };

static qemu_plugin_id_t own; // by which QEMU knows the plugin
static const unsigned char* memory; // where QEMU has the machine's
static bool has_begun;
static bool is_over;
// The CPU that runs. What it did is written before what the next one does.
static Thread* current;

// Where QEMU has the memory: the plugin API tells no physical address of an instruction, only QEMU's own.
static void find_memory(void)
{
   char line[4096];
   FILE* maps = fopen("/proc/self/maps", "re");
   uint64_t from = 0, end = 0;
   while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
      uint64_t first, after;
      if (strstr(line, "memfd:memory-backend-memfd") == NULL || sscanf(line, "%" SCNx64 "-%" SCNx64, &first, &after) != 2)
         continue;
      if (from == 0 || first == end) {
         from = from == 0 ? first : from;
         end = after;
      }
   }
   if (maps != NULL)
      fclose(maps);
   if (end - from != memory_size) {
      qemu_plugin_outs("warmset: the machine's memory is not a memory-backend-memfd of memory= bytes\n");
      abort();
   }
   memory = (const unsigned char*)(uintptr_t)from;
}

// The physical address of QEMU's; `memory_size` for what is not in the machine's memory, such as its firmware.
static uint64_t physical(const void* address)
{
   uint64_t place = (uint64_t)((uintptr_t)address - (uintptr_t)memory);
   return address != NULL && place < memory_size ? place : memory_size;
}

// Bytes of an access or an instruction that are on its first page.
static uint32_t on_first_page(uint64_t address, uint32_t size)
{
   uint64_t left = SMALLEST_PAGE - address % SMALLEST_PAGE;
   return size < left ? size : (uint32_t)left;
}

static bool is_mark(const struct qemu_plugin_insn* instruction, const unsigned char* mark)
{
   uint64_t place;
   if (qemu_plugin_insn_size(instruction) != sizeof BEGIN_MARK)
      return false;
   place = physical(qemu_plugin_insn_haddr(instruction));
   // One over the end of a page is none of ours, which are aligned.
   return place < memory_size && place % sizeof BEGIN_MARK == 0 && memcmp(memory + place, mark, sizeof BEGIN_MARK) == 0;
}

static void ends(unsigned index, void* data)
{
   (void)index, (void)data;
   if (is_over)
      return;
   is_over = true;
   end_recording();
}

static void accesses_memory(unsigned index, uint32_t info, uint64_t address, void* data)
{
   Thread* thread = threads[index];
   const Block* block = thread->block;
   struct qemu_plugin_hwaddr* where;
   uint64_t first, last;
   uintptr_t place;
   uint32_t instruction, size;
   if (is_over || block == NULL)
      return;
   place = (uintptr_t)data - (uintptr_t)block->instructions;
   // Of another block than the one that runs: QEMU 7.2 may tell what an interrupt saves as accesses of an instruction long before.
   if (place >= block->count * sizeof(Instruction))
      return;
   instruction = (uint32_t)(place / sizeof(Instruction));
   where = qemu_plugin_get_hwaddr(info, address);
   if (where == NULL || qemu_plugin_hwaddr_is_io(where))
      return;
   first = qemu_plugin_hwaddr_phys_addr(where);
   if (first >= memory_size)
      return;
   size = 1u << qemu_plugin_mem_size_shift(info);
   if (on_first_page(address, size) == size) {
      accesses(thread, instruction, info, first);
      return;
   }
   accesses(thread, instruction, info | ONE_BYTE, first);
   where = qemu_plugin_get_hwaddr(info, address + size - 1);
   if (where == NULL || qemu_plugin_hwaddr_is_io(where))
      return;
   last = qemu_plugin_hwaddr_phys_addr(where);
   if (last < memory_size)
      accesses(thread, instruction, info | ONE_BYTE, last);
}

static void runs_block(unsigned index, void* data)
{
   Thread* thread = threads[index];
   if (is_over)
      return;
   if (thread != current) {
      if (current != NULL) {
         finish(current);
         flush(current);
         current->block = NULL;
      }
      current = thread;
   }
   runs(thread, data);
}

// A block's instructions stay at the same physical addresses: QEMU looks a block up by those, too.
static void is_translated(qemu_plugin_id_t plugin, struct qemu_plugin_tb* translated)
{
   size_t count = qemu_plugin_tb_n_insns(translated), i;
   Block* block;
   (void)plugin;
   if (physical(qemu_plugin_insn_haddr(qemu_plugin_tb_get_insn(translated, 0))) == memory_size)
      return;
   block = new_block(count);
   for (i = 0; i < count; i++) {
      struct qemu_plugin_insn* instruction = qemu_plugin_tb_get_insn(translated, i);
      uint64_t address = physical(qemu_plugin_insn_haddr(instruction));
      block->instructions[i].address = address;
      // Where the rest of it is in memory, QEMU does not tell.
      block->instructions[i].size = on_first_page(address, (uint32_t)qemu_plugin_insn_size(instruction));
      qemu_plugin_register_vcpu_mem_cb(instruction, accesses_memory, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                       &block->instructions[i]);
      if (is_mark(instruction, END_MARK))
         qemu_plugin_register_vcpu_insn_exec_cb(instruction, ends, QEMU_PLUGIN_CB_NO_REGS, NULL);
   }
   qemu_plugin_register_vcpu_tb_exec_cb(translated, runs_block, QEMU_PLUGIN_CB_NO_REGS, block);
}

static void finishes(qemu_plugin_id_t plugin, void* data)
{
   (void)plugin;
   ends(0, data);
}

// All blocks are discarded, and no CPU runs. From here on all that it executes is recorded.
static void begin(qemu_plugin_id_t plugin)
{
   start(new_id(), 0, machine_name);
   put_mapping(OF_FILE, 0, memory_size, "[physical memory]");
   qemu_plugin_register_vcpu_tb_trans_cb(plugin, is_translated);
   qemu_plugin_register_flush_cb(plugin, are_discarded);
   qemu_plugin_register_atexit_cb(plugin, finishes, NULL);
}

static void executes_mark(unsigned index, void* data)
{
   (void)index, (void)data;
   if (has_begun)
      return;
   has_begun = true;
   qemu_plugin_reset(own, begin);
}

static void looks_for_mark(qemu_plugin_id_t plugin, struct qemu_plugin_tb* translated)
{
   size_t count = qemu_plugin_tb_n_insns(translated), i;
   (void)plugin;
   if (memory == NULL)
      find_memory();
   for (i = 0; i < count; i++) {
      struct qemu_plugin_insn* instruction = qemu_plugin_tb_get_insn(translated, i);
      if (is_mark(instruction, BEGIN_MARK))
         qemu_plugin_register_vcpu_insn_exec_cb(instruction, executes_mark, QEMU_PLUGIN_CB_NO_REGS, NULL);
   }
}

static void has_cpu(qemu_plugin_id_t plugin, unsigned index)
{
   (void)plugin;
   new_thread(index);
}

void record_machine(qemu_plugin_id_t plugin)
{
   own = plugin;
   qemu_plugin_register_vcpu_init_cb(plugin, has_cpu);
   qemu_plugin_register_vcpu_tb_trans_cb(plugin, looks_for_mark);
}
