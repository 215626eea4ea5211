// One vector of floats, as wide as the build's registers; a lane is a picture.
#pragma once
#include <cstdint>
#if defined(__x86_64__)
#include <immintrin.h>

#include "processor.hpp"
#elif defined(SKETCHSEEK_NEON)
#include <arm_neon.h>
#endif

namespace {

#if defined(__AVX512F__)
constexpr int W = 16;
#elif defined(__AVX2__)
constexpr int W = 8;
#else
constexpr int W = 4;
#endif

// The kernels are small functions over arrays of vectors that must stay in registers.
#define INLINE inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))
#if defined(__clang__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

typedef float Vec __attribute__((vector_size(4 * W)));
typedef int32_t Ints __attribute__((vector_size(4 * W)));
typedef uint16_t Shorts __attribute__((vector_size(4 * W)));
typedef uint8_t Bytes __attribute__((vector_size(4 * W)));

template <class T>
INLINE T load(const void* from) {
  T out;
  __builtin_memcpy(&out, from, sizeof out);
  return out;
}

INLINE void store(void* to, Vec v) { __builtin_memcpy(to, &v, sizeof v); }

INLINE Vec all(float value) { return value - Vec{}; }

INLINE Vec widen(const float* from) { return load<Vec>(from); }

#if defined(__AVX512F__)
INLINE Vec widen(const int8_t* from) {
  return (Vec)_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)from)));
}
INLINE Vec max(Vec a, Vec b) { return (Vec)_mm512_max_ps((__m512)a, (__m512)b); }
INLINE Vec abs(Vec a) { return (Vec)_mm512_and_ps((__m512)a, (__m512)(Ints{} + 0x7fffffff)); }
INLINE bool any_greater(Vec a, Vec b) { return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ); }
INLINE Vec inverse_root(Vec a) { return (Vec)_mm512_rsqrt14_ps((__m512)a); }
INLINE Bytes repeated(const uint8_t* table) {
  return (Bytes)_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i*)table));
}
INLINE Bytes look_up(Bytes table, Bytes at) { return (Bytes)_mm512_shuffle_epi8((__m512i)table, (__m512i)at); }
#elif defined(__AVX2__)
INLINE Vec inverse_root(Vec a) { return (Vec)_mm256_rsqrt_ps((__m256)a); }
INLINE Bytes repeated(const uint8_t* table) {
  return (Bytes)_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)table));
}
INLINE Bytes look_up(Bytes table, Bytes at) { return (Bytes)_mm256_shuffle_epi8((__m256i)table, (__m256i)at); }
INLINE Vec widen(const int8_t* from) {
  return (Vec)_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)from)));
}
INLINE Vec max(Vec a, Vec b) { return (Vec)_mm256_max_ps((__m256)a, (__m256)b); }
INLINE Vec abs(Vec a) { return (Vec)_mm256_and_ps((__m256)a, (__m256)(Ints{} + 0x7fffffff)); }
INLINE bool any_greater(Vec a, Vec b) {
  return _mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_GT_OQ));
}
#else
INLINE Vec widen(const int8_t* from) { return Vec{(float)from[0], (float)from[1], (float)from[2], (float)from[3]}; }
INLINE Vec abs(Vec a) { return (Vec)((Ints)a & 0x7fffffff); }
INLINE Bytes repeated(const uint8_t* table) { return load<Bytes>(table); }
#if defined(SKETCHSEEK_NEON)
INLINE Bytes look_up(Bytes table, Bytes at) { return (Bytes)vqtbl1q_u8((uint8x16_t)table, (uint8x16_t)at); }
#else
INLINE Bytes look_up(Bytes table, Bytes at) {
  for (int i = 0; i < 4 * W; ++i) at[i] = table[at[i]];
  return at;
}
#endif
#if defined(SKETCHSEEK_NEON)
INLINE Vec max(Vec a, Vec b) { return (Vec)vmaxq_f32((float32x4_t)a, (float32x4_t)b); }
INLINE Vec inverse_root(Vec a) { return (Vec)vdivq_f32(vdupq_n_f32(1), vsqrtq_f32((float32x4_t)a)); }
INLINE bool any_greater(Vec a, Vec b) { return vmaxvq_u32(vcgtq_f32((float32x4_t)a, (float32x4_t)b)) != 0; }
#elif defined(__x86_64__)
INLINE Vec max(Vec a, Vec b) { return (Vec)_mm_max_ps((__m128)a, (__m128)b); }
INLINE Vec inverse_root(Vec a) { return (Vec)_mm_rsqrt_ps((__m128)a); }
INLINE bool any_greater(Vec a, Vec b) { return _mm_movemask_ps(_mm_cmpgt_ps((__m128)a, (__m128)b)); }
#else
INLINE Vec max(Vec a, Vec b) { return a > b ? a : b; }
INLINE Vec inverse_root(Vec a) {
  for (int i = 0; i < W; ++i) a[i] = 1 / __builtin_sqrtf(a[i]);
  return a;
}
INLINE bool any_greater(Vec a, Vec b) {
  Ints greater = a > b;
  return (greater[0] | greater[1] | greater[2] | greater[3]) != 0;
}
#endif
#endif

// The root, or up to a thousandth more: the processors' estimates are off by less than half of that.
INLINE Vec root_or_more(Vec a) {
  a = max(a, all(1e-30f));
  return a * inverse_root(a) * 1.0005f;
}

INLINE Ints choose(Ints mask, Ints yes, Ints no) { return (mask & yes) | (~mask & no); }

INLINE Ints lesser(Ints a, Ints b) { return a < b ? a : b; }

// Bits that are set, counted in two steps, so that counts of several words are added up in between: of each byte
// of an integer, then of the whole.
struct BitsOfBytes {
  static INLINE Ints of_parts(Ints a) {
#if defined(SKETCHSEEK_NEON)
    return (Ints)vcntq_u8((uint8x16_t)a);
#elif defined(__AVX2__)
    static const uint8_t kCounts[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
    const Bytes counts = repeated(kCounts);
    return (Ints)(look_up(counts, (Bytes)(a & 0x0f0f0f0f)) + look_up(counts, (Bytes)((a >> 4) & 0x0f0f0f0f)));
#else
    typedef uint32_t Words __attribute__((vector_size(4 * W)));
    Words w = (Words)a;
    w -= (w >> 1) & 0x55555555;
    w = (w & 0x33333333) + ((w >> 2) & 0x33333333);
    return (Ints)((w + (w >> 4)) & 0x0f0f0f0f);
#endif
  }
  static INLINE Ints of_all(Ints parts) {
    parts = (parts & 0x00ff00ff) + ((parts >> 8) & 0x00ff00ff);
    return (parts + (parts >> 16)) & 0xffff;
  }
};

// By the instruction that some of the processors with AVX-512 have.
#if defined(__AVX512F__) && !defined(__clang__)
#define COUNTS_BITS() sketchseek::this_processor().counts_bits
struct BitsByInstruction {
  static INLINE Ints of_parts(Ints a) {
    asm("vpopcntd %1, %0" : "=v"(a) : "v"(a));
    return a;
  }
  static INLINE Ints of_all(Ints parts) { return parts; }
};
#else
#define COUNTS_BITS() false
typedef BitsOfBytes BitsByInstruction;
#endif

template <int... I>
struct Lanes {};
template <int N, int... I>
struct MakeLanes : MakeLanes<N - 1, N - 1, I...> {};
template <int... I>
struct MakeLanes<0, I...> {
  typedef Lanes<I...> type;
};

// Lane i of the result: in runs of Run lanes, even runs come from a, odd ones from b.
constexpr int lane_of(int i, int run, bool high) {
  int odd = (i / run) & 1;
  int within = i - odd * run + (high ? run : 0);
  return within + odd * W;
}

template <int Run, bool High, int... I>
INLINE Ints exchange(Ints a, Ints b, Lanes<I...>) {
#if defined(__clang__) || __GNUC__ >= 12
  return __builtin_shufflevector(a, b, lane_of(I, Run, High)...);
#else
  return __builtin_shuffle(a, b, Ints{lane_of(I, Run, High)...});
#endif
}

template <int Run>
INLINE void transpose_round(Ints (&square)[W]) {
  typename MakeLanes<W>::type lanes;
  for (int i = 0; i < W; ++i)
    if (!(i & Run)) {
      Ints a = square[i], b = square[i + Run];
      square[i] = exchange<Run, false>(a, b, lanes);
      square[i + Run] = exchange<Run, true>(a, b, lanes);
    }
}

// Rows become columns: afterwards lane j of square[i] is what lane i of square[j] was.
INLINE void transpose(Ints (&square)[W]) {
  if (W > 8) transpose_round<W == 16 ? 8 : 1>(square);
  if (W > 4) transpose_round<W >= 8 ? 4 : 1>(square);
  transpose_round<2>(square);
  transpose_round<1>(square);
}

}  // namespace
