// The chance that a hit is right, that the first page has one, and that the thing is there at all: logistic models of the evidence
// (docs/explanation/confidence.md). Which evidence each of them hears, and what it weighs, is data.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "constants.hpp"

namespace sketchseek {

typedef std::vector<double> Values;

// What a model may use: evidence of one hit, the mean of the first few hits', likeness and whether there is any, and 1.
constexpr int kMeanAt = kEvidence, kLikenessAt = 2 * kEvidence, kIsHeardAt = kLikenessAt + kLikeness, kOneAt = kIsHeardAt + 1;
constexpr int kHeard = kOneAt + 1;

// (kHeard,) of the hit with that number, from the evidence of hits (k, kEvidence), and likeness (kLikeness,) or nothing.
inline Values heard_of(const Values& evidence, const Values& likeness, size_t hit = 0) {
  Values out(kHeard, 0.0);
  std::copy_n(evidence.data() + hit * kEvidence, kEvidence, out.begin());
  const size_t count = std::min(evidence.size() / kEvidence, (size_t)kFirst);
  for (size_t i = 0; i < count; ++i)
    for (int c = 0; c < kEvidence; ++c) out[kMeanAt + c] += evidence[i * kEvidence + c] / (double)count;
  std::copy(likeness.begin(), likeness.end(), out.begin() + kLikenessAt);
  out[kIsHeardAt] = likeness.empty() ? 0 : 1;
  out[kOneAt] = 1;
  return out;
}

// What is asked, of what: the threshold below which a thing is said to be absent is one of these.
inline int question_of(const Values& heard) {
  const double art = std::max(heard[kMeanAt + kLineArt], heard[kFlatArt]), pictures = heard[kPictures];
  return (art < kFlatFrom ? 0 : art < kFlatOnly ? 1 : 2) * 3 + (pictures < kSmallTo ? 0 : pictures < kMediumTo ? 1 : 2);
}

// The log-odds that are nearest to these of all that fall by `kLeastStep` at least from each to the next (isotonic regression of
// what is left when the steps are taken off). After the first `kJudged` each is that much below the one before, or more.
inline void fall(Values& log_odds) {
  std::vector<std::pair<double, size_t>> pools;
  const size_t judged = std::min(log_odds.size(), (size_t)kJudged);
  for (size_t i = 0; i < judged; ++i) {
    double mean = log_odds[i] + kLeastStep * (double)i;
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
    for (size_t i = 0; i < count; ++i, ++at) log_odds[at] = mean - kLeastStep * (double)at;
  for (; at && at < log_odds.size(); ++at) log_odds[at] = std::min(log_odds[at], log_odds[at - 1] - kLeastStep);
}

inline double logistic(double log_odds) { return 1 / (1 + std::exp(-std::min(std::max(log_odds, -50.0), 50.0))); }

// Products of two things that are heard, brought to mean 0 and deviation 1, weighed, and summed. What is far out counts less.
struct Logistic {
  struct Term {
    int a, b;
    double mean, scale, weight;
  };
  std::vector<Term> terms;
  double bias = 0;

  double log_odds(const Values& heard) const {
    double total = bias;
    for (const Term& term : terms) {
      const double z = (heard[term.a] * heard[term.b] - term.mean) / term.scale;
      total += term.weight * z / std::sqrt(1 + z * z / (kFarOut * kFarOut));
    }
    return total;
  }
};

enum Verdict { kLikely, kClosest, kAbsent };

struct Judgement {
  Values confidence;  // (k,), descending
  double present = 0, first_page = 0;
  Verdict verdict = kClosest;
};

class Model {
 public:
  // Of `count` numbers: `kQuestions` thresholds, then, for presence, the first page and hits, how many terms there are, a, b, mean,
  // scale and weight of each, and the bias. null: they are that.
  static const char* fault_of(const double* numbers, int64_t count) {
    static constexpr char kFault[] = "The index has no proper model of confidence.";
    for (int64_t i = 0; i < count; ++i)
      if (!std::isfinite(numbers[i])) return kFault;
    int64_t at = kQuestions;
    for (int part = 0; part < 3; ++part) {
      if (at >= count || numbers[at] < 0 || numbers[at] > (double)(kHeard * kHeard)) return kFault;
      const int64_t begin = at + 1;
      at = begin + 5 * (int64_t)numbers[at] + 1;
      if (at > count) return kFault;
      for (int64_t i = begin; i < at - 1; i += 5)
        if (numbers[i] < 0 || numbers[i] >= kHeard || numbers[i + 1] < 0 || numbers[i + 1] >= kHeard || numbers[i + 3] == 0) return kFault;
    }
    return at == count ? nullptr : kFault;
  }

  // Of what has no fault.
  Model(const double* numbers, int64_t) : absent_(numbers, numbers + kQuestions) {
    numbers += kQuestions;
    for (Logistic* one : {&present_, &first_page_, &hit_}) {
      for (int64_t left = (int64_t)*numbers++; left; --left, numbers += 5)
        one->terms.push_back({(int)numbers[0], (int)numbers[1], numbers[2], numbers[3], numbers[4]});
      one->bias = *numbers++;
    }
  }

  // evidence (k, kEvidence), likeness (kLikeness,) or empty.
  Judgement judge(const Values& evidence, const Values& likeness) const {
    Judgement out;
    if (evidence.empty()) return out;
    const Values search = heard_of(evidence, likeness);
    const double odds = present_.log_odds(search);
    out.present = logistic(odds);
    for (size_t i = 0; i < evidence.size() / kEvidence; ++i) {
      Values heard = search;
      std::copy_n(evidence.data() + i * kEvidence, kEvidence, heard.begin());
      out.confidence.push_back(hit_.log_odds(heard));
    }
    fall(out.confidence);
    for (double& c : out.confidence) c = out.present * logistic(c);
    out.first_page = std::max(out.present * logistic(first_page_.log_odds(search)), out.confidence[0]);
    out.verdict = out.first_page >= kLikelyFrom ? kLikely : odds < absent_[question_of(search)] ? kAbsent : kClosest;
    return out;
  }

 private:
  Values absent_;  // (kQuestions,) log-odds of presence below which it is said that the thing is not there
  Logistic present_, first_page_, hit_;  // of presence; of the first page and of a hit where the thing is there
};

}  // namespace sketchseek
