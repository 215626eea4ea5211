// Where the energy is.
#pragma once
#include "translations.hpp"

namespace sketchseek {
namespace {

// The samples lie symmetrically about the centre: those at +d and -d share their even and odd parts.
template <int NX, int>
void energy(const Database& db, const Cells& cells, Range range, float* out) {
  constexpr int kDx = 2 * NX - 1;
  const int ndo = 2 * db.no - 1, side = cells.cells, half = side / 2, samples = half * cells.samples;
  alignas(64) Vec v[Polynomial<NX>::kComponents];
  Vec* sums = new Vec[side * side];
  for (int64_t at = range.begin; at < range.end; at += W, out += W * side * side) {
    const Block block(range, at);
    spread(db, block, v);
    for (int c = 0; c < side * side; ++c) sums[c] = Vec{};
    for (int o = 0; o < ndo; ++o) {
      Vec b[kDx * kDx];
      for (int c = 0; c < kDx * kDx; ++c) b[c] = cells.factors[c * ndo + o] * v[c * ndo + o];
      for (int i = 0; i < samples; ++i) {
        Vec rows[2][kDx];
        contract_x<NX>(b, cells.table + i * 2 * (NX - 1), rows[0], rows[1]);
        for (int s = 0; s < 2; ++s) {
          Vec* row_sums = sums + (s ? half - 1 - i / cells.samples : half + i / cells.samples) * side;
          const Vec* r = rows[s];
          const float* table = cells.table;
          for (int j = 0; j < samples; ++j, table += 2 * (NX - 1)) {
            Vec even = r[0] + table[0] * r[1], odd = table[1] * r[2];
            for (int k = 2; k < NX; ++k) {
              even += table[2 * k - 2] * r[2 * k - 1];
              odd += table[2 * k - 1] * r[2 * k];
            }
            row_sums[half + j / cells.samples] += (even + odd) * (even + odd);
            row_sums[half - 1 - j / cells.samples] += (even - odd) * (even - odd);
          }
        }
      }
    }
    Vec total = Vec{};
    for (int c = 0; c < side * side; ++c) total += sums[c];
    for (int i = 0; i < block.count; ++i)
      for (int c = 0; c < side * side; ++c) out[i * side * side + c] = total[i] > 0 ? sums[c][i] / total[i] : 0;
  }
  delete[] sums;
}

}  // namespace
}  // namespace sketchseek
