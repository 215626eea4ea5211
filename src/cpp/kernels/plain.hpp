// The paper's evaluation, for comparison: N2 multiplications for every translation, eight translations at a time.
#pragma once
#include "exact.hpp"
#include "single.hpp"

namespace sketchseek {
namespace {

template <int NX, int DO>
void plain(const Database& db, const Query& query, Range range, float* out) {
  constexpr int kDx = 2 * NX - 1, kN2 = kDx * kDx, kTogether = 8;
  float** tables = new float*[query.count];
  int* sizes = new int[query.count];
  for (int p = 0; p < query.count; ++p) {
    const Pose& pose = query.poses[p];
    const int side = 2 * pose.reach + 1;
    sizes[p] = (side * side + kTogether - 1) / kTogether;
    tables[p] = new float[(int64_t)sizes[p] * kTogether * kN2];
    float cx[Single<NX>::kRow], cy[Single<NX>::kRow];
    for (int t = 0; t < sizes[p] * kTogether; ++t) {
      const int at = t < side * side ? t : 0;
      Single<NX>::basis(pose, at / side - pose.reach, cx);
      Single<NX>::basis(pose, at % side - pose.reach, cy);
      float* to = tables[p] + (int64_t)(t / kTogether) * kN2 * kTogether + t % kTogether;
      for (int c = 0; c < kN2; ++c) to[c * kTogether] = cx[c / kDx] * cy[c % kDx];
    }
  }
  alignas(64) Vec v[Polynomial<NX>::kComponents];
  Polynomial<NX> polynomial;
  for (int64_t from = range.begin; from < range.end; from += W) {
    Ahead ahead(db, range, from + W);
    ahead.ask(1 << 20);
    const Block block(range, from);
    spread(db, block, v);
    Vec best = all(kNever);
    for (int p = 0; p < query.count; ++p) {
      const Pose& pose = query.poses[p];
      polynomial.template fill<DO>(pose.full, v, 2 * db.no - 1);
      Vec top = all(-__builtin_inff());
      for (int m = 0; m <= query.mirror; ++m) {
        const float* t = tables[p];
        for (int i = 0; i < sizes[p]; ++i, t += kN2 * kTogether) {
          Vec sum[kTogether] = {};
          for (int c = 0; c < kN2; ++c)
            for (int k = 0; k < kTogether; ++k) sum[k] += t[c * kTogether + k] * polynomial.b[m][c];
          for (int k = 0; k < kTogether; ++k) top = max(top, sum[k]);
        }
      }
      best = max(best, top * block.inverse(db, kFull, pose.kernel));
    }
    block.put(best, out + (from - range.begin));
  }
  for (int p = 0; p < query.count; ++p) delete[] tables[p];
  delete[] tables;
  delete[] sizes;
}

}  // namespace
}  // namespace sketchseek
