// The best k of many scores, ties to the lower number.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace sketchseek {

// Floats in the order of their values as unsigned integers; what is no number comes last.
inline uint32_t ordered(float value) {
  if (!(value == value)) return 0;
  uint32_t bits;
  value += 0.0f;  // -0 becomes 0
  std::memcpy(&bits, &value, sizeof bits);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

struct Scored {
  float score;
  int64_t id;
  bool operator<(const Scored& other) const {  // better first
    const uint32_t mine = ordered(score), theirs = ordered(other.score);
    return mine != theirs ? mine > theirs : id < other.id;
  }
};

// Positions of the k largest, ascending. A histogram of the upper 16 bits leaves one bin to sort out.
inline std::vector<int64_t> select_largest(const float* scores, int64_t n, int64_t k) {
  k = std::max<int64_t>(0, std::min(k, n));
  std::vector<int64_t> ids;
  if (k == 0) return ids;
  ids.reserve(k);
  std::vector<uint32_t> histogram(1 << 16, 0);
  for (int64_t i = 0; i < n; ++i) ++histogram[ordered(scores[i]) >> 16];
  int64_t above = 0;
  uint32_t bin = 0xffff;
  while (above + histogram[bin] < k) above += histogram[bin--];
  std::vector<Scored> candidates;
  for (int64_t i = 0; i < n; ++i)
    if (ordered(scores[i]) >> 16 == bin) candidates.push_back({scores[i], i});
  std::nth_element(candidates.begin(), candidates.begin() + (k - above - 1), candidates.end());
  const Scored last = candidates[k - above - 1];
  for (int64_t i = 0; i < n; ++i)
    if (!(last < Scored{scores[i], i})) ids.push_back(i);
  return ids;
}

// The k best so far, from any thread.
class Top {
 public:
  explicit Top(int64_t k) : k_(k) {}

  // What a picture must reach to matter. It only grows, so that a late reader merely skips less.
  float threshold() const { return threshold_.load(std::memory_order_relaxed); }

  // At least k pictures score what the k-th of a sample does.
  void raise_to_kth(std::vector<float> sample) {
    if ((int64_t)sample.size() < k_) return;
    std::nth_element(sample.begin(), sample.begin() + (k_ - 1), sample.end(), std::greater<float>());
    raise(sample[k_ - 1]);
  }

  // Those of a run of pictures that reach the threshold.
  template <class T>
  void offer(int64_t first_id, const T* scores, int64_t count) {
    const float bar = threshold();
    std::vector<Scored> reaching;
    for (int64_t i = 0; i < count; ++i)
      if ((float)scores[i] >= bar) reaching.push_back({(float)scores[i], first_id + i});
    if (reaching.empty()) return;
    std::lock_guard<std::mutex> lock(mutex_);
    kept_.insert(kept_.end(), reaching.begin(), reaching.end());
    if ((int64_t)kept_.size() > 2 * k_ + 64) shrink();
  }

  std::pair<std::vector<int64_t>, std::vector<float>> sorted() {
    std::sort(kept_.begin(), kept_.end());
    if ((int64_t)kept_.size() > k_) kept_.resize(k_);
    std::pair<std::vector<int64_t>, std::vector<float>> out;
    for (const Scored& scored : kept_) out.first.push_back(scored.id), out.second.push_back(scored.score);
    return out;
  }

 private:
  void raise(float score) {
    float seen = threshold();
    while (score > seen && !threshold_.compare_exchange_weak(seen, score)) {
    }
  }

  void shrink() {
    std::nth_element(kept_.begin(), kept_.begin() + (k_ - 1), kept_.end());
    kept_.resize(k_);
    raise(kept_[k_ - 1].score);
  }

  const int64_t k_;
  std::atomic<float> threshold_{-3.0f};
  std::mutex mutex_;
  std::vector<Scored> kept_;
};

}  // namespace sketchseek
