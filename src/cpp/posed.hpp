// A drawing's poses laid out for the kernels; the tables of translations are computed once for all rows.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "engine.hpp"

namespace sketchseek {

// What `PosedQuery` is made of, in memory of its own, and checked. P poses of D components.
struct Poses {
  std::vector<float> full;         // (P, D)
  std::vector<float> projections;  // (P, 2, Dx * Do); empty where nobody scans them
  std::vector<float> dual;         // (P, D) or empty: see `IntegerQuery`
  std::vector<double> frequencies, steps;  // (nx,), (P,) in radians
  std::vector<int32_t> reach, kernels;     // (P,)
  bool mirror;
};

class PosedQuery {
 public:
  explicit PosedQuery(Poses&& given) : given_(std::move(given)), poses_(given_.reach.size()) {
    const size_t count = poses_.size(), high = given_.frequencies.size() - 1;
    for (size_t p = 0; p < count; ++p)
      for (int d = 1; d <= given_.reach[p]; ++d)
        for (size_t k = 1; k <= high; ++k) {
          const double phase = given_.frequencies[k] * given_.steps[p] * d;
          tables_.push_back((float)std::cos(phase));
          tables_.push_back((float)std::sin(phase));
        }
    const float* table = tables_.data();
    const size_t side = given_.projections.size() / count / 2;
    for (size_t p = 0; p < count; ++p) {
      Pose& pose = poses_[p];
      pose.full = given_.full.data() + p * dimensions();
      pose.projections[kX] = given_.projections.data() + 2 * p * side;
      pose.projections[kY] = pose.projections[kX] + side;
      pose.table = table;
      pose.profile = nullptr;
      pose.kernel = given_.kernels[p];
      pose.reach = given_.reach[p];
      table += (size_t)pose.reach * high * 2;
    }
  }
  PosedQuery(PosedQuery&&) = default;  // its poses point into it: it moves, and is not copied
  PosedQuery& operator=(PosedQuery&&) = default;

  Query view() const { return Query{poses_.data(), (int)poses_.size(), given_.mirror}; }
  int nx() const { return (int)given_.frequencies.size(); }
  size_t dimensions() const { return given_.full.size() / poses_.size(); }
  size_t side() const { return given_.projections.size() / poses_.size() / 2; }  // of a projection
  const float* dual() const { return given_.dual.empty() ? nullptr : given_.dual.data(); }
  double step(int pose) const { return given_.steps[pose]; }
  // The poses with a profile each, (P, nx - 1), so that the kernels may skip.
  std::vector<Pose> with_profiles(const float* profiles) const {
    std::vector<Pose> poses = poses_;
    for (size_t p = 0; p < poses.size(); ++p) poses[p].profile = profiles + p * (nx() - 1);
    return poses;
  }
  int reach() const { return *std::max_element(given_.reach.begin(), given_.reach.end()); }
  int kernels() const { return *std::max_element(given_.kernels.begin(), given_.kernels.end()) + 1; }

 private:
  Poses given_;
  std::vector<float> tables_;
  std::vector<Pose> poses_;
};

}  // namespace sketchseek
