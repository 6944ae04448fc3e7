// Attention.
#include "kernels/attention/plan.h"
#include "kernels/lowering.h"

#include <cmath>
#include <limits>

#include "kernels/shapes.h"
#include "ops/calls/gather.h"
#include "ops/head_rows.h"

namespace hone {

namespace {

Support read_heads(const Lowering& lowering, const Node& node, AttentionPlan& plan) {
  const Graph& graph = lowering.graph;
  const Shape q = lowering.shape(node.operands[0]), k = lowering.shape(node.operands[1]),
              v = lowering.shape(node.operands[2]);
  const int64_t heads = node.attributes.get<int64_t>("heads"),
                kv_heads = node.attributes.get_or<int64_t>("kv_heads", heads);
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  const auto falls = [&](const Shape& x, int64_t parts) {
    return x.size() == 3 && x[2].is_constant() && x[2].constant() % parts == 0 && x[2].constant() <= kMost;
  };
  if (heads < 1 || kv_heads < 1 || !falls(q, heads) || !falls(k, kv_heads) || !falls(v, kv_heads))
    return {fmt::format("{} heads over {} of {}, {} and {}", heads, kv_heads, to_string(graph.type(node.operands[0])),
                        to_string(graph.type(node.operands[1])), to_string(graph.type(node.operands[2])))};
  plan.heads = static_cast<int>(heads), plan.kv_heads = static_cast<int>(kv_heads);
  plan.head_dim = static_cast<int>(q[2].constant() / heads);
  plan.value_dim = static_cast<int>(v[2].constant() / kv_heads);
  plan.dtype = graph.type(node.operands[0]).dtype;
  for (size_t i = 0; i < 3; ++i) {
    const TensorType& type = graph.type(node.operands[i]);
    if (type.is_packed()) {
      const int64_t columns = i == 1 ? plan.head_dim : plan.value_dim;
      if (i == 0 || !head_rows(*type.format, kv_heads, columns))
        return {fmt::format("packed operands ({}) of {} heads", to_string(type), i == 0 ? heads : kv_heads)};
      (i == 1 ? plan.k_format : plan.v_format) = to_string(*type.format);
    }
    if (type.dtype != plan.dtype) return {"q, k and v of different element types"};
  }
  if (plan.dtype != DType::f32 && plan.dtype != DType::bf16)
    return {fmt::format("operands of {}", to_string(plan.dtype))};
  return {};
}

void read_attributes(const Attributes& attributes, AttentionOperands& read) {
  AttentionPlan& plan = read.plan;
  plan.scale =
      static_cast<float>(attributes.get_or<double>("scale", 1 / std::sqrt(static_cast<double>(plan.head_dim))));
  plan.softcap = static_cast<float>(attributes.get_or<double>("softcap", 0));
  plan.blind_is_zero = attributes.get_or<int64_t>("blind_is_zero", 0) != 0;
  read.from_start = attributes.get_or<int64_t>("from_start", 0) != 0;
  read.before = std::min(kSeesAll, attributes.get_or<int64_t>("before", kSeesAll));
  read.behind = attributes.get_or<int64_t>("causal", 0) != 0
                    ? 0
                    : std::min(kSeesAll, attributes.get_or<int64_t>("behind", kSeesAll));
  plan.limited = read.before != kSeesAll || read.behind != kSeesAll;
}

Support read_mask(const Lowering& lowering, ValueId mask, const Shape& full, AttentionOperands& read) {
  const DType dtype = lowering.graph.type(mask).dtype;
  if (dtype != DType::f32 && dtype != DType::boolean) return {"a mask that is neither f32 nor bool"};
  const Shape m = lowering.shape(mask);
  if (m.size() > 4 || m.empty() || !(m.back() == full[3])) return {"a mask without the key dimension"};
  const std::optional<Shape> strides = broadcast_strides(m, lowering.strides(mask), full);
  if (!strides) return {"a mask whose dimensions may be broadcast or not"};
  if (lowering.lies_apart(mask) && !((*strides)[3] == Dim(1))) return {"a mask whose rows do not lie together"};
  for (size_t i = 0; i < 3; ++i) read.mask_strides[i] = lowering.extent((*strides)[i]);
  read.plan.mask = dtype == DType::boolean ? AttentionPlan::Mask::chosen : AttentionPlan::Mask::added;
  return {};
}

}  // namespace

Support read_attention(const Lowering& lowering, const Node& node, ValueId mask, AttentionOperands& read) {
  if (Support r = read_heads(lowering, node, read.plan); !r.supported()) return r;
  read_attributes(node.attributes, read);
  const Shape q = lowering.shape(node.operands[0]), k = lowering.shape(node.operands[1]);
  if (mask != kNone)
    if (Support r = read_mask(lowering, mask, {q[0], read.plan.heads, q[1], k[1]}, read); !r.supported()) return r;
  read.batches = lowering.extent(q[0]), read.queries = lowering.extent(q[1]), read.keys = lowering.extent(k[1]);
  return {};
}

namespace {

// Keys and values that a table gathers from pages, which are then read where they lie.
struct PagedOperands {
  ValueId k = kNone, v = kNone, table = kNone;
  int64_t page_rows = 0;
};

// What a row of the table gathers, where `v` is that and no more, of so many batches and columns.
NodeId gathered(const Lowering& lowering, ValueId v, const Shape& shape) {
  const Graph& graph = lowering.graph;
  NodeId n = graph.producer(v);
  while (n != kNone && graph.node(n).op->view) n = graph.producer(graph.operand(n, 0));
  if (n == kNone || graph.node(n).op != &gather_def || graph.node(n).attributes.get_or<int64_t>("axis", 0) != 0)
    return kNone;
  const Shape pages = lowering.shape(graph.operand(n, 0)), table = lowering.shape(graph.operand(n, 1));
  if (pages.size() < 3 || table.size() != 2 || !(table[0] == shape[0]) || !pages[1].is_constant()) return kNone;
  const Dim columns = element_count(Shape(pages.begin() + 2, pages.end()));
  return columns == shape[2] && !lowering.lies_apart(graph.operand(n, 0)) && !lowering.lies_apart(graph.operand(n, 1))
             ? n
             : kNone;
}

std::optional<PagedOperands> paged_operands(const Lowering& lowering, const Node& node, AttentionPlan& plan) {
  const Graph& graph = lowering.graph;
  PagedOperands paged;
  std::array<std::string, 2> formats;
  for (size_t i = 1; i < 3; ++i) {
    const NodeId n = gathered(lowering, node.operands[i], lowering.shape(node.operands[i]));
    if (n == kNone) return {};
    const ValueId pages = graph.operand(n, 0), table = graph.operand(n, 1);
    const TensorType& type = graph.type(pages);
    const int64_t rows = lowering.shape(pages)[1].constant();
    if (graph.constant(pages) || rows < 1 || (i == 2 && (table != paged.table || rows != paged.page_rows))) return {};
    if (type.is_packed()) {
      if (plan.dtype != DType::f32 || !head_rows(*type.format, plan.kv_heads, i == 1 ? plan.head_dim : plan.value_dim))
        return {};
      Format format = *type.format;
      if (format.geometry.kind == Geometry::Kind::group) format.geometry.axis = -1;
      formats[i - 1] = to_string(format);
    } else if (type.dtype != plan.dtype) {
      return {};
    }
    (i == 1 ? paged.k : paged.v) = pages, paged.table = table, paged.page_rows = rows;
  }
  plan.k_format = formats[0], plan.v_format = formats[1];
  plan.page_rows = paged.page_rows, plan.table = graph.type(paged.table).dtype;
  return paged;
}

}  // namespace

Support lower_attention(const Lowering& lowering, Prepared& prepared) {
  const Graph& graph = lowering.graph;
  StepDraft& step = prepared.step();
  const Node& node = graph.node(step.group.anchor);
  const auto operand = [&](size_t i) { return i < node.operands.size() ? node.operands[i] : kNone; };
  const ValueId mask = operand(3), sinks = operand(4);
  AttentionOperands read;
  if (Support r = read_attention(lowering, node, mask, read); !r.supported()) return r;
  if (step.group.results.size() != 1) return {"several results"};
  read.plan.result = graph.type(step.group.results[0]).dtype;
  read.plan.sinks = sinks != kNone;
  if (read.plan.sinks && graph.type(sinks).dtype != DType::f32) return {"sinks that are not f32"};
  const std::optional<PagedOperands> paged = paged_operands(lowering, node, read.plan);
  const std::array<ValueId, 4> values{node.operands[0], paged ? paged->k : node.operands[1],
                                      paged ? paged->v : node.operands[2], step.group.results[0]};
  std::array<Extent, 4> strides;
  for (size_t i = 0; i < 4; ++i) {
    const ValueId lines = i < 3 ? node.operands[i] : step.group.results[0];
    const Dim columns = lowering.shape(lines)[2];
    const bool is_paged = paged && (i == 1 || i == 2);
    const std::optional<Dim> stride = is_paged ? columns : lowering.row_stride(lines, columns);
    if (!stride) return {"rows of several strides"};
    strides[i] = lowering.extent(*stride);
    if (i == 3) lowering.bind(step, mask, mask == kNone ? Plane::none : Plane::data);
    lowering.bind(step, values[i]);
  }
  lowering.bind(step, sinks, sinks == kNone ? Plane::none : Plane::data);
  lowering.bind(step, kNone, Plane::none);
  for (size_t i = 1; i < 3; ++i)
    if (graph.type(values[i]).is_packed()) {
      lowering.bind(step, values[i], Plane::scales);
      lowering.bind(step, values[i], Plane::zero_points);
    } else {
      for (int unread = 0; unread < 2; ++unread) lowering.bind(step, kNone, Plane::none);
    }
  lowering.bind(step, paged ? paged->table : kNone, paged ? Plane::data : Plane::none);
  std::array<Extent, 3> pages{};
  if (paged)
    pages = {lowering.extent(lowering.shape(paged->table)[1]), lowering.extent(lowering.shape(paged->k)[0]),
             lowering.extent(lowering.shape(paged->v)[0])};
  step.plan = read.plan;
  step.lasting = true;
  prepared.place = [=](const RunSizes& sizes, StepCall& placed) {
    AttentionArgs args{.q_row = sizes.of(strides[0]),
                       .k_row = sizes.of(strides[1]),
                       .v_row = sizes.of(strides[2]),
                       .out_row = sizes.of(strides[3])};
    read.write(sizes, args);
    if (paged)
      args.sequence_pages = sizes.of(pages[0]), args.k_pages = sizes.of(pages[1]), args.v_pages = sizes.of(pages[2]);
    placed.set(args);
    return Support{};
  };
  return {};
}

}  // namespace hone
