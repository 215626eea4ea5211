// How well the tokens of a drawing meet those of a picture, what both the kernels and their callers know.
//
// A token says what is in a cell of a picture. A picture has at most kCells of them, in a grid as wide and high as it is,
// as product codes. A drawing has them where it has lines. It is laid over a picture in a few sizes, both ways round, at
// every place; each of its tokens then meets the nearest of the 3 x 3 cells around where it comes to lie.
//
// Plain data only, as in engine.hpp.
#pragma once
#include <cstdint>

namespace sketchseek {

constexpr int kCells = 256;        // of a picture, at most
constexpr int kMostAcross = 32;    // cells of a picture's side, at most
constexpr int kDrawnAcross = 20;   // cells of a drawing's side, at most
constexpr int kMostSizes = 8;      // in which a drawing is laid over a picture
constexpr int kOverhang = 2;       // cells that it may stand over a side of the picture, at most

// Bytes of a picture's tokens. Codes are (blocks, parts / 2, kCodeBlock), two parts a byte, as those of PartCodes; cells go
// row by row. Rows and columns, 0 where there are no tokens, are in two bytes of the last of kCells, which counts as the
// cell before it: so a picture takes no byte more than its codes.
constexpr int token_bytes(int parts) { return kCells * parts / 2; }
constexpr int rows_at(int parts) { return token_bytes(parts) - 64 - 1; }
constexpr int columns_at(int parts) { return token_bytes(parts) - 1; }

// Entries are products of the drawing's tokens with the centroids, times their weights, from the least one of each part
// on, in steps of which a sum over all patches fits 15 bits. The other way round the same patches lie elsewhere.
struct DrawnView {
  const uint8_t* tables;  // (patches, parts, 16)
  const int16_t* zero;    // (patches,) the sum of entries that a product of 0 has
  const int16_t* places;  // (ways, sizes, patches, 2) row and column of each patch, from the first ones with lines on
  const int16_t* extent;  // (ways, sizes, 2) rows and columns that the lines take
  int ways, sizes, patches, parts;  // ways: 1, or 2 with the mirrored drawing
  int overhang;
};

// The best meeting: its sum of products, in steps; which way round, in which size, and where its first row and column lie.
struct Meeting {
  int32_t sum;
  int16_t mirrored, size, row, column;
};

struct TokenKernels {
  const char* name;
  void (*meet)(const DrawnView&, const uint8_t* picture, Meeting* out);
};

extern const TokenKernels token_kernels_portable;
#if defined(__x86_64__)
extern const TokenKernels token_kernels_avx2;
extern const TokenKernels token_kernels_avx512;
#elif defined(__aarch64__)
extern const TokenKernels token_kernels_neon;
#endif

}  // namespace sketchseek
