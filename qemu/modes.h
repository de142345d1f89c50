// What QEMU runs: a program, or a whole machine.
//
// Copyright the Warmset authors. SPDX-License-Identifier: GPL-2.0-or-later

#ifndef WARMSET_QEMU_MODES_H
#define WARMSET_QEMU_MODES_H

#include <stdbool.h>
#include <stdint.h>

#include "api.h"

// Of a program: where QEMU has its address 0, and whether its forks are recorded.
extern uint64_t guest_base;
extern bool follows_forks;

void record_program(qemu_plugin_id_t plugin, const char* processor);

// Of a machine: its name in the trace, and the bytes of its memory.
extern const char* machine_name;
extern uint64_t memory_size;

// Records between the two marks that the machine executes.
void record_machine(qemu_plugin_id_t plugin);

#endif
