// Warmset's plugin for QEMU: writes which pages a program or a whole machine uses, in order.
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

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "modes.h"
#include "shapes.h"
#include "wire.h"

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
   else if ((value = value_of(text, "name=")) != NULL)
      machine_name = value;
   else if ((value = value_of(text, "memory=")) != NULL)
      memory_size = strtoull(value, NULL, 10);
   return value != NULL;
}

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t plugin, const qemu_info_t* info, int count, char** options)
{
   int i;
   for (i = 0; i < count; i++) {
      if (!read_option(options[i])) {
         fprintf(stderr, "warmset: this plugin has no option %s\n", options[i]);
         return 1;
      }
   }
   if (info->system_emulation && (memory_size == 0 || strcmp(info->target_name, "x86_64") != 0)) {
      fprintf(stderr, "warmset: of machines the plugin records x86_64 alone, with memory=BYTES: warmset-lab trace\n");
      return 1;
   }
   if (!take_pipe(inherited)) {
      fprintf(stderr, "warmset: there is no pipe to write to; nothing is recorded\n");
      return 1;
   }
   if (info->system_emulation)
      record_machine(plugin);
   else
      record_program(plugin, info->target_name);
   return 0;
}
