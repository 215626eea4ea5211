// A drawing rounded to bytes, laid out for the filter (filter.hpp).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "filter.hpp"

namespace sketchseek {

class IntegerQuery {
 public:
  // dual (P, D): what an error of one in a stored component's factor does to the score. profiles (P, nx - 1).
  IntegerQuery(const Query& query, const float* dual, const float* profiles, int nx, int no) : nx_(nx), no_(no) {
    const int size = side() * side() * (2 * no - 1);
    parts_.reserve(query.count);
    for (int p = 0; p < query.count; ++p) {
      parts_.emplace_back();
      round(query.poses[p], dual + p * size, profiles + p * (nx - 1), parts_.back());
    }
    for (const Part& part : parts_)
      poses_.push_back({part.words.data(), part.table.data(), part.steps.data(), part.shares.data(), part.error});
  }

  const IntegerPose* poses() const { return poses_.data(); }

 private:
  struct Part {
    std::vector<int32_t> words;
    std::vector<float> table, steps, shares;
    float error;
  };

  int side() const { return 2 * nx_ - 1; }

  void round(const Pose& pose, const float* dual, const float* profile, Part& out) const {
    constexpr double kCodeUnit = 1 << 24;  // is folded into the drawing
    const int dx = side(), ndo = 2 * no_ - 1;
    double total = 0;
    for (int k = 0; k < nx_ - 1; ++k) total += profile[k];
    out.shares.push_back(1);
    for (int k = 0; k < nx_ - 1; ++k) out.shares.push_back((float)std::sqrt(profile[k] / total));
    out.steps.assign(nx_, 1e-30f);
    for (int c = 0; c < dx * dx * ndo; ++c) {
      float& step = out.steps[(c / ndo / dx + 1) / 2];
      step = std::max(step, (float)(std::fabs(pose.full[c]) * kCodeUnit / out.shares[(c / ndo % dx + 1) / 2] / 127));
    }
    std::vector<int> rounded(dx * dx * ndo);
    double squared = 0;
    for (int c = 0; c < dx * dx * ndo; ++c) {
      const double step = (double)out.steps[(c / ndo / dx + 1) / 2] * out.shares[(c / ndo % dx + 1) / 2];
      const double value = pose.full[c] * kCodeUnit;
      rounded[c] = (int)std::max(-127L, std::min(127L, std::lrint(value / step)));
      const double off = (value - rounded[c] * step) * dual[c];
      squared += off * off;
    }
    out.error = (float)(std::sqrt(squared) * 1.0001);
    for (int k = 1; k < nx_; ++k) out.table.push_back(out.steps[k]), out.table.push_back(0);
    for (int i = 0; i < pose.reach * (nx_ - 1) * 2; ++i)
      out.table.push_back(pose.table[i] * out.steps[i / 2 % (nx_ - 1) + 1]);
    lay_out(rounded.data(), out.words);
  }

  // The bytes of some components of a sub-vector [1, c1, s1, c2, s2]: cosines where they lie in its first four, ...
  int32_t cosines(const int* q, int sign) const {
    uint32_t word = 0;
    for (int k = 0; k < no_; ++k) word |= byte(sign * q[k ? 2 * k - 1 : 0]) << (8 * (k ? 2 * k - 1 : 0));
    return (int32_t)word;
  }

  // ... the sines of two sub-vectors side by side; null for none.
  int32_t sines(const int* first, int sign, const int* second, int second_sign) const {
    uint32_t word = 0;
    for (int k = 1; k < no_; ++k) {
      if (first) word |= byte(sign * first[2 * k]) << (8 * (k - 1));
      if (second) word |= byte(second_sign * second[2 * k]) << (8 * (k + 1));
    }
    return (int32_t)word;
  }

  static uint32_t byte(int value) { return (uint8_t)(int8_t)value; }

  // One sum: stored bytes come with 128 added, which its start takes away.
  static void add(std::vector<int32_t>& to, std::initializer_list<int32_t> words) {
    int sum = 0;
    for (int32_t word : words)
      for (int k = 0; k < 4; ++k) sum += (int8_t)((uint32_t)word >> (8 * k));
    to.push_back(-128 * sum);
    to.insert(to.end(), words);
  }

  // The sums of coefficients.hpp: for each coefficient that which mirroring leaves, then that whose sign it changes.
  void lay_out(const int* rounded, std::vector<int32_t>& to) const {
    auto at = [&](int a, int b) { return rounded + (a * side() + b) * (2 * no_ - 1); };
    add(to, {cosines(at(0, 0), 1)});
    add(to, {sines(at(0, 0), 1, nullptr, 0)});
    for (int j = 1; j < side(); j += 2) {
      const int *c = at(0, j), *s = at(0, j + 1);
      add(to, {cosines(c, 1), cosines(s, 1)}), add(to, {sines(c, 1, s, 1)});
      add(to, {cosines(s, -1), cosines(c, 1)}), add(to, {sines(s, -1, c, 1)});
    }
    for (int i = 1; i < side(); i += 2) {
      const int *c = at(i, 0), *s = at(i + 1, 0);
      add(to, {cosines(c, 1), sines(nullptr, 0, s, 1)}), add(to, {cosines(s, 1), sines(c, 1, nullptr, 0)});
      add(to, {cosines(c, 1), sines(s, -1, nullptr, 0)}), add(to, {cosines(s, -1), sines(nullptr, 0, c, 1)});
      for (int j = 1; j < side(); j += 2) {
        const int *cc = at(i, j), *cs = at(i, j + 1), *sc = at(i + 1, j), *ss = at(i + 1, j + 1);
        add(to, {cosines(cc, 1), cosines(cs, 1), sines(sc, 1, ss, 1)});
        add(to, {cosines(sc, 1), cosines(ss, 1), sines(cc, 1, cs, 1)});
        add(to, {cosines(cs, -1), cosines(cc, 1), sines(ss, -1, sc, 1)});
        add(to, {cosines(ss, -1), cosines(sc, 1), sines(cs, -1, cc, 1)});
        add(to, {cosines(cc, 1), cosines(cs, 1), sines(sc, -1, ss, -1)});
        add(to, {cosines(sc, -1), cosines(ss, -1), sines(cc, 1, cs, 1)});
        add(to, {cosines(cs, -1), cosines(cc, 1), sines(ss, 1, sc, -1)});
        add(to, {cosines(ss, 1), cosines(sc, -1), sines(cs, -1, cc, 1)});
      }
    }
  }

  const int nx_, no_;
  std::vector<Part> parts_;
  std::vector<IntegerPose> poses_;
};

}  // namespace sketchseek
