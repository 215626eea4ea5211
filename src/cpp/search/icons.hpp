// What icons and doodles of one thing have in common, as a small network sees it (training/icons): 64 x 64 numbers of ink in, 128
// numbers of length 1 out. Of a collection of line art or flat art they are part of the first ranking.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <vector>

#include "../engine.hpp"
#include "../selection.hpp"
#include "constants.hpp"

namespace sketchseek {

constexpr int kInkSide = 64;    // pixels each way that the network sees
constexpr int kInkLonger = 56;  // the longer side of the ink there, which is in the middle
constexpr double kPenWidths[] = {2.5, 4.5};  // a drawing's strokes are drawn once with each; what is seen is added up

// Strokes, x and y after one another, as ink (64, 64) in [0, 1]: 1 within a line, descending to 0 over one pixel at its border.
inline std::vector<float> ink_of(const std::vector<std::vector<double>>& strokes, double width) {
  std::vector<float> nearest(kInkSide * kInkSide, std::numeric_limits<float>::infinity());
  double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
  for (const auto& stroke : strokes)
    for (size_t i = 0; i < stroke.size(); ++i)
      low[i % 2] = std::min(low[i % 2], stroke[i]), high[i % 2] = std::max(high[i % 2], stroke[i]);
  if (!(low[0] <= high[0])) return std::vector<float>(nearest.size(), 0.0f);
  const double scale = (kInkLonger - width) / std::max({high[0] - low[0], high[1] - low[1], 1e-9});
  const float reach = (float)(width / 2) + 1;
  for (const auto& stroke : strokes) {
    std::vector<float> placed(stroke.size());
    for (size_t i = 0; i < stroke.size(); ++i)  // a pixel's middle is a whole number
      placed[i] = (float)((stroke[i] - (low[i % 2] + high[i % 2]) / 2) * scale + (kInkSide - 1) / 2.0);
    for (size_t i = 0; i + 1 < placed.size(); i += 2) {
      if (i + 2 >= placed.size() && i > 0) break;  // a point alone is a dot
      const float* a = placed.data() + i;
      const float* b = i + 3 < placed.size() ? a + 2 : a;
      const float dx = b[0] - a[0], dy = b[1] - a[1], length = std::max(dx * dx + dy * dy, 1e-12f);
      const auto first = [&](int axis) { return std::max((int)std::ceil(std::min(a[axis], b[axis]) - reach), 0); };
      const auto last = [&](int axis) { return std::min((int)std::floor(std::max(a[axis], b[axis]) + reach), kInkSide - 1); };
      for (int y = first(1); y <= last(1); ++y)
        for (int x = first(0); x <= last(0); ++x) {
          const float px = (float)x - a[0], py = (float)y - a[1];
          const float along = std::min(std::max((px * dx + py * dy) / length, 0.0f), 1.0f);
          const float ex = px - along * dx, ey = py - along * dy;
          float& least = nearest[y * kInkSide + x];
          least = std::min(least, ex * ex + ey * ey);
        }
    }
  }
  for (float& value : nearest) value = std::min(std::max((float)(width / 2 + 0.5) - std::sqrt(value), 0.0f), 1.0f);
  return nearest;
}

// The network, from its weights as training/icons/export.py writes them: of one convolution after the other, and the last layer,
// a scale and a bias (float) for each output, then a byte for each weight, (after, before, size, size).
class IconNetwork {
 public:
  static int64_t bytes() {
    int64_t total = 0;
    for (const Layer& layer : kLayers) total += layer.outputs() * 8 + layer.weights();
    return total;
  }

  // null: these are weights.
  static const char* fault_of(const uint8_t* weights, int64_t count) {
    static constexpr char kFault[] = "These are not the weights of the icon network.";
    if (count != bytes()) return kFault;
    for (const Layer& layer : kLayers) {
      for (int64_t i = 0; i < 2 * layer.outputs(); ++i, weights += 4) {
        float value;
        std::memcpy(&value, weights, 4);
        if (!(std::fabs(value) <= 1e6f)) return kFault;
      }
      weights += layer.weights();
    }
    return nullptr;
  }

  // Of what has no fault.
  IconNetwork(const uint8_t* weights, const Kernels& kernels) : kernels_(kernels) {
    for (const Layer& layer : kLayers) {
      std::vector<float> scales(layer.outputs()), bias(layer.outputs());
      std::memcpy(scales.data(), weights, 4 * scales.size()), weights += 4 * scales.size();
      std::memcpy(bias.data(), weights, 4 * bias.size()), weights += 4 * bias.size();
      std::vector<float> laid(layer.weights());
      const int taps = layer.size * layer.size;
      for (int out = 0; out < layer.after; ++out)
        for (int in = 0; in < layer.before; ++in)
          for (int tap = 0; tap < taps; ++tap)
            laid[((int64_t)tap * layer.before + in) * layer.after + out] = scales[out] * (float)(int8_t)*weights++;
      weights_.push_back(std::move(laid)), biases_.push_back(std::move(bias));
    }
  }

  // ink (64, 64) in [0, 1] -> (128,) of length 1; zeros for none.
  std::vector<float> embedding(const float* ink) const {
    if (std::all_of(ink, ink + kInkSide * kInkSide, [](float value) { return value == 0; }))
      return std::vector<float>(kEmbedding, 0.0f);
    std::vector<float> x = edges(ink), first, second, shorter;
    size_t at = 0;
    int side = kInkSide / 2;
    convolve(at++, side, true, x, nullptr, first), x.swap(first);
    for (; kLayers[at].size > 0 && at < kSqueeze;) {
      const bool narrower = kLayers[at].size == 1;  // with a short cut of its own
      if (narrower) side /= 2, convolve(at++, side, false, x, nullptr, shorter);
      convolve(at++, side, true, x, nullptr, first);
      convolve(at++, side, true, first, narrower ? shorter.data() : x.data(), second);
      x.swap(second);
    }
    convolve(kSqueeze, side, true, x, nullptr, first);
    const int channels = kLayers[kSqueeze].after;
    std::vector<float> out = biases_[kSqueeze + 1];
    for (int c = 0; c < channels; ++c)
      for (int y = 0; y < side; ++y)
        for (int column = 0; column < side; ++column) {
          const float value = first[((y + 1) * (side + 2) + column + 1) * channels + c];
          const float* weights = weights_[kSqueeze + 1].data() + (int64_t)((c * side + y) * side + column) * kEmbedding;
          for (int i = 0; i < kEmbedding; ++i) out[i] += value * weights[i];
        }
    return normalised(out);
  }

  // The same of strokes, seen with each width.
  std::vector<float> embedding(const std::vector<std::vector<double>>& strokes) const {
    std::vector<float> sum(kEmbedding, 0.0f);
    for (const double width : kPenWidths) {
      const std::vector<float> one = embedding(ink_of(strokes, width).data());
      for (int i = 0; i < kEmbedding; ++i) sum[i] += one[i];
    }
    return normalised(sum);
  }

 private:
  struct Layer {
    int before, after, size, stride;
    int64_t outputs() const { return after; }
    int64_t weights() const { return (int64_t)before * after * size * size; }
  };
  static constexpr Layer kLayers[] = {
      {3, 32, 3, 2},
      {32, 32, 3, 1}, {32, 32, 3, 1},
      {32, 64, 1, 2}, {32, 64, 3, 2}, {64, 64, 3, 1}, {64, 64, 3, 1}, {64, 64, 3, 1},
      {64, 128, 1, 2}, {64, 128, 3, 2}, {128, 128, 3, 1}, {128, 128, 3, 1}, {128, 128, 3, 1},
      {128, 224, 1, 2}, {128, 224, 3, 2}, {224, 224, 3, 1},
      {224, 64, 1, 1},
      {1024, kEmbedding, 1, 1},
  };
  static constexpr size_t kSqueeze = std::size(kLayers) - 2;

  static std::vector<float> normalised(std::vector<float> values) {
    double squares = 0;
    for (const float value : values) squares += (double)value * value;
    const float length = (float)std::max(std::sqrt(squares), 1e-12);
    for (float& value : values) value /= length;
    return values;
  }

  // Ink, the length of its gradient (Sobel), and that blurred: (66, 66, 3) with a frame of zeros.
  static std::vector<float> edges(const float* ink) {
    constexpr int kFramed = kInkSide + 2;
    const auto at = [&](const float* plane, int y, int x) {
      return y >= 0 && x >= 0 && y < kInkSide && x < kInkSide ? plane[y * kInkSide + x] : 0.0f;
    };
    std::vector<float> length(kInkSide * kInkSide), across(kInkSide * kInkSide), out(kFramed * kFramed * 3, 0.0f);
    for (int y = 0; y < kInkSide; ++y)
      for (int x = 0; x < kInkSide; ++x) {
        const float right = at(ink, y - 1, x + 1) + 2 * at(ink, y, x + 1) + at(ink, y + 1, x + 1);
        const float left = at(ink, y - 1, x - 1) + 2 * at(ink, y, x - 1) + at(ink, y + 1, x - 1);
        const float below = at(ink, y + 1, x - 1) + 2 * at(ink, y + 1, x) + at(ink, y + 1, x + 1);
        const float above = at(ink, y - 1, x - 1) + 2 * at(ink, y - 1, x) + at(ink, y - 1, x + 1);
        const float gx = (right - left) / 4, gy = (below - above) / 4;
        length[y * kInkSide + x] = std::sqrt(gx * gx + gy * gy + 1e-6f);
      }
    constexpr float kBlur[] = {1 / 16.f, 4 / 16.f, 6 / 16.f, 4 / 16.f, 1 / 16.f};
    for (int y = 0; y < kInkSide; ++y)
      for (int x = 0; x < kInkSide; ++x)
        for (int i = -2; i <= 2; ++i) across[y * kInkSide + x] += kBlur[i + 2] * at(length.data(), y, x + i);
    for (int y = 0; y < kInkSide; ++y)
      for (int x = 0; x < kInkSide; ++x) {
        float* pixel = out.data() + ((y + 1) * kFramed + x + 1) * 3;
        pixel[0] = ink[y * kInkSide + x], pixel[1] = length[y * kInkSide + x];
        for (int i = -2; i <= 2; ++i) pixel[2] += kBlur[i + 2] * at(across.data(), y + i, x);
      }
    return out;
  }

  void convolve(size_t layer, int side, bool rectified, const std::vector<float>& in, const float* added,
                std::vector<float>& out) const {
    const Layer& l = kLayers[layer];
    out.assign((size_t)(side + 2) * (side + 2) * l.after, 0.0f);
    kernels_.convolve({weights_[layer].data(), biases_[layer].data(), l.before, l.after, l.size, l.stride, side, rectified},
                      in.data(), added, out.data());
  }

  const Kernels& kernels_;
  std::vector<std::vector<float>> weights_, biases_;
};

// How much a collection's pictures resemble a drawing, as the network sees both.
struct Resemblance {
  std::vector<float> z;            // (n,) deviations above the mean; 0 for a picture that the network has not seen
  double mean = 0, deviation = 0;  // of the cosines
  double best = 0, fifth = 0;      // the largest cosine, and the fifth; of fewer pictures the smallest

  explicit operator bool() const { return !z.empty(); }
  double cosine(int64_t picture) const { return mean + deviation * z[picture]; }

  // The pictures that resemble it most, by number.
  std::vector<int64_t> most(int64_t count = kIconCandidates) const { return select_largest(z.data(), (int64_t)z.size(), count); }

  // The same of some pictures.
  std::vector<int64_t> most(int64_t count, const std::vector<int64_t>& among) const {
    std::vector<float> some;
    for (const int64_t picture : among) some.push_back(z[picture]);
    std::vector<int64_t> out = select_largest(some.data(), (int64_t)some.size(), count);
    for (int64_t& i : out) i = among[i];
    return out;
  }
};

// The embeddings of a collection's pictures: (n, 128) of any length, zeros for a picture that the network has not seen.
class IconEmbeddings {
 public:
  // codes are used where they lie.
  IconEmbeddings(const int8_t* codes, int64_t n) : codes_(codes), inverse_(n, 0.0f) {
    for (int64_t i = 0; i < n; ++i) {
      int32_t squares = 0;
      for (int c = 0; c < kEmbedding; ++c) squares += codes[i * kEmbedding + c] * codes[i * kEmbedding + c];
      if (squares > 0) inverse_[i] = 1 / std::sqrt((float)squares), ++seen_;
    }
  }

  int64_t size() const { return (int64_t)inverse_.size(); }

  // Whether the collection is of the kind that the network knows: line art, flat art.
  bool speak() const { return (double)seen_ > kIconShare * (double)inverse_.size(); }

  // asked (128,) of length 1. Nothing where the collection is of another kind, or nothing was drawn.
  Resemblance resemblance(const float* asked) const {
    Resemblance out;
    if (!speak() || std::all_of(asked, asked + kEmbedding, [](float value) { return value == 0; })) return out;
    out.z = cosines(asked);
    double sum = 0, squares = 0;
    for (const float cosine : out.z) sum += cosine, squares += (double)cosine * cosine;
    out.mean = sum / (double)seen_;
    out.deviation = std::max(std::sqrt(std::max(squares / (double)seen_ - out.mean * out.mean, 0.0)), 1e-6);
    standardise(out);
    const std::vector<int64_t> most = out.most(5);
    const auto [least, largest] =
        std::minmax_element(most.begin(), most.end(), [&](int64_t a, int64_t b) { return out.z[a] < out.z[b]; });
    out.best = out.cosine(*largest), out.fifth = out.cosine(*least);
    return out;
  }

  // The same of pictures of a collection whose resemblances are known: what is usual there says how much they stand out.
  Resemblance resemblance(const float* asked, const Resemblance& whole) const {
    Resemblance out;
    if (!whole) return out;
    out.z = cosines(asked), out.mean = whole.mean, out.deviation = whole.deviation;
    out.best = whole.best, out.fifth = whole.fifth;
    standardise(out);
    return out;
  }

 private:
  // (n,); 0 for a picture that the network has not seen
  std::vector<float> cosines(const float* asked) const {
    std::vector<float> out(inverse_.size());
    for (size_t i = 0; i < out.size(); ++i) {
      float products[8] = {};
      const int8_t* code = codes_ + i * kEmbedding;
      for (int c = 0; c < kEmbedding; c += 8)
        for (int lane = 0; lane < 8; ++lane) products[lane] += asked[c + lane] * (float)code[c + lane];
      float product = 0;
      for (const float one : products) product += one;
      out[i] = product * inverse_[i];
    }
    return out;
  }

  void standardise(Resemblance& out) const {
    for (size_t i = 0; i < out.z.size(); ++i)
      out.z[i] = inverse_[i] > 0 ? (float)((out.z[i] - out.mean) / out.deviation) : 0.0f;
  }

  const int8_t* codes_;
  std::vector<float> inverse_;  // 1 / length, 0 where there is none
  int64_t seen_ = 0;
};

}  // namespace sketchseek
