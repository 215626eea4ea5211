// Arrays between Python and the engine, as every module of it takes and gives them.
#pragma once

#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

namespace sketchseek {

namespace nb = nanobind;

template <class T, int N>
using In = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;
template <class T>
using Out = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

// Everything that the kernels take for granted is asked of the arguments, where they come in.
inline void require(bool holds, const char* sentence) {
  if (!holds) throw std::invalid_argument(sentence);
}

template <class Array>
void require_finite(const Array& values, const char* sentence) {
  for (size_t i = 0; i < values.size(); ++i) require(std::isfinite(values.data()[i]), sentence);
}

// The vector's own memory as an array: Python frees it.
template <class T>
Out<T> handed_over(std::vector<T>&& values) {
  auto* kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Out<T>(kept->data(), {kept->size()}, owner);
}

}  // namespace sketchseek
