// Products of sub-vectors -> coefficients (equation tripol1), split into a part that mirroring leaves as it is
// and one whose sign it changes. Mirroring turns the query's sines of x and those of the orientation, so that a
// product is even where it has both or neither of them.
#pragma once
#include "lanes.hpp"

namespace sketchseek {
namespace {

// One orientation component of a pair of nonzero frequencies. Products with the query's cosine of x go to c,
// those with its sine to s; `x` and `y` are the distances from a cosine to its sine.
INLINE void add_square(Vec (&c)[2][2], Vec (&s)[2][2], const float* q, const Vec* v, int x, int y) {
  const Vec vcc = v[0], vcs = v[y], vsc = v[x], vss = v[x + y];
  const Vec qcc = all(q[0]), qcs = all(q[y]), qsc = all(q[x]), qss = all(q[x + y]);
  c[0][0] += qcc * vcc, c[0][0] += qcs * vcs;
  c[0][1] += qcc * vcs, c[0][1] -= qcs * vcc;
  c[1][0] += qcc * vsc, c[1][0] += qcs * vss;
  c[1][1] += qcc * vss, c[1][1] -= qcs * vsc;
  s[0][0] += qsc * vsc, s[0][0] += qss * vss;
  s[0][1] += qsc * vss, s[0][1] -= qss * vsc;
  s[1][0] -= qsc * vcc, s[1][0] -= qss * vcs;
  s[1][1] -= qsc * vcs, s[1][1] += qss * vcc;
}

// The same where the other axis has its constant component.
INLINE void add_pair(Vec (&c)[2], Vec (&s)[2], const float* q, const Vec* v, int sine) {
  const Vec qc = all(q[0]), qs = all(q[sine]);
  c[0] += qc * v[0];
  c[1] += qc * v[sine];
  s[0] += qs * v[sine];
  s[1] -= qs * v[0];
}

struct Pair {
  Vec even[2] = {}, odd[2] = {};
};

// Coefficients of one nonzero frequency along an axis; only x is mirrored.
INLINE Pair pair_of(const float* q, const Vec* v, int sine, int ndo, bool along_x) {
  Pair b;
  if (along_x) {
    add_pair(b.even, b.odd, q, v, sine);
    for (int o = 1; o < ndo; o += 2) {
      add_pair(b.even, b.odd, q + o, v + o, sine);
      add_pair(b.odd, b.even, q + o + 1, v + o + 1, sine);
    }
  } else {
    add_pair(b.even, b.even, q, v, sine);
    for (int o = 1; o < ndo; o += 2) {
      add_pair(b.even, b.even, q + o, v + o, sine);
      add_pair(b.odd, b.odd, q + o + 1, v + o + 1, sine);
    }
  }
  return b;
}

INLINE void constant_of(const float* q, const Vec* v, int ndo, Vec& even, Vec& odd) {
  even = q[0] * v[0], odd = Vec{};
  for (int o = 1; o < ndo; o += 2) {
    even += q[o] * v[o];
    odd += q[o + 1] * v[o + 1];
  }
}

// DO: orientation components, when known beforehand; 0 when not.
template <int NX>
struct Polynomial {
  static constexpr int kDx = 2 * NX - 1;
  static constexpr int kComponents = kDx * kDx * (2 * kMaxOrientations - 1) + 4 * W;
  Vec b[2][kDx * kDx];  // by mirror

  INLINE void put(int at, Vec even, Vec odd) { b[0][at] = even + odd, b[1][at] = even - odd; }

  // Not inlined: there are six callers, and a call is nothing beside its work.
  template <int DO>
  NOINLINE void fill(const float* q, const Vec* v, int runtime_do) {
    const int ndo = DO ? DO : runtime_do;
    const int x = kDx * ndo, y = ndo;
    Vec even, odd;
    constant_of(q, v, ndo, even, odd);
    put(0, even, odd);
    for (int i = 1; i < kDx; i += 2) {
      Pair along = pair_of(q + i * x, v + i * x, x, ndo, true);
      for (int p = 0; p < 2; ++p) put((i + p) * kDx, along.even[p], along.odd[p]);
      Pair across = pair_of(q + i * y, v + i * y, y, ndo, false);
      for (int p = 0; p < 2; ++p) put(i + p, across.even[p], across.odd[p]);
      for (int j = 1; j < kDx; j += 2) {
        const float* qij = q + i * x + j * y;
        const Vec* vij = v + i * x + j * y;
        Vec e[2][2] = {}, o[2][2] = {};
        add_square(e, o, qij, vij, x, y);
        for (int k = 1; k < ndo; k += 2) {
          add_square(e, o, qij + k, vij + k, x, y);
          add_square(o, e, qij + k + 1, vij + k + 1, x, y);
        }
        for (int p = 0; p < 2; ++p)
          for (int r = 0; r < 2; ++r) put((i + p) * kDx + j + r, e[p][r], o[p][r]);
      }
    }
  }
};

}  // namespace
}  // namespace sketchseek
