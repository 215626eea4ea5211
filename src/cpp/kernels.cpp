// The arithmetic: one source, compiled once for each instruction set (CMakeLists.txt), W pictures at a time.
//
// The score of a picture under a translation (dx, dy) of the drawing is sum_ab B[a, b] c_a(dx) c_b(dy), with
// c(d) = [1, cos w1 d, sin w1 d, ...]. Three things make it cheap, and none of them approximates:
// - one axis is contracted after the other, so that a row of translations costs Dx, not Dx * Dx, a step;
// - a polynomial is E + O at d and E - O at -d, its even and odd parts: the better of the two is E + |O|;
// - mirroring changes the sign of half of the products that B is a sum of, so that both mirrors share them.
//
// lanes -> coefficients -> translations is the way of a row's vector to its best translation; exact, near and plain go it,
// bound keeps the pruned search from going it in vain. Projections, energy, product codes and a drawing's points have ways of their own.
#include "kernels/convolution.hpp"
#include "kernels/drawing.hpp"
#include "kernels/energy.hpp"
#include "kernels/exact.hpp"
#include "processor.hpp"
#if !defined(SKETCHSEEK_BROWSER)  // which goes exact's way alone, and is small for that
#include "kernels/near.hpp"
#include "kernels/plain.hpp"
#include "kernels/product_codes.hpp"
#include "kernels/products.hpp"
#include "kernels/projection.hpp"
#endif

namespace sketchseek {
namespace {

// By the number of frequencies. The compact preset has code of its own.

#define CHOOSE(f, nx, no) ((nx) == 5 && (no) == 2 ? f<5, 3> : ANY_OF(f, nx))
#if defined(SKETCHSEEK_FEW_SIZES)  // enough to be tested, and compiled in a fraction of the time
#define ANY_OF(f, nx) ((nx) == 2 ? f<2, 0> : (nx) == 5 ? f<5, 0> : f<6, 0>)
#elif defined(SKETCHSEEK_BROWSER)  // those of the presets
#define ANY_OF(f, nx) ((nx) == 5 ? f<5, 0> : (nx) == 6 ? f<6, 0> : f<8, 0>)
#else
#define ANY_OF(f, nx)                                                                                  \
  ((nx) == 2   ? f<2, 0>                                                                               \
   : (nx) == 3 ? f<3, 0>                                                                               \
   : (nx) == 4 ? f<4, 0>                                                                               \
   : (nx) == 5 ? f<5, 0>                                                                               \
   : (nx) == 6 ? f<6, 0>                                                                               \
   : (nx) == 7 ? f<7, 0>                                                                               \
   : (nx) == 8 ? f<8, 0>                                                                               \
   : (nx) == 9 ? f<9, 0>                                                                               \
               : f<10, 0>)
#endif

bool supported() {
#if defined(__AVX512F__)
  return this_processor().avx512;
#elif defined(__AVX2__)
  return this_processor().avx2;
#else
  return true;
#endif
}

}  // namespace

#define STRING(x) STRING_(x)
#define STRING_(x) #x
#define TABLE(x) TABLE_(x)
#define TABLE_(x) kernels_##x

extern const Kernels TABLE(SKETCHSEEK_BUILD) = {
    STRING(SKETCHSEEK_BUILD),
    supported,
    [](const Database& db, const Query& query, Range range, float threshold, float* out) {
      CHOOSE(score, db.nx, db.no)(db, query, range, threshold, out);
    },
    [](const Database& db, const Query& query, Range range, float* out) {
      CHOOSE(profile, db.nx, db.no)(db, query, range, out);
    },
#if defined(SKETCHSEEK_BROWSER)
    [](const Database& db, const Query& query, Range range, Guide, int, Found* out) {
      CHOOSE(locate_exactly, db.nx, db.no)(db, query, range, out);
    },
    nullptr,
    nullptr,
#else
    [](const Database& db, const Query& query, Range range, Guide guide, int radius, Found* out) {
      CHOOSE(locate, db.nx, db.no)(db, query, range, guide, radius, out);
    },
    [](const Database& db, const Query& query, Range range, int axis, float* out) {
      CHOOSE(project, db.nx, db.no)(db, query, range, axis, out);
    },
    [](const Database& db, const Query& query, Range range, float* out) {
      CHOOSE(plain, db.nx, db.no)(db, query, range, out);
    },
#endif
    [](const Database& db, const Cells& cells, Range range, float* out) {
      ANY_OF(energy, db.nx)(db, cells, range, out);
    },
    [](const Maps& maps, const Contour& points, float size, float* out) {
      ANY_OF(describe, maps.nx)(maps, points, size, out);
    },
    [](const Database& db, Range range, const Maps& maps, const Contour& points, const float* steps, const float* shifts,
       float* out) { ANY_OF(densities, maps.nx)(db, range, maps, points, steps, shifts, out); },
#if defined(SKETCHSEEK_BROWSER)
    nullptr,
    nullptr,
#else
    sum_tables,
    products,
#endif
    convolve,
};

}  // namespace sketchseek
