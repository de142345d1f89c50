// Blocks, and what each thread saw them do.
//
// Copyright the Warmset authors. SPDX-License-Identifier: GPL-2.0-or-later

#include "shapes.h"

#include <stdlib.h>
#include <string.h>

Thread* threads[MOST_THREADS];
Slot at_end = { .instruction = AT_END };
Slot is_learned = { .instruction = IS_LEARNED };
uint64_t page_size = 4096;
void (*at_first_block)(void);
void (*has_learned)(const Thread* thread);

// Under `writing`.
static uint32_t blocks;  // that QEMU has
static uint32_t numbers; // of shapes that were ever given
static uint32_t* unused; // numbers that are free again
static uint32_t unused_count, unused_room;
static Block** all_blocks;
static uint32_t all_room;

static uint32_t new_number(void)
{
   uint32_t number;
   pthread_mutex_lock(&writing);
   number = unused_count > 0 ? unused[--unused_count] : numbers++;
   pthread_mutex_unlock(&writing);
   return number;
}

void flush(Thread* thread)
{
   uint32_t* word;
   if (thread->at == thread->kept)
      return;
   pthread_mutex_lock(&writing);
   if (written_thread != thread->index) {
      written_thread = thread->index;
      put(tagged(THREAD, thread->index));
   }
   for (word = thread->kept; word < thread->at; word++)
      put(*word);
   send_piece();
   pthread_mutex_unlock(&writing);
   thread->at = thread->kept;
}

void keep(Thread* thread, uint32_t word)
{
   if (thread->at == thread->kept + KEPT + SPARE)
      flush(thread);
   *thread->at++ = word;
}

static void keep_access(Thread* thread, uint32_t event, uint64_t address)
{
   keep(thread, tagged(ACCESS, event));
   keep(thread, (uint32_t)address);
   keep(thread, (uint32_t)(address >> 32));
}

static uint32_t size_of(uint32_t info) { return info & ONE_BYTE ? 1 : 1u << qemu_plugin_mem_size_shift(info); }

// The slot's access is to this address now.
static void use(Slot* slot, uint64_t address)
{
   uint32_t size = size_of(slot->info);
   uint64_t page = address & ~(page_size - 1);
   slot->address = address;
   slot->page = page;
   slot->room = address - page + size > page_size ? 0 : page_size - size + 1;
}

static void note_made(Thread* thread, uint32_t instruction, uint32_t info, uint64_t address)
{
   Made* made;
   if (thread->made_count == thread->made_room) {
      thread->made_room = thread->made_room == 0 ? 64 : 2 * thread->made_room;
      thread->made = grown(thread->made, thread->made_room * sizeof(Made));
   }
   made = &thread->made[thread->made_count++];
   made->address = address;
   // QEMU 7.2 may tell what an interrupt saves as accesses of an instruction that ran before.
   made->instruction = thread->made_count > 1 && instruction < made[-1].instruction ? made[-1].instruction : instruction;
   made->info = info;
}

// The block that runs does something else than its shape: takes back what was written of it, and notes what it did so far.
static void learn(Thread* thread)
{
   Shape* shape = thread->shape;
   Slot* slot;
   for (slot = shape->slots; slot < thread->next; slot++)
      note_made(thread, slot->instruction, slot->info, slot->address);
   // The reader does not know the pages of what was taken back.
   for (slot = shape->slots; slot->instruction != AT_END; slot++)
      slot->room = 0;
   thread->at = thread->begin;
   thread->next = &is_learned;
}

void other_page(Thread* thread, uint32_t instruction, uint32_t info, uint64_t address)
{
   Slot* slot = thread->next;
   bool is_expected = slot->instruction == instruction && slot->info == info;
   if (is_expected && slot->is_joined)
      is_expected = slot[-1].address == address;
   else if (is_expected)
      is_expected = thread->at + 3 <= thread->kept + KEPT + SPARE;
   if (!is_expected) {
      if (slot->instruction != IS_LEARNED)
         learn(thread);
      note_made(thread, instruction, info, address);
      return;
   }
   if (!slot->is_joined)
      keep_access(thread, slot->event, address);
   use(slot, address);
   thread->next++;
}

// A store right after a load of the same instruction, of the same size and address: lackey's M.
static bool joins(const Made* made, uint32_t at)
{
   const Made *now = &made[at], *before = at == 0 ? NULL : &made[at - 1];
   return before != NULL && before->instruction == now->instruction && before->address == now->address
          && size_of(before->info) == size_of(now->info) && qemu_plugin_mem_is_store(now->info)
          && !qemu_plugin_mem_is_store(before->info);
}

static bool is_as_made(const Shape* shape, const Thread* thread)
{
   uint32_t i;
   if (shape->count != thread->made_count)
      return false;
   for (i = 0; i < shape->count; i++) {
      const Slot* slot = &shape->slots[i];
      const Made* made = &thread->made[i];
      if (slot->instruction != made->instruction || slot->info != made->info)
         return false;
      if (slot->is_joined && made->address != made[-1].address)
         return false;
   }
   return true;
}

static void keep_data(Thread* thread, uint32_t operation, uint32_t info)
{
   keep(thread, (uint32_t)DATA << 30 | operation << OPERATION_SHIFT | size_of(info));
}

// Writes a shape, and gives each access its place.
static void define(Thread* thread, Shape* shape)
{
   const Block* block = shape->block;
   uint32_t words = 1, i, event = 0;
   uint64_t follows = 0;
   Slot* slot = shape->slots;
   for (i = 0; i < block->count; i++) {
      words += block->instructions[i].address == follows ? 1 : 3;
      follows = block->instructions[i].address + block->instructions[i].size;
   }
   for (i = 0; i < shape->count; i++)
      words += shape->slots[i].is_joined ? 0 : 1;
   keep(thread, tagged(DEFINE, words));
   keep(thread, shape->number);
   follows = 0;
   for (i = 0; i < block->count; i++) {
      const Instruction* instruction = &block->instructions[i];
      if (instruction->address == follows) {
         keep(thread, (uint32_t)FETCH << 30 | instruction->size);
      } else {
         keep(thread, (uint32_t)FETCH_AT << 30 | instruction->size);
         keep(thread, (uint32_t)instruction->address);
         keep(thread, (uint32_t)(instruction->address >> 32));
      }
      follows = instruction->address + instruction->size;
      event++;
      while (slot->instruction == i) {
         bool is_store = qemu_plugin_mem_is_store(slot->info);
         if (slot[1].is_joined) {
            keep_data(thread, MODIFY, slot->info);
            slot->event = event;
            slot++;
         } else {
            keep_data(thread, is_store ? STORE : LOAD, slot->info);
         }
         slot->event = event++;
         slot++;
      }
   }
}

// A shape of what the block that runs has done, described for the reader.
static Shape* new_shape(Thread* thread, Shape* first)
{
   uint32_t count = thread->made_count, i, shapes = 0;
   Shape* shape = grown(NULL, sizeof(Shape) + (count + 1) * sizeof(Slot));
   Shape** last = &first;
   while (*last != NULL && (*last)->other != NULL) {
      last = &(*last)->other;
      shapes++;
   }
   if (shapes >= MOST_SHAPES) {
      // The one that was used the longest time ago gives its number.
      shape->number = (*last)->number;
      free(*last);
      *last = NULL;
   } else {
      shape->number = new_number();
   }
   shape->other = first;
   shape->block = thread->block;
   shape->count = count;
   for (i = 0; i < count; i++) {
      Slot* slot = &shape->slots[i];
      slot->instruction = thread->made[i].instruction;
      slot->info = thread->made[i].info;
      slot->room = 0;
      slot->is_joined = joins(thread->made, i) && !(i > 0 && slot[-1].is_joined);
   }
   memset(&shape->slots[count], 0, sizeof(Slot));
   shape->slots[count].instruction = AT_END;
   define(thread, shape);
   return shape;
}

void finish_other(Thread* thread)
{
   uint32_t number = thread->block->number, i;
   Shape **place, *shape;
   if (thread->next->instruction != IS_LEARNED)
      learn(thread);
   if (has_learned != NULL)
      has_learned(thread);
   if (number >= thread->room) {
      uint32_t room = number < 1024 ? 2048 : 2 * number;
      thread->shapes = grown(thread->shapes, room * sizeof(Shape*));
      memset(thread->shapes + thread->room, 0, (room - thread->room) * sizeof(Shape*));
      thread->room = room;
   }
   place = &thread->shapes[number];
   while (*place != NULL && !is_as_made(*place, thread))
      place = &(*place)->other;
   shape = *place;
   if (shape == NULL) {
      shape = new_shape(thread, thread->shapes[number]);
   } else {
      *place = shape->other;
      shape->other = thread->shapes[number];
   }
   thread->shapes[number] = shape;
   keep(thread, tagged(BLOCK, shape->number));
   for (i = 0; i < shape->count; i++) {
      Slot* slot = &shape->slots[i];
      uint64_t address = thread->made[i].address;
      if (address - slot->page < slot->room)
         continue;
      if (!slot->is_joined)
         keep_access(thread, slot->event, address);
      use(slot, address);
   }
   thread->made_count = 0;
}

void finish(Thread* thread)
{
   if (thread->next->instruction != AT_END)
      finish_other(thread);
   thread->next = &at_end;
}

void finish_all(void)
{
   unsigned index;
   for (index = 0; index < MOST_THREADS; index++) {
      if (threads[index] == NULL)
         continue;
      finish(threads[index]);
      flush(threads[index]);
   }
}

void end_recording(void)
{
   finish_all();
   pthread_mutex_lock(&writing);
   put(tagged(END, 0));
   send_piece();
   close_pipe();
   pthread_mutex_unlock(&writing);
}

Block* new_block(size_t count)
{
   Block* block = grown(NULL, sizeof(Block) + count * sizeof(Instruction));
   block->count = (uint32_t)count;
   pthread_mutex_lock(&writing);
   block->number = blocks++;
   if (block->number == all_room) {
      all_room = all_room == 0 ? 4096 : 2 * all_room;
      all_blocks = grown(all_blocks, all_room * sizeof(Block*));
   }
   all_blocks[block->number] = block;
   pthread_mutex_unlock(&writing);
   return block;
}

void forget_pages(Thread* thread)
{
   uint32_t i;
   for (i = 0; i < thread->room; i++) {
      Shape* shape;
      uint32_t k;
      for (shape = thread->shapes[i]; shape != NULL; shape = shape->other)
         for (k = 0; k < shape->count; k++)
            shape->slots[k].room = 0;
   }
}

static void forget_shapes(Thread* thread)
{
   uint32_t i;
   for (i = 0; i < thread->room; i++) {
      while (thread->shapes[i] != NULL) {
         Shape* shape = thread->shapes[i];
         thread->shapes[i] = shape->other;
         if (unused_count == unused_room) {
            unused_room = unused_room == 0 ? 1024 : 2 * unused_room;
            unused = grown(unused, unused_room * sizeof(uint32_t));
         }
         unused[unused_count++] = shape->number;
         free(shape);
      }
   }
}

void are_discarded(qemu_plugin_id_t plugin)
{
   uint32_t i;
   unsigned index;
   (void)plugin;
   finish_all();
   for (index = 0; index < MOST_THREADS; index++) {
      if (threads[index] == NULL)
         continue;
      threads[index]->block = NULL;
      forget_shapes(threads[index]);
   }
   for (i = 0; i < blocks; i++)
      free(all_blocks[i]);
   blocks = 0;
}

Thread* new_thread(unsigned index)
{
   Thread* thread;
   if (index >= MOST_THREADS) {
      qemu_plugin_outs("warmset: more than 65,536 threads\n");
      abort();
   }
   thread = grown(NULL, sizeof(Thread));
   memset(thread, 0, offsetof(Thread, kept));
   thread->index = index;
   thread->at = thread->kept;
   thread->next = &at_end;
   threads[index] = thread;
   return thread;
}

void forget_thread(Thread* thread)
{
   finish(thread);
   keep(thread, tagged(ENDED, thread->index));
   flush(thread);
   pthread_mutex_lock(&writing);
   written_thread = NO_THREAD;
   // From here on its numbers may be another thread's: all that it wrote with them is written.
   forget_shapes(thread);
   pthread_mutex_unlock(&writing);
   threads[thread->index] = NULL;
   free(thread->shapes);
   free(thread->made);
   free(thread);
}
