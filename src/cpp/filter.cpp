// The filter (filter.hpp) for processors with AVX-512 and its instructions for bytes, sixteen rows at a time.
#include "filter.hpp"
#include "kernels/lanes.hpp"
#include "processor.hpp"

namespace sketchseek {
namespace {

typedef __m512i Words;

INLINE Words four(int32_t bytes) { return _mm512_set1_epi32(bytes); }
INLINE void add_products(Words& sum, Words stored, int32_t bytes) { sum = _mm512_dpbusd_epi32(sum, stored, four(bytes)); }

// The rows' bytes, 128 added: four components of sixteen rows a word, the sub-vectors' cosines and pairs of their sines.
template <int NX, int DO>
class StoredWords {
 public:
  static constexpr int kDx = 2 * NX - 1;

  void fill(const Database& db, const Block& block) {
    constexpr int kSize = kDx * kDx * DO;
    for (int from = 0; from < kSize; from += 4 * W) {
      Ints square[W];
      for (int i = 0; i < W; ++i) square[i] = load<Ints>(row_of(db, block.id[i], kSize) + from);
      transpose(square);
      for (int i = 0; i < W; ++i) raw_[from / 4 + i] = _mm512_xor_si512((Words)square[i], _mm512_set1_epi8((char)0x80));
    }
    Words* to = words;
    *to++ = from_byte(0), *to++ = sines(0, 0, 0, 0);
    for (int j = 1; j < kDx; j += 2) *to++ = cosines(0, j), *to++ = cosines(0, j + 1), *to++ = sines(0, j, 0, j + 1);
    for (int i = 1; i < kDx; i += 2) {
      *to++ = cosines(i, 0), *to++ = cosines(i + 1, 0), *to++ = sines(i, 0, i + 1, 0);
      for (int j = 1; j < kDx; j += 2) {
        *to++ = cosines(i, j), *to++ = cosines(i, j + 1), *to++ = cosines(i + 1, j), *to++ = cosines(i + 1, j + 1);
        *to++ = sines(i, j, i, j + 1), *to++ = sines(i + 1, j, i + 1, j + 1);
      }
    }
  }

  Words words[2 + 3 * (NX - 1) + (3 + 6 * (NX - 1)) * (NX - 1)];

 private:
  INLINE Words from_byte(int at) const {
    const Words low = raw_[at / 4], high = raw_[at / 4 + 1];
    switch (at % 4) {
      case 0: return low;
      case 1: return _mm512_shrdi_epi32(low, high, 8);
      case 2: return _mm512_shrdi_epi32(low, high, 16);
      default: return _mm512_shrdi_epi32(low, high, 24);
    }
  }

  INLINE Words cosines(int a, int b) const { return from_byte((a * kDx + b) * DO); }

  INLINE Words sines(int a, int b, int c, int d) const {
    const Words word = _mm512_set4_epi32(0x0c0c0c0c, 0x08080808, 0x04040404, 0);  // bytes of a lane's own
    const Words lower = _mm512_or_si512(word, four((int)0x80800200)), upper = _mm512_or_si512(word, four(0x02008080));
    return _mm512_or_si512(_mm512_shuffle_epi8(from_byte((a * kDx + b) * DO + 2), lower),
                           _mm512_shuffle_epi8(from_byte((c * kDx + d) * DO + 2), upper));
  }

  Words raw_[(kDx * kDx * DO + 4 * W - 1) / (4 * W) * W + 1];
};

// The rounded drawing's coefficients, by mirror; see coefficients.hpp.
template <int NX>
NOINLINE void fill(const int32_t* q, const Words* v, Vec* b, Vec* mirrored) {
  constexpr int kDx = 2 * NX - 1;
  auto put = [&](int at, Words even, Words odd) __attribute__((always_inline)) {
    b[at] = (Vec)_mm512_cvtepi32_ps(_mm512_add_epi32(even, odd));
    mirrored[at] = (Vec)_mm512_cvtepi32_ps(_mm512_sub_epi32(even, odd));
  };
  Words even = four(q[0]), odd = four(q[2]);
  add_products(even, v[0], q[1]), add_products(odd, v[1], q[3]);
  put(0, even, odd);
  q += 4, v += 2;
  for (int j = 1; j < kDx; j += 2, v += 3)
    for (int r = 0; r < 2; ++r, q += 5) {
      even = four(q[0]), odd = four(q[3]);
      add_products(even, v[0], q[1]), add_products(even, v[1], q[2]), add_products(odd, v[2], q[4]);
      put(j + r, even, odd);
    }
  for (int i = 1; i < kDx; i += 2) {
    for (int p = 0; p < 2; ++p, q += 6) {
      even = four(q[0]), odd = four(q[3]);
      add_products(even, v[p], q[1]), add_products(even, v[2], q[2]);
      add_products(odd, v[1 - p], q[4]), add_products(odd, v[2], q[5]);
      put((i + p) * kDx, even, odd);
    }
    v += 3;
    for (int j = 1; j < kDx; j += 2, v += 6)
      UNROLL for (int p = 0; p < 2; ++p) UNROLL for (int r = 0; r < 2; ++r, q += 8) {
        even = four(q[0]), odd = four(q[4]);
        add_products(even, v[2 * p], q[1]), add_products(even, v[2 * p + 1], q[2]), add_products(even, v[5 - p], q[3]);
        add_products(odd, v[2 - 2 * p], q[5]), add_products(odd, v[3 - 2 * p], q[6]), add_products(odd, v[4 + p], q[7]);
        put((i + p) * kDx + j + r, even, odd);
      }
  }
}

// r_0 + sum_k |r_k| of the row e + o or e - o, less than the level that it must reach.
template <int NX>
INLINE Vec excess(const Vec* e, const Vec* o, float side, const IntegerPose& pose, Vec level) {
  Vec sum = e[0] + side * o[0] - level;
  for (int k = 1; k < 2 * NX - 1; k += 2) {
    const Vec c = e[k] + side * o[k], s = e[k + 1] + side * o[k + 1];
    sum += pose.shares[(k + 1) / 2] * root_or_more(c * c + s * s);
  }
  return sum;
}

// Above 0 where some translation of the pose may reach the level.
template <int NX>
INLINE Vec most(const Vec* b, const IntegerPose& pose, int reach, Vec level, Ahead& ahead) {
  constexpr int kDx = 2 * NX - 1;
  const Vec nearly = all(-1e-30f);
  Vec most = all(-1.0f), e[kDx], o[kDx];
  for (int d = 0; d <= reach; ++d) {
    ahead.ask(4);
    const float* table = pose.table + d * 2 * (NX - 1);
    Vec squares = Vec{}, products = Vec{};
    UNROLL for (int j = 0; j < kDx; ++j) {
      Vec even = pose.steps[0] * b[j], odd = table[1] * b[2 * kDx + j];
      even += table[0] * b[kDx + j];
      for (int k = 2; k < NX; ++k) {
        even += table[2 * k - 2] * b[(2 * k - 1) * kDx + j];
        odd += table[2 * k - 1] * b[2 * k * kDx + j];
      }
      e[j] = even, o[j] = odd;
      if (j) squares += even * even, squares += odd * odd, products += even * odd;
    }
    products += products;
    const Vec plus = max(level - e[0] - o[0], Vec{}), minus = max(level - e[0] + o[0], Vec{});
    const Vec above = max(squares + products - plus * plus, squares - products - minus * minus);
    if (any_greater(above, nearly))
      most = max(most, max(excess<NX>(e, o, 1, pose, level), excess<NX>(e, o, -1, pose, level)));
  }
  return most;
}

template <int NX, int DO>
int64_t reaching(const Database& db, const Query& query, const IntegerPose* poses, Range range, float threshold,
                 int64_t* out) {
  constexpr int kDx = 2 * NX - 1;
  constexpr float kRounding = 0.9998f;  // must not cost a row
  alignas(64) StoredWords<NX, DO> stored;
  alignas(64) Vec b[2][kDx * kDx];
  int64_t count = 0;
  for (int64_t at = range.begin; at < range.end; at += W) {
    Ahead ahead(db, range, at + W);
    const Block block(range, at);
    stored.fill(db, block);
    const Vec bar = range.prior ? all(threshold) / block.of(range.prior) : all(threshold);
    Vec best = all(-1.0f);
    for (int p = 0; p < query.count; ++p) {
      fill<NX>(poses[p].words, stored.words, b[0], b[1]);
      const Vec level = (bar - poses[p].error) * kRounding / block.inverse(db, kFull, query.poses[p].kernel);
      for (int m = 0; m <= query.mirror; ++m)
        best = max(best, most<NX>(b[m], poses[p], query.poses[p].reach, level, ahead));
    }
    for (int i = 0; i < block.count; ++i)
      if (best[i] > 0.0f) out[count++] = block.id[i];
  }
  return count;
}

}  // namespace

// The presets have code; other sizes go without.
extern const Filter filter_avx512vnni = {
    [] { return this_processor().adds_bytes; },
    [](int nx, int no) { return (nx == 5 && no == 2) || (nx == 6 && no == 3) || (nx == 8 && no == 3); },
    [](const Database& db, const Query& query, const IntegerPose* poses, Range range, float threshold, int64_t* out) {
      return (db.nx == 5   ? reaching<5, 3>
              : db.nx == 6 ? reaching<6, 5>
                           : reaching<8, 5>)(db, query, poses, range, threshold, out);
    },
};

}  // namespace sketchseek
