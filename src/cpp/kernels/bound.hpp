// What a picture can reach at most: the pruned search skips what cannot reach its threshold.
#pragma once
#include "single.hpp"
#include "translations.hpp"

namespace sketchseek {
namespace {

// The constant term of the better of the two rows at +d and -d, and no less than it.
template <int NX>
INLINE Vec better_constant(const Vec* b, const float* table) {
  constexpr int kDx = 2 * NX - 1;
  Vec even = b[0] + table[0] * b[kDx], odd = table[1] * b[2 * kDx];
  for (int k = 2; k < NX; ++k) {
    even += table[2 * k - 2] * b[(2 * k - 1) * kDx];
    odd += table[2 * k - 1] * b[2 * k * kDx];
  }
  return even + abs(odd);
}

// What the terms that depend on dy can come to, whatever dx and dy: the norm of each pair of frequencies.
template <int NX>
INLINE Vec sum_of_amplitudes(const Vec* b) {
  constexpr int kDx = 2 * NX - 1;
  Vec sum = Vec{};
  for (int j = 1; j < kDx; j += 2) {
    sum += root_or_more(b[j] * b[j] + b[j + 1] * b[j + 1]);
    for (int i = kDx; i < kDx * kDx; i += 2 * kDx) {
      const Vec *c = b + i + j, *s = c + kDx;
      sum += root_or_more(c[0] * c[0] + c[1] * c[1] + s[0] * s[0] + s[1] * s[1]);
    }
  }
  return sum;
}

// A row cannot pass r0 + sum_k a_k, a_k the amplitude of frequency k. Without roots: a <= (a^2 / l + l) / 2 for any
// l > 0, and equal at l = a. With l_k = profile_k * level, the row stays below `level` if
//   sum_k a_k^2 / profile_k + 2 level r0 < level^2 (2 - sum_k profile_k).
template <int NX>
class Bar {
 public:
  Bar(Vec level, const float* profile) : level_(level * 0.9999f), twice_(2.0f * level) {
    float slack = 2;
    for (int k = 0; k < NX - 1; ++k) slack -= profile[k], inverse_[k] = 1 / profile[k];
    limit_ = level * level * (slack * 0.9999f);  // rounding must not cost a picture
  }

  // A first look, before x is contracted: r0 is exact, all that depends on dy is bounded for every dx at once.
  INLINE bool may_be_reached(Vec r0, Vec rest) const { return any_greater(r0 + rest, level_); }

  INLINE bool may_be_reached(const Vec* r) const {
    Vec sum = twice_ * r[0];
    for (int k = 1; k < NX; ++k) {
      Vec squared = r[2 * k - 1] * r[2 * k - 1];
      squared += r[2 * k] * r[2 * k];
      sum += inverse_[k - 1] * squared;
    }
    return any_greater(sum, limit_);
  }

 private:
  Vec level_, twice_, limit_;
  float inverse_[NX - 1];
};

// Of each picture and pose the row whose bound is the highest.
template <int NX, int DO>
void profile(const Database& db, const Query& query, Range range, float* out) {
  alignas(64) Vec v[Polynomial<NX>::kComponents];
  Polynomial<NX> polynomial;
  for (int i = 0; i < query.count * (NX - 1); ++i) out[i] = 0;
  for (int64_t at = range.begin; at < range.end; at += W) {
    const Block block(range, at);
    spread(db, block, v);
    for (int p = 0; p < query.count; ++p) {
      polynomial.template fill<DO>(query.poses[p].full, v, DO ? DO : 2 * db.no - 1);
      for (int i = 0; i < block.count; ++i) {
        float highest = 0, amplitudes[NX - 1] = {};
        for (int m = 0; m <= query.mirror; ++m) Single<NX>(polynomial.b[m], i).highest_row(query.poses[p], highest, amplitudes);
        for (int k = 0; k < NX - 1 && highest > 0; ++k) out[p * (NX - 1) + k] += amplitudes[k] / highest;
      }
    }
  }
  const float count = (float)(range.end - range.begin);
  for (int i = 0; i < query.count * (NX - 1); ++i) out[i] = out[i] / count > 1e-3f ? out[i] / count : 1e-3f;
}

}  // namespace
}  // namespace sketchseek
