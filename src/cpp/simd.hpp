// One vector of floats, as wide as the build's registers; a lane is a picture.
#pragma once
#include <cstdint>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
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

typedef float Vec __attribute__((vector_size(4 * W)));
typedef int32_t Ints __attribute__((vector_size(4 * W)));
typedef int8_t Bytes __attribute__((vector_size(W)));

template <class T>
inline T load(const void* from) {
  T out;
  __builtin_memcpy(&out, from, sizeof out);
  return out;
}

inline void store(void* to, Vec v) { __builtin_memcpy(to, &v, sizeof v); }

inline Vec all(float value) { return Vec{} + value; }

#if defined(__AVX512F__)
inline Vec max(Vec a, Vec b) { return (Vec)_mm512_max_ps((__m512)a, (__m512)b); }
inline Vec abs(Vec a) { return (Vec)_mm512_and_ps((__m512)a, (__m512)(Ints{} + 0x7fffffff)); }
inline bool any_greater(Vec a, Vec b) { return _mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_GT_OQ); }
#elif defined(__AVX2__)
inline Vec max(Vec a, Vec b) { return (Vec)_mm256_max_ps((__m256)a, (__m256)b); }
inline Vec abs(Vec a) { return (Vec)_mm256_and_ps((__m256)a, (__m256)(Ints{} + 0x7fffffff)); }
inline bool any_greater(Vec a, Vec b) {
  return _mm256_movemask_ps(_mm256_cmp_ps((__m256)a, (__m256)b, _CMP_GT_OQ));
}
#else
inline Vec abs(Vec a) { return (Vec)((Ints)a & 0x7fffffff); }
#if defined(__aarch64__)
inline Vec max(Vec a, Vec b) { return (Vec)vmaxq_f32((float32x4_t)a, (float32x4_t)b); }
inline bool any_greater(Vec a, Vec b) { return vmaxvq_u32(vcgtq_f32((float32x4_t)a, (float32x4_t)b)) != 0; }
#elif defined(__x86_64__)
inline Vec max(Vec a, Vec b) { return (Vec)_mm_max_ps((__m128)a, (__m128)b); }
inline bool any_greater(Vec a, Vec b) { return _mm_movemask_ps(_mm_cmpgt_ps((__m128)a, (__m128)b)); }
#else
inline Vec max(Vec a, Vec b) { return a > b ? a : b; }
inline bool any_greater(Vec a, Vec b) {
  Ints greater = a > b;
  return (greater[0] | greater[1] | greater[2] | greater[3]) != 0;
}
#endif
#endif

inline Vec choose(Ints mask, Vec yes, Vec no) { return (Vec)((mask & (Ints)yes) | (~mask & (Ints)no)); }
inline Ints choose(Ints mask, Ints yes, Ints no) { return (mask & yes) | (~mask & no); }

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
inline Ints exchange(Ints a, Ints b, Lanes<I...>) {
#if defined(__clang__) || __GNUC__ >= 12
  return __builtin_shufflevector(a, b, lane_of(I, Run, High)...);
#else
  return __builtin_shuffle(a, b, Ints{lane_of(I, Run, High)...});
#endif
}

template <int Run>
inline void transpose_round(Ints (&square)[W]) {
  typename MakeLanes<W>::type lanes;
  for (int i = 0; i < W; ++i)
    if (!(i & Run)) {
      Ints a = square[i], b = square[i + Run];
      square[i] = exchange<Run, false>(a, b, lanes);
      square[i + Run] = exchange<Run, true>(a, b, lanes);
    }
}

// Rows become columns: afterwards lane j of square[i] is what lane i of square[j] was.
inline void transpose(Ints (&square)[W]) {
  if (W > 8) transpose_round<W == 16 ? 8 : 1>(square);
  if (W > 4) transpose_round<W >= 8 ? 4 : 1>(square);
  transpose_round<2>(square);
  transpose_round<1>(square);
}

}  // namespace
