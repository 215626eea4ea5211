// The meeting of a drawing's tokens with a picture's: compiled once for each instruction set, as kernels.cpp is.
//
// One patch of the drawing at a time: its products with all cells come from tables, the best of each 3 x 3 cells is taken,
// and the result is added, moved by where the patch lies, to the sums of all places of the drawing, for each of its sizes.
#include "tokens.hpp"

#include "kernels/product_codes.hpp"

namespace sketchseek {
namespace {

constexpr int kLanes = 16;                             // places side by side
constexpr int kAround = kDrawnAcross + kOverhang;      // cells around a picture, which are like nothing
constexpr int kRows = kMostAcross + 2 * kAround;
constexpr int kStride = kMostAcross + 2 * kAround + kLanes;
constexpr int kPlaces = kMostAcross + 2 * kOverhang;   // of a drawing of one cell, along one axis
constexpr int kSumStride = (kPlaces + kLanes - 1) / kLanes * kLanes;

// Where the first row (or column) of a drawing may lie: inside, or the picture inside it, and a little over.
struct Span {
  int begin = 0, count = 0;
  Span() = default;
  Span(int cells, int drawn, int overhang) {
    const int left = cells - drawn;
    begin = (left < 0 ? left : 0) - overhang;
    count = (left < 0 ? -left : left) + 1 + 2 * overhang;
  }
};

struct Work {
  uint16_t products[kMostAcross + kCells + kMostAcross];  // a row of zeros before and after
  uint16_t column[kCells + 2 * kLanes];
  int16_t near[kRows * kStride];
  int16_t sums[2 * kMostSizes][kPlaces * kSumStride];  // of each way and size
};

INLINE uint16_t larger(uint16_t a, uint16_t b) { return a > b ? a : b; }

// products (rows x columns, row by row) -> the best of 3 x 3 of them, less what stands for 0, in the middle of `near`.
INLINE void best_around(Work& work, int rows, int columns, int16_t zero) {
  const uint16_t* at = work.products + kMostAcross;
  uint16_t* column = work.column + kLanes;
  const int cells = rows * columns;
  for (int i = 0; i < cells; ++i) column[i] = larger(larger(at[i - columns], at[i]), at[i + columns]);
  for (int y = 0; y < rows; ++y) {
    const uint16_t* row = column + y * columns;
    int16_t* out = work.near + (kAround + y) * kStride + kAround;
    for (int x = 0; x < columns; ++x) out[x] = (int16_t)(larger(larger(row[x - 1], row[x]), row[x + 1]) - zero);
    if (columns > 1) {  // the first and the last have no neighbour there
      out[0] = (int16_t)(larger(row[0], row[1]) - zero);
      out[columns - 1] = (int16_t)(larger(row[columns - 2], row[columns - 1]) - zero);
    } else {
      out[0] = (int16_t)(row[0] - zero);
    }
  }
}

void meet(const DrawnView& drawn, const uint8_t* picture, Meeting* out) {
  static_assert(kCodeBlock == 64, "rows and columns are a block's bytes apart");
  const int rows = picture[rows_at(drawn.parts)], columns = picture[columns_at(drawn.parts)], cells = rows * columns;
  *out = Meeting{0, 0, 0, 0, 0};
  if (!cells || cells > kCells || rows > kMostAcross || columns > kMostAcross) return;
  const int blocks = (cells + kCodeBlock - 1) / kCodeBlock;
  Work work;
  __builtin_memset(work.products, 0, sizeof work.products);
  __builtin_memset(work.column, 0, sizeof work.column);
  __builtin_memset(work.near, 0, sizeof work.near);
  const int ways_and_sizes = drawn.ways * drawn.sizes;
  Span down[2 * kMostSizes], across[2 * kMostSizes];
  for (int i = 0; i < ways_and_sizes; ++i) {
    down[i] = Span(rows, drawn.extent[2 * i], drawn.overhang);
    across[i] = Span(columns, drawn.extent[2 * i + 1], drawn.overhang);
    __builtin_memset(work.sums[i], 0, down[i].count * kSumStride * sizeof(int16_t));
  }
  for (int p = 0; p < drawn.patches; ++p) {
    const PartCodes codes{picture, drawn.tables + p * drawn.parts * 16, drawn.parts};
    sum_tables(codes, 0, blocks, work.products + kMostAcross);
    if (cells == kCells) work.products[kMostAcross + cells - 1] = work.products[kMostAcross + cells - 2];
    for (int i = 0; i < columns; ++i) work.products[kMostAcross + cells + i] = 0;  // behind the last cell is none
    best_around(work, rows, columns, drawn.zero[p]);
    for (int i = 0; i < ways_and_sizes; ++i) {
      const int16_t* place = drawn.places + 2 * (i * drawn.patches + p);
      const int16_t* from =
          work.near + (kAround + down[i].begin + place[0]) * kStride + kAround + across[i].begin + place[1];
      int16_t* to = work.sums[i];
      for (int y = 0; y < down[i].count; ++y, from += kStride, to += kSumStride)
        for (int x = 0; x < across[i].count; x += kLanes)
          for (int lane = 0; lane < kLanes; ++lane) to[x + lane] = (int16_t)(to[x + lane] + from[x + lane]);
    }
  }
  out->sum = INT32_MIN;
  for (int i = 0; i < ways_and_sizes; ++i)
    for (int y = 0; y < down[i].count; ++y)
      for (int x = 0; x < across[i].count; ++x) {
        const int sum = work.sums[i][y * kSumStride + x];
        if (sum > out->sum)
          *out = Meeting{sum, (int16_t)(i / drawn.sizes), (int16_t)(i % drawn.sizes), (int16_t)(down[i].begin + y),
                         (int16_t)(across[i].begin + x)};
      }
}

}  // namespace

#define STRING(x) STRING_(x)
#define STRING_(x) #x
#define TABLE(x) TABLE_(x)
#define TABLE_(x) token_kernels_##x

extern const TokenKernels TABLE(SKETCHSEEK_BUILD) = {STRING(SKETCHSEEK_BUILD), meet};

}  // namespace sketchseek
