// One picture out of its lane, and single translations.
#pragma once
#include "coefficients.hpp"

namespace sketchseek {
namespace {

// Coefficients of one picture, and everything that is evaluated at single translations.
template <int NX>
struct Single {
  static constexpr int kDx = 2 * NX - 1, kRow = (kDx + 7) / 8 * 8;
  float b[kDx][kRow];

  Single(const Vec* from, int lane) {
    for (int i = 0; i < kDx; ++i)
      for (int j = 0; j < kRow; ++j) b[i][j] = j < kDx ? from[i * kDx + j][lane] : 0.0f;
  }

  static void basis(const Pose& pose, int d, float* out) {
    const float* t = pose.table + ((d < 0 ? -d : d) - 1) * 2 * (NX - 1);
    out[0] = 1;
    for (int k = 1; k < NX; ++k) {
      out[2 * k - 1] = d ? t[2 * k - 2] : 1.0f;
      out[2 * k] = d ? (d < 0 ? -t[2 * k - 1] : t[2 * k - 1]) : 0.0f;
    }
    for (int j = kDx; j < kRow; ++j) out[j] = 0;
  }

  void highest_row(const Pose& pose, float& highest, float* amplitudes) const {
    for (int dx = -pose.reach; dx <= pose.reach; ++dx) {
      float c[kRow], r[kRow] = {}, a[NX - 1];
      basis(pose, dx, c);
      for (int i = 0; i < kDx; ++i)
        for (int j = 0; j < kRow; ++j) r[j] += c[i] * b[i][j];
      float sum = r[0];
      for (int k = 1; k < NX; ++k) {
        a[k - 1] = __builtin_sqrtf(r[2 * k - 1] * r[2 * k - 1] + r[2 * k] * r[2 * k]);
        sum += a[k - 1];
      }
      if (sum <= highest) continue;
      highest = sum;
      for (int k = 0; k < NX - 1; ++k) amplitudes[k] = a[k];
    }
  }
};

}  // namespace
}  // namespace sketchseek
