// Scores near a guess: signs of coefficients and variables, or the maxima of the two projections.
#pragma once
#include "exact.hpp"
#include "single.hpp"

namespace sketchseek {
namespace {

// Signs of the coefficients, or of the variables of a translation: a bit each.
constexpr int words_of_signs(int nx) { return ((2 * nx - 1) * (2 * nx - 1) + 31) / 32; }

// What the poses of a query have in common for all pictures: the variables of every step, and for every translation
// their signs.
template <int NX>
class Steps {
 public:
  static constexpr int kDx = 2 * NX - 1, kWords = words_of_signs(NX);

  Steps(const Pose& pose, bool with_signs) : reach_(pose.reach), side_(2 * pose.reach + 1) {
    variables_ = new float[side_ * kDx];
    float row[Single<NX>::kRow];
    for (int d = 0; d < side_; ++d) {
      Single<NX>::basis(pose, d - reach_, row);
      for (int k = 0; k < kDx; ++k) variables_[d * kDx + k] = row[k];
    }
    if (!with_signs) return;
    signs_ = new int32_t[side_ * side_ * kWords]();
    for (int t = 0; t < side_ * side_; ++t)
      for (int c = 0; c < kDx * kDx; ++c) {
        const bool negative = (variables_[t / side_ * kDx + c / kDx] < 0) != (variables_[t % side_ * kDx + c % kDx] < 0);
        signs_[t * kWords + c / 32] |= (int32_t)((uint32_t)negative << (c % 32));
      }
  }
  Steps(const Steps&) = delete;
  ~Steps() { delete[] variables_, delete[] signs_; }

  // The translation whose variables agree in sign with the most coefficients: the binary polynomial's maximum. How many
  // differ.
  template <class Bits>
  INLINE Ints guess_by_signs(const Vec* b, Ints& x, Ints& y) const {
    Ints words[kWords] = {};
    UNROLL for (int c = 0; c < kDx * kDx; ++c) words[c / 32] |= (b[c] < 0.0f) & (int32_t)(1u << (c % 32));
    Ints fewest = Ints{} + 0x7fffffff;  // bits that differ, then the number of the translation
    const int32_t* signs = signs_;
    for (int t = 0; t < side_ * side_; ++t, signs += kWords) {
      Ints differ = Bits::of_parts(words[0] ^ signs[0]);
      UNROLL for (int w = 1; w < kWords; ++w) differ += Bits::of_parts(words[w] ^ signs[w]);
      fewest = lesser(fewest, (Bits::of_all(differ) << 22) + t);
    }
    for (int i = 0; i < W; ++i) {
      const int t = fewest[i] & 0x3fffff;
      x[i] = t / side_ - reach_, y[i] = t % side_ - reach_;
    }
    return fewest >> 22;
  }

  // The maxima of the projections are those of the first column and the first row of B.
  INLINE void guess_by_projections(const Vec* b, Ints& x, Ints& y) const {
    Vec best_x = all(-__builtin_inff()), best_y = best_x;
    for (int d = 0; d < side_; ++d) {
      const float* c = variables_ + d * kDx;
      Vec along_x = c[0] * b[0], along_y = along_x;
      for (int k = 1; k < kDx; ++k) along_x += c[k] * b[k * kDx], along_y += c[k] * b[k];
      x = choose(along_x > best_x, Ints{} + (d - reach_), x);
      y = choose(along_y > best_y, Ints{} + (d - reach_), y);
      best_x = max(best_x, along_x), best_y = max(best_y, along_y);
    }
  }

  // The best translation at most `radius` steps away along each axis, each picture from its own guess.
  INLINE Vec climb(const Vec* b, int radius, Ints& x, Ints& y) const {
    const Ints from_x = x, from_y = y;
    Vec best = all(-__builtin_inff());
    for (int i = -radius; i <= radius; ++i) {
      Vec c[kDx], r[kDx] = {};
      const Ints at_x = variables(from_x + i, c);
      for (int k = 0; k < kDx; ++k)
        for (int j = 0; j < kDx; ++j) r[j] += c[k] * b[k * kDx + j];
      for (int j = -radius; j <= radius; ++j) {
        const Ints at_y = variables(from_y + j, c);
        Vec value = c[0] * r[0];
        for (int k = 1; k < kDx; ++k) value += c[k] * r[k];
        x = choose(value > best, at_x, x), y = choose(value > best, at_y, y);
        best = max(best, value);
      }
    }
    return best;
  }

 private:
  // Those of another step in each lane, no further out than the grid is; which it was.
  INLINE Ints variables(Ints d, Vec* out) const {
    float* lanes = (float*)out;
    for (int i = 0; i < W; ++i) {
      d[i] = d[i] < -reach_ ? -reach_ : d[i] > reach_ ? reach_ : d[i];
      const float* row = variables_ + (d[i] + reach_) * kDx;
      for (int k = 0; k < kDx; ++k) lanes[k * W + i] = row[k];
    }
    return d;
  }

  const int reach_, side_;
  float* variables_;
  int32_t* signs_ = nullptr;
};

template <int NX, int DO>
void locate_near(const Database& db, const Query& query, Range range, Guide guide, int radius, Found* out) {
  const bool counts_bits = COUNTS_BITS();
  Steps<NX>** steps = new Steps<NX>*[query.count];
  for (int p = 0; p < query.count; ++p) steps[p] = new Steps<NX>(query.poses[p], guide != Guide::kLocalAll);
  alignas(64) Vec v[Polynomial<NX>::kComponents];
  Polynomial<NX> polynomial;
  for (int64_t at = range.begin; at < range.end; at += W) {
    Ahead ahead(db, range, at + W);
    ahead.ask(1 << 20);
    const Block block(range, at);
    spread(db, block, v);
    Best best;
    Ints fewest = Ints{} + 0x7fffffff;
    for (int p = 0; p < query.count; ++p) {
      polynomial.template fill<DO>(query.poses[p].full, v, 2 * db.no - 1);
      const Vec inverse = block.inverse(db, kFull, query.poses[p].kernel);
      for (int m = 0; m <= query.mirror; ++m) {
        Ints x = {}, y = {}, differ = {};
        if (guide == Guide::kLocalAll)
          steps[p]->guess_by_projections(polynomial.b[m], x, y);
        else if (counts_bits)
          differ = steps[p]->template guess_by_signs<BitsByInstruction>(polynomial.b[m], x, y);
        else
          differ = steps[p]->template guess_by_signs<BitsOfBytes>(polynomial.b[m], x, y);
        const Vec value = steps[p]->climb(polynomial.b[m], radius, x, y) * inverse;
        best.keep(guide == Guide::kBinary ? differ < fewest : value > best.score, value, p, m, x, y);
        fewest = lesser(fewest, differ);
      }
    }
    best.put(block, out + (at - range.begin));
  }
  for (int p = 0; p < query.count; ++p) delete steps[p];
  delete[] steps;
}

template <int NX, int DO>
void locate(const Database& db, const Query& query, Range range, Guide guide, int radius, Found* out) {
  if (guide == Guide::kExact) return locate_exactly<NX, DO>(db, query, range, out);
  locate_near<NX, DO>(db, query, range, guide, radius, out);
}

}  // namespace
}  // namespace sketchseek
