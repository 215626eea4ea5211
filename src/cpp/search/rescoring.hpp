// One search, in two steps. Which pictures may show a drawing is found in many ways: by the scan of everything here, on a
// graphics processor, by projections, among one folder, by what a network says, on the machines of a cluster. The closer look at
// what was found is this one: it orders the candidates, judges them and places the drawing in them, for every face of the program
// and in every browser. tests/reference says the same in NumPy, step by step.
#pragma once
#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "../refine_pose.hpp"
#include "confidence.hpp"
#include "icons.hpp"
#include "order.hpp"

namespace sketchseek {

// parallel(count, chunk, work) does work(begin, end) for chunks of 0 ... count.
typedef std::function<void(int64_t, int64_t, const std::function<void(int64_t, int64_t)>&)> Parallel;

inline void one_by_one(int64_t count, int64_t chunk, const std::function<void(int64_t, int64_t)>& work) {
  for (int64_t at = 0; at < count; at += chunk) work(at, std::min(count, at + chunk));
}

// A drawing in the poses that are tried, laid out for the vectors of one collection.
struct Drawn {
  Drawn(const Kernels& kernels, const Points& points, const Settings& settings, bool codes, bool mirror, double turn,
        double step = kTurnStep)
      : points(points),
        mirror(mirror),
        turn(turn),
        poses(poses_of(kernels, points, settings, turns(turn, step))),
        query(posed(poses, settings, mirror, codes)) {}

  Points points;
  bool mirror;
  double turn;  // degrees either way
  std::vector<QueryPose> poses;
  PosedQuery query;
};

struct RescoreOptions {
  int64_t k = 20, offset = 0;  // which hits are placed
  int64_t count = 0;           // how many are ranked at least
  double normalization = kLocalNormalization;  // 0: the paper's cosine orders
  double coverage = kCoverage;
  double icon_blend = kIconBlend;  // what `Candidates::resemblance` weighs beside the shape
  bool place = true;
};

// What a network says of the hits of a search, as columns beside them.
struct NetworkEvidence {
  Values cosine;      // (k,) of the hits' embeddings with the drawing's
  Values similarity;  // (k,) with the mean of the first ten hits
  Values background;  // (m,) of ordinary pictures with the drawing's
  Values likeness;    // (kLikeness,); empty unless most of the first hits are photographs
  double cohesion = 0;  // mean cosine of the first hits with one another
  double crowd = 0;     // share of ordinary pictures that are nearly as like the mean of the first hits
  double nearest = 0;   // mean of the largest cosines with the drawing in the whole collection
  double flat_art = 0;  // share of the collection
};

// Pictures that may show the drawing, found elsewhere.
struct Candidates {
  // One of the three: rows, of which the best of each picture counts, in any order; rows with their poses, best first;
  // or pictures that something else has ordered, by `order` (descending).
  std::vector<int64_t> rows;
  Ranking placed;
  std::vector<int64_t> pictures;
  Values order;
  std::unique_ptr<NetworkEvidence> network_evidence;  // of `pictures`
  Resemblance resemblance;           // part of what orders rows; of `pictures` evidence alone
  // Cosines of the background, and how many pictures the collection has, where this is only a part of it.
  std::vector<float> background;
  int64_t total = -1;
};

// A place of a hit, in the picture, as `Place`. hit: its number among those that are placed.
struct Place {
  int64_t hit;
  int32_t picture;
  double score, confidence, scale, rotation, dx, dy, box[4];
  bool mirrored;

  void write(std::vector<double>& out) const {
#define WRITE(name, text) out.push_back((double)name);
    SKETCHSEEK_PLACE(WRITE)
#undef WRITE
  }
};

struct Answer {
  double present = 0, first_page = 0;
  Verdict verdict = kClosest;
  std::vector<int64_t> pictures;  // best first
  Values order, confidence;       // (n,) of these
  Values evidence;                // (n, kEvidence)
  std::vector<Place> places;      // hit after hit, the best place of each first
};

// Which of a drawing's points met what, where it fits a picture best.
struct Meeting {
  Placed grid, close;  // on the grid, and off it
  double coverage;
  std::vector<float> support;  // of `Order::sampled`
  std::vector<int> sampled;
  Values d, surface;  // (T,) translations in pixels; (T, T) the cosine there
};

// Numbers of pictures, evenly from all over a collection of n.
inline std::vector<int64_t> evenly_of(int64_t n, int64_t most) {
  std::vector<int64_t> out;
  const int64_t count = std::min(n, most);
  for (int64_t i = 0; i < count; ++i)
    out.push_back(i < count - 1 ? (int64_t)((double)i * ((double)(n - 1) / (double)(count - 1))) : n - 1);
  return out;
}

// A number that depends on what a row is alone.
inline uint64_t hash_of(const void* vectors, bool bytes, int dimensions, int64_t row) {
  const int size = std::min(dimensions, kHashed);
  const int8_t* codes = (const int8_t*)vectors + row * dimensions;
  const uint32_t* bits = (const uint32_t*)vectors + row * dimensions;
  uint64_t sum = 0, factor = 0x9e3779b97f4a7c15;
  for (int c = 0; c < size; ++c, factor = factor * 6364136223846793005 + 1442695040888963407)
    sum += (bytes ? (uint64_t)(codes[c] + 128) : (uint64_t)bits[c]) * (factor | 1);
  return sum ^ sum >> 29;
}

// Which of some pictures say what an ordinary score is, ascending: chosen by what they are, so that a collection that is made
// again, in whatever order, says the same. hash(picture): `hash_of` its first row.
template <typename Hash>
std::vector<int64_t> ordinary_of(std::vector<int64_t>&& pictures, const Hash& hash) {
  if ((int64_t)pictures.size() <= kBackground) return pictures;
  std::vector<std::pair<uint64_t, int64_t>> each;
  for (const int64_t picture : pictures) each.emplace_back(hash(picture), picture);
  std::nth_element(each.begin(), each.begin() + kBackground, each.end());
  pictures.clear();
  for (int64_t i = 0; i < kBackground; ++i) pictures.push_back(each[i].second);
  std::sort(pictures.begin(), pictures.end());
  return pictures;
}

// The settings' scales, ascending, in kFiner steps from one to the next, with their kernels' weights.
inline Settings finer_scales(const Settings& settings) {
  std::vector<size_t> order(settings.scales.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return settings.scales[a] < settings.scales[b]; });
  Settings out = settings;
  out.scales.clear(), out.weights.clear();
  for (size_t i = 0; i < order.size(); ++i)
    for (int step = 0; step < (i + 1 < order.size() ? kFiner : 1); ++step) {
      const size_t a = order[i], b = order[std::min(i + 1, order.size() - 1)];
      const double low = settings.scales[a], high = settings.scales[b], along = (double)step / kFiner;
      const double size = step ? std::exp(std::log(low) + along * (std::log(high) - std::log(low))) : low;
      const double share = high > low ? (size - low) / (high - low) : 0;
      std::vector<double> mixed;
      for (int k = 0; k < settings.nx; ++k)
        mixed.push_back(settings.weights[a][k] + share * (settings.weights[b][k] - settings.weights[a][k]));
      out.scales.push_back(size), out.weights.push_back(mixed);
    }
  return out;
}

// Hits off the grid: scales between those of the query, and the polynomial's own maximum, with the scores there. The drawing is
// described at these scales once for each rotation.
class PoseRefiner {
 public:
  PoseRefiner(const Kernels& kernels, const Pictures& pictures, const Points& points)
      : kernels_(kernels), pictures_(pictures), points_(points), finer_(finer_scales(pictures.settings)) {}

  void operator()(Ranking& ranking) {
    const Settings& settings = pictures_.settings;
    std::vector<double> scales = settings.scales;
    std::sort(scales.begin(), scales.end());
    for (Placed& hit : ranking) {
      const Rotated& rotated = at(hit.rotation);
      int own = 0;
      for (int s = 1; s < (int)scales.size(); ++s)
        if (std::fabs(scales[s] - hit.scale / rotated.fit) < std::fabs(scales[own] - hit.scale / rotated.fit)) own = s;
      const Start start{kFiner * std::max(own - 1, 0),
                        kFiner * std::min(own + 1, (int)scales.size() - 1) + 1,
                        hit.mirrored,
                        hit.dx * kRadians,
                        hit.dy * kRadians,
                        (double)((float)settings.translation_step * hit.scale) / rotated.fit * kRadians};
      const RefinedPose found = refine_pose(pictures_.rows, rotated.ladder, hit.row, start);
      if (std::isfinite(found.score)) hit.scale = (float)rotated.scales[found.pose], hit.score = (float)found.score;
      hit.dx = (float)(found.x / kRadians), hit.dy = (float)(found.y / kRadians);
    }
  }

 private:
  struct Rotated {
    double fit;  // `turned_fit`
    Ladder ladder;
    std::vector<double> scales;  // of its poses
  };

  const Rotated& at(float rotation) {
    const auto known = rotated_.find(rotation);
    if (known != rotated_.end()) return known->second;
    const Settings& settings = pictures_.settings;
    const std::vector<float> steps = pictures_.steps();
    Rotated made{turned_fit(points_, rotation), Ladder(settings.frequencies, settings.no, {steps.begin(), steps.end()}), {}};
    for (const QueryPose& pose : poses_of(kernels_, points_, finer_, {(double)rotation})) {
      const std::vector<double> weights = finer_.component_weights(pose.kernel);
      made.ladder.add(pose.vector.data(), pose.norm, std::vector<float>(weights.begin(), weights.end()).data());
      made.scales.push_back(pose.scale);
    }
    return rotated_.emplace(rotation, std::move(made)).first->second;
  }

  const Kernels& kernels_;
  const Pictures& pictures_;
  const Points& points_;
  const Settings finer_;
  std::unordered_map<float, Rotated> rotated_;
};

class Core {
 public:
  // filter: null for none. synthetic: codes (synthetic_count, D) of contours of nothing in particular, for collections of few.
  Core(const Kernels& kernels, const Filter* filter, const Pictures& pictures, const int8_t* synthetic, int64_t synthetic_count)
      : kernels_(kernels),
        filter_(filter),
        pictures_(pictures),
        settings_(pictures.settings),
        synthetic_(synthetic, true, synthetic_count, settings_.nx, settings_.no,
                   norms_of(synthetic, synthetic_count, settings_).data(), settings_.kernels()),
        ordinary_(ordinary_of(evenly_of((int64_t)pictures.size(), kChosenFrom), [&](int64_t picture) {
          const Database& rows = pictures.rows;
          return hash_of(rows.vectors, rows.bytes, rows.dimensions(), pictures.pictures[picture].begin);
        })) {}

  Drawn drawn(const Points& points, bool mirror, double turn, double step = kTurnStep) const {
    return {kernels_, points, settings_, pictures_.rows.bytes, mirror, turn, step};
  }

  // --- candidates: the exact scan -------------------------------------------------------------------------------------

  // How many candidates `rescore` wants for k hits after the first `offset`, of `among` pictures.
  static int64_t wanted(int64_t k, int64_t offset, int64_t among) {
    return std::min(std::max(judged(k, offset, among), kCandidates), among);
  }
  // How many hits are judged.
  static int64_t judged(int64_t k, int64_t offset, int64_t among) { return std::min(std::max(offset + k, kJudged), among); }

  // The rows of the best pictures by the plain score, each by its best window, best first, and what they are compared by.
  std::pair<std::vector<int64_t>, std::vector<float>> best(const Drawn& drawn, int64_t k, const Parallel& parallel) const {
    return best_rows(pictures_.rows, kernels_, filter_, drawn.query, k,
                     pictures_.has_windows() ? pictures_.picture_of.data() : nullptr,
                     pictures_.prior.empty() ? nullptr : pictures_.prior.data(), parallel);
  }

  // Rows for `rescore`: the best, or all where there are hardly more.
  std::vector<int64_t> candidates(const Drawn& drawn, int64_t k, const Parallel& parallel) const {
    if (k < (int64_t)pictures_.size()) return best(drawn, k, parallel).first;
    std::vector<int64_t> rows(pictures_.rows.n);
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
  }

  // The same of the best of some pictures.
  std::vector<int64_t> candidates(const Drawn& drawn, int64_t k, const std::vector<int64_t>& among, const Parallel& parallel) const {
    const std::vector<float> each = scores(drawn, among.data(), (int64_t)among.size(), parallel);
    std::vector<int64_t> rows;
    for (const int64_t i : select_largest(each.data(), (int64_t)each.size(), k))
      for (const int64_t row : rows_of(among[i])) rows.push_back(row);
    return rows;
  }

  // Adds what the icon network says, and the rows of the pictures that resemble the drawing most.
  void add(Resemblance&& resemblance, Candidates& found) const {
    const std::vector<int64_t> most = resemblance.most();
    add(std::move(resemblance), most, found);
  }
  void add(Resemblance&& resemblance, const std::vector<int64_t>& most, Candidates& found) const {
    found.resemblance = std::move(resemblance);
    if (!found.resemblance) return;
    std::unordered_set<int32_t> there;
    for (const int64_t row : found.rows) there.insert(pictures_.picture_of[row]);
    for (const int64_t picture : most)
      if (!there.count((int32_t)picture))
        for (const int64_t row : rows_of(picture)) found.rows.push_back(row);
  }

  // What an ordinary picture is to a drawing: its plain scores, and how much it resembles it.
  struct Usual {
    std::vector<float> shape, z;
  };

  // The best of a pool of pictures by their shape, by what the icon network says and by how well names match, `named` (n,).
  Candidates by_names(const Drawn& drawn, Resemblance&& resemblance, std::vector<int64_t> pool, const float* named,
                      const Usual& usual, int64_t count, const Parallel& parallel) const {
    const std::vector<float> shape = scores(drawn, pool.data(), (int64_t)pool.size(), parallel);
    const Values shaped(usual.shape.begin(), usual.shape.end());
    const double mean = mean_of(shaped), deviation = std::max(deviation_of(shaped, mean), 1e-9);
    const auto both = [&](float score, float z) { return (score - mean) / deviation + kIconBlend * z; };
    Values ordinary;
    for (size_t i = 0; i < usual.shape.size(); ++i) ordinary.push_back(both(usual.shape[i], usual.z.empty() ? 0 : usual.z[i]));
    const double middle = mean_of(ordinary), width = std::max(deviation_of(ordinary, middle), 1e-9);
    Values each;
    for (size_t i = 0; i < pool.size(); ++i) {
      const float z = resemblance ? resemblance.z[pool[i]] : 0.0f;
      each.push_back((both(shape[i], z) - middle) / width + kNamed * named[pool[i]]);
    }
    std::vector<size_t> order(pool.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return each[a] > each[b]; });
    order.resize(std::min<size_t>(order.size(), count));
    Candidates out;
    for (const size_t i : order) out.pictures.push_back(pool[i]), out.order.push_back(each[i]);
    out.resemblance = std::move(resemblance);
    return out;
  }

  // The plain scores of some pictures, each that of its best window.
  std::vector<float> scores(const Drawn& drawn, const int64_t* ids, int64_t count, const Parallel& parallel) const {
    std::vector<float> out(count);
    parallel(count, kChunk, [&](int64_t begin, int64_t end) {
      std::vector<int64_t> rows;
      for (int64_t i = begin; i < end; ++i)
        for (int64_t r = pictures_.pictures[ids[i]].begin; r < pictures_.pictures[ids[i]].end; ++r) rows.push_back(r);
      std::vector<float> each(rows.size());
      const float* prior = pictures_.prior.empty() ? nullptr : pictures_.prior.data();
      kernels_.score(pictures_.rows, drawn.query.view(), Range{0, (int64_t)rows.size(), rows.data(), prior}, kNoThreshold,
                     each.data());
      const float* at = each.data();
      for (int64_t i = begin; i < end; ++i) {
        const int64_t windows = pictures_.pictures[ids[i]].end - pictures_.pictures[ids[i]].begin;
        out[i] = *std::max_element(at, at + windows), at += windows;
      }
    });
    return out;
  }

  // The same of the pictures as a whole, which are their first rows.
  std::vector<float> whole_scores(const Drawn& drawn, const int64_t* ids, int64_t count, const Parallel& parallel) const {
    std::vector<int64_t> rows;
    for (int64_t i = 0; i < count; ++i) rows.push_back(pictures_.pictures[ids[i]].begin);
    std::vector<float> out(count);
    parallel(count, kChunk, [&](int64_t begin, int64_t end) {
      kernels_.score(pictures_.rows, drawn.query.view(), Range{begin, end, rows.data()}, kNoThreshold, out.data() + begin);
    });
    return out;
  }

  // --- rescoring ------------------------------------------------------------------------------------------------------

  // Orders the candidates, judges them, and places the drawing in those that are asked for.
  Answer rescore(const Drawn& drawn, const Candidates& found, const Model& model, const RescoreOptions& options,
              const Parallel& parallel) const {
    Answer answer;
    const Order order(kernels_, pictures_, drawn.points, options.normalization, options.coverage);
    PoseRefiner refine(kernels_, pictures_, drawn.points);
    std::unique_ptr<Drawn> finer;  // whose poses the hits speak of
    Values shaped;                 // what orders the hits by their shape, where something else has a say
    const Drawn* asked = &drawn;
    const int64_t wanted = std::max(options.offset + options.k, options.count);
    Ranking ranking;
    if (!found.pictures.empty()) {
      ranking = best_windows(drawn, found.pictures, parallel);
      answer.order = found.order;
    } else {
      ranking = found.placed.empty() ? best_first(drawn, found.rows, parallel) : found.placed;
      const int64_t count = std::min<int64_t>(std::max(wanted, kJudged), (int64_t)ranking.size());
      if (options.normalization > 0) {
        if (drawn.turn > 0) {
          finer = std::make_unique<Drawn>(this->drawn(drawn.points, drawn.mirror, drawn.turn, kFineTurn));
          asked = finer.get();
        }
        order_by_shape(*asked, order, refine, ranking, answer.order, found.resemblance ? ranking.size() : kCandidates, parallel);
      } else {
        for (const Placed& hit : ranking) answer.order.push_back(hit.score);
      }
      if (found.resemblance) blend(drawn, found, options.icon_blend, ranking, answer.order, shaped);
      ranking.resize(count), answer.order.resize(count);
      // Whoever was not looked at scores no more than the last who was.
      for (int64_t i = 1; options.normalization > 0 && i < count; ++i)
        answer.order[i] = std::min(answer.order[i], answer.order[i - 1]);
    }
    if (ranking.empty()) return answer;
    answer.evidence = evidence(*asked, order, ranking, shaped.empty() ? answer.order : shaped, found);
    Judgement judged = model.judge(answer.evidence, found.network_evidence ? found.network_evidence->likeness : Values());
    answer.present = judged.present, answer.first_page = judged.first_page, answer.verdict = judged.verdict;
    answer.confidence = std::move(judged.confidence);
    const int64_t count = std::min<int64_t>(wanted, (int64_t)ranking.size()), begin = std::min(options.offset, count);
    for (int64_t i = 0; i < count; ++i) answer.pictures.push_back(ranking[i].picture);
    answer.order.resize(count), answer.confidence.resize(count), answer.evidence.resize(count * kEvidence);
    const int64_t end = std::min(options.offset + options.k, count);
    if (options.place)
      place(*asked, order, refine, Ranking(ranking.begin() + begin, ranking.begin() + end),
            answer.confidence.data() + begin, answer.places, parallel);
    return answer;
  }

  // How the drawing meets one picture, where it fits best.
  Meeting meet(const Drawn& drawn, int64_t picture) const {
    const Order order(kernels_, pictures_, drawn.points, kLocalNormalization, kCoverage);
    Meeting out;
    Ranking one = best_first(drawn, rows_of(picture), one_by_one);
    std::vector<double> scores;
    PoseRefiner refine(kernels_, pictures_, drawn.points);
    order_by_shape(drawn, order, refine, one, scores, one.size(), one_by_one);
    out.grid = one[0];
    refine(one);
    out.close = one[0];
    out.coverage = order.coverage(one)[0];
    out.sampled = order.sampled();
    out.support = order.densities(out.close, {out.close.row}, {out.close.dx, out.close.dy});
    const QueryPose* pose = &drawn.poses[0];
    for (const QueryPose& each : drawn.poses)
      if (std::fabs(each.scale - out.grid.scale) < std::fabs(pose->scale - out.grid.scale)) pose = &each;
    Ladder ladder(settings_.frequencies, settings_.no, doubles(pictures_.steps()));
    const std::vector<double> weights = settings_.component_weights(pose->kernel);
    ladder.add(pose->vector.data(), pose->norm, weights.data());
    const double step = settings_.translation_step * pose->size;
    const int reach = (int)std::floor(settings_.max_translation / pose->size / step + 1e-9);
    for (int i = -reach; i <= reach; ++i) out.d.push_back(i * step);
    out.surface = sketchseek::surface(pictures_.rows, ladder, out.grid.row, out.grid.mirrored, out.d, kRadians);
    return out;
  }

 private:
  static constexpr int64_t kChunk = 256;  // pictures or rows that a thread takes at a time
  static constexpr double kLeastDeviation = 0.02;  // of the background's cosines

  std::vector<int64_t> rows_of(int64_t picture) const {
    std::vector<int64_t> rows;
    for (int64_t r = pictures_.pictures[picture].begin; r < pictures_.pictures[picture].end; ++r) rows.push_back(r);
    return rows;
  }

  static std::vector<double> doubles(const std::vector<float>& values) { return {values.begin(), values.end()}; }

  Ranking located(const Drawn& drawn, const std::vector<int64_t>& rows, const Parallel& parallel) const {
    std::vector<Found> found(rows.size());
    parallel((int64_t)rows.size(), kChunk, [&](int64_t begin, int64_t end) {
      kernels_.locate(pictures_.rows, drawn.query.view(), Range{begin, end, rows.data()}, Guide::kExact, 0,
                      found.data() + begin);
    });
    Ranking out;
    for (size_t i = 0; i < rows.size(); ++i) {
      const Found& f = found[i];
      const QueryPose& pose = drawn.poses[f.pose];
      const double step = settings_.translation_step * pose.size;
      out.push_back({rows[i], pictures_.picture_of[rows[i]], f.score, (float)pose.scale, (float)pose.rotation,
                     f.mirrored != 0, (float)(f.x * step), (float)(f.y * step)});
    }
    return out;
  }

  // Rows by their weighted scores, the best of each picture.
  Ranking best_first(const Drawn& drawn, const std::vector<int64_t>& rows, const Parallel& parallel) const {
    Ranking found = located(drawn, rows, parallel);
    std::stable_sort(found.begin(), found.end(), [&](const Placed& a, const Placed& b) {
      return pictures_.weighted(a.score, a.row) > pictures_.weighted(b.score, b.row);
    });
    best_of_pictures(found, nullptr);
    return found;
  }

  // The best window of each of some pictures, in their order.
  Ranking best_windows(const Drawn& drawn, const std::vector<int64_t>& ids, const Parallel& parallel) const {
    std::vector<int64_t> rows;
    for (const int64_t id : ids)
      for (int64_t r = pictures_.pictures[id].begin; r < pictures_.pictures[id].end; ++r) rows.push_back(r);
    const Ranking every = located(drawn, rows, parallel);
    Ranking out;
    for (const Placed& hit : every) {
      if (out.empty() || out.back().picture != hit.picture)
        out.push_back(hit);
      else if (pictures_.weighted(hit.score, hit.row) > pictures_.weighted(out.back().score, out.back().row))
        out.back() = hit;
    }
    return out;
  }

  // Of each picture the hit that comes first; `scores` go with them.
  void best_of_pictures(Ranking& ranking, std::vector<double>* scores) const {
    std::unordered_set<int32_t> known;
    size_t kept = 0;
    for (size_t i = 0; i < ranking.size(); ++i) {
      if (!known.insert(ranking[i].picture).second) continue;
      if (scores) (*scores)[kept] = (*scores)[i];
      ranking[kept++] = ranking[i];
    }
    ranking.resize(kept);
    if (scores) scores->resize(kept);
  }

  // The candidates by what is there around the drawing, all windows of the best of them; those further down by the cosine.
  void order_by_shape(const Drawn& drawn, const Order& order, PoseRefiner& refine, Ranking& ranking,
                      std::vector<double>& scores, size_t candidates, const Parallel& parallel) const {
    const Ranking rest(ranking.begin() + std::min(ranking.size(), candidates), ranking.end());
    ranking.resize(ranking.size() - rest.size());
    order(ranking, scores);
    if (pictures_.has_windows() || drawn.turn > 0) {
      std::vector<double> by;
      Ranking every = every_place(drawn, order, refine, ranking, kThorough, by, parallel);
      best_of_pictures(every, &by);
      for (size_t i = kThorough; i < ranking.size(); ++i) every.push_back(ranking[i]), by.push_back(scores[i]);
      ranking.swap(every), scores.swap(by);
    }
    for (const Placed& hit : rest) ranking.push_back(hit), scores.push_back(hit.score);
  }

  // Hits by their shape, and what the icon network says of them: what looks the same first, as its shape orders it, then by both.
  // The scores fall all the same; `shaped` are those of the shape.
  void blend(const Drawn& drawn, const Candidates& found, double weight, Ranking& ranking, Values& scores, Values& shaped) const {
    const std::vector<float> cosines = found.background.empty() ? background(drawn) : found.background;
    const Values usual(cosines.begin(), cosines.end());
    const double mean = mean_of(usual);
    const double deviation = std::max(deviation_of(usual, mean), kLeastDeviation);
    std::vector<size_t> order(ranking.size());
    std::iota(order.begin(), order.end(), 0);
    Values both(ranking.size());
    const auto same = [&](size_t i) {
      return ranking[i].score >= kSame && ranking[i].row == pictures_.pictures[ranking[i].picture].begin;
    };
    for (size_t i = 0; i < both.size(); ++i) {
      const float z = found.resemblance.z[ranking[i].picture];
      both[i] = scores[i] + weight * (z == 0 ? kIconUnseen * (scores[i] - mean) : deviation * z);
    }
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      if (same(a) != same(b)) return same(a);
      return same(a) ? scores[a] > scores[b] : both[a] > both[b];
    });
    Ranking sorted;
    shaped.clear();
    for (const size_t i : order) sorted.push_back(ranking[i]), shaped.push_back(scores[i]);
    std::sort(both.begin(), both.end(), std::greater<double>());
    ranking.swap(sorted), scores.swap(both);
  }

  // All windows of the first pictures, best first, and what orders them: the best also by their fit off the grid. A small thing in
  // a small window lies between the grid's scales and steps more often than a large one does.
  Ranking every_place(const Drawn& drawn, const Order& order, PoseRefiner& refine, const Ranking& of, size_t count,
                      std::vector<double>& scores, const Parallel& parallel) const {
    std::vector<int64_t> rows;
    for (size_t i = 0; i < std::min(count, of.size()); ++i)
      for (const int64_t row : rows_of(of[i].picture)) rows.push_back(row);
    Ranking every = located(drawn, rows, parallel);
    order(every, scores);
    Ranking close(every.begin(), every.begin() + std::min<size_t>(every.size(), kRefined));
    refine(close);
    const std::vector<double> by = order.order_scores(close);
    for (size_t i = 0; i < by.size(); ++i) scores[i] = std::max(scores[i], by[i]);
    Order::reordered(every, scores);
    return every;
  }

  // --- evidence -----------------------------------------------------------------------------------------------------------

  std::vector<float> background(const Drawn& drawn) const {
    std::vector<int64_t> rows;
    for (const int64_t picture : ordinary_) rows.push_back(pictures_.pictures[picture].begin);
    std::vector<float> cosines(rows.size());
    kernels_.score(pictures_.rows, drawn.query.view(), Range{0, (int64_t)rows.size(), rows.data()}, kNoThreshold,
                   cosines.data());
    return cosines;
  }

  static double mean_of(const Values& values) {
    return values.empty() ? 0 : std::accumulate(values.begin(), values.end(), 0.0) / (double)values.size();
  }
  static double deviation_of(const Values& values, double mean) {
    double sum = 0;
    for (const double v : values) sum += (v - mean) * (v - mean);
    return values.empty() ? 0 : std::sqrt(sum / (double)values.size());
  }

  // Scores of the background: what is ordinary, against which hits stand out.
  struct Ordinary {
    Ordinary(Values scores, double least) : sorted(std::move(scores)) {
      std::sort(sorted.begin(), sorted.end());
      mean = mean_of(sorted);
      const double deviation = deviation_of(sorted, mean);
      width = std::max(deviation, least);
      double cubes = 0;
      for (const double v : sorted) cubes += std::pow((v - mean) / std::max(deviation, 1e-6), 3);
      skewness = sorted.empty() ? 0 : std::cbrt(cubes / (double)sorted.size());
    }
    double z(double score) const { return (score - mean) / width; }
    // The logarithm of the share, one more than there are, of those that are nearly as high.
    double above(double score) const {
      const auto count = sorted.end() - std::lower_bound(sorted.begin(), sorted.end(), kNearlyAsHigh * score);
      return std::log10((double)(count + 1) / (double)(sorted.size() + 1));
    }
    Values sorted;
    double mean, width, skewness;
  };

  static double margin(const Values& descending, size_t to) {
    return descending.empty() ? 0 : descending[0] - descending[std::min(to, descending.size() - 1)];
  }

  // (k, kEvidence)
  Values evidence(const Drawn& drawn, const Order& order, const Ranking& ranking, const Values& scores,
                  const Candidates& found) const {
    const size_t k = ranking.size(), judged = std::min(k, (size_t)kJudged);
    const int64_t n = found.total < 0 ? (int64_t)pictures_.size() : found.total;
    std::vector<float> cosines = found.background.empty() ? background(drawn) : found.background;
    if (n < kFew && synthetic_.db.n > n) {
      const PosedQuery codes = posed(drawn.poses, settings_, drawn.mirror, true);
      std::vector<float> more(synthetic_.db.n);
      kernels_.score(synthetic_.db, codes.view(), Range{0, synthetic_.db.n}, kNoThreshold, more.data());
      cosines.insert(cosines.end(), more.begin() + (int64_t)cosines.size(), more.end());
    }
    const Ordinary shape({cosines.begin(), cosines.end()}, kLeastDeviation);
    const NetworkEvidence* network_evidence = found.network_evidence.get();
    const Ordinary network(network_evidence ? network_evidence->background : Values(), 0.05);
    const Values even = order.coverage(Ranking(ranking.begin(), ranking.begin() + std::min<size_t>(k, kCovered)));
    Values matches, shape_z, network_z;
    for (size_t i = 0; i < even.size(); ++i) matches.push_back(ranking[i].score * even[i]);
    for (size_t i = 0; i < judged; ++i) shape_z.push_back(shape.z(ranking[i].score));
    for (size_t i = 0; network_evidence && i < judged; ++i) network_z.push_back(network.z(network_evidence->cosine[i]));
    double agreement = 0;
    const size_t ten = std::min<size_t>(k, 10);
    for (size_t i = 0; network_evidence && i < ten; ++i) agreement += shape_z[i] * network_z[i] / (double)ten;
    for (Values* each : {&matches, &shape_z, &network_z}) std::sort(each->begin(), each->end(), std::greater<double>());
    const double length = std::accumulate(drawn.points.weight.begin(), drawn.points.weight.end(), 0.0);
    Values out(k * kEvidence, 0.0);
    for (size_t i = 0; i < k; ++i) {
      double* row = out.data() + i * kEvidence;
      const double score = ranking[i].score;
      row[kCosine] = score;
      row[kShapeZ] = shape.z(score);
      row[kCoverageOf] = even[std::min(i, even.size() - 1)];
      row[kOrderScore] = scores[i];
      row[kPictures] = std::log10((double)std::max<int64_t>(n, 1));
      row[kLineArt] = pictures_.pictures[ranking[i].picture].is_line_art;
      row[kLength] = std::log(std::max(length, 1.0) / kFrame);
      row[kSimplicity] = std::log(std::max((double)drawn.poses[0].norm, 1e-9) / std::max(length, 1e-9));
      row[kBestShapeZ] = std::max(shape_z[0], 0.0);
      row[kShapeMargin] = margin(shape_z, 9);
      row[kShapeSkew] = shape.skewness;
      row[kShapeAbove] = shape.above(score);
      row[kMatch] = score * row[kCoverageOf];
      row[kCopy] = std::min(std::max((row[kMatch] - kCopyFrom) / (1 - kCopyFrom), 0.0), 1.0);
      row[kBestMatch] = matches[0];
      row[kMatchMargin] = margin(matches, 1);
      row[kRank] = std::log((double)(i + 1));
      if (found.resemblance) {
        row[kIcon] = found.resemblance.cosine(ranking[i].picture);
        row[kIconZ] = found.resemblance.z[ranking[i].picture];
        row[kIconBest] = found.resemblance.best;
        row[kIconMargin] = found.resemblance.best - found.resemblance.fifth;
        row[kIconSpread] = found.resemblance.deviation;
      }
      if (!network_evidence) continue;
      row[kNetwork] = network_evidence->cosine[i];
      row[kNetworkZ] = network.z(network_evidence->cosine[i]);
      row[kBestNetworkZ] = std::max(network_z[0], 0.0);
      row[kNetworkMargin] = margin(network_z, 9);
      row[kAgreement] = agreement;
      row[kNearest] = network_evidence->nearest;
      row[kNetworkSkew] = network.skewness;
      row[kFlatArt] = network_evidence->flat_art;
      row[kCohesion] = network_evidence->cohesion;
      row[kSimilarity] = network_evidence->similarity[i];
      row[kCrowd] = std::log10(network_evidence->crowd + 0.001);
      row[kNetworkAbove] = network.above(network_evidence->cosine[i]);
    }
    return out;
  }

  // --- places -------------------------------------------------------------------------------------------------------------

  // Every place of the drawing in some hits, off the grid, in pixels of the pictures.
  void place(const Drawn& drawn, const Order& order, PoseRefiner& refine, const Ranking& hits, const double* confidence,
             std::vector<Place>& out, const Parallel& parallel) const {
    Ranking ranking = hits;
    if (pictures_.has_windows()) {
      std::vector<double> scores;
      std::unordered_map<int32_t, double> best;
      ranking = every_place(drawn, order, refine, hits, hits.size(), scores, parallel);
      Ranking nearly;
      for (size_t i = 0; i < ranking.size(); ++i) {
        const auto [first, is_first] = best.emplace(ranking[i].picture, scores[i]);
        if (is_first || scores[i] >= kAlso * first->second) nearly.push_back(ranking[i]);
      }
      ranking.swap(nearly);
    }
    Ranking close = ranking;
    refine(close);
    for (size_t i = 0; i < ranking.size(); ++i) close[i].score = ranking[i].score;  // those of the grid, as they were ranked by
    std::unordered_map<int32_t, std::vector<const Placed*>> of_picture;
    for (const Placed& placed : close) of_picture[placed.picture].push_back(&placed);
    for (size_t i = 0; i < hits.size(); ++i) {
      const size_t before = out.size();
      for (const Placed* placed : of_picture[hits[i].picture]) {
        Place place = in_picture(drawn.points, *placed);
        place.hit = (int64_t)i, place.confidence = confidence[i];
        bool again = false;
        for (size_t j = before; j < out.size(); ++j) again |= overlap(place.box, out[j].box) > kApart;
        if (!again) out.push_back(place);
      }
    }
  }

  // From the frame of a window to pixels of the picture, and the box where the drawing lands.
  Place in_picture(const Points& points, const Placed& hit) const {
    const Picture& picture = pictures_.pictures[hit.picture];
    const float* frame = pictures_.frames + 4 * hit.row;
    const double longer = std::max(picture.width, picture.height), pixel = kFrame / longer;
    const double x0 = frame[0], y0 = frame[1], x1 = frame[2], y1 = frame[3], share = std::max(x1 - x0, y1 - y0) / longer;
    Place place{};
    place.picture = hit.picture;
    place.score = hit.score;
    place.scale = hit.scale * share;
    place.rotation = hit.rotation;
    place.mirrored = hit.mirrored;
    place.dx = hit.dx * share + ((x0 + x1) - picture.width) / 2 * pixel;
    place.dy = hit.dy * share + ((y0 + y1) - picture.height) / 2 * pixel;
    float low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    const double cos = std::cos(place.rotation), sin = std::sin(place.rotation);
    auto add = [&](float px, float py) {
      const double x = place.scale * (cos * px - sin * py), y = place.scale * (sin * px + cos * py);
      const float at[2] = {(float)(((place.mirrored ? -x : x) + place.dx) / pixel + picture.width / 2.0),
                           (float)((y + place.dy) / pixel + picture.height / 2.0)};
      for (int i : {0, 1}) low[i] = std::min(low[i], at[i]), high[i] = std::max(high[i], at[i]);
    };
    if (place.rotation != 0) {
      for (size_t i = 0; i < points.size(); ++i) add(points.x[i], points.y[i]);
    } else {
      add((float)(-points.width / 2), (float)(-points.height / 2));
      add((float)(points.width / 2), (float)(points.height / 2));
    }
    for (int i : {0, 1}) {  // in hundredths, as everywhere
      place.box[i] = std::nearbyint((double)low[i] * 100) / 100;
      place.box[2 + i] = std::nearbyint((double)high[i] * 100) / 100;
    }
    return place;
  }

  // The part of the smaller of two boxes that lies in the other.
  static double overlap(const double* a, const double* b) {
    const double width = std::min(a[2], b[2]) - std::max(a[0], b[0]), height = std::min(a[3], b[3]) - std::max(a[1], b[1]);
    const double smaller = std::min((a[2] - a[0]) * (a[3] - a[1]), (b[2] - b[0]) * (b[3] - b[1]));
    return smaller > 0 ? std::max(width, 0.0) * std::max(height, 0.0) / smaller : 0;
  }

  const Kernels& kernels_;
  const Filter* const filter_;
  const Pictures& pictures_;
  const Settings& settings_;
  const Rows synthetic_;
  const std::vector<int64_t> ordinary_;  // pictures that say what an ordinary score is
};

}  // namespace sketchseek
