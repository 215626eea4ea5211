// What a stored vector and a query must share: shape/settings.py, and the same numbers.
#pragma once
#include <cmath>
#include <vector>

namespace sketchseek {

constexpr double kFrame = 400;  // longer side of every picture and drawing, in pixels
constexpr double kPi = 3.14159265358979323846;
constexpr double kRadians = kPi / kFrame;  // the maps' unit: a frame is pi

struct Settings {
  int nx, no;
  std::vector<double> frequencies, orientation_frequencies;  // (nx,), (no,)
  std::vector<std::vector<double>> weights;                  // (S, nx)
  std::vector<double> orientation_weights, scales;           // (no,), (S,)
  std::vector<double> code_scales;                           // (nx, nx, no)
  double max_translation, translation_step;

  int dx() const { return 2 * nx - 1; }
  int ndo() const { return 2 * no - 1; }
  int dimensions() const { return dx() * dx() * ndo(); }
  int kernels() const { return (int)scales.size(); }

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
