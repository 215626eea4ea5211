// The engine as a browser's worker sees it: numbers and addresses in its own memory in, a sentence or null out.
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "search/opened.hpp"

using namespace sketchseek;

#define EXPORT(name) extern "C" __attribute__((export_name(#name)))

namespace {
std::unique_ptr<Opened> opened;  // all pictures; of a large collection those that say what an ordinary score is
std::unique_ptr<Opened> part;  // of a large collection, the pictures that are looked at
std::unique_ptr<IconEmbeddings> part_embeddings;
Resemblance resembled;  // the pictures of a large collection to the drawing that is looked for in this part
std::vector<double> settings;
std::unique_ptr<Model> model;
std::unique_ptr<IconNetwork> icons;  // null until it has come, and where nobody sends it
std::unique_ptr<IconEmbeddings> embeddings;
std::vector<double> places;  // of the last search, kPlaceFields each
Answer said;                 // its presence, first page and verdict
std::vector<double> scanned;  // of the last scan: row and score, one after the other
bool starved;  // there was not enough memory for what was asked last

// There are no exceptions in a browser's engine: what finds no memory stops here, and `starved` says why.
const auto before = std::set_new_handler([] { starved = true, __builtin_trap(); });
}  // namespace

EXPORT(allocate) void* allocate(size_t bytes) { return std::malloc(bytes); }
EXPORT(starved) bool is_starved() { return std::exchange(starved, false); }
EXPORT(release) void release(void* memory) { std::free(memory); }

// Codes come component after component, and those that are the same once: (D, count) and which (rows,) -> (rows, D).
EXPORT(lay_out) void lay_out(const int8_t* from, int32_t begin, int32_t count, int32_t dimensions,
                             const int32_t* which, int32_t rows, int8_t* to) {
  for (int32_t row = 0; row < rows; ++row) {
    const int64_t own = (int64_t)which[row] - begin;
    if (own < 0 || own >= count) continue;
    for (int32_t c = 0; c < dimensions; ++c) to[(int64_t)row * dimensions + c] = from[(int64_t)c * count + own];
  }
}

// What the engine's numbers mean, as a JSON document: `describe_core`.
EXPORT(description) const char* description() {
  static const std::string text = describe_core();
  return text.c_str();
}

EXPORT(open) const char* open_collection(const double* flat, int32_t flat_count, const double* numbers,
                                         int32_t numbers_count, const int32_t* pictures, int32_t n, const float* frames,
                                         const int8_t* codes, int32_t rows, const int8_t* synthetic, int32_t synthetic_count) {
  const Published published{flat, flat_count, pictures, n, frames, codes, rows, synthetic, synthetic_count};
  if (const char* fault = Opened::fault_of(published)) return fault;
  if (const char* fault = Model::fault_of(numbers, numbers_count)) return fault;
  opened = std::make_unique<Opened>(published, kernels_portable);
  settings.assign(flat, flat + flat_count);
  model = std::make_unique<Model>(numbers, numbers_count);
  return nullptr;
}

// What the icon network has learned, and the embeddings (n, 128) of all pictures: from now on they are part of what orders hits.
// The embeddings are used where they lie.
EXPORT(open_icons) const char* open_icons(const uint8_t* weights, int32_t weights_count, const int8_t* codes, int32_t n) {
  if (!opened || (int64_t)opened->pictures().size() > n) return "The index has no proper embeddings.";
  if (const char* fault = IconNetwork::fault_of(weights, weights_count)) return fault;
  icons = std::make_unique<IconNetwork>(weights, kernels_portable);
  embeddings = std::make_unique<IconEmbeddings>(codes, n);
  return nullptr;
}

// Embeddings with half a byte a number, the first in the upper half: (n, 64) -> (n, 128) bytes.
EXPORT(widen) void widen(const uint8_t* from, int32_t count, int8_t* to) {
  for (int32_t i = 0; i < count; ++i) to[2 * i] = (int8_t)(from[i] & 0xf0) >> 4, to[2 * i + 1] = (int8_t)(from[i] << 4) >> 4;
}

// A drawing laid out, if a collection is open and the strokes can be searched for; otherwise `fault` says why not.
static std::unique_ptr<Drawn> drawn_of(const double* strokes, const int32_t* lengths, int32_t count, int32_t k, int32_t offset,
                                       int32_t mirror, double turn, const char*& fault, Drawing& drawing) {
  fault = opened ? fault_of(k, offset, turn) : "No collection is open.";
  if (!fault) fault = drawing_of(strokes, lengths, count, drawing);
  return fault ? nullptr : std::make_unique<Drawn>(opened->core().drawn(drawing.points, mirror != 0, turn));
}

// How much the pictures resemble a drawing. Turned, that of the turn in which each does most.
static Resemblance resemblance_of(const Drawing& drawing, double turn) {
  Resemblance most = embeddings->resemblance(icons->embedding(drawing.strokes).data());
  for (double degrees = -kResemblingTurn * std::floor(turn / kResemblingTurn); most && degrees <= turn; degrees += kResemblingTurn) {
    if (degrees == 0) continue;
    const double cos = std::cos(degrees * kPi / 180), sin = std::sin(degrees * kPi / 180);
    auto strokes = drawing.strokes;
    for (auto& stroke : strokes)
      for (size_t i = 0; i + 1 < stroke.size(); i += 2) {
        const double x = stroke[i], y = stroke[i + 1];
        stroke[i] = cos * x - sin * y, stroke[i + 1] = sin * x + cos * y;
      }
    const Resemblance turned = embeddings->resemblance(icons->embedding(strokes).data());
    for (size_t i = 0; i < most.z.size(); ++i) most.z[i] = std::max(most.z[i], turned.z[i]);
  }
  return most;
}

// The pictures of a large collection that resemble a drawing most, which `scanned` gives with their scores.
EXPORT(resemble) const char* resemble(const double* strokes, const int32_t* lengths, int32_t count, int32_t most, double turn,
                                     const int32_t* among, int32_t among_count) {
  Drawing drawing;
  const char* fault = icons ? drawing_of(strokes, lengths, count, drawing) : "No collection is open.";
  if (fault) return fault;
  resembled = resemblance_of(drawing, turn);
  scanned.clear();
  if (!resembled) return nullptr;
  const auto best = among ? resembled.most(most, {among, among + among_count}) : resembled.most(most);
  for (const int64_t picture : best) scanned.insert(scanned.end(), {(double)picture, resembled.z[picture]});
  return nullptr;
}

// Of a large collection the pictures in which `search_part` looks; the arrays are used where they lie. codes_seen: (n, 128).
EXPORT(open_part) const char* open_part(const int32_t* pictures, int32_t n, const float* frames, const int8_t* codes, int32_t rows,
                                        const int8_t* codes_seen) {
  const Published published{settings.data(), (int64_t)settings.size(), pictures, n, frames, codes, rows, nullptr, 0};
  if (const char* fault = Opened::fault_of(published)) return fault;
  part = std::make_unique<Opened>(published, kernels_portable);
  part_embeddings = std::make_unique<IconEmbeddings>(codes_seen, n);
  return nullptr;
}

static std::vector<int64_t> numbers_to(int64_t n, int64_t step = 1) {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < n; i += step) out.push_back(i);
  return out;
}

static const char* answered(const Core& core, const Drawn& drawn, const Candidates& found, int32_t k, int32_t offset) {
  RescoreOptions options;
  options.k = k, options.offset = offset;
  said = core.rescore(drawn, found, *model, options, one_by_one);
  places.clear();
  for (const Place& place : said.places) place.write(places);
  return nullptr;
}

// rows: those that `scan` found in the parts of the collection, best first; null where it was not scanned in parts.
// named: how well the names of all pictures match, or null. among: the pictures to choose from, ascending; null for all.
EXPORT(search) const char* search(const double* strokes, const int32_t* lengths, int32_t count, int32_t k, int32_t offset,
                                  int32_t mirror, double turn, const int32_t* rows, int32_t rows_count, const float* named,
                                  const int32_t* among, int32_t among_count) {
  const char* fault;
  Drawing drawing;
  const auto drawn = drawn_of(strokes, lengths, count, k, offset, mirror, turn, fault, drawing);
  if (fault) return fault;
  const Core& core = opened->core();
  const int64_t pictures = (int64_t)opened->pictures().size(), wanted = Core::wanted(k, offset, pictures);
  Candidates found;
  for (int32_t i = 0; rows && i < rows_count; ++i) {
    if (rows[i] < 0 || rows[i] >= opened->pictures().rows.n) return "A row that was found is none of the index.";
    if (i < wanted) found.rows.push_back(rows[i]);
  }
  const std::vector<int64_t> some = among ? std::vector<int64_t>(among, among + among_count) : numbers_to(pictures);
  for (const int64_t picture : some)
    if (picture < 0 || picture >= pictures) return "A picture to choose from is none of the index.";
  if (among) found.rows = core.candidates(*drawn, wanted, some, one_by_one);
  else if (!rows || wanted >= pictures) found.rows = core.candidates(*drawn, wanted, one_by_one);
  Resemblance resemblance;
  if (icons && turn == 0) resemblance = embeddings->resemblance(icons->embedding(drawing.strokes).data());
  const std::vector<int64_t> most = resemblance ? resemblance.most(kIconCandidates, some) : std::vector<int64_t>();
  if (!named) {
    core.add(std::move(resemblance), most, found);
    return answered(core, *drawn, found, k, offset);
  }
  const std::vector<int64_t> ordinary = numbers_to(pictures, (pictures + kUsual - 1) / kUsual);
  Core::Usual usual{core.scores(*drawn, ordinary.data(), (int64_t)ordinary.size(), one_by_one), {}};
  for (const int64_t i : ordinary) usual.z.push_back(resemblance ? resemblance.z[i] : 0);
  std::vector<int64_t> pool = some;
  if (pictures >= kCompared) {
    std::vector<bool> in(pictures);
    for (const int64_t row : found.rows) in[opened->pictures().picture_of[row]] = true;
    for (const int64_t picture : most) in[picture] = true;
    for (int64_t i = 0; i < pictures; ++i)
      if (named[i] > 0) in[i] = true;
    pool.erase(std::remove_if(pool.begin(), pool.end(), [&](int64_t i) { return !in[i]; }), pool.end());
  }
  return answered(core, *drawn,
                  core.by_names(*drawn, std::move(resemblance), pool, named, usual, Core::judged(k, offset, pictures), one_by_one), k,
                  offset);
}

// The same in a part of a large collection, which `resemble` and names have chosen. named: of the part's pictures, or null.
EXPORT(search_part) const char* search_part(const double* strokes, const int32_t* lengths, int32_t count, int32_t k,
                                            int32_t offset, int32_t mirror, double turn, const float* named) {
  const char* fault;
  Drawing drawing;
  const auto drawn = drawn_of(strokes, lengths, count, k, offset, mirror, turn, fault, drawing);
  if (fault) return fault;
  if (!part) return "No collection is open.";
  const Core &core = part->core(), &rest = opened->core();
  const Drawn finer = rest.drawn(drawing.points, mirror != 0, turn, kFineTurn);
  const std::vector<int64_t> ordinary = numbers_to((int64_t)opened->pictures().size());
  std::vector<float> background = rest.whole_scores(finer, ordinary.data(), (int64_t)ordinary.size(), one_by_one);
  Resemblance resemblance;
  if (turn == 0) resemblance = part_embeddings->resemblance(icons->embedding(drawing.strokes).data(), resembled);
  Candidates found;
  if (named) {
    Core::Usual usual{background, {}};
    for (const int64_t i : evenly_of(embeddings->size(), (int64_t)background.size()))  // as usual as those of the background
      usual.z.push_back(resemblance ? resembled.z[i] : 0);
    const int64_t pictures = (int64_t)part->pictures().size();
    found = core.by_names(*drawn, std::move(resemblance), numbers_to(pictures), named, usual, Core::judged(k, offset, pictures),
                          one_by_one);
  } else {
    found.rows = numbers_to(part->pictures().rows.n), found.resemblance = std::move(resemblance);
  }
  found.background = std::move(background), found.total = embeddings->size();
  return answered(core, *drawn, found, k, offset);
}

EXPORT(scan) const char* scan(const double* strokes, const int32_t* lengths, int32_t count, int32_t k, int32_t offset,
                              int32_t mirror, double turn) {
  const char* fault;
  Drawing drawing;
  const auto drawn = drawn_of(strokes, lengths, count, k, offset, mirror, turn, fault, drawing);
  if (fault) return fault;
  const auto found = opened->core().best(*drawn, std::max<int64_t>(offset + k, kCandidates), one_by_one);
  scanned.clear();
  for (size_t i = 0; i < found.first.size(); ++i) scanned.insert(scanned.end(), {(double)found.first[i], found.second[i]});
  return nullptr;
}

EXPORT(scanned) const double* found_rows() { return scanned.data(); }
EXPORT(scanned_count) int32_t scanned_count() { return (int32_t)(scanned.size() / 2); }

EXPORT(places) const double* found_places() { return places.data(); }
EXPORT(places_count) int32_t places_count() { return (int32_t)(places.size() / kPlaceFields); }
EXPORT(present) double present() { return said.present; }
EXPORT(first_page) double first_page() { return said.first_page; }
EXPORT(verdict) int32_t verdict() { return (int32_t)said.verdict; }
