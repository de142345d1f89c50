// What the plugin writes: words in pieces, to one pipe. The reader is crates/traces/src/blocks.rs.
//
// Copyright the Warmset authors. SPDX-License-Identifier: GPL-2.0-or-later

#ifndef WARMSET_QEMU_WIRE_H
#define WARMSET_QEMU_WIRE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define VERSION 1

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

// The pieces of this process, whichever thread fills them.
extern pthread_mutex_t writing;
// The process's. Its number would not do: two in different namespaces may have the same.
extern uint64_t id;
extern unsigned written_thread; // whose records come now
#define NO_THREAD (~0u)

extern const char* path;    // opens the pipe again
extern unsigned long inode; // the pipe's, to know it by

static uint32_t tagged(uint32_t tag, uint32_t number) { return tag << 28 | (number & 0x0fffffffu); }

// Takes the pipe, which QEMU was started with as this descriptor. Returns false if it is none.
bool take_pipe(int fd);
void close_pipe(void);

// All below: under `writing`, once there are threads.
void put(uint32_t word);
void put_long(uint64_t value);
// A mapping, before what any thread does in it.
void put_mapping(uint32_t kind, uint64_t from, uint64_t end, const char* name);
void send_piece(void);
// Begins to write of a process: of a program, of what a process has forked, or of a machine.
void start(uint64_t new_id, uint64_t parent, const char* name);

// An id that no other recorded process has.
uint64_t new_id(void);
// Stirs a number, so that any two that differ become two that differ in all bits.
uint64_t stirred(uint64_t value);
// Memory of this size; without any left the recording ends by abort, with a message.
void* grown(void* memory, size_t bytes);

#endif
