#include "models/image_tokens.h"

#include "base/error.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/concat.h"
#include "ops/calls/conv.h"
#include "ops/calls/expand.h"
#include "ops/calls/reshape.h"
#include "ops/calls/resize.h"
#include "ops/calls/slice.h"
#include "ops/calls/transpose.h"

namespace hone {
namespace {

using Integers = std::vector<int64_t>;

// A number, or a pair of the same.
int64_t side_length(const ModelConfig& config, const std::string& key, int64_t usual) {
  if (!config.has(key) || !config.json().at(key).is_array()) return config.size_or(key, usual);
  const Integers sides = config.sizes(key);
  if (sides.size() != 2 || sides[0] != sides[1])
    fail("{}: key \"{}\" is {}; accepted: a number, or two that are equal", config.source(), key,
         json_excerpt(config.json().at(key)));
  return sides[0];
}

ValueId rows_of(Graph& graph, ValueId table, const Dim& begin, const Dim& end) {
  return ops::slice(graph, {.x = table, .starts = Shape{begin}, .ends = Shape{end}, .axes = Integers{1}});
}

// f32[N,C,rows,columns] → f32[N,rows*columns,C]
ValueId places_as_rows(Graph& graph, ValueId map) {
  const Shape shape = graph.type(map).shape;
  const ValueId flat = ops::reshape(graph, {.x = map, .shape = Shape{shape[0], shape[1], shape[2] * shape[3]}});
  return ops::transpose(graph, {.x = flat, .perm = Integers{0, 2, 1}});
}

// The grid's positions f32[1,side*side,hidden] as those of rows x columns patches.
ValueId spread(Graph& graph, ValueId positions, const PatchGrid& grid, int64_t hidden, const Shape& places) {
  const Shape plane{1, grid.side(), grid.side(), hidden};
  const ValueId rows = ops::reshape(graph, {.x = positions, .shape = plane});
  const ValueId map = ops::transpose(graph, {.x = rows, .perm = Integers{0, 3, 1, 2}});
  const ValueId resized = ops::resize(graph, {.x = map, .mode = "cubic", .axes = Integers{2, 3}, .sizes = places});
  return places_as_rows(graph, resized);
}

}  // namespace

PatchGrid read_patch_grid(const ModelConfig& config, int64_t usual_patch) {
  constexpr int64_t kMostSide = 1 << 16;
  const PatchGrid grid{.channels = config.size_or("num_channels", 3),
                       .image_size = side_length(config, "image_size", 224),
                       .patch = side_length(config, "patch_size", usual_patch)};
  if (grid.patch > grid.image_size || grid.image_size > kMostSide)
    fail("{}: patch_size {} and image_size {}; accepted: an image_size up to {} that has room for a patch",
         config.source(), grid.patch, grid.image_size, kMostSide);
  return grid;
}

ValueId image_input(LayerBuilder& builder, const PatchGrid& grid) {
  builder.graph().metadata["image_size"] = std::to_string(grid.image_size);
  return builder.only_input("pixel_values", {Dim::symbol("B"), grid.channels, Dim::symbol("H"), Dim::symbol("W")});
}

ValueId image_tokens(TransformerBuilder& builder, ValueId image, const PatchGrid& grid, const ImageTokens& tokens) {
  Graph& graph = builder.graph();
  const int64_t hidden = tokens.hidden, first = std::ssize(tokens.first), all = first + grid.side() * grid.side();
  const ValueId w = builder.weight(tokens.projection + ".weight", {hidden, grid.channels, grid.patch, grid.patch});
  const ValueId b = tokens.biased ? builder.weight(tokens.projection + ".bias", {hidden}) : kNone;
  const ValueId map = ops::conv(graph, {.x = image, .w = w, .b = b, .strides = Integers(2, grid.patch)});
  const Shape shape = graph.type(map).shape;
  const ValueId positions =
      spread(graph, rows_of(graph, tokens.positions, first, all), grid, hidden, {shape[2], shape[3]});
  std::vector<ValueId> parts;
  for (int64_t i = 0; i < first; ++i) {
    const ValueId placed =
        ops::add(graph, {tokens.first[static_cast<size_t>(i)], rows_of(graph, tokens.positions, i, i + 1)});
    parts.push_back(ops::expand(graph, {.x = placed, .shape = Shape{shape[0], 1, hidden}}));
  }
  parts.push_back(ops::add(graph, {places_as_rows(graph, map), positions}, "patches"));
  return ops::concat(graph, {.inputs = parts, .axis = 1}, "tokens");
}

}  // namespace hone
