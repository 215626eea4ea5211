// The icon network as Python sees it: ink and strokes in, embeddings out, and how much pictures resemble a drawing.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "arrays.hpp"
#include "search/icons.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace sketchseek {

const Kernels& kernels_of_build(const std::string& name);  // module.cpp

namespace {

std::vector<std::vector<double>> strokes_of(const In<double, 2>& points, const In<int32_t, 1>& lengths) {
  require(points.shape(1) == 2, "points must be (n, 2)");
  require_finite(points, "points must be finite");
  std::vector<std::vector<double>> strokes;
  int64_t at = 0;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const int64_t length = lengths.data()[i];
    require(length >= 0 && at + length <= (int64_t)points.shape(0), "lengths must be those of the strokes");
    strokes.emplace_back(points.data() + 2 * at, points.data() + 2 * (at + length));
    at += length;
  }
  return strokes;
}

class Network {
 public:
  Network(nb::bytes weights, const std::string& build) : network_(checked(weights), kernels_of_build(build)) {}

  // ink (n, 64, 64) -> embeddings, one after the other.
  Out<float> of_ink(In<float, 3> ink) const {
    require(ink.shape(1) == kInkSide && ink.shape(2) == kInkSide, "ink must be (n, 64, 64)");
    require_finite(ink, "ink must be finite");
    std::vector<float> out;
    {
      nb::gil_scoped_release free;
      for (size_t i = 0; i < ink.shape(0); ++i) {
        const std::vector<float> one = network_.embedding(ink.data() + i * kInkSide * kInkSide);
        out.insert(out.end(), one.begin(), one.end());
      }
    }
    return handed_over(std::move(out));
  }

  Out<float> of_strokes(In<double, 2> points, In<int32_t, 1> lengths) const {
    const auto strokes = strokes_of(points, lengths);
    std::vector<float> out;
    {
      nb::gil_scoped_release free;
      out = network_.embedding(strokes);
    }
    return handed_over(std::move(out));
  }

 private:
  static const uint8_t* checked(const nb::bytes& weights) {
    const char* fault = IconNetwork::fault_of((const uint8_t*)weights.data(), (int64_t)weights.size());
    require(!fault, fault);
    return (const uint8_t*)weights.data();
  }
  const IconNetwork network_;
};

class Embeddings {
 public:
  explicit Embeddings(In<int8_t, 2> codes) : codes_(codes), embeddings_(checked(codes), (int64_t)codes.shape(0)) {}

  bool speak() const { return embeddings_.speak(); }

  Resemblance resemblance(In<float, 1> asked) const {
    require(asked.size() == kEmbedding, "an embedding has 128 numbers");
    require_finite(asked, "an embedding must be finite");
    nb::gil_scoped_release free;
    return embeddings_.resemblance(asked.data());
  }

 private:
  static const int8_t* checked(const In<int8_t, 2>& codes) {
    require(codes.shape(1) == kEmbedding, "an embedding has 128 numbers");
    return codes.data();
  }
  In<int8_t, 2> codes_;  // kept, as long as they are used
  const IconEmbeddings embeddings_;
};

// Of some pictures, by number.
Resemblance part_of(const Resemblance& all, In<int64_t, 1> ids) {
  Resemblance out;
  out.mean = all.mean, out.deviation = all.deviation, out.best = all.best, out.fifth = all.fifth;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids.data()[i] < 0 || ids.data()[i] >= (int64_t)all.z.size()) throw std::out_of_range("ids must be numbers below n");
    out.z.push_back(all.z[ids.data()[i]]);
  }
  return out;
}

}  // namespace

void bind_icons(nb::module_& m) {
  m.attr("EMBEDDING") = kEmbedding;
  m.attr("INK_SIDE") = kInkSide;
  m.attr("INK_LONGER") = kInkLonger;
  nb::class_<Network>(m, "IconNetwork")
      .def(nb::init<nb::bytes, const std::string&>(), "weights"_a, "build"_a)
      .def("of_ink", &Network::of_ink, "ink"_a)
      .def("of_strokes", &Network::of_strokes, "points"_a, "lengths"_a);
  nb::class_<Resemblance>(m, "Resemblance")
      .def("__bool__", [](const Resemblance& self) { return (bool)self; })
      .def("at", [](const Resemblance& self, In<int64_t, 1> ids) { return handed_over(part_of(self, ids).z); }, "ids"_a)
      .def("part", &part_of, "ids"_a)
      .def("most", [](const Resemblance& self) { return handed_over(self.most()); });
  nb::class_<Embeddings>(m, "IconEmbeddings")
      .def(nb::init<In<int8_t, 2>>(), "codes"_a)
      .def_prop_ro("speak", &Embeddings::speak)
      .def("resemblance", &Embeddings::resemblance, "asked"_a);
  m.def("icon_ink",
        [](In<double, 2> points, In<int32_t, 1> lengths, double width) {
          return handed_over(ink_of(strokes_of(points, lengths), width));
        },
        "points"_a, "lengths"_a, "width"_a, "Strokes as the icon network sees them: (64, 64) in one row.");
}

}  // namespace sketchseek
