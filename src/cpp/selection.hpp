// The best k of many scores, ties to the lower number.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>
#if !defined(__wasm__)
#include <mutex>
#endif

namespace sketchseek {

#if defined(__wasm__)
struct Mutex {  // a browser's engine is alone in its memory
  void lock() {}
  void unlock() {}
};
#else
typedef std::mutex Mutex;
#endif

class Locked {
 public:
  explicit Locked(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
  ~Locked() { mutex_.unlock(); }
  Locked(const Locked&) = delete;

 private:
  Mutex& mutex_;
};

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

// The k best so far, from any thread. Rows of one group count as one, its best; without groups each counts.
class Top {
 public:
  explicit Top(int64_t k, const int32_t* groups = nullptr) : k_(k), groups_(groups), room_(2 * k + 64) {}

  // What a row must reach to matter. It only grows, so that a late reader merely skips less.
  float threshold() const { return threshold_.load(std::memory_order_relaxed); }

  // Those of some rows that reach the threshold: ids, or a run from `first` on.
  template <class T>
  void offer(int64_t first, const int64_t* ids, const T* scores, int64_t count) {
    const float bar = threshold();
    std::vector<Scored> reaching;
    for (int64_t i = 0; i < count; ++i)
      if ((float)scores[i] >= bar) reaching.push_back({(float)scores[i], ids ? ids[i] : first + i});
    if (reaching.empty()) return;
    Locked lock(mutex_);
    kept_.insert(kept_.end(), reaching.begin(), reaching.end());
    if ((int64_t)kept_.size() <= room_) return;
    shrink();
    room_ = 2 * std::max(k_, (int64_t)kept_.size()) + 64;
  }

  // Takes what was offered so far into account; otherwise that waits until it is worth the while.
  void flush() {
    Locked lock(mutex_);
    shrink();
  }

  // Somebody knows of k that score this.
  void raise(float score) {
    Locked lock(mutex_);
    threshold_.store(std::max(score, threshold()), std::memory_order_relaxed);
  }

  std::pair<std::vector<int64_t>, std::vector<float>> sorted() {
    flush();
    std::sort(kept_.begin(), kept_.end());
    std::pair<std::vector<int64_t>, std::vector<float>> out;
    for (const Scored& scored : kept_) out.first.push_back(scored.id), out.second.push_back(scored.score);
    return out;
  }

 private:
  // Leaves the best of each group, and at most k. At least k groups score what the k-th of them does.
  void shrink() {
    if (groups_) {
      std::sort(kept_.begin(), kept_.end(), [this](const Scored& a, const Scored& b) {
        return groups_[a.id] != groups_[b.id] ? groups_[a.id] < groups_[b.id] : a < b;
      });
      const auto same = [this](const Scored& a, const Scored& b) { return groups_[a.id] == groups_[b.id]; };
      kept_.erase(std::unique(kept_.begin(), kept_.end(), same), kept_.end());
    }
    if ((int64_t)kept_.size() < k_) return;
    std::nth_element(kept_.begin(), kept_.begin() + (k_ - 1), kept_.end());
    kept_.resize(k_);
    threshold_.store(std::max(kept_[k_ - 1].score, threshold()), std::memory_order_relaxed);
  }

  const int64_t k_;
  const int32_t* const groups_;
  int64_t room_;
  std::atomic<float> threshold_{-3.0f};
  Mutex mutex_;
  std::vector<Scored> kept_;
};

}  // namespace sketchseek
