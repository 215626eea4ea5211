// One search by shape, the whole of it: strokes and a collection -> placed hits with confidence. search/search.py says why
// each step is what it is; here it is in the same order, for a browser, and held to it by tests.
#pragma once
#include <functional>
#include <limits>

#include "../settle.hpp"
#include "confidence.hpp"
#include "order.hpp"

namespace sketchseek {

struct Options {
  int64_t k = 20, offset = 0;
  bool mirror = true;
  double turn = 0;  // degrees either way
  // parallel(count, chunk, work) does work(begin, end) for chunks of 0 ... count; null: one after the other.
  std::function<void(int64_t, int64_t, const std::function<void(int64_t, int64_t)>&)> parallel;
};

// A place of a hit, in the picture: as `Place`. hit: its number among those that are shown.
struct Place {
  int64_t hit;
  int32_t picture;
  double score, confidence, scale, rotation, dx, dy, box[4];
  bool mirrored;
};

struct Answer {
  double present = 0;
  std::vector<Place> places;  // hit after hit, the best place of each first
};

class Searcher {
 public:
  // filter: null for none. made_up: codes (made_up_count, D) of contours of nothing in particular, for collections of few
  // pictures.
  Searcher(const Kernels& kernels, const Filter* filter, const Pictures& pictures, const Model& model,
           const int8_t* made_up, int64_t made_up_count)
      : kernels_(kernels),
        filter_(filter),
        pictures_(pictures),
        settings_(pictures.settings),
        model_(model),
        made_up_(made_up, true, made_up_count, settings_.nx, settings_.no,
                 norms_of(made_up, made_up_count, settings_).data(), settings_.kernels()) {}

  // The rows of the best pictures by the plain score, and what they are compared by: all that a part of a collection has
  // to say, when several parts are scanned at once.
  std::pair<std::vector<int64_t>, std::vector<float>> scan(const Points& points, const Options& options) const {
    const Asked asked(kernels_, points, settings_, turns(options.turn, kTurnStep), options.mirror);
    return best(asked, std::max<int64_t>(options.offset + options.k, kCandidates), options);
  }

  // rows : those of the best pictures, from `scan` of all parts; null where nobody has looked yet.
  Answer operator()(const Points& points, const Options& options, const std::vector<int64_t>* rows = nullptr) const {
    Answer answer;
    if (pictures_.size() == 0) return answer;
    const Order order(kernels_, pictures_, points);
    const int64_t wanted = options.offset + options.k;
    const int64_t count = std::min<int64_t>(std::max(wanted, kJudged), (int64_t)pictures_.size());
    Asked asked(kernels_, points, settings_, turns(options.turn, kTurnStep), options.mirror);
    const int64_t candidates = std::min<int64_t>(std::max(count, kCandidates), (int64_t)pictures_.size());
    Ranking ranking = ranked(asked, candidates, options, rows);
    std::vector<double> scores;
    Ranking rest(ranking.begin() + std::min<size_t>(ranking.size(), kCandidates), ranking.end());
    ranking.resize(ranking.size() - rest.size());
    order(ranking, scores);
    if (options.turn > 0) asked = Asked(kernels_, points, settings_, turns(options.turn, kFineTurn), options.mirror);
    if (pictures_.has_windows() || options.turn > 0) look_thoroughly(asked, order, ranking, scores);
    for (const Placed& hit : rest) ranking.push_back(hit), scores.push_back(hit.score);
    ranking.resize(count), scores.resize(count);
    for (int64_t i = 1; i < count; ++i) scores[i] = std::min(scores[i], scores[i - 1]);
    const std::vector<double> confidence = model_.judge(evidence(asked, order, ranking, scores), answer.present);
    const int64_t begin = std::min(options.offset, count), end = std::min(wanted, count);
    place(asked, order, Ranking(ranking.begin() + begin, ranking.begin() + end), confidence.data() + begin, answer.places);
    return answer;
  }

 private:
  static constexpr int64_t kCandidates = 500, kThorough = 100, kSettled = 30, kUsual = 256, kFew = 24, kLookedAt = 20;
  static constexpr double kSame = 0.85;  // from this match on a picture begins to look the same as the drawing
  static constexpr double kTurnStep = 15, kFineTurn = 5, kAlso = 0.8, kApart = 0.5;
  static constexpr int kFiner = 4;

  // A drawing in the poses that are tried.
  struct Asked {
    Asked(const Kernels& kernels, const Points& points, const Settings& settings, const std::vector<double>& rotations,
          bool mirror)
        : points(&points), poses(poses_of(kernels, points, settings, rotations)), query(posed(poses, settings, mirror)) {}
    const Points* points;
    std::vector<QueryPose> poses;
    PosedQuery query;
  };

  std::pair<std::vector<int64_t>, std::vector<float>> best(const Asked& asked, int64_t k, const Options& options) const {
    const auto parallel = [&](int64_t count, int64_t chunk, auto work) {
      if (options.parallel) return options.parallel(count, chunk, work);
      for (int64_t at = 0; at < count; at += chunk) work(at, std::min(count, at + chunk));
    };
    return best_rows(pictures_.rows, kernels_, filter_, asked.query, k,
                     pictures_.has_windows() ? pictures_.picture_of.data() : nullptr,
                     pictures_.prior.empty() ? nullptr : pictures_.prior.data(), parallel);
  }

  // The k best pictures, each by its best view (`rank`).
  Ranking ranked(const Asked& asked, int64_t k, const Options& options, const std::vector<int64_t>* scanned) const {
    std::vector<int64_t> rows;
    if (k < (int64_t)pictures_.size()) {
      rows = scanned ? *scanned : best(asked, k, options).first;
    } else {
      for (int64_t i = 0; i < pictures_.rows.n; ++i) rows.push_back(i);
    }
    Ranking found = located(asked, rows);
    std::stable_sort(found.begin(), found.end(), [&](const Placed& a, const Placed& b) {
      return pictures_.weighted(a.score, a.row) > pictures_.weighted(b.score, b.row);
    });
    best_of_pictures(found, nullptr);
    if ((int64_t)found.size() > k) found.resize(k);
    return found;
  }

  Ranking located(const Asked& asked, const std::vector<int64_t>& rows) const {
    std::vector<Found> found(rows.size());
    kernels_.locate(pictures_.rows, asked.query.view(), Range{0, (int64_t)rows.size(), rows.data()}, Guide::kExact, 0,
                    found.data());
    Ranking out;
    for (size_t i = 0; i < rows.size(); ++i) {
      const Found& f = found[i];
      const QueryPose& pose = asked.poses[f.pose];
      const double step = settings_.translation_step * pose.size;
      out.push_back({rows[i], pictures_.picture_of[rows[i]], f.score, (float)pose.scale, (float)pose.rotation,
                     f.mirrored != 0, (float)(f.x * step), (float)(f.y * step)});
    }
    return out;
  }

  // Of each picture the hit that comes first; `scores` go with them.
  void best_of_pictures(Ranking& ranking, std::vector<double>* scores) const {
    std::vector<char> known(pictures_.size(), 0);
    size_t kept = 0;
    for (size_t i = 0; i < ranking.size(); ++i) {
      if (known[ranking[i].picture]) continue;
      known[ranking[i].picture] = 1;
      if (scores) (*scores)[kept] = (*scores)[i];
      ranking[kept++] = ranking[i];
    }
    ranking.resize(kept);
    if (scores) scores->resize(kept);
  }

  Ranking every_view(const Asked& asked, const Ranking& of, size_t count) const {
    std::vector<int64_t> rows;
    for (size_t i = 0; i < std::min(count, of.size()); ++i) {
      const Picture& picture = pictures_.pictures[of[i].picture];
      for (int64_t row = picture.begin; row < picture.end; ++row) rows.push_back(row);
    }
    return located(asked, rows);
  }

  // All views of the first pictures, best first, and what orders them: the best also by their fit off the grid.
  Ranking every_place(const Asked& asked, const Order& order, const Ranking& of, size_t count,
                      std::vector<double>& scores) const {
    Ranking every = every_view(asked, of, count);
    order(every, scores);
    Ranking close(every.begin(), every.begin() + std::min<size_t>(every.size(), kSettled));
    settle_all(*asked.points, close);
    const std::vector<double> by = order.order_scores(close);
    for (size_t i = 0; i < by.size(); ++i) scores[i] = std::max(scores[i], by[i]);
    Order::reordered(every, scores);
    return every;
  }

  // All views of the best.
  void look_thoroughly(const Asked& asked, const Order& order, Ranking& ranking, std::vector<double>& scores) const {
    std::vector<double> by;
    Ranking every = every_place(asked, order, ranking, kThorough, by);
    best_of_pictures(every, &by);
    for (size_t i = kThorough; i < ranking.size(); ++i) every.push_back(ranking[i]), by.push_back(scores[i]);
    ranking.swap(every), scores.swap(by);
  }

  // A sum in single precision as NumPy adds: eight at a time, halves of what is long.
  static float pairwise_sum(const float* values, size_t n) {
    constexpr size_t kSide = 8, kLong = 128;
    if (n > kLong) {
      const size_t half = n / 2 / kSide * kSide;
      return pairwise_sum(values, half) + pairwise_sum(values + half, n - half);
    }
    float sum = 0, r[kSide];
    size_t i = 0;
    if (n >= kSide) {
      for (size_t lane = 0; lane < kSide; ++lane) r[lane] = values[lane];
      for (i = kSide; i + kSide <= n; i += kSide)
        for (size_t lane = 0; lane < kSide; ++lane) r[lane] += values[i + lane];
      sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    }
    for (; i < n; ++i) sum += values[i];
    return sum;
  }
  static float pairwise_sum(const std::vector<float>& values) { return pairwise_sum(values.data(), values.size()); }

  // `evidence.features`
  std::vector<double> evidence(const Asked& asked, const Order& order, const Ranking& ranking,
                               const std::vector<double>& scores) const {
    const size_t k = ranking.size();
    std::vector<int64_t> spread;
    const int64_t n = (int64_t)pictures_.size(), usual = std::min(n, kUsual);
    for (int64_t i = 0; i < usual; ++i) {
      const double at = i < usual - 1 ? (double)i * ((double)(n - 1) / (double)(usual - 1)) : (double)(n - 1);
      spread.push_back(pictures_.pictures[(size_t)at].begin);
    }
    std::vector<float> cosines(spread.size());
    kernels_.score(pictures_.rows, asked.query.view(), Range{0, (int64_t)spread.size(), spread.data()}, kNoThreshold,
                   cosines.data());
    if (n < kFew && made_up_.db.n > n) {
      std::vector<float> more(made_up_.db.n);
      kernels_.score(made_up_.db, asked.query.view(), Range{0, made_up_.db.n}, kNoThreshold, more.data());
      cosines.insert(cosines.end(), more.begin() + n, more.end());
    }
    // What is rounded to single precision there is rounded here: hits' chances are printed, and compared.
    const float average = pairwise_sum(cosines) / (float)cosines.size();
    std::vector<float> squares;
    for (const float c : cosines) squares.push_back((c - average) * (c - average));
    const float width = (float)std::max((double)std::sqrt(pairwise_sum(squares) / (float)squares.size()), 0.02);
    const auto stands_out = [&](const Placed& hit) { return (hit.score - average) / width; };
    double mean = 0, spread_out = 0, tail = 0;
    for (const float c : cosines) mean += c / (double)cosines.size();
    for (const float c : cosines) spread_out += (c - mean) * (c - mean) / (double)cosines.size();
    const double deviation = std::max(std::sqrt(spread_out), 1e-6);
    for (const float c : cosines) tail += std::pow((c - mean) / deviation, 3) / (double)cosines.size();
    std::sort(cosines.begin(), cosines.end());
    const std::vector<double> even = order.evenness(Ranking(ranking.begin(), ranking.begin() + std::min<size_t>(k, kLookedAt)));
    std::vector<double> matches;
    for (size_t i = 0; i < even.size(); ++i) matches.push_back(ranking[i].score * even[i]);
    std::sort(matches.begin(), matches.end(), std::greater<double>());
    const double drawn = pairwise_sum(asked.points->weight);
    std::vector<double> out(k * kEvidence, 0.0);
    std::vector<float> best;
    for (size_t i = 0; i < std::min(k, (size_t)kJudged); ++i) best.push_back(stands_out(ranking[i]));
    std::sort(best.begin(), best.end(), std::greater<float>());
    for (size_t i = 0; i < k; ++i) {
      double* row = out.data() + i * kEvidence;
      row[kCosine] = ranking[i].score;
      row[kStandsOut] = stands_out(ranking[i]);
      row[kEvenness] = even[std::min(i, even.size() - 1)];
      row[kWhatOrders] = scores[i];
      row[kPictures] = std::log10((double)std::max<int64_t>(n, 1));
      row[kLineArt] = pictures_.pictures[ranking[i].picture].is_line_art;
      row[kLengthDrawn] = std::log(std::max(drawn, 1.0) / 400);
      row[kSimplicity] = std::log(std::max((double)asked.poses[0].norm, 1e-9) / std::max(drawn, 1e-9));
      row[kBestStandsOut] = std::max(best[0], 0.0f);
      row[kBestBesideTenth] = best[0] - best[std::min<size_t>(9, best.size() - 1)];
      row[kTail] = std::cbrt(tail);
      const auto above = cosines.end() - std::lower_bound(cosines.begin(), cosines.end(), 0.9f * (float)ranking[i].score);
      row[kAsGood] = std::log10((double)(above + 1) / (double)(cosines.size() + 1));
      row[kMatch] = ranking[i].score * row[kEvenness];
      row[kLooksTheSame] = std::min(std::max((row[kMatch] - kSame) / (1 - kSame), 0.0), 1.0);
      row[kBestMatch] = matches[0];
      row[kBestMatchBesideSecond] = matches[0] - matches[std::min<size_t>(1, matches.size() - 1)];
      row[kRank] = std::log((double)(i + 1));
    }
    return out;
  }

  // `place_hits`
  void place(const Asked& asked, const Order& order, const Ranking& hits, const double* confidence,
             std::vector<Place>& out) const {
    Ranking ranking = hits;
    if (pictures_.has_windows()) {
      std::vector<double> scores, best(pictures_.size(), std::numeric_limits<double>::quiet_NaN());
      ranking = every_place(asked, order, hits, hits.size(), scores);
      Ranking nearly;
      for (size_t i = 0; i < ranking.size(); ++i) {
        double& first = best[ranking[i].picture];
        const bool is_first = std::isnan(first);
        if (is_first) first = scores[i];
        if (is_first || scores[i] >= kAlso * first) nearly.push_back(ranking[i]);
      }
      ranking.swap(nearly);
    }
    Ranking close = ranking;
    settle_all(*asked.points, close);
    for (size_t i = 0; i < ranking.size(); ++i) close[i].score = ranking[i].score;  // those of the grid, as they were ranked by
    ranking.swap(close);
    for (size_t i = 0; i < hits.size(); ++i) {
      const size_t before = out.size();
      for (const Placed& placed : ranking) {
        if (placed.picture != hits[i].picture) continue;
        Place place = in_picture(*asked.points, placed);
        place.hit = (int64_t)i, place.confidence = confidence[i];
        bool again = false;
        for (size_t j = before; j < out.size(); ++j) again |= overlap(place.box, out[j].box) > kApart;
        if (!again) out.push_back(place);
      }
    }
  }

  // Off the grid: scales between those of the query, and the polynomial's own maximum, with the scores there.
  void settle_all(const Points& points, Ranking& ranking) const {
    if (ranking.empty()) return;
    std::vector<double> rotations;
    for (const Placed& hit : ranking) rotations.push_back(hit.rotation);
    std::sort(rotations.begin(), rotations.end());
    rotations.erase(std::unique(rotations.begin(), rotations.end()), rotations.end());
    const Settings finer = ladder(settings_);
    const std::vector<QueryPose> poses = poses_of(kernels_, points, finer, rotations);
    const int steps = finer.kernels();
    Ladder all(settings_.frequencies, settings_.no, settings_.component_scales());
    for (const QueryPose& pose : poses) {
      const std::vector<double> weights = finer.component_weights(pose.kernel);
      all.add(pose.vector.data(), pose.norm, std::vector<float>(weights.begin(), weights.end()).data());
    }
    std::vector<double> scales = settings_.scales;
    std::sort(scales.begin(), scales.end());
    for (Placed& hit : ranking) {
      const double fit = turned_fit(points, hit.rotation);
      const int lowest = (int)(std::lower_bound(rotations.begin(), rotations.end(), hit.rotation) - rotations.begin()) * steps;
      int own = 0;
      for (int s = 1; s < (int)scales.size(); ++s)
        if (std::fabs(scales[s] - hit.scale / fit) < std::fabs(scales[own] - hit.scale / fit)) own = s;
      const Start start{lowest + kFiner * std::max(own - 1, 0),
                        lowest + kFiner * std::min(own + 1, (int)scales.size() - 1) + 1,
                        hit.mirrored,
                        hit.dx * kRadians,
                        hit.dy * kRadians,
                        (double)((float)settings_.translation_step * hit.scale) / fit * kRadians};
      const Settled found = settle(pictures_.rows, all, hit.row, start);
      if (std::isfinite(found.score)) hit.scale = (float)poses[found.pose].scale, hit.score = (float)found.score;
      hit.dx = (float)(found.x / kRadians), hit.dy = (float)(found.y / kRadians);
    }
  }

  // The settings' scales, ascending, in kFiner steps from one to the next, with their kernels' weights.
  static Settings ladder(const Settings& settings) {
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

  // `Pose.in_picture` and `Pose.box`
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
  const Model& model_;
  const Rows made_up_;
};

}  // namespace sketchseek
