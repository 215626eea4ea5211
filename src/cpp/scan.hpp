// Rows laid out for the kernels, and the best of them for a query.
#pragma once
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "engine.hpp"
#include "integers.hpp"
#include "posed.hpp"
#include "selection.hpp"

namespace sketchseek {

constexpr float kLargest = 1e15f, kSmallest = 1e-15f;  // between them products and quotients are numbers
constexpr float kNoThreshold = -3;

// Vectors (n, D), used where they lie, and what the kernels want beside them.
class Rows {
 public:
  // norms (n, S, 3)
  Rows(const void* vectors, bool bytes, int64_t n, int nx, int no, const float* norms, int kernels) {
    db.vectors = vectors;
    db.bytes = bytes;
    db.n = n;
    db.nx = nx;
    db.no = no;
    db.kernels = kernels;
    db.padded = (n + kBlock - 1) / kBlock * kBlock;
    db.projections[kFull] = db.projections[kX] = db.projections[kY] = nullptr;
    inverse_.assign((size_t)3 * kernels * db.padded, 0.0f);
    for (int64_t i = 0; i < n; ++i)
      for (int s = 0; s < kernels; ++s)
        for (int which = 0; which < 3; ++which) {
          const float norm = norms[(i * kernels + s) * 3 + which];
          inverse_[((size_t)which * kernels + s) * db.padded + i] = norm > kSmallest ? 1 / norm : 0;
        }
    db.inverse = inverse_.data();
    const int64_t size = row_size(), rows = std::min(n, kOverrun / size + 1);
    db.tail_begin = n - rows;
    tail_.assign((size_t)(rows * size + kOverrun), 0);
    if (rows) std::memcpy(tail_.data(), static_cast<const char*>(vectors) + db.tail_begin * size, rows * size);
    db.tail = tail_.data();
  }
  Rows(const Rows&) = delete;

  int64_t row_size() const { return (int64_t)db.dimensions() * (db.bytes ? 1 : 4); }
  int64_t bytes() const { return db.n * row_size() + (int64_t)(inverse_.size() * 4 + tail_.size()); }

  Database db;

 private:
  std::vector<float> inverse_;
  std::vector<char> tail_;
};

// The k best, by score and then by number: of rows, or of groups of rows (n,), each by its best. Scores are multiplied
// with a prior (n,) where there is one. A sample is scored first: it says how high a row must come, and what high rows
// look like. Then those of the highest prior, a picture's whole before its parts: they make the bar for the others, and
// where there are too few rows for a sample, they say the other thing, too.
// parallel(count, chunk, work) does work(begin, end) for chunks of 0 ... count.
template <class Parallel>
std::pair<std::vector<int64_t>, std::vector<float>> best_rows(const Database& db, const Kernels& kernels,
                                                              const Filter* filter, const PosedQuery& query, int64_t k,
                                                              const int32_t* groups, const float* prior,
                                                              Parallel parallel) {
  constexpr int64_t kChunk = 2048;
  constexpr int64_t kSample = 4096, kHighest = 64, kWorthSampling = 4 * kSample;
  constexpr float kWorthFiltering = 0.1f;  // below, the rounding of the drawing is too coarse
  std::vector<int64_t> parts[2];
  const float highest = prior && db.n ? *std::max_element(prior, prior + db.n) : 1;
  for (int64_t i = 0; prior && i < db.n; ++i) parts[prior[i] < highest].push_back(i);
  k = std::min(k, std::max<int64_t>(db.n, 1));
  Top top(k, groups);
  std::vector<float> profiles(query.view().count * (db.nx - 1));
  std::vector<Pose> poses;
  Query view = query.view();
  const auto take_profile = [&](const std::vector<int64_t>& high) {  // from rows that come high
    kernels.profile(db, view, Range{0, (int64_t)high.size(), high.data()}, profiles.data());
    poses = query.with_profiles(profiles.data());
    view.poses = poses.data();
  };
  if (db.n >= kWorthSampling) {
    std::vector<int64_t> sample(kSample);
    for (int64_t i = 0; i < kSample; ++i) sample[i] = i * (db.n / kSample);
    std::vector<float> scores(kSample);
    parallel(kSample, kChunk / 4, [&](int64_t begin, int64_t end) {
      kernels.score(db, view, Range{begin, end, sample.data(), prior}, kNoThreshold, scores.data() + begin);
    });
    Top sampled(k, groups);
    sampled.offer(0, sample.data(), scores.data(), kSample);
    sampled.flush();
    top.raise(sampled.threshold());
    std::vector<int64_t> best = select_largest(scores.data(), kSample, kHighest);
    for (int64_t& id : best) id = sample[id];
    take_profile(best);
  }
  std::optional<IntegerQuery> integers;
  if (!poses.empty() && filter && db.bytes && query.dual() && filter->fits(db.nx, db.no))
    integers.emplace(query.view(), query.dual(), profiles.data(), db.nx, db.no);
  auto scan = [&](const int64_t* ids, int64_t count) {
    parallel(count, kChunk, [&](int64_t begin, int64_t end) {
      float out[kChunk];
      const Range range{begin, end, ids, prior};
      const float threshold = top.threshold();
      if (integers && threshold > kWorthFiltering) {
        int64_t rows[kChunk];
        const int64_t some = filter->reaching(db, query.view(), integers->poses(), range, threshold, rows);
        kernels.score(db, query.view(), Range{0, some, rows, prior}, kNoThreshold, out);
        top.offer(0, rows, out, some);
      } else {
        kernels.score(db, view, range, threshold, out);
        top.offer(begin, ids ? ids + begin : nullptr, out, end - begin);
      }
    });
    top.flush();
  };
  if (!prior) scan(nullptr, db.n);
  scan(parts[0].data(), (int64_t)parts[0].size());
  if (poses.empty() && (int64_t)parts[1].size() > 2 * kHighest) {  // the wholes say what high rows look like
    std::vector<int64_t> high = top.sorted().first;
    if ((int64_t)high.size() > kHighest) high.resize(kHighest);
    if (!high.empty()) take_profile(high);
  }
  scan(parts[1].data(), (int64_t)parts[1].size());
  return top.sorted();
}

}  // namespace sketchseek
