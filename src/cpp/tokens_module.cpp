// Tokens as Python sees them: a drawing's, prepared once, and how well they meet those of candidates.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "drawn_tokens.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace sketchseek {
namespace {

// The build of that name, or the one that it is based on: "avx512vnni" has no tokens of its own.
const TokenKernels& kernels_named(const std::string& build) {
#if defined(__x86_64__)
  if (build.rfind("avx512", 0) == 0) return token_kernels_avx512;
  if (build == "avx2") return token_kernels_avx2;
#elif defined(__aarch64__)
  if (build == "neon") return token_kernels_neon;
#endif
  require(build == "portable", "there is no such build");
  return token_kernels_portable;
}

class PreparedTokens : public DrawnTokens {
 public:
  PreparedTokens(In<float, 2> tokens, In<float, 1> weights, In<int32_t, 2> places, int across, In<float, 3> centroids,
                 const std::vector<double>& scales, bool mirror, int overhang)
      : DrawnTokens(checked(tokens, weights, places, across, centroids, scales, overhang), weights.data(), places.data(),
                    (int)tokens.shape(0), (int)tokens.shape(1), across, centroids.data(), (int)centroids.shape(0), scales,
                    mirror, overhang) {}

  // codes (n, bytes): of each picture. Of each the score; and which way round, size, row and column, (4 n,).
  std::pair<Out<float>, Out<int16_t>> meet(In<uint8_t, 2> codes, const std::string& build) const {
    const TokenKernels& kernels = kernels_named(build);
    require((int)codes.shape(1) == token_bytes(parts()), "codes must be of as many parts as the centroids");
    const int64_t n = (int64_t)codes.shape(0);
    std::vector<float> scores(n);
    std::vector<int16_t> places(4 * n);
    {
      nb::gil_scoped_release free;
      for (int64_t i = 0; i < n; ++i) {
        Meeting found;
        kernels.meet(view(), codes.data() + i * (int64_t)codes.shape(1), &found);
        scores[i] = score(found);
        const int16_t at[4] = {found.mirrored, found.size, found.row, found.column};
        std::copy(at, at + 4, places.begin() + 4 * i);
      }
    }
    return {handed_over(std::move(scores)), handed_over(std::move(places))};
  }

 private:
  static const float* checked(const In<float, 2>& tokens, const In<float, 1>& weights, const In<int32_t, 2>& places,
                              int across, const In<float, 3>& centroids, const std::vector<double>& scales, int overhang) {
    const size_t patches = tokens.shape(0), parts = centroids.shape(0);
    require(across > 0 && across <= kDrawnAcross, "a drawing must have 1 to 20 cells across");
    require(patches > 0 && patches <= (size_t)(across * across), "a drawing must have tokens, one a cell at most");
    require(weights.shape(0) == patches && places.shape(0) == patches && places.shape(1) == 2,
            "each token must have a weight, a row and a column");
    require(parts >= 4 && parts % 2 == 0 && parts <= 64 && centroids.shape(1) == 16 &&
                parts * centroids.shape(2) == tokens.shape(1),
            "centroids must be (parts, 16, d / parts)");
    require(!scales.empty() && scales.size() <= (size_t)kMostSizes, "there must be 1 to 8 scales");
    require(overhang >= 0 && overhang <= kOverhang, "the overhang must be 0 to 2 cells");
    for (const double scale : scales) require(scale > 0 && scale <= 1, "a scale must be in (0, 1]");
    for (size_t i = 0; i < places.size(); ++i)
      require(places.data()[i] >= 0 && places.data()[i] < across, "a place must be one of the drawing's cells");
    float total = 0;
    for (size_t i = 0; i < patches; ++i) {
      require(weights.data()[i] >= 0, "weights must not be negative");
      total += weights.data()[i];
    }
    require(total > 0 && std::isfinite(total), "weights must be finite, and not all 0");
    require_finite(tokens, "tokens must be finite");
    require_finite(centroids, "centroids must be finite");
    return tokens.data();
  }
};

}  // namespace

void bind_tokens(nb::module_& m) {
  m.attr("TOKEN_CELLS") = kCells;
  m.attr("TOKEN_CELLS_ACROSS") = kMostAcross;
  nb::class_<PreparedTokens>(m, "PreparedTokens")
      .def(nb::init<In<float, 2>, In<float, 1>, In<int32_t, 2>, int, In<float, 3>, const std::vector<double>&, bool, int>(),
           "tokens"_a, "weights"_a, "places"_a, "across"_a, "centroids"_a, "scales"_a, "mirror"_a, "overhang"_a)
      .def("meet", &PreparedTokens::meet, "codes"_a, "build"_a);
}

}  // namespace sketchseek
