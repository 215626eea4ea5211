// A collection that is searched by shape, from flat arrays that nobody has checked: what does not hold is answered with a
// sentence.
#pragma once
#include <cmath>
#include <memory>
#include <vector>

#include "rescoring.hpp"

namespace sketchseek {

// Everything in the order in which search/engine_arrays.py writes it.
struct Published {
  const double* settings;   // nx, no, S, max_translation, translation_step, then the arrays of `Settings`
  int64_t settings_count;
  const int32_t* pictures;  // (n, 4): width, height, whether it is line art, rows
  int64_t n;
  const float* frames;      // (rows, 4)
  const int8_t* codes;      // (rows, D)
  int64_t rows;
  const int8_t* synthetic;    // (m, D)
  int64_t synthetic_count;
};

class Opened {
 public:
  // null: it may be opened.
  static const char* fault_of(const Published& p) {
    if (p.settings_count < 5 || !finite(p.settings, p.settings_count)) return "The index has no proper settings.";
    const double *s = p.settings, nx = s[0], no = s[1], kernels = s[2];
    if (!whole(nx, kMinFrequencies, kMaxFrequencies) || !whole(no, 1, kMaxOrientations) || !whole(kernels, 1, 16))
      return "The index has descriptors of a size that this engine does not know.";
#if defined(SKETCHSEEK_BROWSER)
    if (nx != 5 && nx != 6 && nx != 8) return "The index has descriptors of a size that this engine does not know.";
#endif
    if (p.settings_count != 5 + nx + no + kernels * nx + no + kernels + nx * nx * no)
      return "The index has settings of the wrong length.";
    const Settings settings = settings_of(s);
    if (settings.frequencies[0] != 0 || settings.orientation_frequencies[0] != 0) return "The index has improper frequencies.";
    for (size_t k = 1; k < settings.frequencies.size(); ++k)
      if (!(settings.frequencies[k] > settings.frequencies[k - 1]) || settings.frequencies[k] > 1000)
        return "The index has improper frequencies.";
    for (const auto& row : settings.weights)
      for (const double w : row)
        if (!(w >= 0 && w <= 1e6)) return "The index has improper weights.";
    for (const double w : settings.orientation_weights)
      if (!(w >= 0 && w <= 1e6)) return "The index has improper weights.";
    for (const double c : settings.code_scales)
      if (!(c > 1e-9 && c <= 1e6)) return "The index has improper steps of its codes.";
    if (!(settings.translation_step > 0 && settings.max_translation >= 0)) return "The index has improper translations.";
    for (const double scale : settings.scales)
      if (!(scale >= 0.01 && scale <= 10) ||
          settings.max_translation / scale / (settings.translation_step * scale) > kMaxReach)
        return "The index has improper scales.";
    int64_t rows = 0;
    for (int64_t i = 0; i < p.n; ++i) {
      const int32_t* picture = p.pictures + 4 * i;
      if (picture[0] < 1 || picture[1] < 1 || picture[3] < 1) return "The index has a picture without size.";
      rows += picture[3];
    }
    if (rows != p.rows) return "The index has not as many descriptors as its pictures have windows.";
    for (int64_t i = 0; i < 4 * p.rows; ++i)
      if (!(std::fabs(p.frames[i]) <= 1e9f)) return "The index has a window that lies nowhere.";
    return nullptr;
  }

  // Of what has no fault. The arrays are used where they lie.
  Opened(const Published& p, const Kernels& kernels)
      : own_(rows_of(p, settings_of(p.settings))),
        pictures_(settings_of(p.settings), own_->db, p.frames, pictures_of(p)),
        core_(kernels, nullptr, pictures_, p.synthetic, p.synthetic_count) {}

  // The same over rows that somebody keeps already, with norms.
  Opened(const Published& p, const Kernels& kernels, const Filter* filter, const Database& rows)
      : pictures_(settings_of(p.settings), rows, p.frames, pictures_of(p)),
        core_(kernels, filter, pictures_, p.synthetic, p.synthetic_count) {}

  const Core& core() const { return core_; }
  const Pictures& pictures() const { return pictures_; }

 private:
  static bool finite(const double* values, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      if (!std::isfinite(values[i])) return false;
    return true;
  }

  static bool whole(double value, int low, int high) { return value == std::floor(value) && value >= low && value <= high; }

  static std::vector<double> taken(const double*& from, int64_t count) {
    std::vector<double> out(from, from + count);
    from += count;
    return out;
  }

  static Settings settings_of(const double* s) {
    Settings out;
    const int kernels = (int)s[2];
    out.nx = (int)s[0], out.no = (int)s[1];
    out.max_translation = s[3], out.translation_step = s[4];
    s += 5;
    out.frequencies = taken(s, out.nx);
    out.orientation_frequencies = taken(s, out.no);
    for (int i = 0; i < kernels; ++i) out.weights.push_back(taken(s, out.nx));
    out.orientation_weights = taken(s, out.no);
    out.scales = taken(s, kernels);
    out.code_scales = taken(s, (int64_t)out.nx * out.nx * out.no);
    return out;
  }

  static std::vector<Picture> pictures_of(const Published& p) {
    std::vector<Picture> out;
    int64_t row = 0;
    for (int64_t i = 0; i < p.n; ++i) {
      const int32_t* one = p.pictures + 4 * i;
      out.push_back({one[0], one[1], one[2] != 0, row, row + one[3]});
      row += one[3];
    }
    return out;
  }

  static std::unique_ptr<const Rows> rows_of(const Published& p, const Settings& s) {
    const std::vector<float> norms = norms_of(p.codes, p.rows, s);
    return std::make_unique<Rows>(p.codes, true, p.rows, s.nx, s.no, norms.data(), s.kernels());
  }

  const std::unique_ptr<const Rows> own_;  // null: somebody else's
  const Pictures pictures_;
  const Core core_;
};

// Strokes that nobody has checked (x, y after one another, `lengths` points each) -> a drawing. A sentence where they are none.
inline const char* drawing_of(const double* strokes, const int32_t* lengths, int64_t count, Drawing& out) {
  constexpr int64_t kMostPoints = 200000;
  std::vector<Stroke> drawn;
  int64_t points = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (lengths[i] < 0 || points + lengths[i] > kMostPoints) return "The drawing has more than 200000 points.";
    drawn.emplace_back(strokes + 2 * points, strokes + 2 * (points + lengths[i]));
    points += lengths[i];
  }
  for (const Stroke& stroke : drawn)
    for (const double value : stroke)
      if (!(std::fabs(value) <= 1e9)) return "The drawing has coordinates that are not ordinary numbers.";
  out = drawing_of(drawn);
  if (out.fault == Fault::kBlank) return sentence::kBlank;
  return out.fault == Fault::kScribble ? sentence::kScribble : nullptr;
}

// null: these can be asked for.
inline const char* fault_of(int64_t k, int64_t offset, double turn) {
  if (k < 1 || k > 10000 || offset < 0 || offset > 1000000) return "Ask for 1 to 10,000 hits.";
  return turn >= 0 && turn <= 180 ? nullptr : sentence::kTurn;
}

}  // namespace sketchseek
