// What this processor can do, by its own account: compilers' runtimes tell it too, but not every one has that part.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>

namespace sketchseek {
namespace {  // each build has its own: one that was compiled for AVX-512 must not serve the others

struct Processor {
  bool avx2 = false;         // with FMA and POPCNT
  bool avx512 = false;       // F, BW, DQ and VL, and AVX2
  bool counts_bits = false;  // VPOPCNTDQ, and the rest of AVX-512
  bool adds_bytes = false;   // VNNI and VBMI2, and the rest of AVX-512
};

inline Processor ask_processor() {
  Processor found;
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return found;
  constexpr unsigned needed = bit_FMA | bit_POPCNT | bit_OSXSAVE;
  if ((c & needed) != needed) return found;
  unsigned kept, high;  // the registers that the operating system keeps for each thread
  asm volatile("xgetbv" : "=a"(kept), "=d"(high) : "c"(0));
  constexpr unsigned ymm = 0x6, zmm = 0xe6;
  constexpr unsigned wide = (1u << 16) | (1u << 17) | (1u << 30) | (1u << 31);  // F, DQ, BW, VL
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return found;
  found.avx2 = (kept & ymm) == ymm && (b & bit_AVX2);
  found.avx512 = found.avx2 && (kept & zmm) == zmm && (b & wide) == wide;
  found.counts_bits = found.avx512 && (c & (1u << 14));
  found.adds_bytes = found.avx512 && (c & (1u << 11)) && (c & (1u << 6));
  return found;
}

inline const Processor& this_processor() {
  static const Processor found = ask_processor();  // where machines are virtual, asking takes a while
  return found;
}

}  // namespace
}  // namespace sketchseek
#endif
