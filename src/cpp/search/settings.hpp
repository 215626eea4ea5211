// What a stored vector and a query must share: shape/settings.py, and the same numbers.
#pragma once
#include <cmath>
#include <vector>

#include "../engine.hpp"

namespace sketchseek {

constexpr double kFrame = 400;  // longer side of every picture and drawing, in pixels
constexpr double kPi = 3.14159265358979323846;
constexpr double kRadians = kPi / kFrame;  // the maps' unit: a frame is pi
constexpr float kCodeUnit = 1.0f / (1 << 24);  // the kernels leave a code in the upper byte of an integer

// The maps in the kernels' precision, kept while those use them; weights of one kernel, or none.
class KeptMaps {
 public:
  typedef std::vector<double> Values;

  KeptMaps(const Values& frequencies, const Values& orientation_frequencies, const Values& weights = {},
           const Values& orientation_weights = {})
      : spatial_(frequencies.begin(), frequencies.end()),
        orientation_(orientation_frequencies.begin(), orientation_frequencies.end()),
        weights_(weights.begin(), weights.end()),
        orientation_weights_(orientation_weights.begin(), orientation_weights.end()) {}

  Maps view() const {
    return {spatial_.data(),      orientation_.data(),      weights_.data(), orientation_weights_.data(),
            (int)spatial_.size(), (int)orientation_.size(), (float)kRadians};
  }

 private:
  std::vector<float> spatial_, orientation_, weights_, orientation_weights_;
};

struct Settings {
  int nx, no;
  std::vector<double> frequencies, orientation_frequencies;  // (nx,), (no,)
  std::vector<std::vector<double>> weights;                  // (S, nx)
  std::vector<double> orientation_weights, scales;           // (no,), (S,)
  std::vector<double> code_scales;                           // (nx, nx, no)
  double max_translation, translation_step;

  int dx() const { return 2 * nx - 1; }
  int ndo() const { return 2 * no - 1; }
  int dimensions() const { return dimensions_of(nx, no); }
  int kernels() const { return (int)scales.size(); }

  KeptMaps maps(int kernel) const { return {frequencies, orientation_frequencies, weights[kernel], orientation_weights}; }

  // (D,): the query side's weight of each component (`map_asym1`).
  std::vector<double> component_weights(int kernel) const {
    const std::vector<double>& w = weights[kernel];
    return each([&](int i, int j, int k) { return w[i] * w[j] * orientation_weights[k]; });
  }

  // (D,): the one-byte code's step of each component.
  std::vector<double> component_scales() const {
    return each([&](int i, int j, int k) { return (double)(float)code_scales[(i * nx + j) * no + k]; });
  }

  // A value for each component, from its three frequencies.
  template <class F>
  std::vector<double> each(F of) const {
    std::vector<double> out;
    out.reserve(dimensions());
    for (int i = 0; i < dx(); ++i)
      for (int j = 0; j < dx(); ++j)
        for (int k = 0; k < ndo(); ++k) out.push_back(of((i + 1) / 2, (j + 1) / 2, (k + 1) / 2));
    return out;
  }
};

}  // namespace sketchseek
