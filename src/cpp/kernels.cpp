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
constexpr int kAheadOfScan = 4;   // blocks of a projection that are asked for before they are needed

INLINE int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }

// ---------------------------------------------------------------------------------------------------------
// Pictures -> lanes.

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
    const float* from = db.inverse + (int64_t)(norm * db.kernels + kernel) * db.padded;
    if (adjacent) return load<Vec>(from + id[0]);
    float lanes[W];
    for (int i = 0; i < W; ++i) lanes[i] = from[id[i]];
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

// ---------------------------------------------------------------------------------------------------------
// Products of sub-vectors -> coefficients (equation tripol1), split into a part that mirroring leaves as it is
// and one whose sign it changes. Mirroring turns the query's sines of x and those of the orientation, so that a
// product is even where it has both or neither of them.

// One orientation component of a pair of nonzero frequencies. Products with the query's cosine of x go to c,
// those with its sine to s; `x` and `y` are the distances from a cosine to its sine.
INLINE void add_square(Vec (&c)[2][2], Vec (&s)[2][2], const float* q, const Vec* v, int x, int y) {
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
INLINE void add_pair(Vec (&c)[2], Vec (&s)[2], const float* q, const Vec* v, int sine) {
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
INLINE Pair pair_of(const float* q, const Vec* v, int sine, int ndo, bool along_x) {
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

INLINE void constant_of(const float* q, const Vec* v, int ndo, Vec& even, Vec& odd) {
  even = q[0] * v[0], odd = Vec{};
  for (int o = 1; o < ndo; o += 2) {
    even += q[o] * v[o];
    odd += q[o + 1] * v[o + 1];
  }
}

// DO: orientation components, when known beforehand; 0 when not.
template <int NX>
struct Polynomial {
  static constexpr int kDx = 2 * NX - 1;
  static constexpr int kComponents = kDx * kDx * (2 * kMaxOrientations - 1) + 4 * W;
  Vec b[2][kDx * kDx];  // by mirror

  INLINE void put(int at, Vec even, Vec odd) { b[0][at] = even + odd, b[1][at] = even - odd; }

  // Not inlined: there are six callers, and a call is nothing beside its work.
  template <int DO>
  NOINLINE void fill(const float* q, const Vec* v, int runtime_do) {
    const int ndo = DO ? DO : runtime_do;
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

// r: the coefficients along y for one dx. The better of +dy and -dy, without the constant term. The two sums are
// separate chains: in one, the processor would wait for each multiplication.
template <int NX>
INLINE Vec better_side(const Vec* r, const float* table, Vec* odd_part = nullptr) {
  Vec even = table[0] * r[1], odd = table[1] * r[2];
  for (int k = 2; k < NX; ++k) {
    even += table[2 * k - 2] * r[2 * k - 1];
    odd += table[2 * k - 1] * r[2 * k];
  }
  if (odd_part) *odd_part = odd;
  return even + abs(odd);
}

template <int NX>
INLINE Vec at_zero(const Vec* r) {
  Vec sum = r[1];
  for (int k = 2; k < NX; ++k) sum += r[2 * k - 1];
  return sum;
}

// The maxima over dy of two rows at once: they share the table, and the loop ends half as often.
template <int NX>
INLINE void best_of_rows(const Vec* r, const Vec* s, const float* table, int reach, Vec& of_r, Vec& of_s) {
  Vec best_r = at_zero<NX>(r), best_s = at_zero<NX>(s);
  for (int d = 0; d < reach; ++d, table += 2 * (NX - 1)) {
    best_r = max(best_r, better_side<NX>(r, table));
    best_s = max(best_s, better_side<NX>(s, table));
  }
  of_r = r[0] + best_r, of_s = s[0] + best_s;
}

template <int NX>
INLINE Vec best_of_row(const Vec* r, const float* table, int reach) {
  Vec best = at_zero<NX>(r);
  for (int d = 0; d < reach; ++d, table += 2 * (NX - 1)) best = max(best, better_side<NX>(r, table));
  return r[0] + best;
}

// Where `best_of_row` has its maximum, in steps; the smallest distance, then the positive side, on ties.
template <int NX>
Ints place_in_row(const Vec* r, const float* table, int reach) {
  Vec best = at_zero<NX>(r);
  Ints at = Ints{};
  for (int d = 1; d <= reach; ++d, table += 2 * (NX - 1)) {
    Vec odd;
    const Vec value = better_side<NX>(r, table, &odd);
    at = choose(value > best, choose(odd < 0.0f, Ints{} - d, Ints{} + d), at);
    best = max(best, value);
  }
  return at;
}

// Coefficients along y at +d and -d steps of x.
template <int NX>
INLINE void contract_x(const Vec* b, const float* table, Vec* plus, Vec* minus) {
  constexpr int kDx = 2 * NX - 1;
  UNROLL for (int j = 0; j < kDx; ++j) {
    Vec even = b[j] + table[0] * b[kDx + j], odd = table[1] * b[2 * kDx + j];
    for (int k = 2; k < NX; ++k) {
      even += table[2 * k - 2] * b[(2 * k - 1) * kDx + j];
      odd += table[2 * k - 1] * b[2 * k * kDx + j];
    }
    plus[j] = even + odd;
    minus[j] = even - odd;
  }
}

// The constant term of the better of the two rows at +d and -d, and no less than it.
template <int NX>
INLINE Vec better_constant(const Vec* b, const float* table) {
  constexpr int kDx = 2 * NX - 1;
  Vec even = b[0] + table[0] * b[kDx], odd = table[1] * b[2 * kDx];
  for (int k = 2; k < NX; ++k) {
    even += table[2 * k - 2] * b[(2 * k - 1) * kDx];
    odd += table[2 * k - 1] * b[2 * k * kDx];
  }
  return even + abs(odd);
}

// What the terms that depend on dy can come to, whatever dx and dy: the norm of each pair of frequencies.
template <int NX>
INLINE Vec sum_of_amplitudes(const Vec* b) {
  constexpr int kDx = 2 * NX - 1;
  Vec sum = Vec{};
  for (int j = 1; j < kDx; j += 2) {
    sum += root_or_more(b[j] * b[j] + b[j + 1] * b[j + 1]);
    for (int i = kDx; i < kDx * kDx; i += 2 * kDx) {
      const Vec *c = b + i + j, *s = c + kDx;
      sum += root_or_more(c[0] * c[0] + c[1] * c[1] + s[0] * s[0] + s[1] * s[1]);
    }
  }
  return sum;
}

template <int NX>
INLINE void contract_x_at_zero(const Vec* b, Vec* r) {
  constexpr int kDx = 2 * NX - 1;
  UNROLL for (int j = 0; j < kDx; ++j) {
    r[j] = b[j];
    for (int k = 1; k < NX; ++k) r[j] += b[(2 * k - 1) * kDx + j];
  }
}

// A row cannot pass r0 + sum_k a_k, a_k the amplitude of frequency k. Without roots: a <= (a^2 / l + l) / 2 for any
// l > 0, and equal at l = a. With l_k = profile_k * level, the row stays below `level` if
//   sum_k a_k^2 / profile_k + 2 level r0 < level^2 (2 - sum_k profile_k).
template <int NX>
class Bar {
 public:
  Bar(Vec level, const float* profile) : level_(level * 0.9999f), twice_(2.0f * level) {
    float slack = 2;
    for (int k = 0; k < NX - 1; ++k) slack -= profile[k], inverse_[k] = 1 / profile[k];
    limit_ = level * level * (slack * 0.9999f);  // rounding must not cost a picture
  }

  // A first look, before x is contracted: r0 is exact, all that depends on dy is bounded for every dx at once.
  INLINE bool may_be_reached(Vec r0, Vec rest) const { return any_greater(r0 + rest, level_); }

  INLINE bool may_be_reached(const Vec* r) const {
    Vec sum = twice_ * r[0];
    for (int k = 1; k < NX; ++k) {
      Vec squared = r[2 * k - 1] * r[2 * k - 1];
      squared += r[2 * k] * r[2 * k];
      sum += inverse_[k - 1] * squared;
    }
    return any_greater(sum, limit_);
  }

 private:
  Vec level_, twice_, limit_;
  float inverse_[NX - 1];
};

// ---------------------------------------------------------------------------------------------------------
// Scores.

struct Best {
  Vec score = all(kNever);
  Ints pose = {}, mirrored = {}, x = {}, y = {};

  INLINE void keep(Ints better, Vec value, int p, int m, Ints at_x, Ints at_y) {
    score = better ? value : score;
    pose = choose(better, Ints{} + p, pose);
    mirrored = choose(better, Ints{} + m, mirrored);
    x = choose(better, at_x, x);
    y = choose(better, at_y, y);
  }

  template <int NX>
  void offer(Vec value, Vec inverse, const Vec* r, const Pose& pose_, int p, int m, int dx) {
    Vec s = value * inverse;
    if (!any_greater(s, score)) return;
    keep(s > score, s, p, m, Ints{} + dx, place_in_row<NX>(r, pose_.table, pose_.reach));
  }

  void put(const Block& block, Found* out) const {
    for (int i = 0; i < block.count; ++i)
      out[i] = Found{score[i], (int16_t)pose[i], (int16_t)mirrored[i], (int16_t)x[i], (int16_t)y[i]};
  }
};

template <int NX, int DO, bool kPrune, bool kLocate>
Best search(const Database& db, const Query& query, const Block& block, const Vec* v, float threshold, Ahead& ahead) {
  constexpr int kDx = 2 * NX - 1;
  static const float kNone[NX - 1] = {};
  Best best;
  Polynomial<NX> polynomial;
  for (int p = 0; p < query.count; ++p) {
    const Pose& pose = query.poses[p];
    polynomial.template fill<DO>(pose.full, v, 2 * db.no - 1);
    const Vec inverse = block.inverse(db, kFull, pose.kernel);
    const Bar<NX> bar(max(best.score, all(threshold)) / inverse, kPrune ? pose.profile : kNone);
    Vec top = all(-__builtin_inff());
    for (int m = 0; m <= query.mirror; ++m) {
      Vec r[kDx], s[kDx];
      const Vec rest = kPrune ? sum_of_amplitudes<NX>(polynomial.b[m]) : Vec{};
      contract_x_at_zero<NX>(polynomial.b[m], r);
      if (!kPrune || bar.may_be_reached(r)) {
        const Vec middle = best_of_row<NX>(r, pose.table, pose.reach);
        if (kLocate) best.template offer<NX>(middle, inverse, r, pose, p, m, 0);
        top = max(top, middle);
      }
      for (int d = 1; d <= pose.reach; ++d) {
        ahead.ask(kDx < 11 ? 2 : 4);
        const float* table = pose.table + (d - 1) * 2 * (NX - 1);
        if (kPrune && !bar.may_be_reached(better_constant<NX>(polynomial.b[m], table), rest)) continue;
        contract_x<NX>(polynomial.b[m], table, r, s);
        if (kPrune && !bar.may_be_reached(r) && !bar.may_be_reached(s)) continue;
        Vec plus, minus;
        best_of_rows<NX>(r, s, pose.table, pose.reach, plus, minus);
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

template <int NX, int DO>
void score(const Database& db, const Query& query, Range range, float threshold, float* out) {
  const bool prune = threshold > 0 && query.poses[0].profile;
  alignas(64) Vec v[Polynomial<NX>::kComponents];
  for (int64_t at = range.begin; at < range.end; at += W) {
    Ahead ahead(db, range, at + W);
    const Block block(range, at);
    spread(db, block, v);
    const Best best = prune ? search<NX, DO, true, false>(db, query, block, v, threshold, ahead)
                                    : search<NX, DO, false, false>(db, query, block, v, threshold, ahead);
    block.put(best.score, out + (at - range.begin));
  }
}

// ---------------------------------------------------------------------------------------------------------
// Scores near a guess: signs of coefficients and variables, or the maxima of the two projections.

// Coefficients of one picture, and everything that is evaluated at single translations.
template <int NX>
struct Single {
  static constexpr int kDx = 2 * NX - 1, kRow = (kDx + 7) / 8 * 8;
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

  void highest_row(const Pose& pose, float& highest, float* amplitudes) const {
    for (int dx = -pose.reach; dx <= pose.reach; ++dx) {
      float c[kRow], r[kRow] = {}, a[NX - 1];
      basis(pose, dx, c);
      for (int i = 0; i < kDx; ++i)
        for (int j = 0; j < kRow; ++j) r[j] += c[i] * b[i][j];
      float sum = r[0];
      for (int k = 1; k < NX; ++k) {
        a[k - 1] = __builtin_sqrtf(r[2 * k - 1] * r[2 * k - 1] + r[2 * k] * r[2 * k]);
        sum += a[k - 1];
      }
      if (sum <= highest) continue;
      highest = sum;
      for (int k = 0; k < NX - 1; ++k) amplitudes[k] = a[k];
    }
  }
};

// Of each picture and pose the row whose bound is the highest.
template <int NX, int DO>
void profile(const Database& db, const Query& query, Range range, float* out) {
  alignas(64) Vec v[Polynomial<NX>::kComponents];
  Polynomial<NX> polynomial;
  for (int i = 0; i < query.count * (NX - 1); ++i) out[i] = 0;
  for (int64_t at = range.begin; at < range.end; at += W) {
    const Block block(range, at);
    spread(db, block, v);
    for (int p = 0; p < query.count; ++p) {
      polynomial.template fill<DO>(query.poses[p].full, v, DO ? DO : 2 * db.no - 1);
      for (int i = 0; i < block.count; ++i) {
        float highest = 0, amplitudes[NX - 1] = {};
        for (int m = 0; m <= query.mirror; ++m) Single<NX>(polynomial.b[m], i).highest_row(query.poses[p], highest, amplitudes);
        for (int k = 0; k < NX - 1 && highest > 0; ++k) out[p * (NX - 1) + k] += amplitudes[k] / highest;
      }
    }
  }
  const float count = (float)(range.end - range.begin);
  for (int i = 0; i < query.count * (NX - 1); ++i) out[i] = out[i] / count > 1e-3f ? out[i] / count : 1e-3f;
}

// Signs of the coefficients, or of the variables of a translation: a bit each.
constexpr int words_of_signs(int nx) { return ((2 * nx - 1) * (2 * nx - 1) + 31) / 32; }

// What the poses of a query have in common for all pictures: the variables of every step, and for every translation
// their signs.
template <int NX>
class Steps {
 public:
  static constexpr int kDx = 2 * NX - 1, kWords = words_of_signs(NX);

  Steps(const Pose& pose, bool with_signs) : reach_(pose.reach), side_(2 * pose.reach + 1) {
    variables_ = new float[side_ * kDx];
    float row[Single<NX>::kRow];
    for (int d = 0; d < side_; ++d) {
      Single<NX>::basis(pose, d - reach_, row);
      for (int k = 0; k < kDx; ++k) variables_[d * kDx + k] = row[k];
    }
    if (!with_signs) return;
    signs_ = new int32_t[side_ * side_ * kWords]();
    for (int t = 0; t < side_ * side_; ++t)
      for (int c = 0; c < kDx * kDx; ++c) {
        const bool negative = (variables_[t / side_ * kDx + c / kDx] < 0) != (variables_[t % side_ * kDx + c % kDx] < 0);
        signs_[t * kWords + c / 32] |= (int32_t)((uint32_t)negative << (c % 32));
      }
  }
  Steps(const Steps&) = delete;
  ~Steps() { delete[] variables_, delete[] signs_; }

  // The translation whose variables agree in sign with the most coefficients: the binary polynomial's maximum. How many
  // differ.
  template <class Bits>
  INLINE Ints guess_by_signs(const Vec* b, Ints& x, Ints& y) const {
    Ints words[kWords] = {};
    UNROLL for (int c = 0; c < kDx * kDx; ++c) words[c / 32] |= (b[c] < 0.0f) & (int32_t)(1u << (c % 32));
    Ints fewest = Ints{} + 0x7fffffff;  // bits that differ, then the number of the translation
    const int32_t* signs = signs_;
    for (int t = 0; t < side_ * side_; ++t, signs += kWords) {
      Ints differ = Bits::of_parts(words[0] ^ signs[0]);
      UNROLL for (int w = 1; w < kWords; ++w) differ += Bits::of_parts(words[w] ^ signs[w]);
      fewest = lesser(fewest, (Bits::of_all(differ) << 22) + t);
    }
    for (int i = 0; i < W; ++i) {
      const int t = fewest[i] & 0x3fffff;
      x[i] = t / side_ - reach_, y[i] = t % side_ - reach_;
    }
    return fewest >> 22;
  }

  // The maxima of the projections are those of the first column and the first row of B.
  INLINE void guess_by_projections(const Vec* b, Ints& x, Ints& y) const {
    Vec best_x = all(-__builtin_inff()), best_y = best_x;
    for (int d = 0; d < side_; ++d) {
      const float* c = variables_ + d * kDx;
      Vec along_x = c[0] * b[0], along_y = along_x;
      for (int k = 1; k < kDx; ++k) along_x += c[k] * b[k * kDx], along_y += c[k] * b[k];
      x = choose(along_x > best_x, Ints{} + (d - reach_), x);
      y = choose(along_y > best_y, Ints{} + (d - reach_), y);
      best_x = max(best_x, along_x), best_y = max(best_y, along_y);
    }
  }

  // The best translation at most `radius` steps away along each axis, each picture from its own guess.
  INLINE Vec climb(const Vec* b, int radius, Ints& x, Ints& y) const {
    const Ints from_x = x, from_y = y;
    Vec best = all(-__builtin_inff());
    for (int i = -radius; i <= radius; ++i) {
      Vec c[kDx], r[kDx] = {};
      const Ints at_x = variables(from_x + i, c);
      for (int k = 0; k < kDx; ++k)
        for (int j = 0; j < kDx; ++j) r[j] += c[k] * b[k * kDx + j];
      for (int j = -radius; j <= radius; ++j) {
        const Ints at_y = variables(from_y + j, c);
        Vec value = c[0] * r[0];
        for (int k = 1; k < kDx; ++k) value += c[k] * r[k];
        x = choose(value > best, at_x, x), y = choose(value > best, at_y, y);
        best = max(best, value);
      }
    }
    return best;
  }

 private:
  // Those of another step in each lane, no further out than the grid is; which it was.
  INLINE Ints variables(Ints d, Vec* out) const {
    float* lanes = (float*)out;
    for (int i = 0; i < W; ++i) {
      d[i] = d[i] < -reach_ ? -reach_ : d[i] > reach_ ? reach_ : d[i];
      const float* row = variables_ + (d[i] + reach_) * kDx;
      for (int k = 0; k < kDx; ++k) lanes[k * W + i] = row[k];
    }
    return d;
  }

  const int reach_, side_;
  float* variables_;
  int32_t* signs_ = nullptr;
};

template <int NX, int DO>
void locate_near(const Database& db, const Query& query, Range range, Guide guide, int radius, Found* out) {
  const bool counts_bits = COUNTS_BITS();
  Steps<NX>** steps = new Steps<NX>*[query.count];
  for (int p = 0; p < query.count; ++p) steps[p] = new Steps<NX>(query.poses[p], guide != Guide::kLocalAll);
  alignas(64) Vec v[Polynomial<NX>::kComponents];
  Polynomial<NX> polynomial;
  for (int64_t at = range.begin; at < range.end; at += W) {
    Ahead ahead(db, range, at + W);
    ahead.ask(1 << 20);
    const Block block(range, at);
    spread(db, block, v);
    Best best;
    Ints fewest = Ints{} + 0x7fffffff;
    for (int p = 0; p < query.count; ++p) {
      polynomial.template fill<DO>(query.poses[p].full, v, 2 * db.no - 1);
      const Vec inverse = block.inverse(db, kFull, query.poses[p].kernel);
      for (int m = 0; m <= query.mirror; ++m) {
        Ints x = {}, y = {}, differ = {};
        if (guide == Guide::kLocalAll)
          steps[p]->guess_by_projections(polynomial.b[m], x, y);
        else if (counts_bits)
          differ = steps[p]->template guess_by_signs<BitsByInstruction>(polynomial.b[m], x, y);
        else
          differ = steps[p]->template guess_by_signs<BitsOfBytes>(polynomial.b[m], x, y);
        const Vec value = steps[p]->climb(polynomial.b[m], radius, x, y) * inverse;
        best.keep(guide == Guide::kBinary ? differ < fewest : value > best.score, value, p, m, x, y);
        fewest = lesser(fewest, differ);
      }
    }
    best.put(block, out + (at - range.begin));
  }
  for (int p = 0; p < query.count; ++p) delete steps[p];
  delete[] steps;
}

template <int NX, int DO>
void locate(const Database& db, const Query& query, Range range, Guide guide, int radius, Found* out) {
  if (guide != Guide::kExact) return locate_near<NX, DO>(db, query, range, guide, radius, out);
  alignas(64) Vec v[Polynomial<NX>::kComponents];
  for (int64_t at = range.begin; at < range.end; at += W) {
    Ahead ahead(db, range, at + W);
    const Block block(range, at);
    spread(db, block, v);
    search<NX, DO, false, true>(db, query, block, v, kNever, ahead).put(block, out + (at - range.begin));
  }
}

// ---------------------------------------------------------------------------------------------------------
// One projection.

template <class T>
INLINE void spread_projection(const T* from, const Block& block, int components, Vec* out) {
  if (block.adjacent) {
    from += block.id[0] / kBlock * kBlock * components + block.id[0] % kBlock;
    for (int c = 0; c < components; ++c) out[c] = widen(from + c * kBlock);
    for (int c = 0; c < components; c += 64 / kBlock / (int)sizeof(T))
      __builtin_prefetch(from + (kAheadOfScan * components + c) * kBlock);
    return;
  }
  float* lanes = (float*)out;
  for (int i = 0; i < W; ++i) {
    const T* lane = from + block.id[i] / kBlock * kBlock * components + block.id[i] % kBlock;
    for (int c = 0; c < components; ++c) lanes[c * W + i] = lane[c * kBlock];
  }
}

template <int NX, int DO, int kAxis>
void project_along(const Database& db, const Query& query, Range range, float* out) {
  constexpr int kDx = 2 * NX - 1;
  const int ndo = DO ? DO : 2 * db.no - 1;
  alignas(64) Vec v[kDx * (2 * kMaxOrientations - 1)];
  for (int64_t at = range.begin; at < range.end; at += W) {
    const Block block(range, at);
    if (db.bytes)
      spread_projection((const int8_t*)db.projections[kAxis], block, kDx * ndo, v);
    else
      spread_projection((const float*)db.projections[kAxis], block, kDx * ndo, v);
    Vec best = all(kNever);
    for (int p = 0; p < query.count; ++p) {
      const Pose& pose = query.poses[p];
      const float* q = pose.projections[kAxis];
      Vec b[2][kDx], even, odd;
      constant_of(q, v, ndo, even, odd);
      b[0][0] = even + odd, b[1][0] = even - odd;
      for (int i = 1; i < kDx; i += 2) {
        const Pair pair = pair_of(q + i * ndo, v + i * ndo, ndo, ndo, kAxis == kX);
        for (int s = 0; s < 2; ++s) {
          b[0][i + s] = pair.even[s] + pair.odd[s];
          b[1][i + s] = pair.even[s] - pair.odd[s];
        }
      }
      Vec top, mirrored;
      best_of_rows<NX>(b[0], b[1], pose.table, pose.reach, top, mirrored);
      if (query.mirror) top = max(top, mirrored);
      best = max(best, top * block.inverse(db, kAxis, pose.kernel));
    }
    block.put(best, out + (at - range.begin));
  }
}

template <int NX, int DO>
void project(const Database& db, const Query& query, Range range, int axis, float* out) {
  if (axis == kX)
    project_along<NX, DO, kX>(db, query, range, out);
  else
    project_along<NX, DO, kY>(db, query, range, out);
}

// ---------------------------------------------------------------------------------------------------------
// The paper's evaluation, for comparison: N2 multiplications for every translation, eight translations at a time.

template <int NX, int DO>
void plain(const Database& db, const Query& query, Range range, float* out) {
  constexpr int kDx = 2 * NX - 1, kN2 = kDx * kDx, kTogether = 8;
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
    Ahead ahead(db, range, from + W);
    ahead.ask(1 << 20);
    const Block block(range, from);
    spread(db, block, v);
    Vec best = all(kNever);
    for (int p = 0; p < query.count; ++p) {
      const Pose& pose = query.poses[p];
      polynomial.template fill<DO>(pose.full, v, 2 * db.no - 1);
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
    block.put(best, out + (from - range.begin));
  }
  for (int p = 0; p < query.count; ++p) delete[] tables[p];
  delete[] tables;
  delete[] sizes;
}

// ---------------------------------------------------------------------------------------------------------
// Where the energy is.

// The samples lie symmetrically about the centre: those at +d and -d share their even and odd parts.
template <int NX, int>
void energy(const Database& db, const Cells& cells, Range range, float* out) {
  constexpr int kDx = 2 * NX - 1;
  const int ndo = 2 * db.no - 1, side = cells.cells, half = side / 2, samples = half * cells.samples;
  alignas(64) Vec v[Polynomial<NX>::kComponents];
  Vec* sums = new Vec[side * side];
  for (int64_t at = range.begin; at < range.end; at += W, out += W * side * side) {
    const Block block(range, at);
    spread(db, block, v);
    for (int c = 0; c < side * side; ++c) sums[c] = Vec{};
    for (int o = 0; o < ndo; ++o) {
      Vec b[kDx * kDx];
      for (int c = 0; c < kDx * kDx; ++c) b[c] = cells.factors[c * ndo + o] * v[c * ndo + o];
      for (int i = 0; i < samples; ++i) {
        Vec rows[2][kDx];
        contract_x<NX>(b, cells.table + i * 2 * (NX - 1), rows[0], rows[1]);
        for (int s = 0; s < 2; ++s) {
          Vec* row_sums = sums + (s ? half - 1 - i / cells.samples : half + i / cells.samples) * side;
          const Vec* r = rows[s];
          const float* table = cells.table;
          for (int j = 0; j < samples; ++j, table += 2 * (NX - 1)) {
            Vec even = r[0] + table[0] * r[1], odd = table[1] * r[2];
            for (int k = 2; k < NX; ++k) {
              even += table[2 * k - 2] * r[2 * k - 1];
              odd += table[2 * k - 1] * r[2 * k];
            }
            row_sums[half + j / cells.samples] += (even + odd) * (even + odd);
            row_sums[half - 1 - j / cells.samples] += (even - odd) * (even - odd);
          }
        }
      }
    }
    Vec total = Vec{};
    for (int c = 0; c < side * side; ++c) total += sums[c];
    for (int i = 0; i < block.count; ++i)
      for (int c = 0; c < side * side; ++c) out[i * side * side + c] = total[i] > 0 ? sums[c][i] / total[i] : 0;
  }
  delete[] sums;
}

// ---------------------------------------------------------------------------------------------------------
// Product codes: a table of sixteen bytes a part fits into a register, where it is looked up for 4 W vectors at once.

void sum_tables(const PartCodes& codes, int64_t begin_block, int64_t end_block, uint16_t* out) {
  const uint8_t* from = codes.codes + begin_block * (codes.parts / 2) * kCodeBlock;
  for (int64_t block = begin_block; block < end_block; ++block, from += codes.parts / 2 * kCodeBlock)
    for (int some = 0; some < kCodeBlock; some += 4 * W, out += 4 * W) {
      Shorts pairs = {}, odd = {};  // bytes are summed by twos, and the upper ones of each two alone
      for (int part = 0; part < codes.parts; part += 2) {
        const uint8_t* table = codes.tables + 16 * part;
        const Bytes both = load<Bytes>(from + part / 2 * kCodeBlock + some);
        const Shorts low = (Shorts)look_up(repeated(table), both & 15);
        const Shorts high = (Shorts)look_up(repeated(table + 16), (Bytes)((Shorts)both >> 4) & 15);
        pairs += low + high;
        odd += (low >> 8) + (high >> 8);
      }
      const Shorts even = pairs - (odd << 8);
      for (int i = 0; i < 2 * W; ++i) out[2 * i] = even[i], out[2 * i + 1] = odd[i];
    }
}

// ---------------------------------------------------------------------------------------------------------
// By the number of frequencies. The compact preset has code of its own.

#define CHOOSE(f, nx, no) ((nx) == 5 && (no) == 2 ? f<5, 3> : ANY_OF(f, nx))
#define ANY_OF(f, nx)                                                                                  \
  ((nx) == 2   ? f<2, 0>                                                                               \
   : (nx) == 3 ? f<3, 0>                                                                               \
   : (nx) == 4 ? f<4, 0>                                                                               \
   : (nx) == 5 ? f<5, 0>                                                                               \
   : (nx) == 6 ? f<6, 0>                                                                               \
   : (nx) == 7 ? f<7, 0>                                                                               \
   : (nx) == 8 ? f<8, 0>                                                                               \
   : (nx) == 9 ? f<9, 0>                                                                               \
               : f<10, 0>)

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
    [](const Database& db, const Query& query, Range range, float threshold, float* out) {
      CHOOSE(score, db.nx, db.no)(db, query, range, threshold, out);
    },
    [](const Database& db, const Query& query, Range range, float* out) {
      CHOOSE(profile, db.nx, db.no)(db, query, range, out);
    },
    [](const Database& db, const Query& query, Range range, Guide guide, int radius, Found* out) {
      CHOOSE(locate, db.nx, db.no)(db, query, range, guide, radius, out);
    },
    [](const Database& db, const Query& query, Range range, int axis, float* out) {
      CHOOSE(project, db.nx, db.no)(db, query, range, axis, out);
    },
    [](const Database& db, const Query& query, Range range, float* out) {
      CHOOSE(plain, db.nx, db.no)(db, query, range, out);
    },
    [](const Database& db, const Cells& cells, Range range, float* out) {
      ANY_OF(energy, db.nx)(db, cells, range, out);
    },
    sum_tables,
};

}  // namespace sketchseek
