// A first look at the rows, in integers: which of them may reach a threshold, and nothing is missed.
//
// The drawing is rounded to bytes. What a component's error does to a score is at most its error in the norm dual to the
// kernel's, whatever the translation and the mirror (they turn a cosine and its sine, whose weights are equal), so that
// the scores of the rounded drawing are off by less than `error`, one in a hundred. On processors that multiply and add
// four bytes at once, its coefficients cost a third of the exact ones. Of a row of translations, with r_k the pairs of
// coefficients along y, the score stays below r_0 + sum_k |r_k|: by the inequality of Cauchy and Schwarz first, without
// roots, with shares p_k of |r_k| that are typical of high rows; by the roots where that does not suffice.
#pragma once
#include <cstdint>

#include "engine.hpp"

namespace sketchseek {

// A component (a, b, o) of the drawing is a byte times steps[i] shares[j], of its frequencies along x and y.
struct IntegerPose {
  const int32_t* words;  // four bytes each, in the order of use: for every sum its start, then its factors
  const float* table;    // (reach + 1, nx - 1, 2): the pose's and that of no translation before it, times steps
  const float* steps;    // (nx,)
  const float* shares;   // (nx,) sqrt(p_k / sum p); 1 for the constant
  float error;           // of a score, at most
};

struct Filter {
  bool (*supported)();
  bool (*fits)(int nx, int no);  // whether there is code for it
  // Numbers of the rows that may reach the threshold, prior included, and how many they are.
  int64_t (*reaching)(const Database&, const Query&, const IntegerPose*, Range, float threshold, int64_t* out);
};

#if defined(__x86_64__)
extern const Filter filter_avx512vnni;
#endif

}  // namespace sketchseek
