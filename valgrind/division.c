// What GCC calls in a 32-bit program for arithmetic in 64 bits. A machine for 64-bit programs seldom has GCC's own library for it.
// Valgrind does little of it: printing numbers, timers, and single instructions of programs.
//
// Copyright the Warmset authors. SPDX-License-Identifier: GPL-2.0-or-later

typedef unsigned long long U64;
typedef long long S64;

U64 __udivmoddi4(U64 over, U64 under, U64* rest);
U64 __udivdi3(U64 over, U64 under);
U64 __umoddi3(U64 over, U64 under);
S64 __divdi3(S64 over, S64 under);
S64 __moddi3(S64 over, S64 under);
int __popcountdi2(S64 value);
int __ctzdi2(U64 value);

// Bit by bit, as on paper.
U64 __udivmoddi4(U64 over, U64 under, U64* rest)
{
   U64 quotient = 0, left = 0;
   int bit;
   for (bit = 63; bit >= 0; bit--) {
      U64 carry = left >> 63;
      left = left << 1 | (over >> bit & 1);
      if (carry || left >= under) {
         left -= under;
         quotient |= 1ULL << bit;
      }
   }
   if (rest)
      *rest = left;
   return quotient;
}

U64 __udivdi3(U64 over, U64 under) { return __udivmoddi4(over, under, 0); }

U64 __umoddi3(U64 over, U64 under)
{
   U64 rest;
   __udivmoddi4(over, under, &rest);
   return rest;
}

static U64 size(S64 value) { return value < 0 ? -(U64)value : (U64)value; }

S64 __divdi3(S64 over, S64 under)
{
   U64 quotient = __udivdi3(size(over), size(under));
   return (over < 0) != (under < 0) ? -quotient : quotient;
}

S64 __moddi3(S64 over, S64 under)
{
   U64 rest = __umoddi3(size(over), size(under));
   return over < 0 ? -rest : rest;
}

int __popcountdi2(S64 value)
{
   U64 bits = value;
   int count = 0;
   for (; bits; bits &= bits - 1)
      count++;
   return count;
}

int __ctzdi2(U64 value)
{
   int zeros = 0;
   while (!(value >> zeros & 1))
      zeros++;
   return zeros;
}
