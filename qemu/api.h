// What the plugin uses of QEMU's plugin API, as QEMU's page "QEMU TCG Plugins" documents it.
//
// Copyright the Warmset authors. SPDX-License-Identifier: GPL-2.0-or-later
//
// Debian 12 has a QEMU with plugins, and no package with qemu-plugin.h. All that stands here is the same in the versions 1 to 5
// of the API. QEMU refuses a plugin whose version it does not have.

#ifndef WARMSET_QEMU_API_H
#define WARMSET_QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QEMU_PLUGIN_EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;

typedef struct qemu_info_t {
   const char* target_name;
   struct {
      int min;
      int cur;
   } version;
   bool system_emulation;
   // What follows is of a machine, and not read.
} qemu_info_t;

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS = 0 };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_RW = 3 };

typedef void (*simple_cb)(qemu_plugin_id_t plugin);
typedef void (*data_cb)(qemu_plugin_id_t plugin, void* data);
typedef void (*thread_cb)(qemu_plugin_id_t plugin, unsigned thread);
typedef void (*block_cb)(unsigned thread, void* data);
typedef void (*access_cb)(unsigned thread, qemu_plugin_meminfo_t info, uint64_t address, void* data);
typedef void (*translate_cb)(qemu_plugin_id_t plugin, struct qemu_plugin_tb* block);
typedef void (*call_cb)(qemu_plugin_id_t plugin, unsigned thread, int64_t number, uint64_t, uint64_t, uint64_t,
                        uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
typedef void (*return_cb)(qemu_plugin_id_t plugin, unsigned thread, int64_t number, int64_t result);

// Takes all callbacks back, discards all blocks, and calls when no CPU runs. Called by a CPU.
void qemu_plugin_reset(qemu_plugin_id_t plugin, simple_cb call);
void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t plugin, thread_cb call);
void qemu_plugin_register_vcpu_exit_cb(qemu_plugin_id_t plugin, thread_cb call);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t plugin, translate_cb call);
void qemu_plugin_register_flush_cb(qemu_plugin_id_t plugin, simple_cb call);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t plugin, data_cb call, void* data);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t plugin, call_cb call);
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t plugin, return_cb call);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb* block, block_cb call,
                                          enum qemu_plugin_cb_flags registers, void* data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn* instruction, block_cb call,
                                            enum qemu_plugin_cb_flags registers, void* data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn* instruction, access_cb call,
                                      enum qemu_plugin_cb_flags registers, enum qemu_plugin_mem_rw which, void* data);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb* block);
struct qemu_plugin_insn* qemu_plugin_tb_get_insn(const struct qemu_plugin_tb* block, size_t number);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn* instruction);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn* instruction);
// Where QEMU has it; NULL if that is not known.
void* qemu_plugin_insn_haddr(const struct qemu_plugin_insn* instruction);
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);
// Of an access that was just made by this CPU.
struct qemu_plugin_hwaddr* qemu_plugin_get_hwaddr(qemu_plugin_meminfo_t info, uint64_t address);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr* where);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr* where);
const char* qemu_plugin_path_to_binary(void);
void qemu_plugin_outs(const char* text);

#endif
