// The system calls that the plugin knows, by the processor that a program is for. Their numbers are of the kernel's
// arch/*/entry/syscalls and include/uapi/asm-generic/unistd.h.
//
// Copyright the Warmset authors. SPDX-License-Identifier: GPL-2.0-or-later

#ifndef WARMSET_QEMU_TARGETS_H
#define WARMSET_QEMU_TARGETS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef struct {
   const char* name; // as QEMU has it
   bool is_32_bit;
   int64_t execve, execveat;
   int64_t mmap, mremap, brk; // mmap is mmap2 where that is what programs call
   uint64_t anonymous;        // MAP_ANONYMOUS
} Target;

// No system call.
#define NONE (-1)

static const Target TARGETS[] = {
   { "x86_64", false, 59, 322, 9, 25, 12, 0x20 },
   { "i386", true, 11, 358, 192, 163, 45, 0x20 },
   { "aarch64", false, 221, 281, 222, 216, 214, 0x20 },
   { "arm", true, 11, 387, 192, 163, 45, 0x20 },
   { "riscv64", false, 221, 281, 222, 216, 214, 0x20 },
   { "riscv32", true, 221, 281, 222, 216, 214, 0x20 },
   { "loongarch64", false, 221, 281, 222, 216, 214, 0x20 },
   { "ppc64le", false, 11, 362, 90, 163, 45, 0x20 },
   { "ppc64", false, 11, 362, 90, 163, 45, 0x20 },
   { "ppc", true, 11, 362, 192, 163, 45, 0x20 },
   // Its mmap has its arguments in memory, which a plugin does not see.
   { "s390x", false, 11, 354, NONE, 163, 45, 0x20 },
   // Any other: what the program maps later has no name, and a process that becomes another program seems to be killed.
   { "", false, NONE, NONE, NONE, NONE, NONE, 0 },
};

static const Target* target_of(const char* name)
{
   const Target* target = TARGETS;
   while (target->name[0] != 0 && strcmp(target->name, name) != 0)
      target++;
   return target;
}

#endif
