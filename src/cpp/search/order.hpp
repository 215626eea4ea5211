// What orders hits: the cosine by the norm of where the drawing lies (docs/explanation/clutter.md), and by how much of it is there.
#pragma once
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "pictures.hpp"
#include "query.hpp"

namespace sketchseek {

// A row and where in its window the drawing lies, as in `Ranking`.
struct Placed {
  int64_t row;
  int32_t picture;
  float score, scale, rotation;
  bool mirrored;
  float dx, dy;
};
typedef std::vector<Placed> Ranking;

class Order {
 public:
  // normalization: b, the strength of the local normalisation, in [0, 1). coverage: its power, 0 leaves it out.
  Order(const Kernels& kernels, const Pictures& pictures, const Points& points, double normalization, double coverage)
      : kernels_(kernels),
        pictures_(pictures),
        settings_(pictures.settings),
        points_(points),
        normalization_(normalization),
        power_(coverage) {
    const int n = (int)points.size(), count = std::min(n, kSamples);
    for (int i = 0; i < count; ++i) {
      const double at = count > 1 && i < count - 1 ? i * ((double)(n - 1) / (count - 1)) : count > 1 ? n - 1 : 0;
      sampled_.push_back((int)std::nearbyint(at));
    }
    for (const int i : sampled_) drawn_.push_back(points.weight[i]);
    const double sum = std::accumulate(drawn_.begin(), drawn_.end(), 0.0);
    for (double& weight : drawn_) weight /= sum;
    steps_ = pictures.steps();
  }

  const std::vector<int>& sampled() const { return sampled_; }

  // The same hits by `order_scores`, and those.
  void operator()(Ranking& ranking, std::vector<double>& scores) const {
    scores = order_scores(ranking);
    reordered(ranking, scores);
  }

  // The same hits by what they are compared by, best first, and that.
  static void reordered(Ranking& ranking, std::vector<double>& scores) {
    std::vector<size_t> order(ranking.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
    Ranking sorted;
    std::vector<double> by;
    for (const size_t i : order) sorted.push_back(ranking[i]), by.push_back(scores[i]);
    ranking.swap(sorted), scores.swap(by);
  }

  // (k,) what hits are compared by.
  std::vector<double> order_scores(const Ranking& ranking) const {
    const std::vector<double> share = shares_inside(ranking);
    const std::vector<double> even = power_ > 0 ? coverage(ranking) : std::vector<double>();
    std::vector<double> out(ranking.size());
    for (size_t i = 0; i < out.size(); ++i) {
      const Placed& hit = ranking[i];
      const double local = hit.score / std::sqrt(1 - normalization_ + normalization_ * share[i]);
      // A small window gives more chances to find something like the drawing by accident: it has to be there the more fully.
      const double factor = power_ > 0 && local > 0 ? std::pow(even[i], power_ / pictures_.shares[hit.row]) : 1.0;
      out[i] = (hit.mirrored ? kMirrored : 1.0) * local * factor;
    }
    return out;
  }

  // (k,) in [0, 1]: 1 where all of the drawing is matched equally well, the mean of the roots of its points' densities by the
  // root of their mean.
  std::vector<double> coverage(const Ranking& ranking) const {
    std::vector<double> even(ranking.size(), 0.0);
    if (sampled_.empty()) return even;
    std::vector<size_t> by_pose(ranking.size());
    std::iota(by_pose.begin(), by_pose.end(), 0);
    auto pose = [&](size_t i) { return std::make_tuple(ranking[i].scale, ranking[i].rotation, ranking[i].mirrored); };
    std::sort(by_pose.begin(), by_pose.end(), [&](size_t a, size_t b) { return pose(a) < pose(b); });
    for (size_t begin = 0, end; begin < by_pose.size(); begin = end) {
      std::vector<int64_t> rows;
      std::vector<float> shifts;
      for (end = begin; end < by_pose.size() && pose(by_pose[end]) == pose(by_pose[begin]); ++end) {
        const Placed& hit = ranking[by_pose[end]];
        rows.push_back(hit.row), shifts.insert(shifts.end(), {hit.dx, hit.dy});
      }
      const std::vector<float> dense = densities(ranking[by_pose[begin]], rows, shifts);
      for (size_t i = 0; i < rows.size(); ++i) {
        double roots = 0, mean = 0;
        for (size_t p = 0; p < sampled_.size(); ++p) {
          const float one = std::max(dense[i * sampled_.size() + p], 0.0f);
          roots += drawn_[p] * std::sqrt(one), mean += drawn_[p] * one;
        }
        even[by_pose[begin + i]] = mean > 0 ? roots / std::sqrt(mean) : 0;
      }
    }
    return even;
  }

  // (rows, samples): how densely the rows' contours lie at the drawing's points, in a hit's pose, moved by shifts (rows, 2).
  std::vector<float> densities(const Placed& hit, const std::vector<int64_t>& rows, const std::vector<float>& shifts) const {
    const Points turned = hit.rotation != 0 ? points_.rotated(hit.rotation) : points_;
    const double size = hit.scale / turned_fit(points_, hit.rotation);
    int kernel = 0;
    for (int s = 1; s < settings_.kernels(); ++s)
      if (std::fabs(settings_.scales[s] - size) < std::fabs(settings_.scales[kernel] - size)) kernel = s;
    Points some;
    for (const int i : sampled_) {
      const float sign = hit.mirrored ? -1.0f : 1.0f;
      some.x.push_back(sign * turned.x[i] * hit.scale), some.y.push_back(turned.y[i] * hit.scale);
      some.angle.push_back(sign * turned.angle[i]);
    }
    const KeptMaps maps = settings_.maps(kernel);
    std::vector<float> out(rows.size() * sampled_.size());
    kernels_.densities(pictures_.rows, Range{0, (int64_t)rows.size(), rows.data()}, maps.view(), some.view(),
                       steps_.data(), shifts.data(), out.data());
    return out;
  }

 private:
  // Share of each picture's energy inside the drawing's box; of line art all of it.
  std::vector<double> shares_inside(const Ranking& ranking) const {
    std::vector<double> out(ranking.size(), 1.0);
    std::vector<int64_t> rows;
    std::vector<size_t> which;
    for (size_t i = 0; i < ranking.size(); ++i)
      if (!pictures_.pictures[ranking[i].picture].is_line_art) rows.push_back(ranking[i].row), which.push_back(i);
    if (rows.empty()) return out;
    const std::vector<float> cells = energy(rows);
    const double period = 2 * kFrame / settings_.frequencies[1];
    for (size_t n = 0; n < rows.size(); ++n) {
      const Placed& hit = ranking[which[n]];
      double box[4];
      extent(hit, box);
      double x[kCells], y[kCells], sum = 0;
      covered(hit.dx + box[0] * hit.scale - kMargin, hit.dx + box[2] * hit.scale + kMargin, period, x);
      covered(hit.dy + box[1] * hit.scale - kMargin, hit.dy + box[3] * hit.scale + kMargin, period, y);
      for (int i = 0; i < kCells; ++i)
        for (int j = 0; j < kCells; ++j) sum += x[i] * cells[(n * kCells + i) * kCells + j] * y[j];
      out[which[n]] = std::min(std::max(sum, 0.0), 1.0);
    }
    return out;
  }

  // (rows, kCells, kCells): where each row's squared norm comes from, of sum 1.
  std::vector<float> energy(const std::vector<int64_t>& rows) const {
    constexpr int kAll = kCells * kSamplesPerCell;
    const double period = 2 * kFrame / settings_.frequencies[1];
    std::vector<float> table;
    for (int i = kAll / 2; i < kAll; ++i) {
      const float at = (float)((((i + 0.5) / kAll) - 0.5) * period * kPi / kFrame);
      for (int k = 1; k < settings_.nx; ++k) {
        const double phase = settings_.frequencies[k] * at;
        table.insert(table.end(), {(float)std::cos(phase), (float)std::sin(phase)});
      }
    }
    const std::vector<double>& middle = settings_.weights[settings_.weights.size() / 2];
    auto root = [&](int k) { return (double)(float)std::sqrt(middle[k] * (k ? 2 : 1)); };
    std::vector<double> each = settings_.each([&](int i, int j, int k) {
      return root(i) * root(j) * std::sqrt((double)(float)settings_.orientation_weights[k]) * pictures_.unit();
    });
    std::vector<float> factors(each.size());
    for (size_t c = 0; c < each.size(); ++c) factors[c] = (float)(each[c] * steps_[c]);
    std::vector<float> out(rows.size() * kCells * kCells);
    kernels_.energy(pictures_.rows, Cells{factors.data(), table.data(), kCells, kSamplesPerCell},
                    Range{0, (int64_t)rows.size(), rows.data()}, out.data());
    return out;
  }

  // x0, y0, x1, y1 of the drawing at full size about its centre, turned and mirrored as the hit is.
  void extent(const Placed& hit, double* box) const {
    box[0] = -points_.width / 2, box[1] = -points_.height / 2, box[2] = points_.width / 2, box[3] = points_.height / 2;
    if (hit.rotation != 0) {
      const Points turned = points_.rotated(hit.rotation);
      const auto [x0, x1] = std::minmax_element(turned.x.begin(), turned.x.end());
      const auto [y0, y1] = std::minmax_element(turned.y.begin(), turned.y.end());
      box[0] = *x0, box[1] = *y0, box[2] = *x1, box[3] = *y1;
    }
    if (hit.mirrored) {
      const double left = box[0];
      box[0] = -box[2], box[2] = -left;
    }
  }

  static void covered(double low, double high, double period, double* out) {
    for (int i = 0; i < kCells; ++i) {
      const double a = ((double)i / kCells - 0.5) * period, b = ((double)(i + 1) / kCells - 0.5) * period;
      out[i] = std::max(std::min(high, b) - std::max(low, a), 0.0) / (period / kCells);
    }
  }

  const Kernels& kernels_;
  const Pictures& pictures_;
  const Settings& settings_;
  const Points& points_;
  std::vector<int> sampled_;   // the drawing's points that are looked at, evenly along its lines
  std::vector<double> drawn_;  // their weights, of sum 1
  std::vector<float> steps_;
  const double normalization_, power_;
};

}  // namespace sketchseek
