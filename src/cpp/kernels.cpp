// The arithmetic: one source, compiled once for each instruction set (CMakeLists.txt), W pictures at a time.
//
// The score of a picture under a translation (dx, dy) of the drawing is sum_ab B[a, b] c_a(dx) c_b(dy), with
// c(d) = [1, cos w1 d, sin w1 d, ...]. Three things make it cheap, and none of them approximates:
// - one axis is contracted after the other, so that a row of translations costs Dx, not Dx * Dx, a step;
// - a polynomial is E + O at d and E - O at -d, its even and odd parts: the better of the two is E + |O|;
// - mirroring changes the sign of half of the products that B is a sum of, so that both mirrors share them.
#include "engine.hpp"
#include "simd.hpp"

namespace sketchseek {
namespace {

constexpr float kNever = -3.0f;  // below every cosine

inline int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

// ---------------------------------------------------------------------------------------------------------
// Pictures -> lanes.

// The pictures of one block: W of them; at the end of a range the last is repeated.
struct Block {
  int64_t id[W];
  int count;

  Block(const Range& range, int64_t from) : count((int)min(range.end - from, W)) {
    for (int i = 0; i < W; ++i) {
      int64_t at = from + min(i, count - 1);
      id[i] = range.ids ? range.ids[at] : at;
    }
  }

  Vec inverse(const Database& db, int norm, int kernel) const {
    const float* from = db.inverse + (int64_t)(norm * db.kernels + kernel) * db.padded;
    Vec out;
    for (int i = 0; i < W; ++i) out[i] = from[id[i]];
    return out;
  }
};

inline const char* row_of(const Database& db, int64_t id, int64_t size) {
  return id >= db.tail_begin ? (const char*)db.tail + (id - db.tail_begin) * size
                             : (const char*)db.vectors + id * size;
}

inline void prefetch(const Database& db, const Range& range, int64_t from) {
  if (!range.ids) return;  // the hardware follows a sequence by itself
  const int64_t size = (int64_t)db.dimensions() * (db.bytes ? 1 : 4);
  for (int64_t at = from; at < min(from + W, range.end); ++at) {
    const char* row = row_of(db, range.ids[at], size);
    for (int64_t line = 0; line < size; line += 64) __builtin_prefetch(row + line);
  }
}

// A code left in the upper byte of an integer is 2^24 times its value: the query side has 2^-24 folded in.
inline Vec upper_byte(Ints v) { return __builtin_convertvector(v & (int32_t)0xff000000, Vec); }

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

// ---------------------------------------------------------------------------------------------------------
// Products of sub-vectors -> coefficients (equation tripol1), split into a part that mirroring leaves as it is
// and one whose sign it changes. Mirroring turns the query's sines of x and those of the orientation, so that a
// product is even where it has both or neither of them.

// One orientation component of a pair of nonzero frequencies. Products with the query's cosine of x go to c,
// those with its sine to s; `x` and `y` are the distances from a cosine to its sine.
inline void add_square(Vec (&c)[2][2], Vec (&s)[2][2], const float* q, const Vec* v, int x, int y) {
  const Vec vcc = v[0], vcs = v[y], vsc = v[x], vss = v[x + y];
  const Vec qcc = all(q[0]), qcs = all(q[y]), qsc = all(q[x]), qss = all(q[x + y]);
  c[0][0] += qcc * vcc, c[0][0] += qcs * vcs;
  c[0][1] += qcc * vcs, c[0][1] -= qcs * vcc;
  c[1][0] += qcc * vsc, c[1][0] += qcs * vss;
  c[1][1] += qcc * vss, c[1][1] -= qcs * vsc;
  s[0][0] += qsc * vsc, s[0][0] += qss * vss;
  s[0][1] += qsc * vss, s[0][1] -= qss * vsc;
  s[1][0] -= qsc * vcc, s[1][0] -= qss * vcs;
  s[1][1] -= qsc * vcs, s[1][1] += qss * vcc;
}

// The same where the other axis has its constant component.
inline void add_pair(Vec (&c)[2], Vec (&s)[2], const float* q, const Vec* v, int sine) {
  const Vec qc = all(q[0]), qs = all(q[sine]);
  c[0] += qc * v[0];
  c[1] += qc * v[sine];
  s[0] += qs * v[sine];
  s[1] -= qs * v[0];
}

struct Pair {
  Vec even[2] = {}, odd[2] = {};
};

// Coefficients of one nonzero frequency along an axis; only x is mirrored.
inline Pair pair_of(const float* q, const Vec* v, int sine, int ndo, bool along_x) {
  Pair b;
  if (along_x) {
    add_pair(b.even, b.odd, q, v, sine);
    for (int o = 1; o < ndo; o += 2) {
      add_pair(b.even, b.odd, q + o, v + o, sine);
      add_pair(b.odd, b.even, q + o + 1, v + o + 1, sine);
    }
  } else {
    add_pair(b.even, b.even, q, v, sine);
    for (int o = 1; o < ndo; o += 2) {
      add_pair(b.even, b.even, q + o, v + o, sine);
      add_pair(b.odd, b.odd, q + o + 1, v + o + 1, sine);
    }
  }
  return b;
}

inline void constant_of(const float* q, const Vec* v, int ndo, Vec& even, Vec& odd) {
  even = q[0] * v[0], odd = Vec{};
  for (int o = 1; o < ndo; o += 2) {
    even += q[o] * v[o];
    odd += q[o + 1] * v[o + 1];
  }
}

template <int NX>
struct Polynomial {
  static constexpr int kDx = 2 * NX - 1;
  static constexpr int kComponents = kDx * kDx * (2 * kMaxOrientations - 1) + 4 * W;
  Vec b[2][kDx * kDx];  // by mirror

  void put(int at, Vec even, Vec odd) { b[0][at] = even + odd, b[1][at] = even - odd; }

  void fill(const float* q, const Vec* v, int ndo) {
    const int x = kDx * ndo, y = ndo;
    Vec even, odd;
    constant_of(q, v, ndo, even, odd);
    put(0, even, odd);
    for (int i = 1; i < kDx; i += 2) {
      Pair along = pair_of(q + i * x, v + i * x, x, ndo, true);
      for (int p = 0; p < 2; ++p) put((i + p) * kDx, along.even[p], along.odd[p]);
      Pair across = pair_of(q + i * y, v + i * y, y, ndo, false);
      for (int p = 0; p < 2; ++p) put(i + p, across.even[p], across.odd[p]);
      for (int j = 1; j < kDx; j += 2) {
        const float* qij = q + i * x + j * y;
        const Vec* vij = v + i * x + j * y;
        Vec e[2][2] = {}, o[2][2] = {};
        add_square(e, o, qij, vij, x, y);
        for (int k = 1; k < ndo; k += 2) {
          add_square(e, o, qij + k, vij + k, x, y);
          add_square(o, e, qij + k + 1, vij + k + 1, x, y);
        }
        for (int p = 0; p < 2; ++p)
          for (int r = 0; r < 2; ++r) put((i + p) * kDx + j + r, e[p][r], o[p][r]);
      }
    }
  }
};

// ---------------------------------------------------------------------------------------------------------
// Coefficients -> the best translation.

// r: the coefficients along y for one dx. The maximum over dy, with the constant term left for the end.
template <int NX>
inline Vec best_of_row(const Vec* r, const float* table, int reach) {
  Vec best = Vec{};
  for (int k = 1; k < NX; ++k) best += r[2 * k - 1];
  for (int d = 0; d < reach; ++d, table += 2 * (NX - 1)) {
    Vec odd = Vec{};
    for (int k = 1; k < NX; ++k) odd += table[2 * k - 1] * r[2 * k];
    Vec value = abs(odd);
    for (int k = 1; k < NX; ++k) value += table[2 * k - 2] * r[2 * k - 1];
    best = max(best, value);
  }
  return r[0] + best;
}

// Where `best_of_row` has its maximum, in steps; the smallest distance, then the positive side, on ties.
template <int NX>
Ints place_in_row(const Vec* r, const float* table, int reach) {
  Vec best = Vec{};
  for (int k = 1; k < NX; ++k) best += r[2 * k - 1];
  Ints at = Ints{};
  for (int d = 1; d <= reach; ++d, table += 2 * (NX - 1)) {
    Vec odd = Vec{};
    for (int k = 1; k < NX; ++k) odd += table[2 * k - 1] * r[2 * k];
    Vec value = abs(odd);
    for (int k = 1; k < NX; ++k) value += table[2 * k - 2] * r[2 * k - 1];
    Ints better = value > best;
    Ints here = choose(odd < 0.0f, Ints{} - d, Ints{} + d);
    at = choose(better, here, at);
    best = max(best, value);
  }
  return at;
}

// Coefficients along y at +d and -d steps of x.
template <int NX>
inline void contract_x(const Vec* b, const float* table, Vec* plus, Vec* minus) {
  constexpr int kDx = 2 * NX - 1;
  for (int j = 0; j < kDx; ++j) {
    Vec even = b[j], odd = Vec{};
    for (int k = 1; k < NX; ++k) {
      even += table[2 * k - 2] * b[(2 * k - 1) * kDx + j];
      odd += table[2 * k - 1] * b[2 * k * kDx + j];
    }
    plus[j] = even + odd;
    minus[j] = even - odd;
  }
}

template <int NX>
inline void contract_x_at_zero(const Vec* b, Vec* r) {
  constexpr int kDx = 2 * NX - 1;
  for (int j = 0; j < kDx; ++j) {
    r[j] = b[j];
    for (int k = 1; k < NX; ++k) r[j] += b[(2 * k - 1) * kDx + j];
  }
}

// A row cannot pass r0 + sum_k a_k, a_k the amplitude of frequency k. Without roots: a <= (a^2 / l + l) / 2 for any
// l > 0, tight at l = a. With l_k = profile_k * level, the row stays below `level` if
//   sum_k a_k^2 / profile_k + 2 level r0 < level^2 (2 - sum_k profile_k).
struct Bar {
  Vec twice, limit;
  bool useful;

  Bar(Vec level, float slack) : twice(2.0f * level), limit(level * level * (slack * 0.9999f)) {}

  template <int NX>
  bool may_reach(const Vec* r, const float* inverse_profile) const {
    Vec sum = twice * r[0];
    for (int k = 1; k < NX; ++k) {
      Vec squared = r[2 * k - 1] * r[2 * k - 1];
      squared += r[2 * k] * r[2 * k];
      sum += inverse_profile[k - 1] * squared;
    }
    return any_greater(sum, limit);
  }
};

// ---------------------------------------------------------------------------------------------------------
// Scores.

struct Best {
  Vec score = all(kNever);
  Ints pose = {}, mirrored = {}, x = {}, y = {};

  template <int NX>
  void offer(Vec value, Vec inverse, const Vec* r, const Pose& pose_, int p, int m, int dx) {
    Vec s = value * inverse;
    if (!any_greater(s, score)) return;
    Ints better = s > score;
    score = max(score, s);
    pose = choose(better, Ints{} + p, pose);
    mirrored = choose(better, Ints{} + m, mirrored);
    x = choose(better, Ints{} + dx, x);
    y = choose(better, place_in_row<NX>(r, pose_.table, pose_.reach), y);
  }
};

template <int NX, bool kPrune, bool kLocate>
Best search(const Database& db, const Query& query, const Block& block, const Vec* v, float threshold) {
  constexpr int kDx = 2 * NX - 1;
  Best best;
  Polynomial<NX> polynomial;
  for (int p = 0; p < query.count; ++p) {
    const Pose& pose = query.poses[p];
    polynomial.fill(pose.full, v, 2 * db.no - 1);
    const Vec inverse = block.inverse(db, kFull, pose.kernel);
    Vec top = all(-__builtin_inff());
    Bar bar(max(best.score, all(threshold)) / inverse, pose.slack);
    for (int m = 0; m <= query.mirror; ++m) {
      Vec r[kDx], s[kDx];
      contract_x_at_zero<NX>(polynomial.b[m], r);
      const Vec middle = best_of_row<NX>(r, pose.table, pose.reach);
      if (kLocate) best.template offer<NX>(middle, inverse, r, pose, p, m, 0);
      top = max(top, middle);
      for (int d = 1; d <= pose.reach; ++d) {
        contract_x<NX>(polynomial.b[m], pose.table + (d - 1) * 2 * (NX - 1), r, s);
        if (kPrune && !bar.template may_reach<NX>(r, pose.profile) && !bar.template may_reach<NX>(s, pose.profile))
          continue;
        const Vec plus = best_of_row<NX>(r, pose.table, pose.reach);
        const Vec minus = best_of_row<NX>(s, pose.table, pose.reach);
        if (kLocate) {
          best.template offer<NX>(plus, inverse, r, pose, p, m, d);
          best.template offer<NX>(minus, inverse, s, pose, p, m, -d);
        }
        top = max(top, max(plus, minus));
      }
    }
    if (!kLocate) best.score = max(best.score, top * inverse);
  }
  return best;
}

template <int NX>
void score(const Database& db, const Query& query, Range range, float threshold, float* out) {
  alignas(64) Vec v[Polynomial<NX>::kComponents];
  for (int64_t at = range.begin; at < range.end; at += W) {
    prefetch(db, range, at + W);
    const Block block(range, at);
    spread(db, block, v);
    const Best best = threshold > 0 ? search<NX, true, false>(db, query, block, v, threshold)
                                    : search<NX, false, false>(db, query, block, v, threshold);
    for (int i = 0; i < block.count; ++i) out[at - range.begin + i] = best.score[i];
  }
}

// ---------------------------------------------------------------------------------------------------------
// Scores near a guess: signs of coefficients and variables, or the maxima of the two projections.

// Coefficients of one picture, and everything that is evaluated at single translations.
template <int NX>
struct Single {
  static constexpr int kDx = 2 * NX - 1, kRow = (kDx + 7) / 8 * 8, kWords = (kDx * kDx + 63) / 64;
  float b[kDx][kRow];

  Single(const Vec* from, int lane) {
    for (int i = 0; i < kDx; ++i)
      for (int j = 0; j < kRow; ++j) b[i][j] = j < kDx ? from[i * kDx + j][lane] : 0.0f;
  }

  static void basis(const Pose& pose, int d, float* out) {
    const float* t = pose.table + ((d < 0 ? -d : d) - 1) * 2 * (NX - 1);
    out[0] = 1;
    for (int k = 1; k < NX; ++k) {
      out[2 * k - 1] = d ? t[2 * k - 2] : 1.0f;
      out[2 * k] = d ? (d < 0 ? -t[2 * k - 1] : t[2 * k - 1]) : 0.0f;
    }
    for (int j = kDx; j < kRow; ++j) out[j] = 0;
  }

  void signs(uint64_t (&words)[kWords]) const {
    for (uint64_t& word : words) word = 0;
    for (int i = 0, bit = 0; i < kDx; ++i)
      for (int j = 0; j < kDx; ++j, ++bit) words[bit / 64] |= (uint64_t)(b[i][j] < 0) << (bit % 64);
  }

  void best_near(const Pose& pose, int x, int y, int radius, float& best, int& best_x, int& best_y) const {
    const int low_x = x - radius < -pose.reach ? -pose.reach : x - radius;
    const int high_x = x + radius > pose.reach ? pose.reach : x + radius;
    const int low_y = y - radius < -pose.reach ? -pose.reach : y - radius;
    const int high_y = y + radius > pose.reach ? pose.reach : y + radius;
    best = -__builtin_inff();
    for (int dx = low_x; dx <= high_x; ++dx) {
      float c[kRow], r[kRow] = {};
      basis(pose, dx, c);
      for (int i = 0; i < kDx; ++i)
        for (int j = 0; j < kRow; ++j) r[j] += c[i] * b[i][j];
      for (int dy = low_y; dy <= high_y; ++dy) {
        basis(pose, dy, c);
        float value = 0;
        for (int j = 0; j < kDx; ++j) value += c[j] * r[j];
        if (value > best) best = value, best_x = dx, best_y = dy;
      }
    }
  }
};

// Signs of the variables for every translation of a pose: (T, T, kWords).
template <int NX>
void fill_sign_table(const Pose& pose, uint64_t* out) {
  constexpr int kDx = Single<NX>::kDx, kRow = Single<NX>::kRow, kWords = Single<NX>::kWords;
  float cx[kRow], cy[kRow];
  for (int x = -pose.reach; x <= pose.reach; ++x)
    for (int y = -pose.reach; y <= pose.reach; ++y, out += kWords) {
      Single<NX>::basis(pose, x, cx);
      Single<NX>::basis(pose, y, cy);
      for (int w = 0; w < kWords; ++w) out[w] = 0;
      for (int i = 0, bit = 0; i < kDx; ++i)
        for (int j = 0; j < kDx; ++j, ++bit) out[bit / 64] |= (uint64_t)((cx[i] < 0) != (cy[j] < 0)) << (bit % 64);
    }
}

// The translation whose variables agree in sign with the most coefficients.
template <int NX>
void guess_by_signs(const Single<NX>& picture, const uint64_t* table, int reach, int& x, int& y) {
  constexpr int kWords = Single<NX>::kWords;
  uint64_t words[kWords];
  picture.signs(words);
  const int side = 2 * reach + 1;
  int fewest = 1 << 30, at = 0;
  for (int t = 0; t < side * side; ++t, table += kWords) {
    int differ = 0;
    for (int w = 0; w < kWords; ++w) differ += __builtin_popcountll(words[w] ^ table[w]);
    if (differ < fewest) fewest = differ, at = t;
  }
  x = at / side - reach, y = at % side - reach;
}

// The maxima of the projections are those of the first column and the first row of B.
template <int NX>
void guess_by_projections(const Single<NX>& picture, const Pose& pose, int& x, int& y) {
  constexpr int kDx = Single<NX>::kDx;
  float best_x = -__builtin_inff(), best_y = best_x;
  for (int d = -pose.reach; d <= pose.reach; ++d) {
    float c[Single<NX>::kRow], along_x = 0, along_y = 0;
    Single<NX>::basis(pose, d, c);
    for (int i = 0; i < kDx; ++i) along_x += c[i] * picture.b[i][0], along_y += c[i] * picture.b[0][i];
    if (along_x > best_x) best_x = along_x, x = d;
    if (along_y > best_y) best_y = along_y, y = d;
  }
}

template <int NX>
void locate_near(const Database& db, const Query& query, Range range, Guide guide, int radius, Found* out) {
  constexpr int kWords = Single<NX>::kWords;
  uint64_t** tables = new uint64_t*[query.count]();
  for (int p = 0; guide == Guide::kBinary && p < query.count; ++p) {
    const int side = 2 * query.poses[p].reach + 1;
    tables[p] = new uint64_t[(int64_t)side * side * kWords];
    fill_sign_table<NX>(query.poses[p], tables[p]);
  }
  alignas(64) Vec v[Polynomial<NX>::kComponents];
  Polynomial<NX> polynomial;
  for (int64_t at = range.begin; at < range.end; at += W) {
    prefetch(db, range, at + W);
    const Block block(range, at);
    spread(db, block, v);
    Found* found = out + (at - range.begin);
    for (int i = 0; i < block.count; ++i) found[i] = Found{kNever, 0, 0, 0, 0};
    for (int p = 0; p < query.count; ++p) {
      const Pose& pose = query.poses[p];
      polynomial.fill(pose.full, v, 2 * db.no - 1);
      const Vec inverse = block.inverse(db, kFull, pose.kernel);
      for (int m = 0; m <= query.mirror; ++m)
        for (int i = 0; i < block.count; ++i) {
          const Single<NX> picture(polynomial.b[m], i);
          int x = 0, y = 0;
          if (guide == Guide::kBinary)
            guess_by_signs<NX>(picture, tables[p], pose.reach, x, y);
          else
            guess_by_projections<NX>(picture, pose, x, y);
          float value;
          picture.best_near(pose, x, y, radius, value, x, y);
          if (value * inverse[i] > found[i].score)
            found[i] = Found{value * inverse[i], (int16_t)p, (int16_t)m, (int16_t)x, (int16_t)y};
        }
    }
  }
  for (int p = 0; p < query.count; ++p) delete[] tables[p];
  delete[] tables;
}

template <int NX>
void locate(const Database& db, const Query& query, Range range, Guide guide, int radius, Found* out) {
  if (guide != Guide::kExact) return locate_near<NX>(db, query, range, guide, radius, out);
  alignas(64) Vec v[Polynomial<NX>::kComponents];
  for (int64_t at = range.begin; at < range.end; at += W) {
    prefetch(db, range, at + W);
    const Block block(range, at);
    spread(db, block, v);
    const Best best = search<NX, false, true>(db, query, block, v, kNever);
    for (int i = 0; i < block.count; ++i)
      out[at - range.begin + i] = Found{best.score[i], (int16_t)best.pose[i], (int16_t)best.mirrored[i],
                                        (int16_t)best.x[i], (int16_t)best.y[i]};
  }
}

// ---------------------------------------------------------------------------------------------------------
// One projection.

template <class T>
inline void spread_projection(const Database& db, const Range& range, const Block& block, int axis, int64_t at, Vec* out) {
  const int components = db.dx() * (2 * db.no - 1);
  const T* from = (const T*)db.projections[axis];
  if (!range.ids) {
    from += at / kBlock * kBlock * components + at % kBlock;
    typedef T Part __attribute__((vector_size(W * sizeof(T))));
    for (int c = 0; c < components; ++c) out[c] = __builtin_convertvector(load<Part>(from + c * kBlock), Vec);
    __builtin_prefetch(from + 8 * components * kBlock);
    return;
  }
  for (int i = 0; i < W; ++i) {
    const T* lane = from + block.id[i] / kBlock * kBlock * components + block.id[i] % kBlock;
    for (int c = 0; c < components; ++c) out[c][i] = lane[c * kBlock];
  }
}

template <int NX>
void project(const Database& db, const Query& query, Range range, int axis, float* out) {
  constexpr int kDx = 2 * NX - 1;
  const int ndo = 2 * db.no - 1;
  alignas(64) Vec v[kDx * (2 * kMaxOrientations - 1)];
  for (int64_t at = range.begin; at < range.end; at += W) {
    const Block block(range, at);
    if (db.bytes)
      spread_projection<int8_t>(db, range, block, axis, at, v);
    else
      spread_projection<float>(db, range, block, axis, at, v);
    Vec best = all(kNever);
    for (int p = 0; p < query.count; ++p) {
      const Pose& pose = query.poses[p];
      const float* q = pose.projections[axis];
      Vec b[2][kDx], even, odd;
      constant_of(q, v, ndo, even, odd);
      b[0][0] = even + odd, b[1][0] = even - odd;
      for (int i = 1; i < kDx; i += 2) {
        const Pair pair = pair_of(q + i * ndo, v + i * ndo, ndo, ndo, axis == kX);
        for (int s = 0; s < 2; ++s) {
          b[0][i + s] = pair.even[s] + pair.odd[s];
          b[1][i + s] = pair.even[s] - pair.odd[s];
        }
      }
      Vec top = best_of_row<NX>(b[0], pose.table, pose.reach);
      if (query.mirror) top = max(top, best_of_row<NX>(b[1], pose.table, pose.reach));
      best = max(best, top * block.inverse(db, axis, pose.kernel));
    }
    for (int i = 0; i < block.count; ++i) out[at - range.begin + i] = best[i];
  }
}

// ---------------------------------------------------------------------------------------------------------
// The paper's evaluation, for comparison: N2 multiplications for every translation, four translations at a time.

template <int NX>
void plain(const Database& db, const Query& query, Range range, float* out) {
  constexpr int kDx = 2 * NX - 1, kN2 = kDx * kDx, kTogether = 4;
  float** tables = new float*[query.count];
  int* sizes = new int[query.count];
  for (int p = 0; p < query.count; ++p) {
    const Pose& pose = query.poses[p];
    const int side = 2 * pose.reach + 1;
    sizes[p] = (side * side + kTogether - 1) / kTogether;
    tables[p] = new float[(int64_t)sizes[p] * kTogether * kN2];
    float cx[Single<NX>::kRow], cy[Single<NX>::kRow];
    for (int t = 0; t < sizes[p] * kTogether; ++t) {
      const int at = t < side * side ? t : 0;
      Single<NX>::basis(pose, at / side - pose.reach, cx);
      Single<NX>::basis(pose, at % side - pose.reach, cy);
      float* to = tables[p] + (int64_t)(t / kTogether) * kN2 * kTogether + t % kTogether;
      for (int c = 0; c < kN2; ++c) to[c * kTogether] = cx[c / kDx] * cy[c % kDx];
    }
  }
  alignas(64) Vec v[Polynomial<NX>::kComponents];
  Polynomial<NX> polynomial;
  for (int64_t from = range.begin; from < range.end; from += W) {
    prefetch(db, range, from + W);
    const Block block(range, from);
    spread(db, block, v);
    Vec best = all(kNever);
    for (int p = 0; p < query.count; ++p) {
      const Pose& pose = query.poses[p];
      polynomial.fill(pose.full, v, 2 * db.no - 1);
      Vec top = all(-__builtin_inff());
      for (int m = 0; m <= query.mirror; ++m) {
        const float* t = tables[p];
        for (int i = 0; i < sizes[p]; ++i, t += kN2 * kTogether) {
          Vec sum[kTogether] = {};
          for (int c = 0; c < kN2; ++c)
            for (int k = 0; k < kTogether; ++k) sum[k] += t[c * kTogether + k] * polynomial.b[m][c];
          for (int k = 0; k < kTogether; ++k) top = max(top, sum[k]);
        }
      }
      best = max(best, top * block.inverse(db, kFull, pose.kernel));
    }
    for (int i = 0; i < block.count; ++i) out[from - range.begin + i] = best[i];
  }
  for (int p = 0; p < query.count; ++p) delete[] tables[p];
  delete[] tables;
  delete[] sizes;
}

// ---------------------------------------------------------------------------------------------------------
// By the number of frequencies.

#define BY_FREQUENCIES(f) {nullptr, f<1>, f<2>, f<3>, f<4>, f<5>, f<6>, f<7>, f<8>, f<9>, f<10>}
constexpr decltype(&score<1>) kScore[kMaxFrequencies + 1] = BY_FREQUENCIES(score);
constexpr decltype(&locate<1>) kLocate[kMaxFrequencies + 1] = BY_FREQUENCIES(locate);
constexpr decltype(&project<1>) kProject[kMaxFrequencies + 1] = BY_FREQUENCIES(project);
constexpr decltype(&plain<1>) kPlain[kMaxFrequencies + 1] = BY_FREQUENCIES(plain);
#undef BY_FREQUENCIES

bool supported() {
#if defined(__AVX512F__)
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx2") &&
         __builtin_cpu_supports("fma") && __builtin_cpu_supports("popcnt");
#elif defined(__AVX2__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("popcnt");
#else
  return true;
#endif
}

}  // namespace

#define STRING(x) STRING_(x)
#define STRING_(x) #x
#define TABLE(x) TABLE_(x)
#define TABLE_(x) kernels_##x

extern const Kernels TABLE(SKETCHSEEK_BUILD) = {
    STRING(SKETCHSEEK_BUILD),
    supported,
    [](const Database& db, const Query& q, Range r, float t, float* out) { kScore[db.nx](db, q, r, t, out); },
    [](const Database& db, const Query& q, Range r, Guide g, int n, Found* out) { kLocate[db.nx](db, q, r, g, n, out); },
    [](const Database& db, const Query& q, Range r, int axis, float* out) { kProject[db.nx](db, q, r, axis, out); },
    [](const Database& db, const Query& q, Range r, float* out) { kPlain[db.nx](db, q, r, out); },
};

}  // namespace sketchseek
