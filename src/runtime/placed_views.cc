#include "runtime/placed_views.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "base/error.h"
#include "kernels/shapes.h"

namespace hone {
namespace {

// Begins no symbol of the graph.
std::string symbol_of_strides(const Graph& graph) {
  std::string name = "stride";
  const std::vector<std::string> symbols = graph.symbols();
  while (std::ranges::any_of(symbols, [&](const std::string& symbol) { return symbol.starts_with(name); })) name += '_';
  return name;
}

// Whether a run may go on to read or write it by formulas of the declared type's sizes.
template <class View>
bool fits_type(const View& view, const TensorType& type) {
  if (!type.ranked || type.is_packed() || type.container != Container::none || type.dtype != view.dtype ||
      type.rank() != view.shape.size())
    return false;
  for (size_t i = 0; i < view.shape.size(); ++i)
    if (view.shape[i] == 0 || (type.shape[i].is_constant() && type.shape[i].constant() != view.shape[i])) return false;
  return std::ranges::none_of(type.shape, &Dim::is_unknown);
}

template <class View>
bool is_aligned(const View& view) {
  return reinterpret_cast<uintptr_t>(view.bytes.data()) % static_cast<uintptr_t>(size_bytes(view.dtype)) == 0;
}

// Dimensions by how far they move, the least first; of those that move as far the last.
std::vector<size_t> by_stride(std::span<const int64_t> strides) {
  std::vector<size_t> order(strides.size());
  std::iota(order.rbegin(), order.rend(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return std::abs(strides[a]) < std::abs(strides[b]); });
  return order;
}

// Whether each dimension moves beyond all of those that move less, so that no two elements are one.
bool is_nested(std::span<const int64_t> shape, std::span<const int64_t> strides) {
  int64_t reach = 0;
  for (const size_t i : by_stride(strides)) {
    if (shape[i] == 1) continue;
    if (std::abs(strides[i]) <= reach) return false;
    reach += (shape[i] - 1) * std::abs(strides[i]);
  }
  return true;
}

class Placing {
 public:
  Placing(const Graph& graph, bool apart) : graph_(graph), apart_(apart), symbol_(symbol_of_strides(graph)) {}

  void input(const std::string& label, const InputView& view, bool looked_at) {
    const Strides strides = view.strides.value_or(Strides::dense(view.shape));
    const auto declared = std::ranges::find_if(graph_.inputs(), [&](ValueId v) {
      return graph_.value(v).label == label && graph_.value(v).role == InputRole::argument;
    });
    check_strides(fmt::format("input \"{}\"", label), view.dtype, view.shape, strides, view.bytes.size());
    if (declared != graph_.inputs().end() && view.strides && apart_ && !looked_at && is_aligned(view) &&
        fits_type(view, graph_.type(*declared)))
      if (std::optional<Shape> own = layout(*declared, "i", declared - graph_.inputs().begin(), view)) {
        placed.layouts.inputs.emplace(label, std::move(*own));
        placed.apart.emplace(label, view);
        const auto bytes = static_cast<size_t>(element_count(view.shape) * size_bytes(view.dtype));
        placed.inputs.insert_or_assign(label, Tensor(view.dtype, view.shape, Buffer(nullptr, {nowhere(), bytes})));
        return;
      }
    placed.inputs.insert_or_assign(label, tensor_view(view.dtype, view.shape, view.bytes, strides));
  }

  void output(size_t position, const OutputView& view) {
    const auto& [value, label, updates] = graph_.outputs()[position];
    OutputView placed_view = view;
    if (view.strides) {
      check_strides(fmt::format("output \"{}\"", label), view.dtype, view.shape, *view.strides, view.bytes.size());
      const bool in_place = apart_ && is_aligned(view) && fits_type(view, graph_.type(value)) &&
                            is_nested(view.shape, view.strides->strides);
      if (!in_place) return;  // copied when the run has ended
      if (std::optional<Shape> own = layout(value, "o", static_cast<int64_t>(position), view)) {
        placed.layouts.outputs.emplace(label, std::move(*own));
      } else {
        const auto bytes = static_cast<size_t>(element_count(view.shape) * size_bytes(view.dtype));
        placed_view = {view.dtype, view.shape, {view.first(), bytes}};
      }
    }
    placed.outputs.emplace(label, std::move(placed_view));
  }

  PlacedViews placed;

 private:
  // Reading it would be a fault of this program's, and is one of the machine's.
  static const std::byte* nowhere() { return nullptr; }

  // None where it is row-major for all sizes.
  template <class View>
  std::optional<Shape> layout(ValueId v, const char* side, int64_t position, const View& view) {
    const Shape& declared = graph_.type(v).shape;
    Bindings numbers;
    Shape strides =
        layout_of(declared, view.shape, *view.strides, fmt::format("{}_{}{}", symbol_, side, position), numbers);
    if (strides == dense_strides(declared)) return std::nullopt;
    for (const auto& [symbol, number] : numbers) placed.layouts.symbols.push_back(symbol);
    placed.strides.merge(numbers);
    return strides;
  }

  const Graph& graph_;
  const bool apart_;
  const std::string symbol_;
};

}  // namespace

Shape layout_of(const Shape& declared, std::span<const int64_t> shape, const Strides& strides, const std::string& name,
                Bindings& numbers) {
  // Where there is one element only, its stride is what it would be beside the next dimension.
  std::vector<int64_t> own = strides.strides;
  for (size_t i = own.size(); i-- > 0;)
    if (shape[i] == 1) own[i] = i + 1 < own.size() ? own[i + 1] * shape[i + 1] : 1;
  Shape layout(own.size(), 0);
  std::optional<size_t> next;
  for (const size_t i : by_stride(own)) {
    if (own[i] == 0) continue;
    if (next && own[i] == own[*next] * shape[*next]) layout[i] = layout[*next] * declared[*next];
    else if (own[i] == 1) layout[i] = 1;
    else {
      const std::string symbol = fmt::format("{}_{}", name, i);
      layout[i] = Dim::symbol(symbol);
      numbers[symbol] = own[i];
    }
    next = i;
  }
  return layout;
}

PlacedViews place_views(const Graph& graph, const std::map<std::string, Tensor>& given, const InputViews& inputs,
                        const OutputViews& outputs, bool apart, const TokenLimits& limits) {
  Placing placing(graph, apart);
  placing.placed.inputs = given;
  for (const auto& [label, view] : inputs) {
    if (given.contains(label)) fail("input \"{}\" is given twice, as a tensor and as a view", label);
    placing.input(label, view,
                  std::ranges::find(limits.inputs, label, &TokenLimits::Input::label) != limits.inputs.end());
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i)
    if (const auto found = outputs.find(graph.outputs()[i].label);
        found != outputs.end() && graph.outputs()[i].updates == kNone)
      placing.output(i, found->second);
  return std::move(placing.placed);
}

}  // namespace hone
