// Products of many vectors with a few, as networks' embeddings are compared: four rows and four others at a time, so that each
// number that is read serves four sums. Small matrices: threads of a BLAS library would spin longer than they work.
#pragma once
#include "../engine.hpp"
#include "../simd.hpp"

namespace sketchseek {
namespace {

INLINE float sum_of(Vec v) {
  float total = 0;
  for (int lane = 0; lane < W; ++lane) total += v[lane];
  return total;
}

template <int R, int C, class T>
INLINE void product_block(const T* rows, const float* others, int64_t d, float* out, int64_t stride) {
  Vec sums[R][C] = {};
  int64_t at = 0;
  for (; at + W <= d; at += W) {
    Vec own[R];
    UNROLL for (int r = 0; r < R; ++r) own[r] = widen(rows + r * d + at);
    UNROLL for (int c = 0; c < C; ++c) {
      const Vec other = load<Vec>(others + c * d + at);
      UNROLL for (int r = 0; r < R; ++r) sums[r][c] += own[r] * other;
    }
  }
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c) {
      float total = sum_of(sums[r][c]);
      for (int64_t i = at; i < d; ++i) total += (float)rows[r * d + i] * others[c * d + i];
      out[r * stride + c] = total;
    }
}

template <int R, class T>
INLINE void product_rows(const T* rows, const float* others, int64_t count, int64_t d, float* out) {
  int64_t c = 0;
  for (; c + 4 <= count; c += 4) product_block<R, 4>(rows, others + c * d, d, out + c, count);
  for (; c < count; ++c) product_block<R, 1>(rows, others + c * d, d, out + c, count);
}

template <class T>
void products_of(const T* rows, int64_t n, const float* others, int64_t count, int64_t d, float* out) {
  int64_t r = 0;
  for (; r + 4 <= n; r += 4) product_rows<4>(rows + r * d, others, count, d, out + r * count);
  for (; r < n; ++r) product_rows<1>(rows + r * d, others, count, d, out + r * count);
}

// Each with each: half of them, the others are the same.
void products_among(const float* rows, int64_t n, int64_t d, float* out) {
  for (int64_t r = 0; r < n; r += 4) {
    const int64_t some = n - r < 4 ? n - r : 4;
    for (int64_t c = r; c < n; c += 4) {
      if (some == 4 && c + 4 <= n) {
        product_block<4, 4>(rows + r * d, rows + c * d, d, out + r * n + c, n);
      } else {
        for (int64_t i = r; i < r + some; ++i)
          for (int64_t j = c; j < n && j < c + 4; ++j) product_block<1, 1>(rows + i * d, rows + j * d, d, out + i * n + j, n);
      }
    }
  }
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < i; ++j) out[i * n + j] = out[j * n + i];
}

void products(const void* rows, bool bytes, int64_t n, const float* others, int64_t count, int64_t d, float* out) {
  if (rows == others && n == count)
    products_among(others, n, d, out);
  else if (bytes)
    products_of(static_cast<const int8_t*>(rows), n, others, count, d, out);
  else
    products_of(static_cast<const float*>(rows), n, others, count, d, out);
}

}  // namespace
}  // namespace sketchseek
