// Warmset's tool for Valgrind: writes which pages a program uses, in order.
//
// Copyright the Warmset authors. SPDX-License-Identifier: GPL-2.0-or-later
//
// It writes each superblock's fetches and accesses once, when Valgrind translates it. When the superblock runs, it writes
// the superblock's number alone: four bytes. Each access remembers the page that it used last, and what it uses is written
// when that is another page. So the reader knows every reference, in order, and a program that stays within its pages costs
// a store, and a comparison for each access.
//
// What is a reference, and which load and store are one access, is as Valgrind's own tool lackey has it: the two traces are
// equal. README.md has the format of what is written.

#include "pub_tool_basics.h"
#include "pub_tool_vki.h"
#include "pub_tool_vkiscnums.h"
#include "pub_tool_aspacemgr.h"
#include "pub_tool_clientstate.h"
#include "pub_tool_hashtable.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_machine.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_options.h"
#include "pub_tool_tooliface.h"
#include "pub_tool_xarray.h"

// Valgrind's core has these, and does not show them to tools.
extern Int VG_(fd_hard_limit);    // descriptors from here on are hidden from the program
extern Addr VG_(clstk_end);       // the last byte of the program's stack
extern Addr VG_(brk_base);        // where the program's heap begins
extern Bool VG_(clo_trace_children);
extern Int VG_(fcntl)(Int fd, Int command, Addr argument);

// ---------------------------------------------------------------------------------------------------------------------
// What is written. The reader is crates/traces/src/blocks.rs.

#define VERSION 1
#define MAGIC 0x53455355u // "USES"

// The upper four bits of a word say what it is; the others are a number.
enum {
   BLOCK = 0,   // a superblock runs: its number
   ACCESS = 1,  // an access of it is to another page: which; 2 words: the address
   LEFT = 2,    // the superblock was left: after how many of its references
   THREAD = 3,  // another thread runs: its number
   ENDED = 4,   // a thread has ended: its number
   DEFINE = 5,  // a superblock: words that follow
   MAPPING = 6, // a mapping: words that follow
   START = 7,   // a program: words that follow
   END = 8,     // the process ends here, and nothing of it was lost
   EXEC = 9,    // the process becomes another program, unless more follows
   FORK = 10,   // what the process forks now; 2 words: its id
};

// The upper two bits of an event's word.
enum {
   FETCH_AT = 0, // size; 2 words: the address
   FETCH = 1,    // size; it follows the fetch before it
   DATA = 2,     // size, operation, guarded
};
enum { LOAD = 1, STORE = 2, MODIFY = 3 };
#define OPERATION_SHIFT 16
#define GUARDED (1u << 18)

// A pipe takes a piece of so many bytes whole, whoever else writes to it: PIPE_BUF of the kernel.
#define PIECE 4096

typedef struct {
   UInt magic;
   UInt bytes;  // that follow
   ULong id;    // of the process. Its number would not do: two in different namespaces may have the same
   UInt number; // counts the pieces of a process: a gap is a loss
   UInt pid;
} Head;

static union {
   Head head;
   UChar bytes[PIECE];
} piece;
// Where the next word goes. It is never beyond the last word's place.
static UChar* next = piece.bytes + sizeof(Head);
#define LAST (piece.bytes + PIECE - sizeof(UInt))

static Int to = -1;

static const HChar* clo_path = NULL; // the pipe, as a path that opens it
static Int clo_fd = -1;              // the pipe, as a descriptor that was inherited
static ULong clo_inode = 0;          // the pipe's inode, to know it by
static Int clo_recorder = 0;         // the process that reads
static Int clo_page_bits = 12;

// More than this process is recorded: what it did before a system call is written before what others do after it.
static Bool in_family = False;

static void flush(void)
{
   UInt bytes = next - piece.bytes - sizeof(Head);
   UInt at = 0;
   next = piece.bytes + sizeof(Head);
   if (to < 0 || bytes == 0)
      return;
   piece.head.bytes = bytes;
   while (at < bytes + sizeof(Head)) {
      Int written = VG_(write)(to, piece.bytes + at, bytes + sizeof(Head) - at);
      if (written == -VKI_EINTR || written == -VKI_EAGAIN)
         continue;
      if (written <= 0) {
         // The reader has gone. The program goes on without it.
         VG_(close)(to);
         to = -1;
         return;
      }
      at += written;
   }
   piece.head.number++;
}

static void put(UInt word)
{
   *(UInt*)next = word;
   next += sizeof(UInt);
   if (next > LAST)
      flush();
}

static void put_tagged(UInt tag, UInt number) { put(tag << 28 | (number & 0x0fffffffu)); }

static void put_long(ULong value)
{
   put((UInt)value);
   put((UInt)(value >> 32));
}

static UInt words_of(const HChar* text) { return (VG_(strlen)(text) + sizeof(UInt)) / sizeof(UInt); }

// A text with its closing zero, filled up to a whole word.
static void put_text(const HChar* text)
{
   UInt words = words_of(text), i, k;
   SizeT length = VG_(strlen)(text);
   for (i = 0; i < words; i++) {
      UInt word = 0;
      for (k = 0; k < sizeof(UInt); k++) {
         SizeT at = i * sizeof(UInt) + k;
         if (at < length)
            word |= (UInt)(UChar)text[at] << (8 * k);
      }
      put(word);
   }
}

// ---------------------------------------------------------------------------------------------------------------------
// Superblocks, and the page that each access of them used last.

typedef struct _Block {
   struct _Block* next;
   UWord key; // the address that it was translated for
   UInt number;
   UInt sites;
   Addr page[0]; // the first byte of the page; NOWHERE if it is not known, or if the access was to two pages
} Block;

// No access is less than a page above it: in 64 bits no program has such an address, in 32 bits none has the first page.
#define NOWHERE (sizeof(Addr) == 8 ? (Addr)(1ULL << 63) : ~(Addr)0)

static VgHashTable* blocks;
static UInt numbers = 0; // numbers that were ever given
// Numbers of superblocks that Valgrind has discarded. They are given again: a program that compiles itself would need ever
// more.
static UInt* unused = NULL;
static UInt unused_count = 0, unused_room = 0;

static UInt new_number(void)
{
   return unused_count > 0 ? unused[--unused_count] : numbers++;
}

static void discard(Addr address, VexGuestExtents extents)
{
   Block* block = VG_(HT_remove)(blocks, address);
   if (block == NULL)
      return;
   if (unused_count == unused_room) {
      unused_room = unused_room == 0 ? 1024 : 2 * unused_room;
      unused = VG_(realloc)("uses.unused", unused, unused_room * sizeof(UInt));
   }
   unused[unused_count++] = block->number;
   VG_(free)(block);
}

// An access is to another page than before, or to two.
static VG_REGPARM(3) void other_page(Addr* page, Addr address, UWord at_and_size)
{
   UWord at = at_and_size >> 16, size = at_and_size & 0xffff;
   Addr mask = ((Addr)1 << clo_page_bits) - 1;
   put_tagged(ACCESS, at);
   put_long(address);
   *page = (address & mask) + size > mask + 1 ? NOWHERE : address & ~mask;
}

static VG_REGPARM(1) void left(UWord references) { put_tagged(LEFT, references); }

static void full(void) { flush(); }

// ---------------------------------------------------------------------------------------------------------------------
// Instrumentation

typedef struct {
   UInt kind; // FETCH or DATA
   UInt operation;
   UInt size;
   Addr address;  // of a fetch
   IRExpr* where; // of an access
   Bool guarded;
} Event;

// References of a superblock. Valgrind stops at 50 to 100 instructions, of which one makes at most a few dozen.
#define MOST 4096
static Event events[MOST];
static UInt used;
// An access may be joined with the load before it only if nothing else lies between them.
static Bool may_join;

static IRType word_type;
static IROp op_sub, op_add, op_less;

static IRTemp assign(IRSB* out, IRType type, IRExpr* value)
{
   IRTemp name = newIRTemp(out->tyenv, type);
   addStmtToIRSB(out, IRStmt_WrTmp(name, value));
   return name;
}

static IRExpr* load_word(IRSB* out, HWord address)
{
   return IRExpr_RdTmp(assign(out, word_type, IRExpr_Load(Iend_LE, word_type, mkIRExpr_HWord(address))));
}

static IRExpr* less(IRSB* out, IRExpr* a, IRExpr* b)
{
   return IRExpr_RdTmp(assign(out, Ity_I1, IRExpr_Binop(op_less, a, b)));
}

// Writes the superblock's number.
static void add_block(IRSB* out, UInt number)
{
   HWord place = (HWord)&next;
   IRExpr* here = load_word(out, place);
   IRExpr* after;
   IRDirty* call;
   addStmtToIRSB(out, IRStmt_Store(Iend_LE, here, IRExpr_Const(IRConst_U32(BLOCK << 28 | number))));
   after = IRExpr_RdTmp(assign(out, word_type, IRExpr_Binop(op_add, here, mkIRExpr_HWord(sizeof(UInt)))));
   addStmtToIRSB(out, IRStmt_Store(Iend_LE, mkIRExpr_HWord(place), after));
   call = unsafeIRDirty_0_N(0, "full", VG_(fnptr_to_fnentry)(&full), mkIRExprVec_0());
   call->guard = less(out, mkIRExpr_HWord((HWord)LAST), after);
   addStmtToIRSB(out, IRStmt_Dirty(call));
}

// Writes an access if it is to another page than the last time.
static void add_check(IRSB* out, Block* block, UInt at, IRExpr* address, UInt size, IRExpr* guard)
{
   HWord place = (HWord)&block->page[at];
   SizeT page = (SizeT)1 << clo_page_bits;
   IRDirty* call = unsafeIRDirty_0_N(
      3, "other_page", VG_(fnptr_to_fnentry)(&other_page),
      mkIRExprVec_3(mkIRExpr_HWord(place), address, mkIRExpr_HWord((HWord)at << 16 | size)));
   // In 32 bits the first page is no page of a program only if pages are small.
   Bool can_compare = size <= page && (sizeof(Addr) == 8 || clo_page_bits <= 12);
   if (guard != NULL) {
      call->guard = guard;
   } else if (can_compare) {
      IRExpr* offset =
         IRExpr_RdTmp(assign(out, word_type, IRExpr_Binop(op_sub, address, load_word(out, place))));
      call->guard = less(out, mkIRExpr_HWord(page - size), offset);
   }
   addStmtToIRSB(out, IRStmt_Dirty(call));
}

static Event* new_event(UInt kind, UInt size)
{
   Event* event = &events[used];
   tl_assert(used < MOST);
   tl_assert(size < 0x10000);
   used++;
   VG_(memset)(event, 0, sizeof(*event));
   event->kind = kind;
   event->size = size;
   may_join = True;
   return event;
}

static void add_access(IRSB* out, Block* block, UInt operation, IRExpr* address, UInt size, IRExpr* guard)
{
   Event* event;
   if (operation == STORE && guard == NULL && may_join && used > 0) {
      Event* before = &events[used - 1];
      if (before->kind == DATA && before->operation == LOAD && before->size == size && !before->guarded
          && eqIRAtom(before->where, address)) {
         before->operation = MODIFY;
         return;
      }
   }
   event = new_event(DATA, size);
   event->operation = operation;
   event->where = address;
   event->guarded = guard != NULL;
   if (out != NULL)
      add_check(out, block, used - 1, address, size, guard);
}

static UInt size_of_guarded(const IRLoadG* load)
{
   IRType value = Ity_INVALID, loaded = Ity_INVALID;
   typeOfIRLoadGOp(load->cvt, &value, &loaded);
   return sizeofIRType(loaded);
}

// Notes the references of a statement, and adds their checks unless `out` is NULL.
static void add_references(IRSB* out, Block* block, IRTypeEnv* types, IRStmt* statement)
{
   switch (statement->tag) {
   case Ist_IMark: {
      Event* event = new_event(FETCH, statement->Ist.IMark.len);
      event->address = statement->Ist.IMark.addr;
      break;
   }
   case Ist_WrTmp: {
      IRExpr* data = statement->Ist.WrTmp.data;
      if (data->tag == Iex_Load)
         add_access(out, block, LOAD, data->Iex.Load.addr, sizeofIRType(data->Iex.Load.ty), NULL);
      break;
   }
   case Ist_Store: {
      UInt size = sizeofIRType(typeOfIRExpr(types, statement->Ist.Store.data));
      add_access(out, block, STORE, statement->Ist.Store.addr, size, NULL);
      break;
   }
   case Ist_StoreG: {
      IRStoreG* store = statement->Ist.StoreG.details;
      add_access(out, block, STORE, store->addr, sizeofIRType(typeOfIRExpr(types, store->data)), store->guard);
      break;
   }
   case Ist_LoadG: {
      IRLoadG* load = statement->Ist.LoadG.details;
      add_access(out, block, LOAD, load->addr, size_of_guarded(load), load->guard);
      break;
   }
   case Ist_Dirty: {
      IRDirty* call = statement->Ist.Dirty.details;
      if (call->mFx == Ifx_Read || call->mFx == Ifx_Modify)
         add_access(out, block, LOAD, call->mAddr, call->mSize, NULL);
      if (call->mFx == Ifx_Write || call->mFx == Ifx_Modify)
         add_access(out, block, STORE, call->mAddr, call->mSize, NULL);
      break;
   }
   case Ist_CAS: {
      IRCAS* swap = statement->Ist.CAS.details;
      UInt size = sizeofIRType(typeOfIRExpr(types, swap->dataLo));
      if (swap->dataHi != NULL)
         size *= 2;
      add_access(out, block, LOAD, swap->addr, size, NULL);
      add_access(out, block, STORE, swap->addr, size, NULL);
      break;
   }
   case Ist_LLSC: {
      IRExpr* stored = statement->Ist.LLSC.storedata;
      if (stored == NULL) {
         IRType type = typeOfIRTemp(types, statement->Ist.LLSC.result);
         add_access(out, block, LOAD, statement->Ist.LLSC.addr, sizeofIRType(type), NULL);
         may_join = False;
      } else {
         add_access(out, block, STORE, statement->Ist.LLSC.addr, sizeofIRType(typeOfIRExpr(types, stored)), NULL);
      }
      break;
   }
   case Ist_Exit:
      may_join = False;
      break;
   default:
      break;
   }
}

static void define(UInt number)
{
   UInt words = 1, i;
   Addr follows = 0;
   for (i = 0; i < used; i++) {
      Bool is_far = events[i].kind == FETCH && events[i].address != follows;
      words += is_far ? 3 : 1;
      if (events[i].kind == FETCH)
         follows = events[i].address + events[i].size;
   }
   put_tagged(DEFINE, words);
   put(number);
   follows = 0;
   for (i = 0; i < used; i++) {
      Event* event = &events[i];
      if (event->kind == DATA) {
         put((UInt)DATA << 30 | (event->guarded ? GUARDED : 0) | event->operation << OPERATION_SHIFT | event->size);
         continue;
      }
      if (event->address == follows) {
         put((UInt)FETCH << 30 | event->size);
      } else {
         put((UInt)FETCH_AT << 30 | event->size);
         put_long(event->address);
      }
      follows = event->address + event->size;
   }
}

static IRSB* instrument(VgCallbackClosure* closure, IRSB* in, const VexGuestLayout* layout,
                        const VexGuestExtents* extents, const VexArchInfo* info, IRType guest_word, IRType host_word)
{
   IRSB* out = deepCopyIRSBExceptStmts(in);
   Block* block;
   Int first = 0, i;
   UInt all;

   if (guest_word != host_word)
      VG_(tool_panic)("the program's words are of another size than this tool's");
   while (first < in->stmts_used && in->stmts[first]->tag != Ist_IMark) {
      addStmtToIRSB(out, in->stmts[first]);
      first++;
   }

   // Once to know the references, and once more to add what watches them.
   used = 0;
   may_join = False;
   for (i = first; i < in->stmts_used; i++)
      add_references(NULL, NULL, in->tyenv, in->stmts[i]);
   all = used;
   block = VG_(malloc)("uses.block", sizeof(Block) + all * sizeof(Addr));
   block->key = closure->nraddr;
   block->number = new_number();
   block->sites = all;
   for (i = 0; i < (Int)all; i++)
      block->page[i] = NOWHERE;
   VG_(HT_add_node)(blocks, block);
   define(block->number);

   add_block(out, block->number);
   used = 0;
   may_join = False;
   for (i = first; i < in->stmts_used; i++) {
      IRStmt* statement = in->stmts[i];
      add_references(out, block, out->tyenv, statement);
      if (statement->tag == Ist_Exit && used < all) {
         IRDirty* call =
            unsafeIRDirty_0_N(1, "left", VG_(fnptr_to_fnentry)(&left), mkIRExprVec_1(mkIRExpr_HWord(used)));
         call->guard = statement->Ist.Exit.guard;
         addStmtToIRSB(out, IRStmt_Dirty(call));
      }
      addStmtToIRSB(out, statement);
   }
   tl_assert(used == all);
   return out;
}

// ---------------------------------------------------------------------------------------------------------------------
// Mappings, threads, processes

enum { OF_FILE = 0, ANONYMOUS = 1, HEAP = 2, STACK = 3, SHARED = 4 };

static void put_mapping(UInt kind, Addr from, Addr last, const HChar* name)
{
   put_tagged(MAPPING, 5 + words_of(name));
   put(kind);
   put_long(from);
   put_long(last);
   put_text(name);
}

// An anonymous segment: Valgrind makes one of what lies side by side.
static void put_anonymous(const NSegment* segment)
{
   Addr from = segment->start, heap = VG_(brk_base);
   if (segment->start <= VG_(clstk_end) && VG_(clstk_end) <= segment->end) {
      // It grows later without a word, into what is kept free below it.
      const NSegment* below = VG_(am_find_nsegment)(from - 1);
      if (below != NULL && below->kind == SkResvn)
         from = below->start;
      put_mapping(STACK, from, segment->end, "");
   } else if (from <= heap && heap <= segment->end) {
      if (from < heap)
         put_mapping(ANONYMOUS, from, heap - 1, "");
      put_mapping(HEAP, heap, segment->end, "");
   } else {
      put_mapping(ANONYMOUS, from, segment->end, "");
   }
}

static void mapped(Addr address)
{
   const NSegment* segment = VG_(am_find_nsegment)(address);
   if (segment == NULL)
      return;
   if (segment->kind == SkFileC) {
      const HChar* file = VG_(am_get_filename)(segment);
      put_mapping(OF_FILE, segment->start, segment->end, file == NULL ? "" : file);
   } else if (segment->kind == SkShmC) {
      put_mapping(SHARED, segment->start, segment->end, "");
   } else if (segment->kind == SkAnonC) {
      put_anonymous(segment);
   }
}

static void new_at_start(Addr address, SizeT length, Bool r, Bool w, Bool x, ULong handle) { mapped(address); }
static void new_by_mmap(Addr address, SizeT length, Bool r, Bool w, Bool x, ULong handle) { mapped(address); }
static void new_by_brk(Addr address, SizeT length, ThreadId thread) { mapped(address); }
static void moved(Addr from, Addr address, SizeT length) { mapped(address); }

static ThreadId running = 0;

static void runs(ThreadId thread, ULong blocks_done)
{
   if (thread == running)
      return;
   running = thread;
   put_tagged(THREAD, thread);
}

static void ends(ThreadId thread)
{
   put_tagged(ENDED, thread);
   running = 0;
}

// Stirs a number, so that any two that differ become two that differ in all bits.
static ULong stirred(ULong value)
{
   value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ULL;
   value = (value ^ value >> 27) * 0x94d049bb133111ebULL;
   return value ^ value >> 31;
}

// Begins to write of a process: of a program, or of what a process has forked.
static void start(ULong id, ULong parent)
{
   const HChar* name = VG_(args_the_exename) == NULL ? "" : VG_(args_the_exename);
   piece.head.magic = MAGIC;
   piece.head.id = id;
   piece.head.number = 0;
   piece.head.pid = VG_(getpid)();
   put_tagged(START, 3 + words_of(name));
   put(VERSION);
   put_long(parent);
   put_text(name);
}

static ULong forked = 0; // the id of the next fork
static ULong forks = 0;

static void before_fork(ThreadId thread)
{
   forked = stirred(piece.head.id + ++forks);
   if (VG_(clo_trace_children)) {
      put_tagged(FORK, 0);
      put_long(forked);
   }
   flush();
   in_family = True;
}

static void in_child(ThreadId thread)
{
   Block* block;
   UInt i;
   if (!VG_(clo_trace_children)) {
      if (to >= 0)
         VG_(close)(to);
      to = -1;
      return;
   }
   // The reader does not know which pages the parent's accesses had used by now.
   VG_(HT_ResetIter)(blocks);
   while ((block = VG_(HT_Next)(blocks)) != NULL)
      for (i = 0; i < block->sites; i++)
         block->page[i] = NOWHERE;
   start(forked, piece.head.id);
   running = 0;
}

static Bool is_exec(UInt number)
{
   if (number == __NR_execve)
      return True;
#if defined(__NR_execveat)
   if (number == __NR_execveat)
      return True;
#endif
   return False;
}

// The program has closed the descriptor of Valgrind's messages before it becomes another one, whose Valgrind would complain on
// the program's own standard error. Quiet, it says nothing there.
static void forget_closed_log(void)
{
   Word i, count = VG_(sizeXA)(VG_(args_for_valgrind));
   for (i = 0; i < count; i++) {
      const HChar** argument = VG_(indexXA)(VG_(args_for_valgrind), i);
      const HChar* name = "--log-fd=";
      struct vg_stat status;
      if (VG_(strncmp)(*argument, name, VG_(strlen)(name)) != 0)
         continue;
      if (VG_(fstat)(VG_(strtoll10)(*argument + VG_(strlen)(name), NULL), &status) != 0)
         *argument = "--quiet";
   }
}

static void before_system_call(ThreadId thread, UInt number, UWord* arguments, UInt count)
{
   if (is_exec(number)) {
      put_tagged(EXEC, 0);
      flush();
      forget_closed_log();
   } else if (in_family) {
      flush();
   }
}

static void after_system_call(ThreadId thread, UInt number, UWord* arguments, UInt count, SysRes result) {}

static void finish(Int code)
{
   put_tagged(END, 0);
   flush();
}

// ---------------------------------------------------------------------------------------------------------------------
// Options and start

static Bool option(const HChar* text)
{
   if VG_STR_CLO (text, "--uses-path", clo_path) {
   } else if VG_INT_CLO (text, "--uses-fd", clo_fd) {
   } else if VG_INT_CLO (text, "--uses-inode", clo_inode) {
   } else if VG_INT_CLO (text, "--uses-recorder", clo_recorder) {
   } else if VG_BINT_CLO (text, "--uses-page-bits", clo_page_bits, 0, 62) {
   } else {
      return False;
   }
   return True;
}

static void usage(void)
{
   VG_(printf)("    --uses-path=PATH        the pipe to write to\n"
               "    --uses-fd=NUMBER        a descriptor that is the same pipe, where it was inherited\n"
               "    --uses-inode=NUMBER     the pipe's inode\n"
               "    --uses-recorder=PID     the process that reads\n"
               "    --uses-page-bits=NUMBER a page has 2^NUMBER bytes [12]\n");
}

static void debug_usage(void) { VG_(printf)("    (none)\n"); }

static Bool is_the_pipe(Int fd)
{
   struct vg_stat status;
   return VG_(fstat)(fd, &status) == 0 && status.ino == clo_inode && VKI_S_ISFIFO(status.mode);
}

// A program may close what it inherited, and one in a jail may not see the path: either is enough.
static void open_pipe(void)
{
   Int fd = clo_fd;
   if (fd < 0 || !is_the_pipe(fd)) {
      SysRes opened;
      if (clo_path == NULL)
         return;
      opened = VG_(open)(clo_path, VKI_O_WRONLY, 0);
      if (sr_isError(opened))
         return;
      fd = sr_Res(opened);
      if (!is_the_pipe(fd)) {
         VG_(close)(fd);
         return;
      }
   }
   if (!VG_(clo_trace_children) && fd == clo_fd)
      VG_(fcntl)(fd, VKI_F_SETFD, VKI_FD_CLOEXEC);
   // The program must not write to ours by chance.
   to = VG_(fcntl)(fd, VKI_F_DUPFD, VG_(fd_hard_limit));
   if (to < 0)
      to = fd;
   else if (fd != clo_fd)
      VG_(close)(fd);
   VG_(fcntl)(to, VKI_F_SETFD, VKI_FD_CLOEXEC);
}

static void after_options(void)
{
   Bool is_64 = sizeof(HWord) == 8;
   struct vki_timeval now;
   word_type = is_64 ? Ity_I64 : Ity_I32;
   op_sub = is_64 ? Iop_Sub64 : Iop_Sub32;
   op_add = is_64 ? Iop_Add64 : Iop_Add32;
   op_less = is_64 ? Iop_CmpLT64U : Iop_CmpLT32U;
   blocks = VG_(HT_construct)("uses.blocks");
   open_pipe();
   if (to < 0)
      VG_(umsg)("uses: there is no pipe to write to; this program is not recorded\n");
   VG_(gettimeofday)(&now, NULL);
   in_family = VG_(getppid)() != clo_recorder;
   start(stirred(stirred(now.tv_sec * 1000000ULL + now.tv_usec) + VG_(getpid)()), 0);
}

static void before_options(void)
{
   VG_(details_name)("uses");
   VG_(details_version)(NULL);
   VG_(details_description)("which pages a program uses, for warmset trace");
   VG_(details_copyright_author)("Copyright the Warmset authors, and GNU GPL'd.");
   VG_(details_bug_reports_to)("the Warmset authors");
   VG_(details_avg_translation_sizeB)(400);
   VG_(basic_tool_funcs)(after_options, instrument, finish);
   VG_(needs_superblock_discards)(discard);
   VG_(needs_command_line_options)(option, usage, debug_usage);
   VG_(needs_syscall_wrapper)(before_system_call, after_system_call);
   VG_(track_new_mem_startup)(new_at_start);
   VG_(track_new_mem_mmap)(new_by_mmap);
   VG_(track_new_mem_brk)(new_by_brk);
   VG_(track_copy_mem_remap)(moved);
   VG_(track_start_client_code)(runs);
   VG_(track_pre_thread_ll_exit)(ends);
   VG_(atfork)(before_fork, NULL, in_child);
}

VG_DETERMINE_INTERFACE_VERSION(before_options)
