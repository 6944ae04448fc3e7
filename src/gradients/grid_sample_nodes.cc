#include "gradients/grid_sample_nodes.h"

#include "ops/calls/arithmetic.h"
#include "ops/calls/cast.h"
#include "ops/calls/comparison.h"
#include "ops/calls/full.h"
#include "ops/calls/gather.h"
#include "ops/calls/reshape.h"
#include "ops/calls/rounding.h"
#include "ops/calls/slice.h"
#include "ops/calls/transpose.h"

namespace hone {
namespace {

// A choice of neighbours in some spatial dimensions.
struct Corner {
  ValueId position = kNone;  // in the plane, i64 [N,..,1]
  ValueId weight = kNone;    // f64; none: 1
  ValueId is_inside = kNone;
};

class Expansion {
  static constexpr double kFarthest = 0x1p60;  // elements from x

 public:
  Expansion(Graph& graph, const Node& node)
      : g_(graph),
        x_(node.operands[0]),
        grid_(node.operands[1]),
        shape_(graph.type(x_).shape),
        mode_(node.attributes.get_or<std::string>("mode", "linear")),
        aligns_(node.attributes.get_or<int64_t>("align_corners", 0) != 0),
        padding_(node.attributes.get_or<std::string>("padding_mode", "zeros")) {}

  ValueId result() {
    const ValueId table = rows_of_channels();
    ValueId sum = kNone;
    for (const Corner& corner : corners()) {
      const ValueId term = term_of(table, corner);
      sum = sum == kNone ? term : ops::add(g_, {sum, term});
    }
    std::vector<int64_t> perm{0, static_cast<int64_t>(shape_.size()) - 1};
    for (int64_t i = 1; i + 1 < static_cast<int64_t>(shape_.size()); ++i) perm.push_back(i);
    return ops::transpose(g_, {.x = sum, .perm = perm});
  }

 private:
  ValueId number(double value) { return g_.add_constant("", Tensor::of<double>({}, {value})); }
  ValueId integer(int64_t value) { return g_.add_constant("", Tensor::of<int64_t>({}, {value})); }
  int64_t length(size_t dimension) const { return shape_[dimension + 2].constant(); }
  size_t dimensions() const { return shape_.size() - 2; }

  // [N*plane,C]
  ValueId rows_of_channels() {
    std::vector<int64_t> perm{0};
    Dim rows = shape_[0];
    for (size_t i = 2; i < shape_.size(); ++i) perm.push_back(static_cast<int64_t>(i)), rows = rows * shape_[i];
    perm.push_back(1);
    return ops::reshape(g_, {.x = ops::transpose(g_, {.x = x_, .perm = perm}), .shape = Shape{rows, shape_[1]}});
  }

  std::vector<Corner> corners() {
    std::vector<Corner> found{{first_position(), kNone, kNone}};
    for (size_t d = 0; d < dimensions(); ++d) {
      const std::vector<Corner> own = neighbours(d);
      std::vector<Corner> wider;
      for (const Corner& outer : found)
        for (const Corner& inner : own) {
          const ValueId moved = outer.position == kNone ? kNone : ops::mul(g_, {outer.position, integer(length(d))});
          wider.push_back(
              {moved == kNone ? inner.position : ops::add(g_, {moved, inner.position}),
               outer.weight == kNone ? inner.weight : ops::mul(g_, {outer.weight, inner.weight}),
               outer.is_inside == kNone ? inner.is_inside : ops::logical_and(g_, {outer.is_inside, inner.is_inside})});
        }
      found = std::move(wider);
    }
    return found;
  }

  // The number of the image, where there are several.
  ValueId first_position() {
    if (shape_[0] == Dim(1)) return kNone;
    Shape ones(shape_.size(), Dim(1));
    ones[0] = shape_[0];
    return ops::iota(g_, {.shape = ones, .axis = 0, .dtype = DType::i64});
  }

  std::vector<Corner> neighbours(size_t d) {
    const int64_t n = length(d);
    const ValueId x = coordinate(d, static_cast<double>(n));
    const bool is_nearest = mode_ == "nearest", is_cubic = mode_ == "cubic";
    const ValueId base = is_nearest ? x : ops::floor(g_, {x});
    const ValueId bounded = ops::clip(g_, {.x = base, .min = -kFarthest, .max = kFarthest});
    const ValueId first = ops::cast(g_, {.x = bounded, .dtype = DType::i64});
    std::vector<Corner> found;
    for (int64_t k = is_cubic ? -1 : 0; k <= (is_cubic ? 2 : is_nearest ? 0 : 1); ++k) {
      const ValueId plain = k ? ops::add(g_, {first, integer(k)}) : first;
      const ValueId moved = moved_inside(plain, n);
      const ValueId is_inside =
          ops::logical_and(g_, {ops::greater_or_equal(g_, {moved, integer(0)}), ops::less(g_, {moved, integer(n)})});
      const ValueId real = k ? ops::add(g_, {base, number(static_cast<double>(k))}) : base;
      found.push_back({within(moved, n), is_nearest ? kNone : weight(ops::sub(g_, {real, x})), is_inside});
    }
    return found;
  }

  ValueId within(ValueId position, int64_t n) {
    return ops::min(g_, {ops::max(g_, {position, integer(0)}), integer(n - 1)});
  }

  ValueId weight(ValueId distance) {
    if (mode_ == "cubic") return cubic_weight(ops::abs(g_, {distance}));
    return ops::max(g_, {ops::sub(g_, {number(1), ops::abs(g_, {distance})}), number(0)});
  }

  // Keys' polynomials of a distance up to 2, with a = -0.75 (ops/interpolation.h).
  ValueId cubic_weight(ValueId d) {
    constexpr double a = -0.75;
    const auto polynomial = [&](double c3, double c2, double c1, double c0) {
      ValueId sum = number(c3);
      for (double c : {c2, c1, c0}) sum = ops::add(g_, {ops::mul(g_, {sum, d}), number(c)});
      return sum;
    };
    return ops::where(g_, {ops::less_or_equal(g_, {d, number(1)}), polynomial(a + 2, -(a + 3), 0, 1),
                           polynomial(a, -5 * a, 8 * a, -4 * a)});
  }

  // In elements; of the last dimension first in the grid.
  ValueId coordinate(size_t d, double n) {
    const auto column = static_cast<int64_t>(dimensions() - 1 - d);
    const ValueId own = ops::slice(g_, {.x = grid_,
                                        .starts = Shape{column},
                                        .ends = Shape{column + 1},
                                        .axes = std::vector<int64_t>{static_cast<int64_t>(shape_.size()) - 1}});
    const ValueId edge = g_.add_constant("", Tensor::from_doubles(g_.type(grid_).dtype, {}, std::vector<double>{-1}));
    const ValueId c = ops::where(g_, {ops::is_nan(g_, {own}), edge, own});
    const ValueId up = ops::add(g_, {ops::cast(g_, {.x = c, .dtype = DType::f64}), number(1)});
    const ValueId x = aligns_ ? ops::mul(g_, {ops::div(g_, {up, number(2)}), number(n - 1)})
                              : ops::div(g_, {ops::sub(g_, {ops::mul(g_, {up, number(n)}), number(1)}), number(2)});
    return mode_ == "nearest" ? ops::round(g_, {x}) : x;
  }

  // Reflected at the outermost elements, or at their edges, which lie half an element further out.
  ValueId moved_inside(ValueId position, int64_t n) {
    if (padding_ == "zeros") return position;
    const int64_t last = aligns_ ? 2 * (n - 1) : 2 * n - 1;  // where a reflection of 0 lies
    if (padding_ == "border" || last == 0) return within(position, n);
    const ValueId m = ops::mod(g_, {position, integer(aligns_ ? last : last + 1)});
    return ops::min(g_, {m, ops::sub(g_, {integer(last), m})});
  }

  // [N,..,C]
  ValueId term_of(ValueId table, const Corner& corner) {
    Shape places = g_.type(corner.position).shape;
    const DType dtype = g_.type(table).dtype;
    places.pop_back();
    const ValueId rows = ops::gather(
        g_, {.table = table, .indices = ops::reshape(g_, {.x = corner.position, .shape = places}), .axis = 0});
    const ValueId weighted =
        corner.weight == kNone ? rows : ops::mul(g_, {rows, ops::cast(g_, {.x = corner.weight, .dtype = dtype})});
    return ops::where(g_, {corner.is_inside, weighted, g_.add_constant("", Tensor(dtype, {}))});
  }

  Graph& g_;
  const ValueId x_, grid_;
  const Shape shape_;
  const std::string mode_;
  const bool aligns_;
  const std::string padding_;
};

}  // namespace

// Planes of a known size that have elements: what is gathered is there.
Support grid_sample_in_nodes(const Graph& graph, const Node& node) {
  const TensorType &x = graph.type(node.operands[0]), &grid = graph.type(node.operands[1]);
  if (!x.ranked || !grid.ranked) return {"ranks that are not known before a run"};
  if ((x.dtype != DType::f32 && x.dtype != DType::f64) || x.is_packed() || grid.is_packed())
    return {"images that are neither f32 nor f64"};
  for (size_t i = 2; i < x.shape.size(); ++i)
    if (!x.shape[i].is_constant() || x.shape[i].constant() < 1 || x.shape[i].constant() > (int64_t{1} << 31))
      return {fmt::format("planes {} without elements, too large or of sizes that are not known before a run",
                          to_string(x.shape))};
  return {};
}

ValueId grid_sample_nodes(Graph& graph, const Node& node) { return Expansion(graph, node).result(); }

}  // namespace hone
