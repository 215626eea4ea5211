// The engine as Python sees it: arrays in, arrays out, threads over the pictures, the best build for the machine.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "engine.hpp"
#include "scan.hpp"
#include "search/opened.hpp"
#include "selection.hpp"
#include "refine_pose.hpp"
#include "threads.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace sketchseek {
namespace {

using Ids = std::optional<In<int64_t, 1>>;
using Groups = std::optional<In<int32_t, 1>>;
using Prior = std::optional<In<float, 1>>;

// Whether no signal's handler has raised: asked for now and then, without the interpreter's lock.
bool signals_allow() {
  nb::gil_scoped_acquire lock;
  return PyErr_CheckSignals() == 0;
}

// in_parallel with the interpreter's lock released.
template <class Work>
void without_lock(int64_t count, int64_t chunk, int threads, Work work) {
  nb::gil_scoped_release free;
  in_parallel(count, chunk, threads, work, signals_allow);
}

struct Build {
  const char* name;
  const Kernels* kernels;
  const Filter* filter;  // null: none

  bool supported() const { return kernels->supported() && (!filter || filter->supported()); }
};

std::vector<Build> builds() {
  return {
#if defined(__x86_64__)
      {"avx512vnni", &kernels_avx512, &filter_avx512vnni},
      {"avx512", &kernels_avx512, nullptr},
      {"avx2", &kernels_avx2, nullptr},
#elif defined(__aarch64__)
      {"neon", &kernels_neon, nullptr},
#endif
      {"portable", &kernels_portable, nullptr},
  };
}

// The names of the builds that run on this machine, the best first.
std::vector<std::string> supported_builds() {
  std::vector<std::string> names;
  for (const Build& build : builds())
    if (build.supported()) names.push_back(build.name);
  return names;
}

Build build_named(const std::string& name) {
  for (const Build& build : builds())
    if (name == build.name && build.supported()) return build;
  throw std::invalid_argument("this machine cannot run the build '" + name + "'");
}

template <class Array>
auto copied(const Array& values) {
  return std::vector<std::decay_t<decltype(*values.data())>>(values.data(), values.data() + values.size());
}

// A query laid out for the kernels.
class PreparedQuery : public PosedQuery {
 public:
  // full (P, D), projections (P, 2, Dx * Do); steps in radians. dual (P, D): what an error of one in a factor of a stored
  // byte does to the score at most; for collections of bytes, where rows are looked at in integers first.
  PreparedQuery(In<float, 2> full, In<float, 3> projections, In<double, 1> frequencies, In<double, 1> steps,
                In<int32_t, 1> reach, In<int32_t, 1> kernels, bool mirror, std::optional<In<float, 2>> dual)
      : PosedQuery(checked(full, projections, frequencies, steps, reach, kernels, mirror, dual)) {}

 private:
  static Poses checked(In<float, 2> full, In<float, 3> projections, In<double, 1> frequencies, In<double, 1> steps,
                       In<int32_t, 1> reach, In<int32_t, 1> kernels, bool mirror, std::optional<In<float, 2>> dual) {
    const size_t count = full.shape(0), nx = frequencies.shape(0);
    require(count > 0 && count <= kMaxPoses, "a query must have 1 to 32767 poses");
    require(projections.shape(0) == count && projections.shape(1) == 2 && steps.shape(0) == count &&
                reach.shape(0) == count && kernels.shape(0) == count,
            "a query's arrays must agree in the number of poses");
    require(nx >= kMinFrequencies && nx <= kMaxFrequencies, "a query must have 2 to 10 spatial frequencies");
    require_finite(full, "a query's vectors must be finite");
    if (dual) {
      require(dual->shape(0) == count && dual->shape(1) == full.shape(1), "a query's dual must be of its vectors' shape");
      require_finite(*dual, "a query's dual must be finite");
    }
    require_finite(projections, "a query's projections must be finite");
    require_finite(frequencies, "a query's frequencies must be finite");
    require_finite(steps, "a query's steps must be finite");
    for (size_t p = 0; p < count; ++p) {
      require(reach.data()[p] >= 0 && reach.data()[p] <= kMaxReach, "a query's reach must be 0 to 1023 steps");
      require(kernels.data()[p] >= 0, "a query's kernels must be numbers from 0");
    }
    return {copied(full),  copied(projections), dual ? copied(*dual) : std::vector<float>(), copied(frequencies),
            copied(steps), copied(reach),       copied(kernels),                              mirror};
  }
};

class Collection {
 public:
  // vectors (n, D) are used where they lie; norms (n, S, 3) are copied into the layout of the kernels.
  Collection(nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu, nb::ro> vectors, In<float, 3> norms, int nx,
             int no, const std::string& build)
      : vectors_(vectors),
        build_(build_named(build)),
        kernels_(build_.kernels),
        rows_(vectors.data(), check(vectors, norms, nx, no), (int64_t)vectors.shape(0), nx, no, norms.data(),
              (int)norms.shape(1)),
        db_(rows_.db) {}

  int64_t size() const { return db_.n; }
  const char* build() const { return build_.name; }
  const Database& rows() const { return db_; }
  const Kernels& kernels() const { return *kernels_; }
  const Filter* filter() const { return build_.filter; }

  // Bytes of everything that a search reads.
  int64_t bytes() const {
    return rows_.bytes() + laid_out_bytes_.load();
  }

  // Lays the projections out for scanning: once, by the first of the threads that need them, while the others wait.
  void lay_out_projections() {
    nb::gil_scoped_release free;  // before waiting: who is first may want the lock
    std::call_once(laid_out_once_, [this] { lay_out(); });
  }

  Out<float> scores(const PreparedQuery& query, Ids ids, int threads) const {
    return each<float>(query, ids, threads, [&](Range range, float* out) {
      kernels_->score(db_, query.view(), range, kNoThreshold, out);
    });
  }

  Out<float> plain_scores(const PreparedQuery& query, Ids ids, int threads) const {
    return each<float>(query, ids, threads,
                       [&](Range range, float* out) { kernels_->plain(db_, query.view(), range, out); });
  }

  Out<float> project(const PreparedQuery& query, int axis, Ids ids, int threads) {
    require(axis == kX || axis == kY, "axis must be 1 (x) or 2 (y)");
    lay_out_projections();
    return each<float>(query, ids, threads,
                       [&](Range range, float* out) { kernels_->project(db_, query.view(), range, axis, out); });
  }

  // See `best_rows`.
  nb::tuple top(const PreparedQuery& query, int64_t k, Groups groups, Prior prior, int threads) const {
    check(query, threads);
    require(k > 0, "k must be positive");
    require(!groups || (int64_t)groups->size() == db_.n, "groups must be a number for each row");
    require(!prior || (int64_t)prior->size() == db_.n, "prior must be a factor for each row");
    for (int64_t i = 0; prior && i < db_.n; ++i)
      require(prior->data()[i] > 0 && prior->data()[i] <= 1, "prior must be in (0, 1]");
    auto [ids, scores] = best_rows(
        db_, *kernels_, build_.filter, query, k, groups ? groups->data() : nullptr, prior ? prior->data() : nullptr,
        [&](int64_t count, int64_t chunk, auto work) { without_lock(count, chunk, threads, work); });
    return nb::make_tuple(handed_over(std::move(ids)), handed_over(std::move(scores)));
  }

  // score, pose, mirrored, and x, y in steps of the pose.
  nb::tuple locate(const PreparedQuery& query, Ids ids, const std::string& guide, int radius, int threads) const {
    check(query, threads);
    if (ids) check_ids(*ids);
    const bool known = guide == "exact" || guide == "binary" || guide == "binary-all" || guide == "local-all";
    require(known, "guide must be exact, binary, binary-all or local-all");
    require(radius >= 0, "radius must not be negative");
    Guide by = guide == "binary"       ? Guide::kBinary
               : guide == "binary-all" ? Guide::kBinaryAll
               : guide == "local-all"  ? Guide::kLocalAll
                                       : Guide::kExact;
    if (radius >= 2 * query.reach()) {  // from any guess that is the whole grid
      radius = 2 * query.reach();
      if (by != Guide::kBinary) by = Guide::kExact;
    }
    const int64_t count = ids ? (int64_t)ids->size() : db_.n;
    std::vector<float> score(count);
    std::vector<int32_t> pose(count), mirrored(count), x(count), y(count);
    without_lock(count, chunk_of(count, threads), threads, [&](int64_t begin, int64_t end) {
      std::vector<Found> found(end - begin);
      kernels_->locate(db_, query.view(), Range{begin, end, ids ? ids->data() : nullptr}, by, radius, found.data());
      for (int64_t i = begin; i < end; ++i) {
        const Found& f = found[i - begin];
        score[i] = f.score, pose[i] = f.pose, mirrored[i] = f.mirrored, x[i] = f.x, y[i] = f.y;
      }
    });
    return nb::make_tuple(handed_over(std::move(score)), handed_over(std::move(pose)), handed_over(std::move(mirrored)),
                          handed_over(std::move(x)), handed_over(std::move(y)));
  }

  // Off the grid (refine_pose.hpp): score, pose, x, y of each hit. vectors (P, D) are a query's, of those norms (P,), weights
  // (S, D) its kernels', kernels (P,) which is whose, steps (D,) those of codes; for each hit where it starts, x, y and how
  // far it may go, and the poses it tries.
  nb::tuple refine_pose(In<float, 2> vectors, In<float, 1> norms, In<float, 2> weights, In<int32_t, 1> kernels,
                   In<float, 1> steps, In<double, 1> frequencies, In<int64_t, 1> ids, In<double, 2> starts,
                   In<int32_t, 2> poses, int threads) const {
    check_ids(ids);
    check_threads(threads);
    const size_t count = ids.size(), tried = vectors.shape(0), size = (size_t)db_.dimensions();
    require(vectors.shape(1) == size && weights.shape(1) == size && steps.size() == size && norms.size() == tried &&
                kernels.size() == tried && (int)frequencies.size() == db_.nx,
            "the ladder was made with other settings than the collection");
    require(starts.shape(0) == count && starts.shape(1) == 3 && poses.shape(0) == count && poses.shape(1) == 3,
            "starts and poses must be (hits, 3)");
    require_finite(vectors, "the ladder must be finite");
    require_finite(norms, "the ladder must be finite");
    require_finite(weights, "the ladder's weights must be finite");
    require_finite(steps, "the ladder's steps must be finite");
    require_finite(frequencies, "the ladder's frequencies must be finite");
    require_finite(starts, "starts must be finite");
    for (size_t i = 0; i < count; ++i) {
      const int32_t* p = poses.data() + 3 * i;
      if (p[0] < 0 || p[1] > (int64_t)tried || p[2] < 0 || p[2] > 1) throw std::out_of_range("poses must be of the ladder");
    }
    Ladder ladder(copied(frequencies), db_.no, {steps.data(), steps.data() + size});
    for (size_t i = 0; i < tried; ++i) {
      const int32_t kernel = kernels.data()[i];
      if (kernel < 0 || kernel >= (int64_t)weights.shape(0)) throw std::out_of_range("kernels must be those of the weights");
      ladder.add(vectors.data() + i * size, norms.data()[i], weights.data() + kernel * size);
    }
    std::vector<double> score(count), x(count), y(count);
    std::vector<int32_t> pose(count);
    without_lock((int64_t)count, 1, threads, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const double* s = starts.data() + 3 * i;
        const int32_t* p = poses.data() + 3 * i;
        const RefinedPose found = sketchseek::refine_pose(db_, ladder, ids.data()[i], Start{p[0], p[1], p[2], s[0], s[1], s[2]});
        score[i] = found.score, pose[i] = found.pose, x[i] = found.x, y[i] = found.y;
      }
    });
    return nb::make_tuple(handed_over(std::move(score)), handed_over(std::move(pose)), handed_over(std::move(x)),
                          handed_over(std::move(y)));
  }

  // Shares of each picture's squared norm, (ids, cells * cells) in one row; see `Cells`.
  Out<float> energy(In<float, 1> factors, In<float, 3> table, int cells, In<int64_t, 1> ids, int threads) const {
    check_ids(ids);
    check_threads(threads);
    require((int64_t)factors.size() == db_.dimensions() && (int)table.shape(1) == db_.nx - 1 && table.shape(2) == 2,
            "the cells were made with other settings than the collection");
    require(cells >= 2 && cells <= kMaxCells && cells % 2 == 0 && table.shape(0) && table.shape(0) % (cells / 2) == 0,
            "cells must be even and at most 64, with equally many samples each");
    require_finite(factors, "the cells' factors must be finite");
    require_finite(table, "the cells' table must be finite");
    const Cells view{factors.data(), table.data(), cells, (int)table.shape(0) / (cells / 2)};
    std::vector<float> out(ids.size() * cells * cells);
    without_lock((int64_t)ids.size(), kBlock, threads, [&](int64_t begin, int64_t end) {
      kernels_->energy(db_, view, Range{begin, end, ids.data()}, out.data() + begin * cells * cells);
    });
    return handed_over(std::move(out));
  }

 private:
  static constexpr int64_t kChunk = 8192;
  static constexpr int kMaxCells = 64;

  // Small shares of a shortlist, so that all threads have some; large ones of everything.
  static int64_t chunk_of(int64_t count, int threads) {
    return std::max<int64_t>(4 * kBlock, std::min<int64_t>(kChunk, count / threads / 4 / kBlock * kBlock));
  }

  void lay_out() {
    const int dx = db_.dx(), ndo = 2 * db_.no - 1;
    const int64_t value = db_.bytes ? 1 : 4, size = rows_.row_size();
    for (int axis : {kX, kY}) {
      std::vector<char> out((size_t)(db_.padded * dx * ndo * value), 0);
      for (int64_t i = 0; i < db_.n; ++i) {
        const char* row = static_cast<const char*>(db_.vectors) + i * size;
        char* lane = out.data() + (i / kBlock * dx * ndo * kBlock + i % kBlock) * value;
        for (int a = 0; a < dx; ++a)
          for (int o = 0; o < ndo; ++o)
            std::memcpy(lane + (a * ndo + o) * kBlock * value, row + (a * (axis == kX ? dx : 1) * ndo + o) * value, value);
      }
      laid_out_[axis] = std::move(out);
    }
    db_.projections[kY] = laid_out_[kY].data();
    db_.projections[kX] = laid_out_[kX].data();
    laid_out_bytes_ = (int64_t)(laid_out_[kX].size() + laid_out_[kY].size());
  }

  // Whether the vectors are bytes.
  static bool check(const nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu, nb::ro>& vectors,
                    const In<float, 3>& norms, int nx, int no) {
    require(nx >= kMinFrequencies && nx <= kMaxFrequencies && no >= 1 && no <= kMaxOrientations,
            "the engine takes 2 to 10 spatial and 1 to 5 orientation frequencies");
    const bool bytes = vectors.dtype() == nb::dtype<int8_t>();
    require(bytes || vectors.dtype() == nb::dtype<float>(), "vectors must be int8 or float32");
    const size_t n = vectors.shape(0), dimensions = (size_t)dimensions_of(nx, no);
    require(vectors.shape(1) == dimensions && norms.shape(0) == n && norms.shape(2) == 3,
            "vectors must be (n, D) and norms (n, S, 3)");
    for (size_t i = 0; !bytes && i < n * dimensions; ++i)
      require(std::fabs(static_cast<const float*>(vectors.data())[i]) <= kLargest, "vectors must be numbers of at most 1e15");
    for (size_t i = 0; i < norms.size(); ++i)
      require(norms.data()[i] >= 0 && norms.data()[i] <= kLargest, "norms must be numbers from 0 to 1e15");
    return bytes;
  }

  static void check_threads(int threads) { require(threads > 0, "threads must be positive"); }

  void check(const PreparedQuery& query, int threads) const {
    check_threads(threads);
    require(query.nx() == db_.nx && (int64_t)query.dimensions() == db_.dimensions() &&
                (int64_t)query.side() == (int64_t)db_.dx() * db_.dimensions_o() && query.kernels() <= db_.kernels,
            "the query was made with other settings than the collection");
  }

  void check_ids(const In<int64_t, 1>& ids) const {
    for (size_t i = 0; i < ids.size(); ++i)
      if (ids.data()[i] < 0 || ids.data()[i] >= db_.n) throw std::out_of_range("ids must be picture numbers below n");
  }

  template <class T, class Work>
  Out<T> each(const PreparedQuery& query, const Ids& ids, int threads, Work work) const {
    check(query, threads);
    if (ids) check_ids(*ids);
    std::vector<T> out(ids ? ids->size() : db_.n);
    const int64_t count = (int64_t)out.size();
    without_lock(count, chunk_of(count, threads), threads, [&](int64_t begin, int64_t end) {
      work(Range{begin, end, ids ? ids->data() : nullptr}, out.data() + begin);
    });
    return handed_over(std::move(out));
  }

  nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu, nb::ro> vectors_;
  const Build build_;
  const Kernels* kernels_;
  Rows rows_;
  Database& db_;
  std::vector<char> laid_out_[3];
  std::once_flag laid_out_once_;
  std::atomic<int64_t> laid_out_bytes_{0};
};

// A drawing laid out for one collection; see `Search.drawn`.
class PreparedDrawing {
 public:
  PreparedDrawing(Drawn&& drawn, const void* owner) : drawn_(std::move(drawn)), owner_(owner) {}
  const Drawn& of(const void* owner) const {
    require(owner == owner_, "the drawing was made for another collection");
    return drawn_;
  }

 private:
  Drawn drawn_;
  const void* owner_;
};

void check_evidence(const In<double, 2>& evidence, const In<double, 1>& likeness) {
  require(evidence.shape(0) > 0 && evidence.shape(1) == kEvidence, "evidence must be (k, F), of one hit at least");
  require(likeness.size() == 0 || likeness.size() == kLikeness, "likeness must be (L,)");
}

class ConfidenceModel {
 public:
  // See `Model`.
  explicit ConfidenceModel(In<double, 1> numbers) : model_(checked(numbers)) {}
  const Model& model() const { return model_; }

  // evidence (k, F), likeness (L,) or nothing -> confidence (k,), presence, first page, verdict.
  nb::tuple judge(In<double, 2> evidence, In<double, 1> likeness) const {
    check_evidence(evidence, likeness);
    Judgement out = model_.judge(copied(evidence), copied(likeness));
    return nb::make_tuple(handed_over(std::move(out.confidence)), out.present, out.first_page, (int)out.verdict);
  }

 private:
  static Model checked(const In<double, 1>& numbers) {
    const char* fault = Model::fault_of(numbers.data(), (int64_t)numbers.size());
    require(!fault, fault);
    return {numbers.data(), (int64_t)numbers.size()};
  }
  const Model model_;
};

Published published_of(const In<double, 1>& settings, const In<int32_t, 2>& pictures, const In<float, 2>& frames,
                       const int8_t* codes, int64_t rows, const In<int8_t, 2>& synthetic) {
  const Published given{settings.data(), (int64_t)settings.size(), pictures.data(),  (int64_t)pictures.shape(0), frames.data(),
                        codes,           (int64_t)frames.shape(0), synthetic.data(), (int64_t)synthetic.shape(0)};
  require(pictures.shape(1) == 4 && frames.shape(1) == 4 && (int64_t)frames.shape(0) == rows,
          "pictures must be (n, 4) and frames (rows, 4)");
  const char* fault = Opened::fault_of(given);
  require(!fault, fault);
  const int64_t size = dimensions_of((int)settings.data()[0], (int)settings.data()[1]);
  require((int64_t)synthetic.shape(1) == size, "codes must be (rows, D)");
  return given;
}

// What an `Answer` has, by name.
nb::dict dict_of(Answer&& answer) {
  std::vector<double> places;
  for (const Place& place : answer.places) place.write(places);
  nb::dict out;
  out["present"] = answer.present;
  out["first_page"] = answer.first_page;
  out["verdict"] = (int)answer.verdict;
  out["pictures"] = handed_over(std::move(answer.pictures));
  out["order"] = handed_over(std::move(answer.order));
  out["confidence"] = handed_over(std::move(answer.confidence));
  out["evidence"] = handed_over(std::move(answer.evidence));
  out["places"] = handed_over(std::move(places));
  return out;
}

// The search (search/rescoring.hpp) over a collection's rows, where they lie.
class Search {
 public:
  // See `Published`.
  Search(const Collection& collection, In<double, 1> settings, In<int32_t, 2> pictures, In<float, 2> frames,
         In<int8_t, 2> synthetic)
      : frames_(frames), synthetic_(synthetic) {
    const Database& rows = collection.rows();
    const Published given = published_of(settings, pictures, frames, nullptr, collection.size(), synthetic);
    require(settings.data()[0] == rows.nx && settings.data()[1] == rows.no && settings.data()[2] == rows.kernels,
            "the collection must have vectors of these settings");
    opened_.emplace(given, collection.kernels(), collection.filter(), rows);
  }

  // points (4, n): x, y, angle, weight, in a frame of that width and height.
  PreparedDrawing drawn(In<float, 2> points, double width, double height, bool mirror, double turn) const {
    const size_t n = points.shape(1);
    require(points.shape(0) == 4, "points must be (4, n)");
    require_finite(points, "points must be finite");
    require(turn >= 0 && turn <= 180, "turn must be from 0 to 180 degrees");
    Points drawn;
    const float* at = points.data();
    for (std::vector<float>* each : {&drawn.x, &drawn.y, &drawn.angle, &drawn.weight}) each->assign(at, at + n), at += n;
    drawn.width = width, drawn.height = height;
    nb::gil_scoped_release free;
    return {core().drawn(drawn, mirror, turn), this};
  }

  // Rows of the k best pictures, best first, each by its best window; of all pictures where there are no more.
  Out<int64_t> candidates(const PreparedDrawing& drawing, int64_t k, int threads) const {
    require(k > 0, "k must be positive");
    return each<int64_t>(drawing, threads, [&](const Drawn& drawn, const Parallel& p) { return core().candidates(drawn, k, p); });
  }

  // Plain scores of some pictures, each that of its best window.
  Out<float> scores(const PreparedDrawing& drawing, In<int64_t, 1> ids, int threads) const {
    check_pictures(ids);
    return each<float>(drawing, threads, [&](const Drawn& drawn, const Parallel& p) {
      return core().scores(drawn, ids.data(), (int64_t)ids.size(), p);
    });
  }

  Out<float> whole_scores(const PreparedDrawing& drawing, In<int64_t, 1> ids, int threads) const {
    check_pictures(ids);
    return each<float>(drawing, threads, [&](const Drawn& drawn, const Parallel& p) {
      return core().whole_scores(drawn, ids.data(), (int64_t)ids.size(), p);
    });
  }

  // `Core::rescore`: rows (n,), of which the best of each picture counts; with placed (n, 6) score, scale, rotation, mirrored, dx,
  // dy, best first. Or pictures (n,) in an order (n,), and network_evidence: cosine (n,), similarity (n,), background (m,), likeness,
  // and [cohesion, crowd, nearest, flat_art]. background, total: of a collection that this is a part of.
  // resemblance: of each picture, weighed by icon_blend beside the shape.
  nb::dict rescore(const PreparedDrawing& drawing, const ConfidenceModel& model, int64_t k, int64_t offset, int64_t count,
                double normalization, double coverage, bool place, Ids rows, std::optional<In<float, 2>> placed, Ids pictures,
                std::optional<In<double, 1>> order, std::optional<std::vector<In<double, 1>>> network_evidence,
                std::optional<In<float, 1>> background, int64_t total, const Resemblance* resemblance, double icon_blend,
                int threads) const {
    require(k > 0 && k <= 1 << 30 && offset >= 0 && offset <= 1 << 30, "k must be positive and offset not negative");
    require(normalization >= 0 && normalization < 1, "the local normalisation's strength must be in [0, 1)");
    require(coverage >= 0 && std::isfinite(coverage), "the power of coverage must not be negative");
    require(threads > 0, "threads must be positive");
    require(rows.has_value() != pictures.has_value(), "either rows or pictures are looked at");
    Candidates found;
    found.total = total;
    require(std::isfinite(icon_blend), "what the icon network weighs must be finite");
    if (resemblance && *resemblance) {
      require(resemblance->z.size() == opened_->pictures().size(), "resemblance must be of each picture");
      found.resemblance = *resemblance;
    }
    if (background) require_finite(*background, "background must be finite"), found.background = copied(*background);
    if (rows) {
      const int64_t n = opened_->pictures().rows.n;
      for (size_t i = 0; i < rows->size(); ++i)
        if (rows->data()[i] < 0 || rows->data()[i] >= n) throw std::out_of_range("rows must be numbers below n");
      if (placed) {
        require(placed->shape(0) == rows->size() && placed->shape(1) == 6, "placed must be (rows, 6)");
        require_finite(*placed, "placed must be finite");
        for (size_t i = 0; i < rows->size(); ++i) {
          const float* p = placed->data() + 6 * i;
          const int64_t row = rows->data()[i];
          found.placed.push_back({row, opened_->pictures().picture_of[row], p[0], p[1], p[2], p[3] != 0, p[4], p[5]});
        }
      } else {
        found.rows = copied(*rows);
      }
    } else {
      check_pictures(*pictures);
      require(order && order->size() == pictures->size(), "order must be of each picture");
      require_finite(*order, "order must be finite");
      found.pictures = copied(*pictures), found.order = copied(*order);
      if (network_evidence) found.network_evidence = opinion_of(*network_evidence, pictures->size());
    }
    RescoreOptions options;
    options.k = k, options.offset = offset, options.count = count;
    options.normalization = normalization, options.coverage = coverage;
    options.place = place, options.icon_blend = icon_blend;
    Answer answer;
    {
      nb::gil_scoped_release free;
      answer = core().rescore(drawing.of(this), found, model.model(), options, parallel(threads));
    }
    return dict_of(std::move(answer));
  }

  // `Core::meet`, by name.
  nb::dict meet(const PreparedDrawing& drawing, int64_t picture) const {
    require(picture >= 0 && picture < (int64_t)opened_->pictures().size(), "there is no such picture");
    Meeting found;
    {
      nb::gil_scoped_release free;
      found = core().meet(drawing.of(this), picture);
    }
    nb::dict out;
    out["coverage"] = found.coverage;
    out["support"] = handed_over(std::move(found.support));
    out["sampled"] = handed_over(std::move(found.sampled));
    out["d"] = handed_over(std::move(found.d));
    out["surface"] = handed_over(std::move(found.surface));
    return out;
  }

 private:
  const Core& core() const { return opened_->core(); }

  static Parallel parallel(int threads) {
    return [threads](int64_t count, int64_t chunk, const std::function<void(int64_t, int64_t)>& work) {
      in_parallel(count, chunk, threads, work, signals_allow);
    };
  }

  template <class T, class Work>
  Out<T> each(const PreparedDrawing& drawing, int threads, Work work) const {
    require(threads > 0, "threads must be positive");
    std::vector<T> out;
    {
      nb::gil_scoped_release free;
      out = work(drawing.of(this), parallel(threads));
    }
    return handed_over(std::move(out));
  }

  void check_pictures(const In<int64_t, 1>& ids) const {
    for (size_t i = 0; i < ids.size(); ++i)
      if (ids.data()[i] < 0 || ids.data()[i] >= (int64_t)opened_->pictures().size())
        throw std::out_of_range("ids must be picture numbers below n");
  }

  static std::unique_ptr<NetworkEvidence> opinion_of(const std::vector<In<double, 1>>& given, size_t n) {
    require(given.size() == 5 && given[0].size() == n && given[1].size() == n &&
                (given[3].size() == 0 || given[3].size() == kLikeness) && given[4].size() == 4,
            "a network's evidence is cosine (n,), similarity (n,), background, likeness and four numbers");
    for (const auto& column : given) require_finite(column, "a network's evidence must be finite");
    auto out = std::make_unique<NetworkEvidence>();
    out->cosine = copied(given[0]), out->similarity = copied(given[1]), out->background = copied(given[2]);
    out->likeness = copied(given[3]);
    const double* rest = given[4].data();
    out->cohesion = rest[0], out->crowd = rest[1], out->nearest = rest[2], out->flat_art = rest[3];
    return out;
  }

  In<float, 2> frames_;  // kept, as long as they are used
  In<int8_t, 2> synthetic_;
  std::optional<Opened> opened_;
};

// A published collection, searched from strokes by the kernels of browsers: for tests, which hold it to the reference.
class PublishedCollection {
 public:
  PublishedCollection(In<double, 1> settings, In<double, 1> model, In<int32_t, 2> pictures, In<float, 2> frames,
                      In<int8_t, 2> codes, In<int8_t, 2> synthetic)
      : pictures_(pictures), frames_(frames), codes_(codes), synthetic_(synthetic), model_(model) {
    const Published given =
        published_of(settings, pictures, frames, codes.data(), (int64_t)codes.shape(0), synthetic);
    require((int64_t)codes.shape(1) == (int64_t)synthetic.shape(1), "codes must be (rows, D)");
    opened_.emplace(given, kernels_portable);
  }

  // From now on searches use the icon network: its weights, and the embeddings (n, 128) of the pictures.
  void see(nb::bytes weights, In<int8_t, 2> embeddings) {
    const auto* bytes = (const uint8_t*)weights.data();
    const char* fault = IconNetwork::fault_of(bytes, (int64_t)weights.size());
    require(!fault, fault);
    require(embeddings.shape(0) == pictures_.shape(0) && embeddings.shape(1) == kEmbedding, "embeddings must be (n, 128)");
    icons_.emplace(bytes, kernels_portable);
    codes_seen_ = embeddings;
    embeddings_.emplace(codes_seen_.data(), (int64_t)codes_seen_.shape(0));
  }

  nb::dict search(In<double, 2> strokes, In<int32_t, 1> lengths, int64_t k, int64_t offset, bool mirror, double turn) const {
    int64_t points = 0;
    for (size_t i = 0; i < lengths.size(); ++i) points += std::max(lengths.data()[i], 0);
    require(strokes.shape(1) == 2 && points <= (int64_t)strokes.shape(0), "strokes must be (points, 2)");
    Drawing drawn;
    const char* fault = fault_of(k, offset, turn);
    if (!fault) fault = drawing_of(strokes.data(), lengths.data(), (int64_t)lengths.size(), drawn);
    require(!fault, fault);
    const Core& core = opened_->core();
    const Drawn asked = core.drawn(drawn.points, mirror, turn);
    Candidates found;
    found.rows = core.candidates(asked, Core::wanted(k, offset, (int64_t)opened_->pictures().size()), one_by_one);
    if (icons_ && turn == 0) core.add(embeddings_->resemblance(icons_->embedding(drawn.strokes).data()), found);
    RescoreOptions options;
    options.k = k, options.offset = offset;
    return dict_of(core.rescore(asked, found, model_.model(), options, one_by_one));
  }

 private:
  In<int32_t, 2> pictures_;  // kept, as long as they are used
  In<float, 2> frames_;
  In<int8_t, 2> codes_, synthetic_;
  ConfidenceModel model_;
  std::optional<Opened> opened_;
  In<int8_t, 2> codes_seen_;
  std::optional<IconNetwork> icons_;
  std::optional<IconEmbeddings> embeddings_;
};

template <typename T>
Out<int64_t> ordinary_rows(In<T, 2> vectors) {
  std::vector<int64_t> all(vectors.shape(0));
  std::iota(all.begin(), all.end(), 0);
  return handed_over(ordinary_of(std::move(all), [&](int64_t row) {
    return hash_of(vectors.data(), sizeof(T) == 1, (int)vectors.shape(1), row);
  }));
}

// What a model may use (k, kHeard) of hits, from evidence (k, kEvidence) and likeness (kLikeness,) or nothing.
Out<double> heard(In<double, 2> evidence, In<double, 1> likeness) {
  check_evidence(evidence, likeness);
  const Values all = copied(evidence), also = copied(likeness);
  Values out;
  for (size_t i = 0; i < evidence.shape(0); ++i) {
    const Values one = heard_of(all, also, i);
    out.insert(out.end(), one.begin(), one.end());
  }
  return handed_over(std::move(out));
}

// (rows,): which share of its picture each window shows. pictures (rows,), ascending; line_art (n,).
Out<float> window_shares(In<float, 2> frames, In<int32_t, 1> pictures, In<bool, 1> line_art) {
  require(frames.shape(1) == 4 && frames.shape(0) == pictures.size(), "frames must be (rows, 4) and pictures (rows,)");
  const auto side = [&](size_t row) {
    const float* f = frames.data() + 4 * row;
    return std::max(f[2] - f[0], f[3] - f[1]);
  };
  std::vector<float> out(pictures.size());
  for (size_t row = 0, first = 0; row < out.size(); ++row) {
    const int32_t picture = pictures.data()[row];
    if (picture < 0 || picture >= (int64_t)line_art.size()) throw std::out_of_range("pictures must be numbers below n");
    if (row && picture != pictures.data()[row - 1]) first = row;
    out[row] = share_of(side(row), side(first), line_art.data()[picture]);
  }
  return handed_over(std::move(out));
}

Out<float> window_priors(In<float, 1> shares) {
  std::vector<float> out;
  for (size_t i = 0; i < shares.size(); ++i) out.push_back(prior_of(shares.data()[i]));
  return handed_over(std::move(out));
}

void check_maps(const In<double, 1>& frequencies, const In<double, 1>& orientation_frequencies) {
  require(frequencies.size() >= kMinFrequencies && frequencies.size() <= kMaxFrequencies &&
              orientation_frequencies.size() >= 1 && orientation_frequencies.size() <= kMaxOrientations,
          "the engine takes 2 to 10 spatial and 1 to 5 orientation frequencies");
  require_finite(frequencies, "frequencies must be finite");
  require_finite(orientation_frequencies, "frequencies must be finite");
}

// V of a drawing at some sizes, (P, D): points (4, n) are x, y, angle and weight.
Out<float> describe(In<float, 2> points, In<double, 1> sizes, In<double, 1> frequencies,
                    In<double, 1> orientation_frequencies, const std::string& build) {
  const Kernels* kernels = build_named(build).kernels;
  check_maps(frequencies, orientation_frequencies);
  const KeptMaps maps(copied(frequencies), copied(orientation_frequencies));
  require(points.shape(0) == 4, "points must be (4, n)");
  require_finite(points, "points must be finite");
  require_finite(sizes, "sizes must be finite");
  const int64_t n = (int64_t)points.shape(1), size = dimensions_of((int)frequencies.size(), (int)orientation_frequencies.size());
  const float* at = points.data();
  std::vector<float> out(sizes.size() * size);
  {
    nb::gil_scoped_release free;
    for (size_t i = 0; i < sizes.size(); ++i)
      kernels->describe(maps.view(), Contour{at, at + n, at + 2 * n, at + 3 * n, n}, (float)sizes.data()[i],
                        out.data() + i * size);
  }
  return handed_over(std::move(out));
}

// How densely the contours of vectors (k, D) lie at points, (k, n). poses (P, 3, n): x, y and angle of the points in each
// pose; weights (P, nx) are those of its kernel, pose (k,) says which is whose, shifts (k, 2) where, in pixels. steps (D,)
// are those of codes.
Out<float> densities(nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu, nb::ro> vectors, In<float, 1> steps,
                     In<float, 3> poses, In<double, 2> weights, In<double, 1> orientation_weights, In<int64_t, 1> pose,
                     In<float, 2> shifts, In<double, 1> frequencies, In<double, 1> orientation_frequencies,
                     const std::string& build) {
  const Kernels* kernels = build_named(build).kernels;
  check_maps(frequencies, orientation_frequencies);
  const bool bytes = vectors.dtype() == nb::dtype<int8_t>();
  require(bytes || vectors.dtype() == nb::dtype<float>(), "vectors must be int8 or float32");
  const size_t nx = frequencies.size(), k = vectors.shape(0), count = poses.shape(0), n = poses.shape(2);
  const size_t size = (size_t)dimensions_of((int)nx, (int)orientation_frequencies.size());
  require(vectors.shape(1) == size && steps.size() == size, "vectors must be (k, D) and steps (D,)");
  require(poses.shape(1) == 3 && weights.shape(0) == count && weights.shape(1) == nx &&
              orientation_weights.size() == orientation_frequencies.size(),
          "poses must be (P, 3, n), with weights for each frequency");
  require(pose.size() == k && shifts.shape(0) == k && shifts.shape(1) == 2, "pose must be (k,) and shifts (k, 2)");
  require_finite(poses, "points must be finite");
  require_finite(shifts, "shifts must be finite");
  std::vector<std::vector<int64_t>> rows(count);
  for (size_t i = 0; i < k; ++i) {
    if (pose.data()[i] < 0 || pose.data()[i] >= (int64_t)count) throw std::out_of_range("pose must be one of the poses");
    rows[pose.data()[i]].push_back((int64_t)i);
  }
  std::vector<float> out(k * n);
  {
    nb::gil_scoped_release free;
    Database db{};
    db.vectors = vectors.data(), db.bytes = bytes, db.n = (int64_t)k;
    std::vector<float> own, where;
    for (size_t p = 0; p < count; ++p) {
      const float* at = poses.data() + 3 * n * p;
      own.resize(rows[p].size() * n), where.clear();
      for (const int64_t row : rows[p]) where.insert(where.end(), {shifts.data()[2 * row], shifts.data()[2 * row + 1]});
      const double* own_weights = weights.data() + p * nx;
      const KeptMaps maps(copied(frequencies), copied(orientation_frequencies), {own_weights, own_weights + nx},
                          copied(orientation_weights));
      kernels->densities(db, Range{0, (int64_t)rows[p].size(), rows[p].data()}, maps.view(),
                         Contour{at, at + n, at + 2 * n, nullptr, (int64_t)n}, steps.data(), where.data(), own.data());
      for (size_t i = 0; i < rows[p].size(); ++i)
        std::copy_n(own.data() + i * n, n, out.data() + (size_t)rows[p][i] * n);
    }
  }
  return handed_over(std::move(out));
}

// Numbers of the k product codes with the largest sums of table entries, best first. codes (blocks, parts / 2,
// kCodeBlock) hold the first n in their places; tables (parts, 16) are of bytes, so that a sum fits 16 bits.
Out<int64_t> largest_sums(In<uint8_t, 3> codes, In<uint8_t, 2> tables, int64_t n, int64_t k, const std::string& build,
                          int threads) {
  const Kernels* kernels = build_named(build).kernels;
  const PartCodes view{codes.data(), tables.data(), (int)tables.shape(0)};
  require(tables.shape(1) == 16 && 2 * codes.shape(1) == tables.shape(0) && codes.shape(2) == kCodeBlock &&
              tables.shape(0) <= 256,
          "codes must be (blocks, parts / 2, 64) and tables (parts, 16)");
  require(n >= 0 && n <= (int64_t)codes.shape(0) * kCodeBlock, "n must not exceed the codes");
  require(k > 0, "k must be positive");
  require(threads > 0, "threads must be positive");
  constexpr int64_t kBlocks = 64;
  Top top(std::min(k, std::max<int64_t>(n, 1)));
  without_lock((n + kCodeBlock - 1) / kCodeBlock, kBlocks, threads, [&](int64_t begin, int64_t end) {
    uint16_t sums[kBlocks * kCodeBlock];
    kernels->sum_tables(view, begin, end, sums);
    top.offer(begin * kCodeBlock, nullptr, sums, std::min(n, end * kCodeBlock) - begin * kCodeBlock);
  });
  return handed_over(std::move(top.sorted().first));
}

// Scores f (n,) with f = (1 - a) s + a W f: each has a share of what its nearest have (ranking on data manifolds). W are the
// cosines (n, n) with so many neighbours, none below zero, brought to the sum 1. 
Out<float> diffused(In<float, 1> scores, In<float, 2> cosines, int64_t neighbours, double share) {
  const size_t n = scores.size();
  require(cosines.shape(0) == n && cosines.shape(1) == n, "cosines must be (n, n)");
  require_finite(scores, "scores must be finite");
  require_finite(cosines, "cosines must be finite");
  require(neighbours > 0 && share >= 0 && share <= 0.99, "neighbours must be positive and the share in [0, .99]");
  struct Link {
    uint32_t to;
    float weight;
  };
  std::vector<double> f(scores.data(), scores.data() + n);
  {
    nb::gil_scoped_release free;
    std::vector<Link> links;
    std::vector<size_t> ends;
    std::vector<float> best;
    const size_t kept = std::min<size_t>((size_t)neighbours, n);
    for (size_t i = 0; i < n; ++i) {
      const float* own = cosines.data() + i * n;
      best.assign(kept, 0.0f);  // the largest so far, the least of them first
      for (size_t j = 0; j < n; ++j)
        if (j != i && own[j] > best[0]) {
          std::pop_heap(best.begin(), best.end(), std::greater<float>());
          best.back() = own[j];
          std::push_heap(best.begin(), best.end(), std::greater<float>());
        }
      const float bar = best[0];
      double total = 0;
      const size_t begin = links.size();
      for (size_t j = 0; j < n; ++j)
        if (j != i && own[j] > 0 && own[j] >= bar) links.push_back({(uint32_t)j, own[j]}), total += own[j];
      for (size_t l = begin; l < links.size(); ++l) links[l].weight = (float)(links[l].weight / total);
      if (links.size() == begin) links.push_back({(uint32_t)i, 1});  // what is like nothing keeps its own
      ends.push_back(links.size());
    }
    // In place: each sees what those before it have become, and half as many rounds do (Gauss and Seidel).
    for (double change = 1, least = 1e-7; change > least;) {
      change = 0;
      for (size_t i = 0, l = 0; i < n; ++i) {
        double sum = 0;
        for (; l < ends[i]; ++l) sum += links[l].weight * f[links[l].to];
        const double value = (1 - share) * scores.data()[i] + share * sum;
        change = std::max(change, std::fabs(value - f[i])), least = std::max(least, 1e-7 * std::fabs(value));
        f[i] = value;
      }
    }
  }
  return handed_over(std::vector<float>(f.begin(), f.end()));
}

// Products of rows (n, d), int8 or float32, with others (m, d): (n, m) in one row.
Out<float> products(nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu, nb::ro> rows, In<float, 2> others,
                    const std::string& build) {
  const Kernels* kernels = build_named(build).kernels;
  const bool bytes = rows.dtype() == nb::dtype<int8_t>();
  require(bytes || rows.dtype() == nb::dtype<float>(), "rows must be int8 or float32");
  require(rows.shape(1) == others.shape(1), "rows and others must be of one length");
  std::vector<float> out(rows.shape(0) * others.shape(0));
  {
    nb::gil_scoped_release free;
    kernels->products(rows.data(), bytes, (int64_t)rows.shape(0), others.data(), (int64_t)others.shape(0),
                      (int64_t)rows.shape(1), out.data());
  }
  return handed_over(std::move(out));
}

Out<int64_t> largest(In<float, 1> scores, int64_t k) {
  require(k >= 0, "k must not be negative");
  std::vector<int64_t> ids;
  {
    nb::gil_scoped_release free;
    ids = select_largest(scores.data(), (int64_t)scores.size(), k);
  }
  return handed_over(std::move(ids));
}

}  // namespace

const Kernels& kernels_of_build(const std::string& name) { return *build_named(name).kernels; }

void bind_tokens(nb::module_& m);  // tokens_module.cpp
void bind_icons(nb::module_& m);   // icons_module.cpp

}  // namespace sketchseek

NB_MODULE(_engine, m) {
  using namespace sketchseek;
  m.doc() = "The scoring engine.";
  nb::set_leak_warnings(false);  // an index that a script keeps to its end is no leak
  m.attr("CODE_BLOCK") = kCodeBlock;
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const Interrupted&) {  // by a signal, whose handler has raised
    }
  });
  m.def("supported_builds", &supported_builds, "Builds that run on this machine, the best first.");
  m.def("largest_sums", &largest_sums, "codes"_a, "tables"_a, "n"_a, "k"_a, "build"_a, "threads"_a,
        "Numbers of the product codes with the largest sums, best first; ties go to lower ones.");
  m.def("largest", &largest, "scores"_a, "k"_a, "Positions of the k largest, ascending; ties go to lower ones.");
  m.def("diffused", &diffused, "scores"_a, "cosines"_a, "neighbours"_a, "share"_a,
        "Scores that spread to what is alike.");
  m.def("products", &products, "rows"_a, "others"_a, "build"_a, "Products of many vectors with a few.");
  m.def("describe", &describe, "points"_a, "sizes"_a, "frequencies"_a, "orientation_frequencies"_a, "build"_a,
        "V of a drawing at some sizes.");
  m.def("densities", &densities, "vectors"_a, "steps"_a, "poses"_a, "weights"_a, "orientation_weights"_a, "pose"_a,
        "shifts"_a, "frequencies"_a, "orientation_frequencies"_a, "build"_a,
        "How densely the contours of vectors lie at a drawing's points.");
  nb::class_<PreparedQuery>(m, "PreparedQuery")
      .def(nb::init<In<float, 2>, In<float, 3>, In<double, 1>, In<double, 1>, In<int32_t, 1>,
                    In<int32_t, 1>, bool, std::optional<In<float, 2>>>(),
           "full"_a, "projections"_a, "frequencies"_a, "steps"_a, "reach"_a, "kernels"_a, "mirror"_a, "dual"_a.none());
  nb::class_<Collection>(m, "Collection")
      .def(nb::init<nb::ndarray<nb::ndim<2>, nb::c_contig, nb::device::cpu, nb::ro>, In<float, 3>, int, int,
                    const std::string&>(),
           "vectors"_a, "norms"_a, "nx"_a, "no"_a, "build"_a)
      .def("__len__", &Collection::size)
      .def_prop_ro("build", &Collection::build)
      .def_prop_ro("bytes", &Collection::bytes)
      .def("scores", &Collection::scores, "query"_a, "ids"_a.none(), "threads"_a)
      .def("plain_scores", &Collection::plain_scores, "query"_a, "ids"_a.none(), "threads"_a)
      .def("project", &Collection::project, "query"_a, "axis"_a, "ids"_a.none(), "threads"_a)
      .def("top", &Collection::top, "query"_a, "k"_a, "groups"_a.none(), "prior"_a.none(), "threads"_a)
      .def("locate", &Collection::locate, "query"_a, "ids"_a.none(), "guide"_a, "radius"_a, "threads"_a)
      .def("refine_pose", &Collection::refine_pose, "vectors"_a, "norms"_a, "weights"_a, "kernels"_a, "steps"_a, "frequencies"_a,
           "ids"_a, "starts"_a, "poses"_a, "threads"_a)
      .def("energy", &Collection::energy, "factors"_a, "table"_a, "cells"_a, "ids"_a, "threads"_a);
  nb::class_<PreparedDrawing>(m, "PreparedDrawing");
  nb::class_<ConfidenceModel>(m, "ConfidenceModel")
      .def(nb::init<In<double, 1>>(), "numbers"_a)
      .def("judge", &ConfidenceModel::judge, "evidence"_a, "likeness"_a);
  nb::class_<Search>(m, "Search")
      .def(nb::init<const Collection&, In<double, 1>, In<int32_t, 2>, In<float, 2>, In<int8_t, 2>>(),
           nb::keep_alive<1, 2>(), "collection"_a, "settings"_a, "pictures"_a, "frames"_a, "synthetic"_a)
      .def("drawn", &Search::drawn, "points"_a, "width"_a, "height"_a, "mirror"_a, "turn"_a)
      .def("candidates", &Search::candidates, "drawing"_a, "k"_a, "threads"_a)
      .def("scores", &Search::scores, "drawing"_a, "ids"_a, "threads"_a)
      .def("whole_scores", &Search::whole_scores, "drawing"_a, "ids"_a, "threads"_a)
      .def("rescore", &Search::rescore, "drawing"_a, "model"_a, "k"_a, "offset"_a, "count"_a, "normalization"_a, "coverage"_a, "place"_a,
           "rows"_a.none(), "placed"_a.none(), "pictures"_a.none(), "order"_a.none(), "network_evidence"_a.none(),
           "background"_a.none(), "total"_a, "resemblance"_a.none(), "icon_blend"_a, "threads"_a)
      .def("meet", &Search::meet, "drawing"_a, "picture"_a);
  nb::class_<PublishedCollection>(m, "PublishedCollection")
      .def(nb::init<In<double, 1>, In<double, 1>, In<int32_t, 2>, In<float, 2>, In<int8_t, 2>, In<int8_t, 2>>(),
           "settings"_a, "model"_a, "pictures"_a, "frames"_a, "codes"_a, "synthetic"_a)
      .def("see", &PublishedCollection::see, "weights"_a, "embeddings"_a)
      .def("search", &PublishedCollection::search, "strokes"_a, "lengths"_a, "k"_a, "offset"_a, "mirror"_a, "turn"_a);
  m.def("description", &describe_core, "What the search's numbers mean, as a JSON document.");
  m.def("wanted", &Core::wanted, "k"_a, "offset"_a, "among"_a, "How many candidates a look wants.");
  m.def("judged", &Core::judged, "k"_a, "offset"_a, "among"_a, "How many hits are judged.");
  m.def("spread", [](int64_t n) { return handed_over(evenly_of(n, kChosenFrom)); }, "n"_a,
        "Numbers of pictures, evenly from all over a collection of n, of which some say what an ordinary score is.");
  m.def("ordinary", &ordinary_rows<int8_t>, "vectors"_a, "Which of the vectors (n, D) of whole pictures say that.");
  m.def("ordinary", &ordinary_rows<float>, "vectors"_a);
  m.def("question", [](In<double, 2> evidence) {
    require(evidence.shape(0) > 0 && evidence.shape(1) == kEvidence, "evidence must be (k, F), of one hit at least");
    return question_of(heard_of(copied(evidence), Values()));
  }, "evidence"_a, "Which of the kinds of searches it was, from the evidence (k, F) of its hits.");
  m.def("heard", &heard, "evidence"_a, "likeness"_a, "What a model of confidence may use of each hit: (k * H,).");
  m.def("window_shares", &window_shares, "frames"_a, "pictures"_a, "line_art"_a);
  m.def("window_priors", &window_priors, "shares"_a);
  bind_tokens(m);
  bind_icons(m);
}
