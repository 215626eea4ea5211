// A collection as a search sees it: stored vectors, norms, frames, and which rows are windows of which picture.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "../scan.hpp"
#include "constants.hpp"
#include "settings.hpp"

namespace sketchseek {

// Norms (n, S, 3) of one-byte codes (n, D); those of the projections are left out.
inline std::vector<float> norms_of(const int8_t* codes, int64_t n, const Settings& settings) {
  const int size = settings.dimensions(), kernels = settings.kernels();
  const std::vector<double> steps = settings.component_scales();
  std::vector<std::vector<double>> weights;
  for (int s = 0; s < kernels; ++s) weights.push_back(settings.component_weights(s));
  std::vector<float> out((size_t)n * kernels * 3, 0.0f);
  std::vector<double> squares(size);
  for (int64_t i = 0; i < n; ++i, codes += size) {
    for (int c = 0; c < size; ++c) {
      const float value = codes[c] * (float)steps[c];
      squares[c] = (double)value * value;
    }
    for (int s = 0; s < kernels; ++s) {
      double sum = 0;
      for (int c = 0; c < size; ++c) sum += squares[c] * weights[s][c];
      out[(i * kernels + s) * 3 + kFull] = (float)std::sqrt(sum);
    }
  }
  return out;
}

// The share of its picture that a window with this longer side shows, whose whole has the other: in (0, 1].
inline float share_of(float side, float whole, bool is_line_art) {
  const float share = whole > 0 ? std::min(std::max(side / whole, 0.01f), 1.0f) : 1.0f;
  return is_line_art ? (float)std::pow((double)share, kPartPower) : share;
}

// What a window of that share counts.
inline float prior_of(float share) { return (float)std::pow((double)share, kWindowPrior); }

struct Picture {
  int32_t width, height;  // of the upright original
  bool is_line_art;
  int64_t begin, end;  // its rows
};

class Pictures {
 public:
  // rows, and frames (rows, 4), are used where they lie.
  Pictures(const Settings& settings, const Database& rows, const float* frames, std::vector<Picture>&& pictures)
      : settings(settings),
        rows(rows),
        frames(frames),
        pictures(std::move(pictures)),
        picture_of(rows.n),
        shares(rows.n) {
    bool parts = false;
    for (size_t p = 0; p < this->pictures.size(); ++p) {
      const Picture& picture = this->pictures[p];
      for (int64_t r = picture.begin; r < picture.end; ++r) {
        picture_of[r] = (int32_t)p;
        shares[r] = share_of(side(r), side(picture.begin), picture.is_line_art);
        parts |= shares[r] < 1;
      }
    }
    if (parts)
      for (const float share : shares) prior.push_back(prior_of(share));
  }

  size_t size() const { return pictures.size(); }
  bool has_windows() const { return (int64_t)pictures.size() != rows.n; }
  float weighted(float score, int64_t row) const { return prior.empty() ? score : score * prior[row]; }

  // (D,): what a stored component is multiplied with to be one of V; and what the kernels make of a stored number.
  std::vector<float> steps() const {
    if (!rows.bytes) return std::vector<float>(settings.dimensions(), 1.0f);
    const std::vector<double> steps = settings.component_scales();
    return {steps.begin(), steps.end()};
  }
  double unit() const { return rows.bytes ? kCodeUnit : 1.0; }

  const Settings settings;
  const Database& rows;
  const float* const frames;
  const std::vector<Picture> pictures;
  std::vector<int32_t> picture_of;  // (rows,)
  std::vector<float> shares;        // (rows,): the size of each window beside its picture's first
  std::vector<float> prior;         // (rows,), or empty where all are 1

 private:
  float side(int64_t row) const {
    const float* f = frames + 4 * row;
    return std::max(f[2] - f[0], f[3] - f[1]);
  }
};

}  // namespace sketchseek
