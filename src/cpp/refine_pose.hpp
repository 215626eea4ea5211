// Hits off the grid: the best of some poses and of all translations near a hit's own, one picture at a time, in double
// precision. tests/reference/alignment.py has the same in NumPy.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine.hpp"

namespace sketchseek {

// Poses that may be tried, and what a picture's norm is under the kernel of each. Codes' steps are folded in.
class Ladder {
 public:
  // frequencies (nx,); steps (D,): those of codes, or ones.
  Ladder(std::vector<double> frequencies, int no, std::vector<double> steps)
      : frequencies_(std::move(frequencies)), steps_(std::move(steps)), no_(no) {}

  // vector (D,): the query side of a pose, of that norm; weights (D,): its kernel's.
  template <class Weight>
  void add(const float* vector, double norm, const Weight* weights) {
    const int ndo = 2 * no_ - 1, dx = 2 * (int)frequencies_.size() - 1;
    for (int c = 0; c < dx * dx * ndo; ++c) {
      const int x = c / ndo / dx, o = c % ndo;
      const bool odd = (x > 0 && x % 2 == 0) != (o > 0 && o % 2 == 0);  // mirroring turns sines of x and of angles
      const double unit = norm > 0 ? vector[c] * (steps_[c] / norm) : 0;
      drawn_.push_back(unit);
      mirrored_.push_back(odd ? -unit : unit);
      weights_.push_back(weights[c] * steps_[c] * steps_[c]);
    }
    ++poses_;
  }

  int poses() const { return poses_; }
  const double* frequencies() const { return frequencies_.data(); }  // (nx,)
  const double* query(int pose, bool mirrored) const {               // (D,), of norm 1
    return (mirrored ? mirrored_ : drawn_).data() + pose * steps_.size();
  }
  const double* weights(int pose) const { return weights_.data() + pose * steps_.size(); }  // (D,), of the squares

 private:
  std::vector<double> frequencies_, steps_;
  std::vector<double> drawn_, mirrored_, weights_;
  int no_;
  int poses_ = 0;
};

struct Start {
  int32_t first, last, mirrored;  // poses first ... last - 1
  double x, y, within;            // radians
};

struct RefinedPose {
  double score;  // -infinity: nothing is better than the start
  int32_t pose;
  double x, y;
};

// A component's place in [1, cos w1, sin w1, ...] by its frequency, and whether it is the sine.
inline int component(int frequency, int sine) { return frequency ? 2 * frequency - 1 + sine : 0; }

class Surface {
 public:
  Surface(const double* frequencies, int nx, int ndo) : w_(frequencies), nx_(nx), ndo_(ndo), side_(2 * nx - 1) {
    coefficients_.resize(side_ * side_);
    for (auto& c : basis_) c.resize(3 * side_);
  }

  // Equation tripol1 along both axes: cosines are turned into qc vc + qs vs, sines into qc vs - qs vc.
  void fill(const double* q, const double* v) {
    coefficients_.assign(coefficients_.size(), 0.0);
    for (int i = 0; i < nx_; ++i)
      for (int j = 0; j < nx_; ++j)
        for (int sines = 0; sines < 16; ++sines) {
          const int qx = sines & 1, vx = sines >> 1 & 1, qy = sines >> 2 & 1, vy = sines >> 3;
          if ((!i && (qx | vx)) || (!j && (qy | vy))) continue;  // the frequency 0 has no sine
          const double* a = q + (component(i, qx) * side_ + component(j, qy)) * ndo_;
          const double* b = v + (component(i, vx) * side_ + component(j, vy)) * ndo_;
          double product = 0;
          for (int o = 0; o < ndo_; ++o) product += a[o] * b[o];
          const bool negative = (qx & ~vx) != (qy & ~vy);
          coefficients_[component(i, qx ^ vx) * side_ + component(j, qy ^ vy)] += negative ? -product : product;
        }
  }

  double value(double x, double y) { return taylor(x, y).value; }

  // Newton's steps to a maximum; one that does not lead upwards is halved.
  double climb(double& x, double& y, double within) {
    const double low_x = x - within, high_x = x + within, low_y = y - within, high_y = y + within;
    Taylor at = taylor(x, y);
    double stride = 1;
    for (int i = 0; i < kNewtonSteps; ++i) {
      const double middle = (at.xx + at.yy) / 2, spread = (at.xx - at.yy) / 2;
      if (!(middle + std::sqrt(spread * spread + at.xy * at.xy) < 0)) break;  // not curved downwards on all sides
      const double determinant = at.xx * at.yy - at.xy * at.xy;
      const double step_x = (at.xy * at.y - at.yy * at.x) / determinant;
      const double step_y = (at.xy * at.x - at.xx * at.y) / determinant;
      const double to_x = std::fmin(std::fmax(x + stride * step_x, low_x), high_x);
      const double to_y = std::fmin(std::fmax(y + stride * step_y, low_y), high_y);
      const Taylor there = taylor(to_x, to_y);
      if (there.value > at.value)
        at = there, x = to_x, y = to_y, stride = 1;
      else
        stride /= 2;
    }
    return at.value;
  }

 private:
  static constexpr int kNewtonSteps = 6;

  struct Taylor {
    double value, x, y, xx, xy, yy;
  };

  // The variables and their first and second derivatives: (3, Dx).
  void fill_basis(double d, std::vector<double>& out) const {
    double *c = out.data(), *first = c + side_, *second = first + side_;
    c[0] = 1, first[0] = second[0] = 0;
    for (int k = 1; k < nx_; ++k) {
      const double w = w_[k], cosine = std::cos(w * d), sine = std::sin(w * d);
      c[2 * k - 1] = cosine, first[2 * k - 1] = -w * sine, second[2 * k - 1] = -w * w * cosine;
      c[2 * k] = sine, first[2 * k] = w * cosine, second[2 * k] = -w * w * sine;
    }
  }

  Taylor taylor(double x, double y) {
    fill_basis(x, basis_[0]);
    fill_basis(y, basis_[1]);
    const double *cx = basis_[0].data(), *cy = basis_[1].data();
    double sums[3][3] = {};
    for (int i = 0; i < side_; ++i) {
      double along[3] = {};
      const double* row = coefficients_.data() + i * side_;
      for (int j = 0; j < side_; ++j)
        for (int d = 0; d < 3; ++d) along[d] += row[j] * cy[d * side_ + j];
      for (int d = 0; d < 3; ++d)
        for (int e = 0; e < 3; ++e) sums[d][e] += cx[d * side_ + i] * along[e];
    }
    return {sums[0][0], sums[1][0], sums[0][1], sums[2][0], sums[1][1], sums[0][2]};
  }

  const double* w_;
  const int nx_, ndo_, side_;
  std::vector<double> coefficients_, basis_[2];
};

inline std::vector<double> row_of(const Database& db, int64_t id) {
  const int64_t size = db.dimensions();
  std::vector<double> row(size);
  for (int64_t c = 0; c < size; ++c)
    row[c] = db.bytes ? (double)static_cast<const int8_t*>(db.vectors)[id * size + c]
                      : (double)static_cast<const float*>(db.vectors)[id * size + c];
  return row;
}

// The cosine of a row with the only pose of a ladder, at all translations d (T,) of both axes, in units of `unit` radians: (T, T),
// x first.
inline std::vector<double> surface(const Database& db, const Ladder& ladder, int64_t id, bool mirrored,
                                   const std::vector<double>& d, double unit) {
  const std::vector<double> row = row_of(db, id);
  double squared = 0;
  for (size_t c = 0; c < row.size(); ++c) squared += ladder.weights(0)[c] * row[c] * row[c];
  Surface polynomial(ladder.frequencies(), db.nx, db.dimensions_o());
  polynomial.fill(ladder.query(0, mirrored), row.data());
  std::vector<double> out;
  for (const double x : d)
    for (const double y : d)
      out.push_back(squared > 0 ? polynomial.value(x * unit, y * unit) / std::sqrt(squared) : 0);
  return out;
}

inline RefinedPose refine_pose(const Database& db, const Ladder& ladder, int64_t id, const Start& start) {
  const int64_t size = db.dimensions();
  const std::vector<double> row = row_of(db, id);
  Surface surface(ladder.frequencies(), db.nx, db.dimensions_o());
  RefinedPose best{-std::numeric_limits<double>::infinity(), start.first, start.x, start.y};
  for (int pose = start.first; pose < start.last; ++pose) {
    const double* weights = ladder.weights(pose);
    double squared = 0;
    for (int64_t c = 0; c < size; ++c) squared += weights[c] * row[c] * row[c];
    if (!(squared > 0)) continue;
    surface.fill(ladder.query(pose, start.mirrored), row.data());
    double x = start.x, y = start.y;
    const double score = surface.climb(x, y, start.within) / std::sqrt(squared);
    if (score > best.score) best = {score, pose, x, y};
  }
  return best;
}

}  // namespace sketchseek
