// Blocks, and what each thread saw them do. What QEMU calls for each block and each access is here, so that it is inlined.
//
// Copyright the Warmset authors. SPDX-License-Identifier: GPL-2.0-or-later

#ifndef WARMSET_QEMU_SHAPES_H
#define WARMSET_QEMU_SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.h"
#include "wire.h"

typedef struct {
   uint64_t address;
   uint32_t size;
} Instruction;

typedef struct {
   uint32_t number; // counts the blocks that QEMU has
   uint32_t count;
   Instruction instructions[];
} Block;

// An access of a shape.
typedef struct {
   uint64_t page; // the first byte of the page that it used last
   uint64_t room; // addresses of that page at which the access fits; 0 if it is to be written in any case
   uint32_t instruction;
   uint32_t info;    // as QEMU has it: size, and whether it is a store
   uint32_t event;   // its place among the fetches and accesses
   bool is_joined;   // the store of what the access before it loaded: together they are one reference
   uint64_t address; // some address of that page; the last one if it was to two pages
} Slot;

// No instruction has these numbers: a block has at most some hundred.
#define AT_END (~0u)      // all accesses were made
#define IS_LEARNED (~1u) // what comes is noted

// What a block does.
typedef struct Shape {
   struct Shape* other; // that the same block did in the same thread
   Block* block;
   uint32_t number;
   uint32_t count;
   Slot slots[]; // one more, which is AT_END
} Shape;

// More shapes of one block are described anew each time: gathering loads, which make any number of accesses.
#define MOST_SHAPES 8

// An access that was made.
typedef struct {
   uint64_t address;
   uint32_t instruction;
   uint32_t info;
} Made;

// Words that a thread keeps before it writes them. More would keep more back from a process that is killed.
#define KEPT 1024
// Words beyond, for the block that runs.
#define SPARE 192

typedef struct {
   Slot* next; // the access that is expected
   uint32_t* at;
   uint32_t* begin; // where the block that runs began to write
   Shape* shape;
   Block* block; // the block that runs; NULL if there is none
   unsigned index;
   Shape** shapes; // by block: what it did the last time
   uint32_t room;
   Made* made; // by the block that runs, if it does not do what it did
   uint32_t made_count, made_room;
   uint32_t kept[KEPT + SPARE];
} Thread;

// Threads of one program, or CPUs of a machine, by QEMU's number. The reader has room for so many, too.
#define MOST_THREADS 65536
extern Thread* threads[MOST_THREADS];

extern Slot at_end;
extern Slot is_learned;
extern uint64_t page_size;

// An access of one byte, whatever its size: QEMU uses the bits below.
#define ONE_BYTE (1u << 31)

// Before the first block: QEMU does not know a program earlier, nor has it mapped it. NULL for nothing.
extern void (*at_first_block)(void);
// After a block that did what it had not done before. NULL for nothing.
extern void (*has_learned)(const Thread* thread);

Thread* new_thread(unsigned index);
void forget_thread(Thread* thread);

// A block of so many instructions.
Block* new_block(size_t count);
// QEMU has discarded all blocks: its room for them is full, or the program has become one of several threads. No thread runs.
void are_discarded(qemu_plugin_id_t plugin);

// Writes what a thread has kept.
void flush(Thread* thread);
void keep(Thread* thread, uint32_t word);
// Ends the block that runs, as what it did is known.
void finish(Thread* thread);
void finish_all(void);
// Writes what all threads have kept and the end, and closes the pipe.
void end_recording(void);
// Each access is written with its page when it is made the next time.
void forget_pages(Thread* thread);

// The block that ran did not do what it did the last time: finds what it did, and writes it.
void finish_other(Thread* thread);
// An access that is not to the page that the shape has at its place.
void other_page(Thread* thread, uint32_t instruction, uint32_t info, uint64_t address);

static inline void accesses(Thread* thread, uint32_t instruction, uint32_t info, uint64_t address)
{
   Slot* slot = thread->next;
   if (slot->instruction == instruction && slot->info == info && address - slot->page < slot->room)
      thread->next++;
   else
      other_page(thread, instruction, info, address);
}

static inline void runs(Thread* thread, Block* block)
{
   Shape* shape;
   if (thread->next->instruction != AT_END)
      finish_other(thread);
   if (thread->at > thread->kept + KEPT)
      flush(thread);
   thread->block = block;
   shape = block->number < thread->room ? thread->shapes[block->number] : NULL;
   if (shape == NULL) {
      if (at_first_block != NULL)
         at_first_block();
      thread->next = &is_learned;
      return;
   }
   thread->shape = shape;
   thread->begin = thread->at;
   *thread->at++ = tagged(BLOCK, shape->number);
   thread->next = shape->slots;
}

#endif
