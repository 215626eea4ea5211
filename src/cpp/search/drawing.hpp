// Strokes -> contour points: contours/strokes.py and contours/outline.py, in the same steps and the same precision.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "settings.hpp"

namespace sketchseek {

// The compiler must not contract a product and a sum here: a point on the border of a lane would change sides.
#if defined(__clang__)
#define ROUNDED_EACH _Pragma("clang fp contract(off)")
#else
#define ROUNDED_EACH
#endif

// contours/points.py says what they are.
struct Points {
  std::vector<float> x, y, angle, weight;
  double width = 0, height = 0;

  size_t size() const { return x.size(); }
  Contour view() const { return {x.data(), y.data(), angle.data(), weight.data(), (int64_t)size()}; }

  Points rotated(double radians) const {
    ROUNDED_EACH
    const float c = (float)std::cos(radians), s = (float)std::sin(radians);
    Points out = *this;
    for (size_t i = 0; i < size(); ++i) {
      out.x[i] = c * x[i] - s * y[i];
      out.y[i] = s * x[i] + c * y[i];
      out.angle[i] = fold((double)(angle[i] - (float)radians));
    }
    return out;
  }

  // Angles modulo pi, into (-pi/2, pi/2].
  static float fold(double a) { return (float)(a - kPi * std::ceil(a / kPi - 0.5)); }
};

typedef std::vector<double> Stroke;  // x, y, x, y, ...

enum class Fault { kNone, kBlank, kScribble };

struct Drawing {
  Points points;
  std::vector<Stroke> strokes;  // in the points' frame
  Fault fault = Fault::kNone;
};

// `to_frame`: strokes in their tight box, longer side 400, its middle at the origin; and its size.
inline std::vector<std::vector<float>> to_frame(const std::vector<Stroke>& strokes, double& width, double& height) {
  auto is_line = [](const auto& stroke) {
    for (size_t i = 2; i < stroke.size(); ++i)
      if (stroke[i] != stroke[i % 2]) return true;
    return false;
  };
  double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
  for (const Stroke& stroke : strokes) {
    if (!is_line(stroke)) continue;
    for (size_t i = 0; i < stroke.size(); ++i) {
      low[i % 2] = std::min(low[i % 2], stroke[i]);
      high[i % 2] = std::max(high[i % 2], stroke[i]);
    }
  }
  const double longer = std::max(high[0] - low[0], high[1] - low[1]);
  std::vector<std::vector<float>> framed;
  if (!(longer > 0)) return framed;
  width = (high[0] - low[0]) / longer * kFrame;
  height = (high[1] - low[1]) / longer * kFrame;
  for (const Stroke& stroke : strokes) {
    if (!is_line(stroke)) continue;
    std::vector<float> line;
    for (size_t i = 0; i < stroke.size(); ++i)
      line.push_back((float)((stroke[i] - (low[i % 2] + high[i % 2]) / 2) / longer * kFrame));
    if (is_line(line)) framed.push_back(line);  // beside a very large stroke a very small one is a dot
  }
  return framed;
}

// `sample_strokes`: points at equal steps along each polyline, with its tangent there and weight 1.
inline Points sampled(const std::vector<std::vector<float>>& strokes, double width, double height) {
  constexpr double kStep = 1.0, kMostSamples = 40000;
  double total = 0;
  for (const auto& s : strokes)
    for (size_t i = 2; i < s.size(); i += 2) total += std::hypot(s[i] - s[i - 2], s[i + 1] - s[i - 1]);
  const double step = std::max(kStep, total / kMostSamples);
  Points points;
  points.width = width, points.height = height;
  for (const auto& s : strokes) {
    struct Piece {
      double x, y, dx, dy, length, end;
    };
    std::vector<Piece> pieces;
    double end = 0;
    for (size_t i = 2; i < s.size(); i += 2) {
      const double dx = (double)s[i] - s[i - 2], dy = (double)s[i + 1] - s[i - 1], length = std::hypot(dx, dy);
      if (length > 0) pieces.push_back({s[i - 2], s[i - 1], dx, dy, length, end += length});
    }
    if (pieces.empty()) continue;
    const int64_t n = std::max<int64_t>(1, (int64_t)std::nearbyint(end / step));
    size_t piece = 0;
    for (int64_t i = 0; i < n; ++i) {
      ROUNDED_EACH
      const double at = ((double)i + 0.5) * end / (double)n;
      while (piece + 1 < pieces.size() && pieces[piece].end <= at) ++piece;
      const Piece& p = pieces[piece];
      const double along = (at - (p.end - p.length)) / p.length;
      points.x.push_back((float)(p.x + along * p.dx));
      points.y.push_back((float)(p.y + along * p.dy));
      points.angle.push_back(Points::fold(std::atan2(-p.dy, p.dx)));
      points.weight.push_back(1);
    }
  }
  return points;
}

// `check_shape`: whether hardly a cell of the page is free.
inline bool is_scribble(const Points& points) {
  constexpr double kCell = 10, kMost = 0.85;
  const int columns = (int)std::floor(points.width / kCell), rows = (int)std::floor(points.height / kCell);
  if (std::min(columns, rows) < 8) return false;  // a line has no page to fill
  std::vector<char> full((size_t)columns * rows, 0);
  auto cell = [](float at, double size, int count) {
    ROUNDED_EACH
    return std::max(0, std::min(count - 1, (int)((at / (float)size + 0.5f) * (float)count)));
  };
  for (size_t i = 0; i < points.size(); ++i)
    full[cell(points.y[i], points.height, rows) * columns + cell(points.x[i], points.width, columns)] = 1;
  return (double)std::count(full.begin(), full.end(), 1) > kMost * columns * rows;
}

// `weighed`: weight 1 where points are seen from outside, less where others hide them.
inline void weigh(Points& points) {
  constexpr int kDirections = 16;
  constexpr float kLane = 6, kDepth = 12, kInside = 0.6f;
  const size_t n = points.size();
  std::vector<float> near(n), first;
  std::vector<int> lane(n);
  std::vector<char> seen(n, 0);
  for (int turn = 0; turn < kDirections; ++turn) {
    ROUNDED_EACH
    const float cos = (float)std::cos(turn * (2 * kPi / kDirections)), sin = (float)std::sin(turn * (2 * kPi / kDirections));
    int lowest = 0, highest = 0;
    for (size_t i = 0; i < n; ++i) {
      near[i] = points.x[i] * cos + points.y[i] * sin;
      lane[i] = (int)std::floor((points.y[i] * cos - points.x[i] * sin) / kLane);
      lowest = std::min(lowest, lane[i]), highest = std::max(highest, lane[i]);
    }
    first.assign(highest - lowest + 1, -INFINITY);
    for (size_t i = 0; i < n; ++i) first[lane[i] - lowest] = std::max(first[lane[i] - lowest], near[i]);
    for (size_t i = 0; i < n; ++i) seen[i] |= near[i] >= first[lane[i] - lowest] - kDepth;
  }
  for (size_t i = 0; i < n; ++i)
    if (!seen[i]) points.weight[i] *= kInside;
}

// `Sketch.from_strokes`
inline Drawing drawing_of(const std::vector<Stroke>& strokes) {
  Drawing out;
  double width = 0, height = 0;
  const auto framed = to_frame(strokes, width, height);
  if (framed.empty()) {
    out.fault = Fault::kBlank;
    return out;
  }
  for (const auto& line : framed) out.strokes.emplace_back(line.begin(), line.end());
  out.points = sampled(framed, width, height);
  if (is_scribble(out.points)) out.fault = Fault::kScribble;
  weigh(out.points);
  return out;
}

}  // namespace sketchseek
