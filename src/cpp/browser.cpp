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
std::unique_ptr<Opened> opened;
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

EXPORT(open) const char* open_collection(const double* settings, int32_t settings_count, const double* numbers,
                                         int32_t numbers_count, const int32_t* pictures, int32_t n, const float* frames,
                                         const int8_t* codes, int32_t rows, const int8_t* synthetic, int32_t synthetic_count) {
  const Published published{settings, settings_count, pictures, n, frames, codes, rows, synthetic, synthetic_count};
  if (const char* fault = Opened::fault_of(published)) return fault;
  if (const char* fault = Model::fault_of(numbers, numbers_count)) return fault;
  opened = std::make_unique<Opened>(published, kernels_portable);
  model = std::make_unique<Model>(numbers, numbers_count);
  return nullptr;
}

// What the icon network has learned, and the embeddings (n, 128) of the pictures: from now on they are part of what orders hits.
// The embeddings are used where they lie.
EXPORT(open_icons) const char* open_icons(const uint8_t* weights, int32_t weights_count, const int8_t* codes, int32_t n) {
  if (!opened || (int64_t)opened->pictures().size() != n) return "The index has no proper embeddings.";
  if (const char* fault = IconNetwork::fault_of(weights, weights_count)) return fault;
  icons = std::make_unique<IconNetwork>(weights, kernels_portable);
  embeddings = std::make_unique<IconEmbeddings>(codes, n);
  return nullptr;
}

// A drawing laid out, if a collection is open and the strokes can be searched for; otherwise `fault` says why not.
static std::unique_ptr<Drawn> drawn_of(const double* strokes, const int32_t* lengths, int32_t count, int32_t k, int32_t offset,
                                       int32_t mirror, double turn, const char*& fault, Drawing& drawing) {
  fault = opened ? fault_of(k, offset, turn) : "No collection is open.";
  if (!fault) fault = drawing_of(strokes, lengths, count, drawing);
  return fault ? nullptr : std::make_unique<Drawn>(opened->core().drawn(drawing.points, mirror != 0, turn));
}

// rows: those that `scan` found in the parts of the collection, best first; null where it was not scanned in parts.
EXPORT(search) const char* search(const double* strokes, const int32_t* lengths, int32_t count, int32_t k, int32_t offset,
                                  int32_t mirror, double turn, const int32_t* rows, int32_t rows_count) {
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
  if (!rows || wanted >= pictures) found.rows = core.candidates(*drawn, wanted, one_by_one);
  if (icons && turn == 0) core.add(embeddings->resemblance(icons->embedding(drawing.strokes).data()), found);
  RescoreOptions options;
  options.k = k, options.offset = offset;
  said = core.rescore(*drawn, found, *model, options, one_by_one);
  places.clear();
  for (const Place& place : said.places) place.write(places);
  return nullptr;
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
