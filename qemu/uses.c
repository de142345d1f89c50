// Warmset's plugin for QEMU's user mode: writes which pages a program uses, in order.
//
// Copyright the Warmset authors. SPDX-License-Identifier: GPL-2.0-or-later
//
// It writes what Warmset's tool for Valgrind writes (../valgrind/README.md has the format), so one reader serves both. QEMU
// tells a plugin the instructions of a block when it translates them, and each access only when it is made. So a block's
// accesses are learned: what it did is noted while it runs, and a block that did so for the first time is described then, as a
// shape. From then on an access is only compared with the one that the shape has at its place.
//
// Each thread has shapes of its own. Which page an access used last is then known in the thread's own order, and threads that
// run at the same time need no lock.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "api.h"
#include "targets.h"

// ---------------------------------------------------------------------------------------------------------------------
// What is written. The reader is crates/traces/src/blocks.rs.

#define VERSION 1
#define MAGIC 0x53455355u // "USES"

// The upper four bits of a word say what it is; the others are a number.
enum {
   BLOCK = 0,
   ACCESS = 1,
   THREAD = 3,
   ENDED = 4,
   DEFINE = 5,
   MAPPING = 6,
   START = 7,
   END = 8,
   EXEC = 9,
   FORK = 10,
};
// The upper two bits of an event's word.
enum { FETCH_AT = 0, FETCH = 1, DATA = 2 };
enum { LOAD = 1, STORE = 2, MODIFY = 3 };
#define OPERATION_SHIFT 16

enum { OF_FILE = 0, ANONYMOUS = 1, HEAP = 2, STACK = 3 };

// A pipe takes a piece of so many bytes whole, whoever else writes to it: PIPE_BUF of the kernel.
#define PIECE 4096
#define HEAD_WORDS 6
#define PIECE_WORDS (PIECE / sizeof(uint32_t))

// The pieces of this process, whichever thread fills them.
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;
static uint32_t piece[PIECE_WORDS];
static size_t piece_used = HEAD_WORDS;
static uint64_t id; // of the process. Its number would not do: two in different namespaces may have the same
static uint32_t piece_number;
static unsigned written_thread; // whose records come now
#define NO_THREAD (~0u)

static int to = -1;
static const char* path;    // opens the pipe again
static unsigned long inode; // the pipe's, to know it by
static uint64_t page_size = 4096;
static uint64_t guest_base; // where QEMU has the program's address 0
static bool follows_forks = true;
// This process has relatives: what it did before a system call is written before what others do after it.
static bool in_family;

static bool is_the_pipe(int fd)
{
   struct stat status;
   return fstat(fd, &status) == 0 && status.st_ino == inode && S_ISFIFO(status.st_mode);
}

// Gives the pipe a number that the program does not take by chance, and keeps it from programs that are started.
static void take_pipe(int fd)
{
   to = -1;
   if (fd < 0)
      return;
   if (is_the_pipe(fd))
      to = fcntl(fd, F_DUPFD_CLOEXEC, 1000);
   if (to < 0 && is_the_pipe(fd))
      to = fd;
   else
      close(fd);
}

// Writes to the pipe. A reader that has gone is no reason for the program to end, as SIGPIPE would have it.
static ssize_t write_quietly(const char* bytes, size_t count)
{
   sigset_t broken, before;
   ssize_t written;
   int error;
   sigemptyset(&broken);
   sigaddset(&broken, SIGPIPE);
   pthread_sigmask(SIG_BLOCK, &broken, &before);
   written = write(to, bytes, count);
   error = errno;
   if (written < 0 && error == EPIPE) {
      const struct timespec none = { 0, 0 };
      sigtimedwait(&broken, NULL, &none);
   }
   pthread_sigmask(SIG_SETMASK, &before, NULL);
   errno = error;
   return written;
}

static void send_piece(void)
{
   size_t at = 0, bytes = piece_used * sizeof(uint32_t);
   if (piece_used == HEAD_WORDS)
      return;
   piece[0] = MAGIC;
   piece[1] = (uint32_t)(bytes - HEAD_WORDS * sizeof(uint32_t));
   piece[2] = (uint32_t)id;
   piece[3] = (uint32_t)(id >> 32);
   piece[4] = piece_number++;
   piece[5] = (uint32_t)getpid();
   piece_used = HEAD_WORDS;
   // QEMU does not hide descriptors from the program: it may have closed ours, and opened another file under its number.
   if (to >= 0 && !is_the_pipe(to))
      take_pipe(path == NULL ? -1 : open(path, O_WRONLY | O_CLOEXEC));
   while (to >= 0 && at < bytes) {
      ssize_t written = write_quietly((char*)piece + at, bytes - at);
      if (written < 0 && (errno == EINTR || errno == EAGAIN))
         continue;
      if (written <= 0) {
         close(to);
         to = -1;
         return;
      }
      at += (size_t)written;
   }
}

static void put(uint32_t word)
{
   piece[piece_used++] = word;
   if (piece_used == PIECE_WORDS)
      send_piece();
}

static uint32_t tagged(uint32_t tag, uint32_t number) { return tag << 28 | (number & 0x0fffffffu); }

static void put_long(uint64_t value)
{
   put((uint32_t)value);
   put((uint32_t)(value >> 32));
}

static uint32_t words_of(const char* text) { return (uint32_t)(strlen(text) + sizeof(uint32_t)) / sizeof(uint32_t); }

// A text with its closing zero, filled up to a whole word.
static void put_text(const char* text)
{
   uint32_t words = words_of(text), i;
   for (i = 0; i < words; i++) {
      uint32_t word = 0;
      memcpy(&word, text + i * sizeof word, strnlen(text + i * sizeof word, sizeof word));
      put(word);
   }
}

// ---------------------------------------------------------------------------------------------------------------------
// Blocks, and what each thread saw them do

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
   Block* block; // the block that runs
   unsigned index;
   Shape** shapes; // by block: what it did the last time
   uint32_t room;
   Made* made; // by the block that runs, if it does not do what it did
   uint32_t made_count, made_room;
   uint32_t kept[KEPT + SPARE];
} Thread;

// Threads of one program by QEMU's number. The reader has room for so many, too.
#define MOST_THREADS 65536
static Thread* threads[MOST_THREADS];
static unsigned thread_count;
// The thread that called the kernel last, for fork.
static __thread Thread* caller;

static Slot at_end = { .instruction = AT_END };
static Slot is_learned = { .instruction = IS_LEARNED };

// Under `writing`.
static uint32_t blocks;  // that QEMU has
static uint32_t numbers; // of shapes that were ever given
static uint32_t* unused; // numbers that are free again
static uint32_t unused_count, unused_room;
static Block** all_blocks;
static uint32_t all_room;

static void* grown(void* memory, size_t bytes)
{
   void* more = realloc(memory, bytes);
   if (more == NULL) {
      static const char said[] = "warmset: no memory left to record with\n";
      ssize_t ignored = write(2, said, sizeof said - 1);
      (void)ignored;
      abort();
   }
   return more;
}

static uint32_t new_number(void)
{
   uint32_t number;
   pthread_mutex_lock(&writing);
   number = unused_count > 0 ? unused[--unused_count] : numbers++;
   pthread_mutex_unlock(&writing);
   return number;
}

// Writes what a thread has kept.
static void flush(Thread* thread)
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

static void keep(Thread* thread, uint32_t word)
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

static uint32_t size_of(uint32_t info) { return 1u << qemu_plugin_mem_size_shift(info); }

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
   made->instruction = instruction;
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

// An access that is not to the page that the shape has at its place.
static __attribute__((noinline)) void other_page(Thread* thread, uint32_t instruction, uint32_t info, uint64_t address)
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

static void is_accessed(unsigned index, uint32_t info, uint64_t address, void* data)
{
   Thread* thread = threads[index];
   uint32_t instruction = (uint32_t)(uintptr_t)data;
   Slot* slot = thread->next;
   if (slot->instruction == instruction && slot->info == info && address - slot->page < slot->room)
      thread->next++;
   else
      other_page(thread, instruction, info, address);
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

static void find_stack(const Thread* thread);

// The block that ran did not do what it did the last time: finds what it did, and writes it.
static __attribute__((noinline)) void finish_other(Thread* thread)
{
   uint32_t number = thread->block->number, i;
   Shape **place, *shape;
   if (thread->next->instruction != IS_LEARNED)
      learn(thread);
   find_stack(thread);
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

static void finish(Thread* thread)
{
   if (thread->next->instruction != AT_END)
      finish_other(thread);
   thread->next = &at_end;
}

static void at_first_block(void);

static void runs(unsigned index, void* data)
{
   Thread* thread = threads[index];
   Block* block = data;
   Shape* shape;
   if (thread->next->instruction != AT_END)
      finish_other(thread);
   if (thread->at > thread->kept + KEPT)
      flush(thread);
   thread->block = block;
   shape = block->number < thread->room ? thread->shapes[block->number] : NULL;
   if (shape == NULL) {
      at_first_block();
      thread->next = &is_learned;
      return;
   }
   thread->shape = shape;
   thread->begin = thread->at;
   *thread->at++ = tagged(BLOCK, shape->number);
   thread->next = shape->slots;
}

static void is_translated(qemu_plugin_id_t plugin, struct qemu_plugin_tb* translated)
{
   size_t count = qemu_plugin_tb_n_insns(translated), i;
   Block* block = grown(NULL, sizeof(Block) + count * sizeof(Instruction));
   (void)plugin;
   block->count = (uint32_t)count;
   pthread_mutex_lock(&writing);
   block->number = blocks++;
   if (block->number == all_room) {
      all_room = all_room == 0 ? 4096 : 2 * all_room;
      all_blocks = grown(all_blocks, all_room * sizeof(Block*));
   }
   all_blocks[block->number] = block;
   pthread_mutex_unlock(&writing);
   for (i = 0; i < count; i++) {
      struct qemu_plugin_insn* instruction = qemu_plugin_tb_get_insn(translated, i);
      block->instructions[i].address = qemu_plugin_insn_vaddr(instruction);
      block->instructions[i].size = (uint32_t)qemu_plugin_insn_size(instruction);
      qemu_plugin_register_vcpu_mem_cb(instruction, is_accessed, QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                       (void*)(uintptr_t)i);
   }
   qemu_plugin_register_vcpu_tb_exec_cb(translated, runs, QEMU_PLUGIN_CB_NO_REGS, block);
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

// QEMU has discarded all blocks: its room for them is full, or the program has become one of several threads. No thread runs.
static void are_discarded(qemu_plugin_id_t plugin)
{
   uint32_t i;
   unsigned index;
   (void)plugin;
   for (index = 0; index < MOST_THREADS; index++) {
      if (threads[index] == NULL)
         continue;
      finish(threads[index]);
      flush(threads[index]);
      forget_shapes(threads[index]);
   }
   for (i = 0; i < blocks; i++)
      free(all_blocks[i]);
   blocks = 0;
}

// ---------------------------------------------------------------------------------------------------------------------
// Mappings

static uint64_t program_break; // where the heap begins; 0 until the program has asked
// Anonymous mappings at the start, among which the stack is.
static struct { uint64_t from, end; } at_start[256];
static unsigned at_start_count;
static bool stack_is_known;

static void put_mapping(uint32_t kind, uint64_t from, uint64_t end, const char* name)
{
   put(tagged(MAPPING, 5 + words_of(name)));
   put(kind);
   put_long(from);
   put_long(end - 1);
   put_text(name);
}

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

// Stirs a number, so that any two that differ become two that differ in all bits.
static uint64_t stirred(uint64_t value)
{
   value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ULL;
   value = (value ^ value >> 27) * 0x94d049bb133111ebULL;
   return value ^ value >> 31;
}

// Begins to write of a process: of a program, or of what a process has forked.
static void start(uint64_t new_id, uint64_t parent)
{
   const char* name = qemu_plugin_path_to_binary();
   const char* known = name == NULL ? "" : name;
   id = new_id;
   piece_number = 0;
   piece_used = HEAD_WORDS;
   written_thread = NO_THREAD;
   put(tagged(START, 3 + words_of(known)));
   put(VERSION);
   put_long(parent);
   put_text(known);
   send_piece();
}

static bool has_begun;

// Before the first block QEMU does not know the program, nor has it mapped it.
static void at_first_block(void)
{
   struct timespec now;
   if (has_begun)
      return;
   has_begun = true;
   clock_gettime(CLOCK_REALTIME, &now);
   start(stirred(stirred((uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec) + (uint64_t)getpid()), 0);
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
   uint32_t i;
   pthread_mutex_init(&writing, NULL);
   if (!follows_forks) {
      if (to >= 0)
         close(to);
      to = -1;
      return;
   }
   for (index = 0; index < MOST_THREADS; index++)
      if (threads[index] != caller)
         threads[index] = NULL;
   thread_count = 1;
   // The reader does not know which pages the parent's accesses had used by now.
   for (i = 0; caller != NULL && i < caller->room; i++) {
      Shape* shape;
      uint32_t k;
      for (shape = caller->shapes[i]; shape != NULL; shape = shape->other)
         for (k = 0; k < shape->count; k++)
            shape->slots[k].room = 0;
   }
   start(forked, id);
}

static void begins(qemu_plugin_id_t plugin, unsigned index)
{
   Thread* thread;
   (void)plugin;
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
   thread_count++;
}

static void ends(qemu_plugin_id_t plugin, unsigned index)
{
   Thread* thread = threads[index];
   (void)plugin;
   if (thread == NULL)
      return;
   finish(thread);
   keep(thread, tagged(ENDED, index));
   flush(thread);
   pthread_mutex_lock(&writing);
   written_thread = NO_THREAD;
   // From here on its numbers may be another thread's: all that it wrote with them is written.
   forget_shapes(thread);
   pthread_mutex_unlock(&writing);
   threads[index] = NULL;
   if (caller == thread)
      caller = NULL;
   thread_count--;
   free(thread->shapes);
   free(thread->made);
   free(thread);
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
   unsigned index;
   (void)plugin, (void)data;
   if (!has_begun)
      return;
   for (index = 0; index < MOST_THREADS; index++) {
      if (threads[index] == NULL)
         continue;
      finish(threads[index]);
      flush(threads[index]);
   }
   pthread_mutex_lock(&writing);
   put(tagged(END, 0));
   send_piece();
   if (to >= 0)
      close(to);
   to = -1;
   pthread_mutex_unlock(&writing);
}

// ---------------------------------------------------------------------------------------------------------------------
// Options and start

static int inherited = -1; // the pipe, as the descriptor that QEMU was started with

// What follows the option's name, or NULL if it is another option.
static const char* value_of(const char* text, const char* name)
{
   size_t length = strlen(name);
   return strncmp(text, name, length) == 0 ? text + length : NULL;
}

static bool read_option(const char* text)
{
   const char* value;
   if ((value = value_of(text, "fd=")) != NULL)
      inherited = atoi(value);
   else if ((value = value_of(text, "path=")) != NULL)
      path = value;
   else if ((value = value_of(text, "inode=")) != NULL)
      inode = strtoul(value, NULL, 10);
   else if ((value = value_of(text, "page-bits=")) != NULL)
      page_size = 1ULL << strtoul(value, NULL, 10);
   else if ((value = value_of(text, "base=")) != NULL)
      guest_base = strtoull(value, NULL, 0);
   else if ((value = value_of(text, "children=")) != NULL)
      follows_forks = strcmp(value, "on") == 0;
   return value != NULL;
}

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t plugin, const qemu_info_t* info, int count, char** options)
{
   int i;
   if (info->system_emulation) {
      fprintf(stderr, "warmset: this plugin is for QEMU's user mode\n");
      return 1;
   }
   for (i = 0; i < count; i++) {
      if (!read_option(options[i])) {
         fprintf(stderr, "warmset: this plugin has no option %s\n", options[i]);
         return 1;
      }
   }
   take_pipe(inherited);
   if (to < 0) {
      fprintf(stderr, "warmset: there is no pipe to write to; this program is not recorded\n");
      return 1;
   }
   target = target_of(info->target_name);
   pthread_atfork(before_fork, in_parent, in_child);
   qemu_plugin_register_vcpu_init_cb(plugin, begins);
   qemu_plugin_register_vcpu_exit_cb(plugin, ends);
   qemu_plugin_register_vcpu_tb_trans_cb(plugin, is_translated);
   qemu_plugin_register_flush_cb(plugin, are_discarded);
   qemu_plugin_register_vcpu_syscall_cb(plugin, calls);
   qemu_plugin_register_vcpu_syscall_ret_cb(plugin, returns);
   qemu_plugin_register_atexit_cb(plugin, finishes, NULL);
   return 0;
}
