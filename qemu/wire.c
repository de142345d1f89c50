// What the plugin writes: words in pieces, to one pipe.
//
// Copyright the Warmset authors. SPDX-License-Identifier: GPL-2.0-or-later

#define _GNU_SOURCE
#include "wire.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAGIC 0x53455355u // "USES"

// A pipe takes a piece of so many bytes whole, whoever else writes to it: PIPE_BUF of the kernel.
#define PIECE 4096
#define HEAD_WORDS 6
#define PIECE_WORDS (PIECE / sizeof(uint32_t))

pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;
uint64_t id;
unsigned written_thread;
const char* path;
unsigned long inode;

static uint32_t piece[PIECE_WORDS];
static size_t piece_used = HEAD_WORDS;
static uint32_t piece_number;
static int to = -1;

static bool is_the_pipe(int fd)
{
   struct stat status;
   return fstat(fd, &status) == 0 && status.st_ino == inode && S_ISFIFO(status.st_mode);
}

// Gives the pipe a number that the program does not take by chance, and keeps it from programs that are started.
bool take_pipe(int fd)
{
   to = -1;
   if (fd < 0)
      return false;
   if (is_the_pipe(fd))
      to = fcntl(fd, F_DUPFD_CLOEXEC, 1000);
   if (to < 0 && is_the_pipe(fd))
      to = fd;
   else
      close(fd);
   return to >= 0;
}

void close_pipe(void)
{
   if (to >= 0)
      close(to);
   to = -1;
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

void send_piece(void)
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

void put(uint32_t word)
{
   piece[piece_used++] = word;
   if (piece_used == PIECE_WORDS)
      send_piece();
}

void put_long(uint64_t value)
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

void put_mapping(uint32_t kind, uint64_t from, uint64_t end, const char* name)
{
   put(tagged(MAPPING, 5 + words_of(name)));
   put(kind);
   put_long(from);
   put_long(end - 1);
   put_text(name);
}


uint64_t stirred(uint64_t value)
{
   value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ULL;
   value = (value ^ value >> 27) * 0x94d049bb133111ebULL;
   return value ^ value >> 31;
}

uint64_t new_id(void)
{
   struct timespec now;
   clock_gettime(CLOCK_REALTIME, &now);
   return stirred(stirred((uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec) + (uint64_t)getpid());
}

void start(uint64_t new_id, uint64_t parent, const char* name)
{
   id = new_id;
   piece_number = 0;
   piece_used = HEAD_WORDS;
   written_thread = NO_THREAD;
   put(tagged(START, 3 + words_of(name)));
   put(VERSION);
   put_long(parent);
   put_text(name);
   send_piece();
}

void* grown(void* memory, size_t bytes)
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
