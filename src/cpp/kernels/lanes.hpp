// Pictures -> lanes.
#pragma once
#include "../engine.hpp"
#include "../simd.hpp"

namespace sketchseek {
namespace {

INLINE int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

// The pictures of one block: W of them; at the end of a range the last is repeated.
struct Block {
  int64_t id[W];
  int count;
  bool adjacent;  // one after the other, as they are stored

  Block(const Range& range, int64_t from)
      : count((int)min(range.end - from, W)), adjacent(!range.ids && count == W) {
    for (int i = 0; i < W; ++i) {
      int64_t at = from + min(i, count - 1);
      id[i] = range.ids ? range.ids[at] : at;
    }
  }

  Vec inverse(const Database& db, int norm, int kernel) const {
    return of(db.inverse + (int64_t)(norm * db.kernels + kernel) * db.padded);
  }

  // A value for each row, from those of all.
  Vec of(const float* values) const {
    if (adjacent) return load<Vec>(values + id[0]);
    float lanes[W];
    for (int i = 0; i < W; ++i) lanes[i] = values[id[i]];
    return load<Vec>(lanes);
  }

  INLINE void put(Vec values, float* out) const {
    if (count == W) return store(out, values);
    for (int i = 0; i < count; ++i) out[i] = values[i];
  }
};

INLINE const char* row_of(const Database& db, int64_t id, int64_t size) {
  return id >= db.tail_begin ? (const char*)db.tail + (id - db.tail_begin) * size
                             : (const char*)db.vectors + id * size;
}

// The rows of the coming block, asked for a few lines at a time while this one is computed: the hardware cannot
// know a shortlist, is late even for a sequence, and all lines at once would wait for each other.
class Ahead {
 public:
  Ahead(const Database& db, const Range& range, int64_t from)
      : size_((int64_t)db.dimensions() * (db.bytes ? 1 : 4)), count_((int)min(W, range.end - from)) {
    for (int i = 0; i < count_; ++i) rows_[i] = row_of(db, range.ids ? range.ids[from + i] : from + i, size_);
  }

  INLINE void ask(int lines) {
    for (; lines > 0 && row_ < count_; --lines) {
      __builtin_prefetch(rows_[row_] + at_);
      at_ += 64;
      if (at_ >= size_) at_ = 0, ++row_;
    }
  }

 private:
  const char* rows_[W];
  int64_t size_, at_ = 0;
  int count_, row_ = 0;
};

// A code left in the upper byte of an integer is 2^24 times its value: the query side has 2^-24 folded in.
INLINE Vec upper_byte(Ints v) { return __builtin_convertvector(v & (int32_t)0xff000000, Vec); }

// Components x lanes of a block.
void spread(const Database& db, const Block& block, Vec* out) {
  const int dimensions = db.dimensions();
  const int64_t size = (int64_t)dimensions * (db.bytes ? 1 : 4);
  const char* rows[W];
  for (int i = 0; i < W; ++i) rows[i] = row_of(db, block.id[i], size);
  for (int64_t at = 0; at < size; at += 4 * W) {
    Ints square[W];
    for (int i = 0; i < W; ++i) square[i] = load<Ints>(rows[i] + at);
    transpose(square);
    if (db.bytes) {
      for (int i = 0; i < W; ++i, out += 4) {
        out[0] = upper_byte(square[i] << 24);
        out[1] = upper_byte(square[i] << 16);
        out[2] = upper_byte(square[i] << 8);
        out[3] = upper_byte(square[i]);
      }
    } else {
      for (int i = 0; i < W; ++i) *out++ = (Vec)square[i];
    }
  }
}

}  // namespace
}  // namespace sketchseek
