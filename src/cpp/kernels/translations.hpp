// Coefficients -> the best translation.
#pragma once
#include "coefficients.hpp"

namespace sketchseek {
namespace {

// r: the coefficients along y for one dx. The better of +dy and -dy, without the constant term. The two sums are
// separate chains: in one, the processor would wait for each multiplication.
template <int NX>
INLINE Vec better_side(const Vec* r, const float* table, Vec* odd_part = nullptr) {
  Vec even = table[0] * r[1], odd = table[1] * r[2];
  for (int k = 2; k < NX; ++k) {
    even += table[2 * k - 2] * r[2 * k - 1];
    odd += table[2 * k - 1] * r[2 * k];
  }
  if (odd_part) *odd_part = odd;
  return even + abs(odd);
}

template <int NX>
INLINE Vec at_zero(const Vec* r) {
  Vec sum = r[1];
  for (int k = 2; k < NX; ++k) sum += r[2 * k - 1];
  return sum;
}

// The maxima over dy of two rows at once: they share the table, and the loop ends half as often.
template <int NX>
INLINE void best_of_rows(const Vec* r, const Vec* s, const float* table, int reach, Vec& of_r, Vec& of_s) {
  Vec best_r = at_zero<NX>(r), best_s = at_zero<NX>(s);
  for (int d = 0; d < reach; ++d, table += 2 * (NX - 1)) {
    best_r = max(best_r, better_side<NX>(r, table));
    best_s = max(best_s, better_side<NX>(s, table));
  }
  of_r = r[0] + best_r, of_s = s[0] + best_s;
}

template <int NX>
INLINE Vec best_of_row(const Vec* r, const float* table, int reach) {
  Vec best = at_zero<NX>(r);
  for (int d = 0; d < reach; ++d, table += 2 * (NX - 1)) best = max(best, better_side<NX>(r, table));
  return r[0] + best;
}

// Where `best_of_row` has its maximum, in steps; the smallest distance, then the positive side, on ties.
template <int NX>
Ints place_in_row(const Vec* r, const float* table, int reach) {
  Vec best = at_zero<NX>(r);
  Ints at = Ints{};
  for (int d = 1; d <= reach; ++d, table += 2 * (NX - 1)) {
    Vec odd;
    const Vec value = better_side<NX>(r, table, &odd);
    at = choose(value > best, choose(odd < 0.0f, Ints{} - d, Ints{} + d), at);
    best = max(best, value);
  }
  return at;
}

// Coefficients along y at +d and -d steps of x.
template <int NX>
INLINE void contract_x(const Vec* b, const float* table, Vec* plus, Vec* minus) {
  constexpr int kDx = 2 * NX - 1;
  UNROLL for (int j = 0; j < kDx; ++j) {
    Vec even = b[j] + table[0] * b[kDx + j], odd = table[1] * b[2 * kDx + j];
    for (int k = 2; k < NX; ++k) {
      even += table[2 * k - 2] * b[(2 * k - 1) * kDx + j];
      odd += table[2 * k - 1] * b[2 * k * kDx + j];
    }
    plus[j] = even + odd;
    minus[j] = even - odd;
  }
}

template <int NX>
INLINE void contract_x_at_zero(const Vec* b, Vec* r) {
  constexpr int kDx = 2 * NX - 1;
  UNROLL for (int j = 0; j < kDx; ++j) {
    r[j] = b[j];
    for (int k = 1; k < NX; ++k) r[j] += b[(2 * k - 1) * kDx + j];
  }
}

}  // namespace
}  // namespace sketchseek
