// The NEON kernels against the portable ones and against a plain evaluation in double precision, on random pictures.
// tools/arm64.py compiles it for arm64 and runs it, by emulation where the machine is another.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "engine.hpp"
#include "refine_pose.hpp"

using namespace sketchseek;
using Floats = std::vector<float>;

constexpr int kPoses = 2, kSteps = 6, kCells = 8, kSamples = 3;
int failures = 0;
double worst = 0;

template <class T>
void compare(const char* what, const std::vector<T>& a, const std::vector<T>& b, double tolerance) {
  double difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference = std::fmax(difference, std::fabs((double)a[i] - (double)b[i]));
  worst = std::fmax(worst, difference);
  if (!(difference <= tolerance)) ++failures, std::printf("%s differs by %g\n", what, difference);
}

// Random pictures and poses of one size, laid out as the module does it.
struct Case {
  Database db{};
  std::vector<char> vectors, tail, sides[3];
  Floats inverse, full, projections, table;
  std::vector<Pose> poses = std::vector<Pose>(kPoses);

  Case(int nx, int no, int n, bool bytes, std::mt19937& random) {
    std::normal_distribution<float> normal;
    db.bytes = bytes, db.n = n, db.nx = nx, db.no = no, db.kernels = kPoses, db.padded = (n + kBlock - 1) / kBlock * kBlock;
    const int dx = db.dx(), ndo = db.dimensions_o(), size = db.dimensions(), value = bytes ? 1 : 4, row = size * value;
    vectors.resize(n * row);
    for (int i = 0; i < n * size; ++i) {
      const float component = std::fmax(-127, std::fmin(127, 30 * normal(random)));
      const int8_t code = (int8_t)component;
      std::memcpy(&vectors[i * value], bytes ? (const void*)&code : (const void*)&component, value);
    }
    db.vectors = vectors.data();
    const int64_t rows = std::min<int64_t>(n, kOverrun / row + 1);
    db.tail_begin = n - rows;
    tail.assign(rows * row + kOverrun, 0);
    std::memcpy(tail.data(), vectors.data() + db.tail_begin * row, rows * row);
    db.tail = tail.data();
    inverse.assign(3 * kPoses * db.padded, 1 / (30 * std::sqrt((float)size)));
    db.inverse = inverse.data();
    for (int axis : {kX, kY}) {
      sides[axis].assign(db.padded * dx * ndo * value + 4096, 0);  // scanning asks for lines ahead
      for (int i = 0; i < n; ++i)
        for (int c = 0; c < dx * ndo; ++c)
          std::memcpy(&sides[axis][((i / kBlock * dx * ndo + c) * kBlock + i % kBlock) * value],
                      &vectors[i * row + (c / ndo * (axis == kX ? dx : 1) * ndo + c % ndo) * value], value);
      db.projections[axis] = sides[axis].data();
    }
    const float length = 1 / std::sqrt((float)size);
    for (int i = 0; i < kPoses * size; ++i) full.push_back(normal(random) * length * (bytes ? std::ldexp(1.0f, -24) : 1));
    for (int i = 0; i < kPoses * 2 * dx * ndo; ++i) projections.push_back(normal(random) * length);
    for (int i = 0; i < kPoses * kSteps * (nx - 1); ++i) {
      const double phase = 1.75 * (i % (nx - 1) + 1) * (i / (nx - 1) % kSteps + 1) * .08 * (i / (nx - 1) / kSteps + 1);
      table.push_back((float)std::cos(phase)), table.push_back((float)std::sin(phase));
    }
    for (int p = 0; p < kPoses; ++p)
      poses[p] = {&full[p * size],
                  {nullptr, &projections[2 * p * dx * ndo], &projections[(2 * p + 1) * dx * ndo]},
                  &table[p * kSteps * (nx - 1) * 2],
                  nullptr,
                  p,
                  kSteps / (2 - p)};
  }

  // The best score of each picture, every translation on its own.
  Floats plain() const {
    const int dx = db.dx(), ndo = db.dimensions_o(), size = db.dimensions();
    Floats best(db.n, -3);
    for (int variant = 0; variant < 2 * kPoses; ++variant) {
      const Pose& pose = poses[variant / 2];
      std::vector<double> q(size);
      for (int c = 0; c < size; ++c) {
        const int x = c / ndo / dx, o = c % ndo;
        const bool turned = variant % 2 && (x && x % 2 == 0) != (o && o % 2 == 0);
        q[c] = pose.full[c] * (db.bytes ? 16777216.0 : 1.0) * (turned ? -1 : 1);
      }
      const auto variable = [&](int d, int k) {
        const float* t = pose.table + ((d < 0 ? -d : d) - 1) * 2 * (db.nx - 1) + (k - 1) / 2 * 2;
        return k == 0 ? 1.0 : k % 2 ? (d ? t[0] : 1.0) : (d ? (d < 0 ? -t[1] : t[1]) : 0.0);
      };
      for (int64_t i = 0; i < db.n; ++i) {
        Surface surface(nullptr, db.nx, ndo);
        surface.fill(q.data(), row_of(db, i).data());
        for (int x = -pose.reach; x <= pose.reach; ++x)
          for (int y = -pose.reach; y <= pose.reach; ++y) {
            double sum = 0;
            for (int a = 0; a < dx; ++a)
              for (int b = 0; b < dx; ++b) sum += surface.coefficients()[a * dx + b] * variable(x, a) * variable(y, b);
            best[i] = std::fmax(best[i], (float)(sum * inverse[0]));
          }
      }
    }
    return best;
  }
};

struct Answers {
  Floats scores, plain, x, y, energy, profile, located;
  std::vector<int> places;

  Answers(const Kernels& kernels, const Case& given) {
    const Database& db = given.db;
    const Query query{given.poses.data(), kPoses, true};
    const Range all{0, db.n, nullptr};
    for (Floats* out : {&scores, &plain, &x, &y}) out->resize(db.n);
    kernels.score(db, query, all, -3, scores.data());
    kernels.plain(db, query, all, plain.data());
    kernels.project(db, query, all, kX, x.data());
    kernels.project(db, query, all, kY, y.data());
    profile.resize(kPoses * (db.nx - 1));
    kernels.profile(db, query, all, profile.data());
    energy.resize(db.n * kCells * kCells);
    const Floats factors(db.dimensions(), db.bytes ? std::ldexp(1.0f, -24) : 1.0f);
    Floats table;
    for (int i = 0; i < kCells * kSamples / 2 * (db.nx - 1); ++i) {
      const double phase = 1.75 * (i % (db.nx - 1) + 1) * (i / (db.nx - 1) + .5) * .15;
      table.push_back((float)std::cos(phase)), table.push_back((float)std::sin(phase));
    }
    kernels.energy(db, Cells{factors.data(), table.data(), kCells, kSamples}, all, energy.data());
    for (Guide guide : {Guide::kExact, Guide::kBinary, Guide::kBinaryAll, Guide::kLocalAll}) {
      std::vector<Found> found(db.n);
      kernels.locate(db, query, all, guide, 1, found.data());
      for (const Found& f : found) {
        located.push_back(f.score);
        places.insert(places.end(), {f.pose, f.mirrored, f.x, f.y});
      }
    }
    check_pruning(kernels, given);
  }

  void check_pruning(const Kernels& kernels, const Case& given) const {
    float bar = 0;
    for (float score : scores) bar = std::fmax(bar, .8f * score);
    std::vector<Pose> poses = given.poses;
    for (int p = 0; p < kPoses; ++p) poses[p].profile = profile.data() + p * (given.db.nx - 1);
    Floats pruned(given.db.n);
    kernels.score(given.db, Query{poses.data(), kPoses, true}, Range{0, given.db.n, nullptr}, bar, pruned.data());
    for (size_t i = 0; i < pruned.size(); ++i)
      if (scores[i] >= bar ? std::fabs(pruned[i] - scores[i]) > 1e-6 : pruned[i] >= bar) ++failures, std::puts("pruning");
  }
};

void check_sums(std::mt19937& random) {
  constexpr int kBlocks = 5, kParts = 128;
  std::vector<uint8_t> codes(kBlocks * kParts / 2 * kCodeBlock), tables(kParts * 16);
  for (uint8_t& code : codes) code = (uint8_t)random();
  for (uint8_t& entry : tables) entry = (uint8_t)random();
  std::vector<uint16_t> expected(kBlocks * kCodeBlock), found(expected.size());
  for (int v = 0; v < kBlocks * kCodeBlock; ++v) {
    int sum = 0;
    for (int m = 0; m < kParts / 2; ++m) {
      const uint8_t both = codes[(v / kCodeBlock * kParts / 2 + m) * kCodeBlock + v % kCodeBlock];
      sum += tables[2 * m * 16 + both % 16] + tables[(2 * m + 1) * 16 + both / 16];
    }
    expected[v] = (uint16_t)sum;
  }
  for (const Kernels* kernels : {&kernels_portable, &kernels_neon}) {
    kernels->sum_tables(PartCodes{codes.data(), tables.data(), kParts}, 0, kBlocks, found.data());
    compare("sums of tables", found, expected, 0);
  }
}

int main() {
  std::mt19937 random(1);
  int cases = 0;
  for (int nx = 2; nx <= kMaxFrequencies; ++nx)
    for (int no = 1; no <= 3; ++no)
      for (int n : {1, 4, 15, 17})
        for (bool bytes : {false, true}) {
          const Case given(nx, no, n, bytes, random);
          const Answers portable(kernels_portable, given), neon(kernels_neon, given);
          compare("score", neon.scores, given.plain(), 1e-5);
          compare("score of both", neon.scores, portable.scores, 1e-5);
          compare("plain", neon.plain, portable.plain, 1e-5);
          compare("x", neon.x, portable.x, 1e-5);
          compare("y", neon.y, portable.y, 1e-5);
          compare("energy", neon.energy, portable.energy, 1e-5);
          compare("profile", neon.profile, portable.profile, 1e-4);
          compare("located", neon.located, portable.located, 1e-5);
          compare("places", neon.places, portable.places, 0);
          ++cases;
        }
  check_sums(random);
  std::printf("%d cases, %d failures, largest difference %.2g\n", cases, failures, worst);
  return failures != 0;
}
