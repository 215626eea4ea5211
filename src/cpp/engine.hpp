// What the builds of the kernels share with the module that chooses one of them.
//
// Everything here is plain data: the builds are compiled for different instruction sets, and an inline function
// of the standard library compiled for the newest could otherwise be linked into the code for the oldest.
#pragma once
#include <cstdint>

namespace sketchseek {

constexpr int kMinFrequencies = 2;   // of a spatial map
constexpr int kMaxFrequencies = 10;
constexpr int kMaxOrientations = 5;  // frequencies of an orientation map
constexpr int kMaxReach = 1023;      // steps a side: numbers of translations have 22 bits
constexpr int kMaxPoses = 32767;     // numbers of poses have 16
constexpr int kOverrun = 256;        // bytes that may be read past the end of a row
constexpr int kBlock = 16;           // pictures that lie side by side in a projection
constexpr int kCodeBlock = 64;       // vectors that lie side by side in product codes

// D: the components of a vector.
constexpr int dimensions_of(int nx, int no) { return (2 * nx - 1) * (2 * nx - 1) * (2 * no - 1); }

enum Norm { kFull = 0, kX = 1, kY = 2 };
// Where a picture is searched: on the whole grid, or near a guess by signs or by projections. kBinary refines the pose
// whose signs agree best, the others refine every pose.
enum class Guide { kExact, kBinary, kBinaryAll, kLocalAll };

// Row-major vectors as they are stored, with the inverse norms and the projections laid out for scanning.
struct Database {
  const void* vectors;  // (n, D)
  const void* tail;     // the rows from `tail_begin` on, with room behind them for reads past the end
  bool bytes;           // int8 codes, float32 otherwise
  int64_t n, tail_begin;
  int nx, no;            // frequencies
  int kernels;           // S
  int64_t padded;        // n rounded up to whole blocks
  const float* inverse;  // (3, S, padded): 1 / norm, 0 for a norm of 0
  const void* projections[3];  // by kX, kY: (padded / kBlock, Dx * Do, kBlock), same type as vectors; may be null

  int dx() const { return 2 * nx - 1; }
  int dimensions_o() const { return 2 * no - 1; }
  int dimensions() const { return dimensions_of(nx, no); }
};

// One size and rotation of the drawing. The query side has the codes' steps and 1 / norm folded in.
struct Pose {
  const float* full;            // (D,)
  const float* projections[3];  // by kX, kY: (Dx * Do,)
  const float* table;           // (reach, nx - 1, 2): cos(w d), sin(w d) for d = step, 2 step, ...
  const float* profile;         // (nx - 1,) what `Bar` takes amplitudes to be, relative; null: nothing is skipped
  int kernel, reach;
};

struct Query {
  const Pose* poses;
  int count;
  bool mirror;
};

// Which rows: `ids` when given, otherwise begin ... end. Outputs are indexed from 0.
struct Range {
  int64_t begin, end;
  const int64_t* ids = nullptr;
  const float* prior = nullptr;  // (n,) what the scores of rows are multiplied with, where given
};

// Where the maximum is: translations in steps of the pose.
struct Found {
  float score;
  int16_t pose, mirrored, x, y;
};

// Where in a picture its squared norm comes from: the energy of its contours, smoothed, in cells x cells.
struct Cells {
  const float* factors;  // (D,) what turns a stored component into one of the smoothed contours
  const float* table;    // (cells * samples / 2, nx - 1, 2): cos(w d), sin(w d) at the samples with d > 0
  int cells, samples;    // a side; samples a cell
};

// The maps, for a drawing's points; weights are those of one kernel, where the query side is asked for.
struct Maps {
  const float *frequencies, *orientation_frequencies;  // (nx,), (no,)
  const float *weights, *orientation_weights;          // (nx,), (no,) or null
  int nx, no;
  float unit;  // radians a pixel
};

// Contour points, n of each; weights may be null where nobody asks for them.
struct Contour {
  const float *x, *y, *angle, *weight;
  int64_t n;
};

// Product-quantised vectors of parts of four bits, kCodeBlock of them side by side.
struct PartCodes {
  const uint8_t* codes;   // (blocks, parts / 2, kCodeBlock): two parts a byte, the lower half first
  const uint8_t* tables;  // (parts, 16)
  int parts;
};

// A convolution over squares of pixels that have a frame of zeros one pixel wide: (side + 2, side + 2, channels).
struct Convolution {
  const float* weights;  // (size, size, before, after)
  const float* bias;     // (after,)
  int before, after, size, stride;  // channels that come and go; 1 x 1 or 3 x 3; 1 or 2
  int side;                         // of what comes out, a multiple of 4; what comes in has `stride` times as many
  bool rectified;
};
constexpr int kConvolutionChannels = 32;  // `after` is a multiple of it

struct Kernels {
  const char* name;
  bool (*supported)();
  // Exact scores, times the prior. Where poses have profiles, a row that cannot reach `threshold` may get any below it.
  void (*score)(const Database&, const Query&, Range, float threshold, float* out);
  // Mean amplitudes of the rows that come highest, relative to them: (poses, nx - 1), a profile for each pose.
  void (*profile)(const Database&, const Query&, Range, float* out);
  void (*locate)(const Database&, const Query&, Range, Guide, int radius, Found* out);
  void (*project)(const Database&, const Query&, Range, int axis, float* out);
  void (*plain)(const Database&, const Query&, Range, float* out);
  // (pictures, cells, cells), x first, of sum 1; zeros for a blank picture.
  void (*energy)(const Database&, const Cells&, Range, float* out);
  // V of a drawing of that size (equation `imgrepre`): (D,).
  void (*describe)(const Maps&, const Contour&, float size, float* out);
  // How densely the rows' contours lie at points: (rows, n). steps: (D,) of codes; shifts (rows, 2): where in each row
  // the points' origin lies, in pixels.
  void (*densities)(const Database&, Range, const Maps&, const Contour&, const float* steps, const float* shifts, float* out);
  // Sums of the tables' entries, of whole blocks of codes.
  void (*sum_tables)(const PartCodes&, int64_t begin_block, int64_t end_block, uint16_t* out);
  // Products of rows (n, d), of bytes or floats, with others (count, d): (n, count).
  void (*products)(const void* rows, bool bytes, int64_t n, const float* others, int64_t count, int64_t d, float* out);
  // added: (side + 2, side + 2, after) what is added before negative values become 0, or null.
  void (*convolve)(const Convolution&, const float* in, const float* added, float* out);
};

extern const Kernels kernels_portable;
#if defined(__x86_64__)
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;
#elif defined(__aarch64__)
extern const Kernels kernels_neon;
#endif

}  // namespace sketchseek
