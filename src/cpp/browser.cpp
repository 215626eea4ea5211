// The engine as a browser's worker sees it: numbers and addresses in its own memory in, a sentence or null out.
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "search/opened.hpp"

using namespace sketchseek;

#define EXPORT(name) extern "C" __attribute__((export_name(#name)))

namespace {
std::unique_ptr<Opened> opened;
std::vector<double> places;  // of the last search, kFields each
double present;
std::vector<double> scanned;  // of the last scan: row and score, one after the other
constexpr int kFields = 13;
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

EXPORT(open) const char* open_collection(const double* settings, int32_t settings_count, const double* model,
                                         int32_t model_count, const int32_t* pictures, int32_t n, const float* frames,
                                         const int8_t* codes, int32_t rows, const int8_t* made_up, int32_t made_up_count) {
  const Published published{settings, settings_count, model, model_count, pictures, n, frames, codes, rows, made_up,
                            made_up_count};
  if (const char* fault = Opened::fault_of(published)) return fault;
  opened = std::make_unique<Opened>(published, kernels_portable);
  return nullptr;
}

// rows: those that `scan` found in the parts of the collection; null where it was not scanned in parts.
EXPORT(search) const char* search(const double* strokes, const int32_t* lengths, int32_t count, int32_t k, int32_t offset,
                                  int32_t mirror, double turn, const int32_t* rows, int32_t rows_count) {
  if (!opened) return "No collection is open.";
  Answer answer;
  Options options;
  options.k = k, options.offset = offset, options.mirror = mirror != 0, options.turn = turn;
  const std::vector<int64_t> given = rows ? std::vector<int64_t>(rows, rows + rows_count) : std::vector<int64_t>();
  if (const char* fault = opened->search(strokes, lengths, count, options, answer, rows ? &given : nullptr)) return fault;
  present = answer.present;
  places.clear();
  for (const Place& p : answer.places)
    places.insert(places.end(), {(double)p.hit, (double)p.picture, p.score, p.confidence, p.scale, (double)p.mirrored,
                                 p.rotation, p.dx, p.dy, p.box[0], p.box[1], p.box[2], p.box[3]});
  return nullptr;
}

EXPORT(scan) const char* scan(const double* strokes, const int32_t* lengths, int32_t count, int32_t k, int32_t offset,
                              int32_t mirror, double turn) {
  if (!opened) return "No collection is open.";
  std::pair<std::vector<int64_t>, std::vector<float>> found;
  Options options;
  options.k = k, options.offset = offset, options.mirror = mirror != 0, options.turn = turn;
  if (const char* fault = opened->scan(strokes, lengths, count, options, found)) return fault;
  scanned.clear();
  for (size_t i = 0; i < found.first.size(); ++i) scanned.insert(scanned.end(), {(double)found.first[i], found.second[i]});
  return nullptr;
}

EXPORT(scanned) const double* found_rows() { return scanned.data(); }
EXPORT(scanned_count) int32_t scanned_count() { return (int32_t)(scanned.size() / 2); }

EXPORT(places) const double* found_places() { return places.data(); }
EXPORT(places_count) int32_t places_count() { return (int32_t)(places.size() / kFields); }
EXPORT(present) double is_present() { return present; }
