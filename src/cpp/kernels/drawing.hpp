// A drawing's points: their vector, and how densely a row's contours lie at them. A lane is a point.
#pragma once
#include "lanes.hpp"

namespace sketchseek {
namespace {

// Both of each lane, to 1e-7 for phases of up to some thousands: what is left of whole quarter turns, and a polynomial.
INLINE void turn_of(Vec phase, Vec& cosine, Vec& sine) {
  constexpr float kWhole = 12582912;  // 1.5 * 2^23: a number added to it is rounded to a whole one
  const Vec rounded = phase * 0.636619772f + kWhole, quarters = rounded - kWhole;
  const Ints quarter = (Ints)rounded;
  Vec r = phase - quarters * 1.5703125f;  // pi / 2 in three parts, of which the first two have few digits
  r -= quarters * 4.837512969970703125e-4f;
  r -= quarters * 7.54978995489188216e-8f;
  const Vec square = r * r;
  const Vec s = r + r * square * (-1.6666654611e-1f + square * (8.3321608736e-3f + square * -1.9515295891e-4f));
  const Vec c = 1 - square * 0.5f +
                square * square * (4.166664568298827e-2f + square * (-1.388731625493765e-3f + square * 2.443315711809948e-5f));
  const Ints odd = -(quarter & 1);
  cosine = (Vec)(choose(odd, (Ints)s, (Ints)c) ^ ((quarter + 1) << 30 & (int32_t)0x80000000));
  sine = (Vec)(choose(odd, (Ints)c, (Ints)s) ^ (quarter << 30 & (int32_t)0x80000000));
}

// The components [1, cos w1 x, sin w1 x, ...], `stride` apart.
INLINE void fill_components(Vec x, const float* frequencies, int count, Vec* out, int stride) {
  out[0] = all(1);
  for (int k = 1; k < count; ++k) turn_of(frequencies[k] * x, out[(2 * k - 1) * stride], out[2 * k * stride]);
}

// W values from the `at`-th on; past the end the last is repeated.
INLINE Vec lanes_from(const float* values, int64_t at, int64_t n) {
  if (at + W <= n) return load<Vec>(values + at);
  float lanes[W];
  for (int i = 0; i < W; ++i) lanes[i] = values[min(at + i, n - 1)];
  return load<Vec>(lanes);
}

INLINE Vec weights_from(const float* values, int64_t at, int64_t n) {
  Vec out = lanes_from(values, at, n);
  for (int i = (int)min(W, n - at); i < W; ++i) out[i] = 0;  // what is repeated counts nothing
  return out;
}

template <int NX, int>
void describe(const Maps& maps, const Contour& points, float size, float* out) {
  constexpr int kDx = 2 * NX - 1, kVectors = 16;
  const int ndo = 2 * maps.no - 1;
  Vec x[kDx][kVectors], y[kDx][kVectors], o[2 * kMaxOrientations - 1][kVectors];
  Vec* sums = new Vec[kDx * ndo * kDx]();
  for (int64_t from = 0; from < points.n; from += W * kVectors) {
    const int count = (int)min(kVectors, (points.n - from + W - 1) / W);
    for (int b = 0; b < count; ++b) {
      const int64_t at = from + b * W;
      fill_components(lanes_from(points.x, at, points.n) * size * maps.unit, maps.frequencies, NX, x[0] + b, kVectors);
      fill_components(lanes_from(points.y, at, points.n) * size * maps.unit, maps.frequencies, NX, y[0] + b, kVectors);
      fill_components(2 * lanes_from(points.angle, at, points.n), maps.orientation_frequencies, maps.no, o[0] + b, kVectors);
      const Vec weight = weights_from(points.weight, at, points.n);
      for (int k = 0; k < ndo; ++k) o[k][b] *= weight;
    }
    for (int j = 0; j < kDx; ++j)
      for (int k = 0; k < ndo; ++k) {
        Vec* sum = sums + (j * ndo + k) * kDx;
        Vec own[kDx];
        UNROLL for (int i = 0; i < kDx; ++i) own[i] = sum[i];
        for (int b = 0; b < count; ++b) {
          const Vec yo = y[j][b] * o[k][b];
          UNROLL for (int i = 0; i < kDx; ++i) own[i] += x[i][b] * yo;
        }
        UNROLL for (int i = 0; i < kDx; ++i) sum[i] = own[i];
      }
  }
  for (int i = 0; i < kDx; ++i)
    for (int c = 0; c < kDx * ndo; ++c) {
      float total = 0;
      for (int lane = 0; lane < W; ++lane) total += sums[c * kDx + i][lane];
      out[i * kDx * ndo + c] = total;
    }
  delete[] sums;
}

// NDO: components of the orientation map; 0 where only `maps` knows.
template <int NX, int NDO>
void densities_of(const Database& db, Range range, const Maps& maps, const Contour& points, const float* steps,
                  const float* shifts, float* out) {
  constexpr int kDx = 2 * NX - 1, kTurns = 2 * (NX - 1);
  const int ndo = NDO ? NDO : 2 * maps.no - 1, size = kDx * kDx * ndo, count = (int)((points.n + W - 1) / W);
  Vec* own = new Vec[(2 * kDx + ndo) * count];  // the points' components, times the weights: x, y, angle
  Vec *xs = own, *ys = xs + kDx * count, *os = ys + kDx * count;
  for (int b = 0; b < count; ++b) {
    fill_components(lanes_from(points.x, b * W, points.n) * maps.unit, maps.frequencies, NX, xs + b, count);
    fill_components(lanes_from(points.y, b * W, points.n) * maps.unit, maps.frequencies, NX, ys + b, count);
    fill_components(2 * lanes_from(points.angle, b * W, points.n), maps.orientation_frequencies, maps.no, os + b, count);
    for (int i = 0; i < kDx; ++i) xs[i * count + b] *= maps.weights[(i + 1) / 2], ys[i * count + b] *= maps.weights[(i + 1) / 2];
    for (int k = 0; k < ndo; ++k) os[k * count + b] *= maps.orientation_weights[(k + 1) / 2];
  }
  float* row = new float[size];
  for (int64_t at = range.begin; at < range.end; ++at, out += points.n) {
    const int64_t id = range.ids ? range.ids[at] : at;
    for (int c = 0; c < size; ++c)
      row[c] = db.bytes ? steps[c] * ((const int8_t*)db.vectors)[id * size + c] : ((const float*)db.vectors)[id * size + c];
    // The points are moved to where the drawing lies: cos(a + b) and sin(a + b) from those of a and b.
    constexpr int kPhases = (kTurns + W - 1) / W;
    float phases[kPhases * W] = {};
    Vec cosines[kPhases], sines[kPhases];
    for (int k = 1; k < NX; ++k)
      for (int axis = 0; axis < 2; ++axis)
        phases[axis * (NX - 1) + k - 1] = shifts[2 * at + axis] * maps.unit * maps.frequencies[k];
    for (int b = 0; b < kPhases; ++b) turn_of(load<Vec>(phases + b * W), cosines[b], sines[b]);
    for (int b = 0; b < count; ++b) {
      Vec moved[2][kDx], o[NDO ? NDO : 2 * kMaxOrientations - 1];
      for (int axis = 0; axis < 2; ++axis) {
        const Vec* from = (axis ? ys : xs) + b;
        moved[axis][0] = from[0];
        for (int k = 1; k < NX; ++k) {
          const int turn = axis * (NX - 1) + k - 1;
          const float cosine = cosines[turn / W][turn % W], sine = sines[turn / W][turn % W];
          const Vec c = from[(2 * k - 1) * count], s = from[2 * k * count];
          moved[axis][2 * k - 1] = cosine * c - sine * s;
          moved[axis][2 * k] = cosine * s + sine * c;
        }
      }
      for (int k = 0; k < ndo; ++k) o[k] = os[k * count + b];
      Vec sum{};
      const float* v = row;
      for (int i = 0; i < kDx; ++i) {
        Vec along{};
        for (int j = 0; j < kDx; ++j, v += ndo) {
          Vec inner = o[0] * v[0];
          for (int k = 1; k < ndo; ++k) inner += o[k] * v[k];
          along += moved[1][j] * inner;
        }
        sum += moved[0][i] * along;
      }
      for (int lane = 0; lane < min(W, points.n - b * W); ++lane) out[b * W + lane] = sum[lane];
    }
  }
  delete[] row;
  delete[] own;
}

template <int NX, int>
void densities(const Database& db, Range range, const Maps& maps, const Contour& points, const float* steps,
               const float* shifts, float* out) {
  (maps.no == 2   ? densities_of<NX, 3>
   : maps.no == 3 ? densities_of<NX, 5>
                  : densities_of<NX, 0>)(db, range, maps, points, steps, shifts, out);
}

}  // namespace
}  // namespace sketchseek
