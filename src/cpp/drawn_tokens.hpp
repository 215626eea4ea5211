// A drawing's tokens, laid out for the kernels of tokens.hpp.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "tokens.hpp"

namespace sketchseek {

class DrawnTokens {
 public:
  // tokens (patches, d) of length 1; weights (patches,), none negative, not all 0; places (patches, 2): row and column of
  // each, of `across`; centroids (parts, 16, d / parts); scales, none over 1.
  DrawnTokens(const float* tokens, const float* weights, const int32_t* places, int patches, int d, int across,
              const float* centroids, int parts, const std::vector<double>& scales, bool mirror, int overhang)
      : ways_(mirror ? 2 : 1), sizes_((int)scales.size()), patches_(patches), parts_(parts), overhang_(overhang),
        tables_((size_t)patches * parts * 16), zero_(patches), places_((size_t)ways_ * sizes_ * patches * 2),
        extents_((size_t)ways_ * sizes_ * 2) {
    for (int p = 0; p < patches; ++p) total_ += weights[p];
    quantise(multiplied(tokens, weights, d, centroids));
    for (int way = 0; way < ways_; ++way)
      for (int size = 0; size < sizes_; ++size) put(places, across, way, size, scales[size]);
  }

  DrawnView view() const {
    return {tables_.data(), zero_.data(), places_.data(), extents_.data(), ways_, sizes_, patches_, parts_, overhang_};
  }
  int parts() const { return parts_; }

  // The weighted mean of the cosines.
  float score(const Meeting& found) const { return (float)(found.sum * step_ / total_); }

 private:
  // (patches, parts, 16): weighted products with the centroids.
  std::vector<float> multiplied(const float* tokens, const float* weights, int d, const float* centroids) const {
    const int length = d / parts_;
    std::vector<float> out(tables_.size());
    for (int p = 0; p < patches_; ++p)
      for (int part = 0; part < parts_; ++part)
        for (int c = 0; c < 16; ++c) {
          const float *a = tokens + (int64_t)p * d + part * length, *b = centroids + ((int64_t)part * 16 + c) * length;
          float sum = 0;
          for (int k = 0; k < length; ++k) sum += a[k] * b[k];
          out[((int64_t)p * parts_ + part) * 16 + c] = sum * weights[p];
        }
    return out;
  }

  // Entries from the least of each part on; sums over all patches stay below 2^15 in size.
  void quantise(const std::vector<float>& products) {
    const int64_t tables = (int64_t)patches_ * parts_;
    std::vector<float> least(tables);
    double widest = 0, reach = 0;
    for (int64_t t = 0; t < tables; ++t) {
      const auto [low, high] = std::minmax_element(products.begin() + 16 * t, products.begin() + 16 * (t + 1));
      least[t] = *low;
      widest = std::max<double>(widest, *high - *low);
      reach += std::max({*high - *low, *high, -*low});
    }
    const double room = 32000 - 0.5 * (double)tables;  // each entry may be half a step too large
    step_ = std::max({widest / 255, reach / std::max(room, 1000.0), 1e-12});
    for (int64_t t = 0; t < tables; ++t)
      for (int c = 0; c < 16; ++c)
        tables_[16 * t + c] = (uint8_t)std::lrint((products[16 * t + c] - least[t]) / step_);
    for (int p = 0; p < patches_; ++p) {
      double sum = 0;
      for (int part = 0; part < parts_; ++part) sum += least[(int64_t)p * parts_ + part];
      zero_[p] = (int16_t)std::lrint(-sum / step_);
    }
  }

  // Where the patches lie at a scale, from the first row and column with lines on.
  void put(const int32_t* places, int across, int way, int size, double scale) {
    int16_t* to = places_.data() + ((int64_t)way * sizes_ + size) * patches_ * 2;
    int16_t* extent = extents_.data() + ((int64_t)way * sizes_ + size) * 2;
    for (int axis = 0; axis < 2; ++axis) {
      int first = kDrawnAcross, last = 0;
      for (int p = 0; p < patches_; ++p) {
        const int place = places[2 * p + axis];
        const int at = (int)std::lrint(scale * (way == 1 && axis == 1 ? across - 1 - place : place));
        to[2 * p + axis] = (int16_t)at;
        first = std::min(first, at), last = std::max(last, at);
      }
      for (int p = 0; p < patches_; ++p) to[2 * p + axis] = (int16_t)(to[2 * p + axis] - first);
      extent[axis] = (int16_t)(last - first + 1);
    }
  }

  int ways_, sizes_, patches_, parts_, overhang_;
  double step_ = 1, total_ = 0;
  std::vector<uint8_t> tables_;
  std::vector<int16_t> zero_, places_, extents_;
};

}  // namespace sketchseek
