// The chance that a hit is right, and that the thing is there at all: logistic models of the evidence (docs/confidence.md).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "constants.hpp"

namespace sketchseek {

typedef std::vector<double> Values;

// Features of a hit: its evidence, the squares, each for line art alone, and `kInteractions`.
inline Values features_of_hit(const double* evidence) {
  Values out(evidence, evidence + kEvidence);
  for (int i = 0; i < kEvidence; ++i) out.push_back(evidence[i] * evidence[i]);
  for (int i = 0; i < kEvidence; ++i) out.push_back(evidence[kLineArt] * evidence[i]);
  for (const auto& pair : kInteractions) out.push_back(evidence[pair[0]] * evidence[pair[1]]);
  return out;
}
constexpr int kHitFeatures = 3 * kEvidence + (int)std::size(kInteractions);

// Features of a search, from the evidence of its hits (k, kEvidence): the first hit's, and the mean of the first few.
inline Values features_of_search(const Values& evidence) {
  const size_t count = std::min(evidence.size() / kEvidence, (size_t)kFirst);
  Values out = features_of_hit(evidence.data()), mean(kHitFeatures, 0.0);
  for (size_t i = 0; i < count; ++i) {
    const Values one = features_of_hit(evidence.data() + i * kEvidence);
    for (int c = 0; c < kHitFeatures; ++c) mean[c] += one[c] / (double)count;
  }
  out.insert(out.end(), mean.begin(), mean.end());
  return out;
}
constexpr int kSearchFeatures = 2 * kHitFeatures;

// The same by likeness (kLikeness,): beside it how many pictures there are, what else the network says of the first hits, and
// whether too little was drawn to be like anything.
inline Values likeness_features(const Values& evidence, const Values& likeness) {
  const size_t count = std::min(evidence.size() / kEvidence, (size_t)kFirst);
  const double pictures = evidence[kPictures];
  Values out = likeness;
  for (const Evidence name : kBesideLikeness) out.push_back(evidence[name]);
  for (const Evidence name : kBesideLikeness) {
    double mean = 0;
    for (size_t i = 0; i < count; ++i) mean += evidence[i * kEvidence + name] / (double)count;
    out.push_back(mean);
  }
  for (size_t i = 0, n = out.size(); i < n; ++i) out.push_back(out[i] * out[i]);
  for (const double one : likeness) out.push_back(pictures * one);
  out.insert(out.end(), {pictures, pictures * pictures, std::max(kLittle - evidence[kLength], 0.0),
                         std::max(evidence[kSimplicity] - kSimple, 0.0)});
  return out;
}
constexpr int kLikenessFeatures = 3 * kLikeness + 4 * (int)std::size(kBesideLikeness) + 4;

// The descending sequence that is nearest to the chances (isotonic regression): neighbours that rise share their mean. After the
// first `kJudged` none is above the one before.
inline void isotonic(Values& chances) {
  std::vector<std::pair<double, size_t>> pools;
  for (size_t i = 0; i < std::min(chances.size(), (size_t)kJudged); ++i) {
    double mean = chances[i];
    size_t count = 1;
    while (!pools.empty() && pools.back().first < mean) {
      const auto [before, n] = pools.back();
      mean = (before * (double)n + mean * (double)count) / (double)(n + count), count += n;
      pools.pop_back();
    }
    pools.emplace_back(mean, count);
  }
  size_t at = 0;
  for (const auto& [mean, count] : pools)
    for (size_t i = 0; i < count; ++i) chances[at++] = mean;
  for (; at && at < chances.size(); ++at) chances[at] = std::min(chances[at], chances[at - 1]);
}

inline double logistic(double log_odds) { return 1 / (1 + std::exp(-std::min(std::max(log_odds, -50.0), 50.0))); }

// Features brought to mean 0 and deviation 1, weighed, and summed.
struct Logistic {
  Values mean, scale, weights;
  double bias = 0;

  double log_odds(const Values& features) const {
    double total = bias;
    for (size_t i = 0; i < features.size(); ++i)
      total += std::min(std::max((features[i] - mean[i]) / scale[i], -6.0), 6.0) * weights[i];
    return total;
  }
};

class Model {
 public:
  // Of `count` numbers: mean, scale, weights, bias of each logistic model, that of hits, of presence and, where a network was
  // heard, of presence by likeness. null: they are not that.
  static const char* fault_of(const double* numbers, int64_t count) {
    static constexpr char kFault[] = "The index has no proper model of confidence.";
    if (count != size_of(kHitFeatures) + size_of(kSearchFeatures) && count != size_of(kHitFeatures) + size_of(kSearchFeatures) + size_of(kLikenessFeatures))
      return kFault;
    for (int64_t i = 0; i < count; ++i)
      if (!std::isfinite(numbers[i])) return kFault;
    const Model model(numbers, count);
    for (const Logistic* one : {&model.hit_, &model.present_, &model.likeness_})
      for (const double scale : one->scale)
        if (scale == 0) return kFault;
    return nullptr;
  }

  // Of what has no fault.
  Model(const double* numbers, int64_t count) {
    const double* end = numbers + count;
    for (const auto& [size, one] : {std::make_pair(kHitFeatures, &hit_), {kSearchFeatures, &present_}, {kLikenessFeatures, &likeness_}}) {
      if (numbers == end) break;
      for (Values* part : {&one->mean, &one->scale, &one->weights}) part->assign(numbers, numbers + size), numbers += size;
      one->bias = *numbers++;
    }
  }

  // evidence (k, kEvidence), likeness (kLikeness,) or empty -> confidence (k,), descending, and the chance that the thing is there.
  Values judge(const Values& evidence, const Values& likeness, double& present) const {
    present = 0;
    if (evidence.empty()) return {};
    double odds = present_.log_odds(features_of_search(evidence));
    if (!likeness.empty() && !likeness_.weights.empty()) {
      const double other = likeness_.log_odds(likeness_features(evidence, likeness));
      const double art = std::max(evidence[kLineArt], evidence[kFlatArt]);  // in which shape is exact
      odds += (1 - art) * kLikenessWeight * (other - odds);
    }
    present = logistic(odds);
    Values confidence;
    for (size_t i = 0; i < evidence.size(); i += kEvidence)
      confidence.push_back(logistic(hit_.log_odds(features_of_hit(evidence.data() + i))));
    isotonic(confidence);
    for (double& c : confidence) c *= present;
    return confidence;
  }

 private:
  static constexpr int64_t size_of(int features) { return 3 * features + 1; }

  Logistic hit_, present_, likeness_;  // of `features_of_hit`, `features_of_search` and `likeness_features`
};

}  // namespace sketchseek
