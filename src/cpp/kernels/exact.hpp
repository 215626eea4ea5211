// Exact scores: the best of all poses, mirrors and translations.
#pragma once
#include "bound.hpp"
#include "translations.hpp"

namespace sketchseek {
namespace {

constexpr float kNever = -3.0f;  // below every cosine

struct Best {
  Vec score = all(kNever);
  Ints pose = {}, mirrored = {}, x = {}, y = {};

  INLINE void keep(Ints better, Vec value, int p, int m, Ints at_x, Ints at_y) {
    score = better ? value : score;
    pose = choose(better, Ints{} + p, pose);
    mirrored = choose(better, Ints{} + m, mirrored);
    x = choose(better, at_x, x);
    y = choose(better, at_y, y);
  }

  template <int NX>
  void offer(Vec value, Vec inverse, const Vec* r, const Pose& pose_, int p, int m, int dx) {
    Vec s = value * inverse;
    if (!any_greater(s, score)) return;
    keep(s > score, s, p, m, Ints{} + dx, place_in_row<NX>(r, pose_.table, pose_.reach));
  }

  void put(const Block& block, Found* out) const {
    for (int i = 0; i < block.count; ++i)
      out[i] = Found{score[i], (int16_t)pose[i], (int16_t)mirrored[i], (int16_t)x[i], (int16_t)y[i]};
  }
};

template <int NX, int DO, bool kPrune, bool kLocate>
Best search(const Database& db, const Query& query, const Block& block, const Vec* v, Vec threshold, Ahead& ahead) {
  constexpr int kDx = 2 * NX - 1;
  static const float kNone[NX - 1] = {};
  Best best;
  Polynomial<NX> polynomial;
  for (int p = 0; p < query.count; ++p) {
    const Pose& pose = query.poses[p];
    polynomial.template fill<DO>(pose.full, v, 2 * db.no - 1);
    const Vec inverse = block.inverse(db, kFull, pose.kernel);
    const Bar<NX> bar(max(best.score, threshold) / inverse, kPrune ? pose.profile : kNone);
    Vec top = all(-__builtin_inff());
    for (int m = 0; m <= query.mirror; ++m) {
      Vec r[kDx], s[kDx];
      const Vec rest = kPrune ? sum_of_amplitudes<NX>(polynomial.b[m]) : Vec{};
      contract_x_at_zero<NX>(polynomial.b[m], r);
      if (!kPrune || bar.may_be_reached(r)) {
        const Vec middle = best_of_row<NX>(r, pose.table, pose.reach);
        if (kLocate) best.template offer<NX>(middle, inverse, r, pose, p, m, 0);
        top = max(top, middle);
      }
      for (int d = 1; d <= pose.reach; ++d) {
        ahead.ask(kDx < 11 ? 2 : 4);
        const float* table = pose.table + (d - 1) * 2 * (NX - 1);
        if (kPrune && !bar.may_be_reached(better_constant<NX>(polynomial.b[m], table), rest)) continue;
        contract_x<NX>(polynomial.b[m], table, r, s);
        if (kPrune && !bar.may_be_reached(r) && !bar.may_be_reached(s)) continue;
        Vec plus, minus;
        best_of_rows<NX>(r, s, pose.table, pose.reach, plus, minus);
        if (kLocate) {
          best.template offer<NX>(plus, inverse, r, pose, p, m, d);
          best.template offer<NX>(minus, inverse, s, pose, p, m, -d);
        }
        top = max(top, max(plus, minus));
      }
    }
    if (!kLocate) best.score = max(best.score, top * inverse);
  }
  return best;
}

template <int NX, int DO>
void score(const Database& db, const Query& query, Range range, float threshold, float* out) {
  const bool prune = threshold > 0 && query.poses[0].profile;
  alignas(64) Vec v[Polynomial<NX>::kComponents];
  for (int64_t at = range.begin; at < range.end; at += W) {
    Ahead ahead(db, range, at + W);
    const Block block(range, at);
    spread(db, block, v);
    const Vec prior = range.prior ? block.of(range.prior) : all(1.0f);
    const Vec bar = all(threshold) / prior;
    const Best best = prune ? search<NX, DO, true, false>(db, query, block, v, bar, ahead)
                            : search<NX, DO, false, false>(db, query, block, v, bar, ahead);
    block.put(best.score * prior, out + (at - range.begin));
  }
}

template <int NX, int DO>
void locate_exactly(const Database& db, const Query& query, Range range, Found* out) {
  alignas(64) Vec v[Polynomial<NX>::kComponents];
  for (int64_t at = range.begin; at < range.end; at += W) {
    Ahead ahead(db, range, at + W);
    const Block block(range, at);
    spread(db, block, v);
    search<NX, DO, false, true>(db, query, block, v, all(kNever), ahead).put(block, out + (at - range.begin));
  }
}

}  // namespace
}  // namespace sketchseek
