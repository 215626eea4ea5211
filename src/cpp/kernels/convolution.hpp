// A convolution of the icon network: output channels side by side in the lanes, four pixels at a time.
#pragma once
#include "../engine.hpp"
#include "../simd.hpp"

namespace sketchseek {
namespace {

void convolve(const Convolution& c, const float* in, const float* added, float* out) {
  constexpr int kPixels = 4, kVectors = 2, kBlock = kVectors * W;
  static_assert(kConvolutionChannels % kBlock == 0, "channels come in whole blocks");
  const int in_row = (c.side * c.stride + 2) * c.before, out_row = (c.side + 2) * c.after;
  const int border = c.size == 1 ? 1 : 0;  // a frame of zeros lies around what comes in
  for (int block = 0; block < c.after; block += kBlock)
    for (int y = 0; y < c.side; ++y)
      for (int x = 0; x < c.side; x += kPixels) {
        Vec sums[kPixels][kVectors];
        UNROLL for (int p = 0; p < kPixels; ++p)
          UNROLL for (int v = 0; v < kVectors; ++v) sums[p][v] = load<Vec>(c.bias + block + v * W);
        for (int down = 0; down < c.size; ++down)
          for (int across = 0; across < c.size; ++across) {
            const float* from =
                in + (y * c.stride + down + border) * in_row + (x * c.stride + across + border) * c.before;
            const float* weights = c.weights + (int64_t)(down * c.size + across) * c.before * c.after + block;
            for (int channel = 0; channel < c.before; ++channel, weights += c.after) {
              Vec weight[kVectors];
              UNROLL for (int v = 0; v < kVectors; ++v) weight[v] = load<Vec>(weights + v * W);
              UNROLL for (int p = 0; p < kPixels; ++p) {
                const Vec value = all(from[p * c.stride * c.before + channel]);
                UNROLL for (int v = 0; v < kVectors; ++v) sums[p][v] += value * weight[v];
              }
            }
          }
        const int64_t at = (int64_t)(y + 1) * out_row + (x + 1) * c.after + block;
        UNROLL for (int p = 0; p < kPixels; ++p)
          UNROLL for (int v = 0; v < kVectors; ++v) {
            Vec sum = sums[p][v];
            if (added) sum += load<Vec>(added + at + p * c.after + v * W);
            if (c.rectified) sum = max(sum, Vec{});
            store(out + at + p * c.after + v * W, sum);
          }
      }
}

}  // namespace
}  // namespace sketchseek
