// A drawing -> its weighted vectors in every pose that is tried: shape/descriptor.py and shape/query.py.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "../posed.hpp"
#include "drawing.hpp"

namespace sketchseek {

// One pose on the query side, not normalised, and its norm under its own kernel.
struct QueryPose {
  int kernel;
  double scale, rotation, size;  // scale: size times `turned_fit`
  std::vector<float> vector;     // (D,)
  float norm;
};

// What brings a turned drawing's longer side to the length it had.
inline double turned_fit(const Points& points, double rotation) {
  if (rotation == 0 || points.size() == 0) return 1;
  auto longer = [](const Points& p) {
    const auto [x0, x1] = std::minmax_element(p.x.begin(), p.x.end());
    const auto [y0, y1] = std::minmax_element(p.y.begin(), p.y.end());
    return std::max((double)(*x1 - *x0), (double)(*y1 - *y0));
  };
  const double before = longer(points), after = longer(points.rotated(rotation));
  return after > 0 ? before / after : 1;
}

// The poses of `Query.of`: rotations, and for each the settings' scales.
inline std::vector<QueryPose> poses_of(const Kernels& kernels, const Points& points, const Settings& settings,
                                       const std::vector<double>& rotations) {
  const KeptMaps maps = settings.maps(0);
  std::vector<std::vector<double>> weights;
  for (int s = 0; s < settings.kernels(); ++s) weights.push_back(settings.component_weights(s));
  std::vector<QueryPose> poses;
  for (const double rotation : rotations) {
    const double fit = turned_fit(points, rotation);
    const Points turned = rotation ? points.rotated(rotation) : points;
    for (int s = 0; s < settings.kernels(); ++s) {
      QueryPose pose{s, settings.scales[s] * fit, rotation, settings.scales[s], std::vector<float>(settings.dimensions()), 0};
      kernels.describe(maps.view(), turned.view(), (float)pose.scale, pose.vector.data());
      double squared = 0;
      for (size_t c = 0; c < pose.vector.size(); ++c) {
        squared += (double)pose.vector[c] * pose.vector[c] * weights[s][c];
        pose.vector[c] *= (float)weights[s][c];
      }
      pose.norm = (float)std::sqrt(squared);
      poses.push_back(std::move(pose));
    }
  }
  return poses;
}

// The same for the kernels, with the norms and, for one-byte codes, their steps folded in (`NativeEngine._folded`).
inline PosedQuery posed(const std::vector<QueryPose>& poses, const Settings& settings, bool mirror, bool codes) {
  const float unit = codes ? kCodeUnit : 1.0f;
  Poses out;
  const std::vector<double> scales = codes ? settings.component_scales() : std::vector<double>(settings.dimensions(), 1.0);
  std::vector<std::vector<double>> weights;
  for (int s = 0; s < settings.kernels(); ++s) weights.push_back(settings.component_weights(s));
  out.frequencies = settings.frequencies;
  out.mirror = mirror;
  for (const QueryPose& pose : poses) {
    const float inverse = pose.norm > 0 ? 1 / pose.norm : 0;
    for (size_t c = 0; c < pose.vector.size(); ++c) {
      out.full.push_back(pose.vector[c] * (float)scales[c] * inverse * unit);
      if (!codes) continue;
      const double length = std::sqrt(weights[pose.kernel][c]) * scales[c];  // `NativeEngine._dual`
      out.dual.push_back(length > 0 ? (float)(1 / length) : 0);
    }
    const double step = settings.translation_step * pose.size;
    out.steps.push_back(step * kRadians);
    out.reach.push_back((int32_t)std::floor(settings.max_translation / pose.size / step + 1e-9));
    out.kernels.push_back(pose.kernel);
  }
  return PosedQuery(std::move(out));
}

// Rotations in radians up to `most` degrees either way, the least first, at most `step` degrees apart.
inline std::vector<double> turns(double most, double step) {
  std::vector<double> degrees;
  if (most == 180) {
    const int count = (int)std::ceil(360 / step);
    for (int i = 0; i < count; ++i) degrees.push_back(360.0 * i / count - (2 * i > count ? 360 : 0));
  } else {
    const int side = (int)std::ceil(most / step);
    for (int i = -side; i <= side; ++i) degrees.push_back(side ? most * i / side : 0);
  }
  std::sort(degrees.begin(), degrees.end(), [](double a, double b) {
    return std::fabs(a) != std::fabs(b) ? std::fabs(a) < std::fabs(b) : a < b;
  });
  for (double& d : degrees) d = d * (kPi / 180);
  return degrees;
}

}  // namespace sketchseek
