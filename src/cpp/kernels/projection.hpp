// One projection.
#pragma once
#include "exact.hpp"

namespace sketchseek {
namespace {

constexpr int kAheadOfScan = 4;  // blocks of a projection that are asked for before they are needed

template <class T>
INLINE void spread_projection(const T* from, const Block& block, int components, Vec* out) {
  if (block.adjacent) {
    from += block.id[0] / kBlock * kBlock * components + block.id[0] % kBlock;
    for (int c = 0; c < components; ++c) out[c] = widen(from + c * kBlock);
    for (int c = 0; c < components; c += 64 / kBlock / (int)sizeof(T))
      __builtin_prefetch(from + (kAheadOfScan * components + c) * kBlock);
    return;
  }
  float* lanes = (float*)out;
  for (int i = 0; i < W; ++i) {
    const T* lane = from + block.id[i] / kBlock * kBlock * components + block.id[i] % kBlock;
    for (int c = 0; c < components; ++c) lanes[c * W + i] = lane[c * kBlock];
  }
}

template <int NX, int DO, int kAxis>
void project_along(const Database& db, const Query& query, Range range, float* out) {
  constexpr int kDx = 2 * NX - 1;
  const int ndo = DO ? DO : 2 * db.no - 1;
  alignas(64) Vec v[kDx * (2 * kMaxOrientations - 1)];
  for (int64_t at = range.begin; at < range.end; at += W) {
    const Block block(range, at);
    if (db.bytes)
      spread_projection((const int8_t*)db.projections[kAxis], block, kDx * ndo, v);
    else
      spread_projection((const float*)db.projections[kAxis], block, kDx * ndo, v);
    Vec best = all(kNever);
    for (int p = 0; p < query.count; ++p) {
      const Pose& pose = query.poses[p];
      const float* q = pose.projections[kAxis];
      Vec b[2][kDx], even, odd;
      constant_of(q, v, ndo, even, odd);
      b[0][0] = even + odd, b[1][0] = even - odd;
      for (int i = 1; i < kDx; i += 2) {
        const Pair pair = pair_of(q + i * ndo, v + i * ndo, ndo, ndo, kAxis == kX);
        for (int s = 0; s < 2; ++s) {
          b[0][i + s] = pair.even[s] + pair.odd[s];
          b[1][i + s] = pair.even[s] - pair.odd[s];
        }
      }
      Vec top, mirrored;
      best_of_rows<NX>(b[0], b[1], pose.table, pose.reach, top, mirrored);
      if (query.mirror) top = max(top, mirrored);
      best = max(best, top * block.inverse(db, kAxis, pose.kernel));
    }
    block.put(best, out + (at - range.begin));
  }
}

template <int NX, int DO>
void project(const Database& db, const Query& query, Range range, int axis, float* out) {
  if (axis == kX)
    project_along<NX, DO, kX>(db, query, range, out);
  else
    project_along<NX, DO, kY>(db, query, range, out);
}

}  // namespace
}  // namespace sketchseek
