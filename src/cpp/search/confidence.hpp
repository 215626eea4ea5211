// The chance that a hit is right, and that the thing is there at all: search/evidence.py and search/confidence.py.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

namespace sketchseek {

// The columns of `evidence.NAMES`; those that a network fills stay 0 here.
enum Evidence {
  kCosine, kStandsOut, kEvenness, kWhatOrders, kNetwork, kNetworkStandsOut, kPictures, kLineArt, kLengthDrawn, kSimplicity,
  kBestStandsOut, kBestBesideTenth, kNetworksBest, kNetworksBestBesideTenth, kAgreement, kNetworksLikest, kNetworksTail,
  kFlatArt, kFirstAlike, kLikeFirst, kOthersLikeFirst, kTail, kAsGood, kAsGoodByNetwork, kMatch, kLooksTheSame,
  kBestMatch, kBestMatchBesideSecond, kRank, kEvidence
};
// First hits that are looked at whatever is asked for: `evidence.JUDGED`.
inline constexpr int64_t kJudged = 50;
// `confidence.TOGETHER`: evidence that means more together.
inline constexpr Evidence kTogether[][2] = {
  {kMatch, kBestMatchBesideSecond}, {kMatch, kBestBesideTenth}, {kMatch, kSimplicity}, {kMatch, kRank}, {kMatch, kNetwork},
  {kRank, kBestMatchBesideSecond}, {kRank, kPictures}, {kRank, kOthersLikeFirst}, {kLineArt, kBestMatchBesideSecond},
  {kLikeFirst, kOthersLikeFirst}, {kLikeFirst, kNetworksLikest}, {kOthersLikeFirst, kNetworksLikest}
};

struct Logistic {
  std::vector<double> mean, scale, weights;
  double bias = 0;

  double operator()(const std::vector<double>& features) const {
    double total = bias;
    for (size_t i = 0; i < features.size(); ++i)
      total += std::min(std::max((features[i] - mean[i]) / scale[i], -6.0), 6.0) * weights[i];
    return 1 / (1 + std::exp(-std::min(std::max(total, -50.0), 50.0)));
  }
};

struct Model {
  static constexpr int kCrossed = 3 * kEvidence + (int)std::size(kTogether), kSummary = 2 * kCrossed;
  Logistic hit, present;  // of kCrossed and of kSummary features

  // features (k, kEvidence) -> confidence (k,), falling, and whether the thing is there.
  std::vector<double> judge(const std::vector<double>& features, double& chance) const {
    constexpr size_t kFirst = 5;
    const size_t k = features.size() / kEvidence;
    std::vector<double> confidence, summary, mean(kCrossed, 0.0);
    for (size_t i = 0; i < k; ++i) {
      const std::vector<double> one = crossed(features.data() + i * kEvidence);
      confidence.push_back(hit(one));
      if (i == 0) summary = one;
      for (size_t c = 0; i < kFirst && c < one.size(); ++c) mean[c] += one[c] / (double)std::min(k, kFirst);
    }
    summary.insert(summary.end(), mean.begin(), mean.end());
    chance = k ? present(summary) : 0;
    fall(confidence);
    for (double& c : confidence) c *= chance;
    return confidence;
  }

 private:
  // `falling`: of the first ones, neighbours that rise share their mean; after those none is above the one before.
  static void fall(std::vector<double>& chances) {
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

  static std::vector<double> crossed(const double* features) {
    std::vector<double> out;
    for (int i = 0; i < kEvidence; ++i) out.push_back(features[i]);
    for (int i = 0; i < kEvidence; ++i) out.push_back(features[i] * features[i]);
    for (int i = 0; i < kEvidence; ++i) out.push_back(features[kLineArt] * features[i]);
    for (const auto& pair : kTogether) out.push_back(features[pair[0]] * features[pair[1]]);
    return out;
  }
};

}  // namespace sketchseek
