#include "ir/pointwise.h"

#include <memory>

#include "base/error.h"
#include "ir/compute_column.h"

namespace hone {
namespace {

// A plain array, because spans of bool can't view a vector<bool>.
struct Presence {
  explicit Presence(size_t count) : flags(std::make_unique<bool[]>(count)), count(count) {}
  std::span<const bool> view() const { return {flags.get(), count}; }
  std::unique_ptr<bool[]> flags;
  size_t count;
};

bool is_present(std::span<const bool> present, size_t i) { return present.empty() || present[i]; }

// Dtypes of the operands of `args`; f32 stands in for absent ones.
template <class ArgsOf>
std::vector<DType> dtypes_of(const ArgsOf& args, Presence& presence, DType (*dtype)(const ArgsOf&, size_t)) {
  std::vector<DType> dtypes;
  for (size_t i = 0; i < args.operands.size(); ++i) {
    presence.flags[i] = args.has(i);
    dtypes.push_back(args.has(i) ? dtype(args, i) : DType::f32);
    if (dtypes.back() == DType::string) fail("operand {} holds strings; expected numbers", i);
  }
  return dtypes;
}

}  // namespace

Expr pointwise_expr(const OpDef& op, std::span<const Expr> operands, std::span<const DType> dtypes,
                    const Attributes& attributes) {
  CHECK(op.pointwise, "{} is not pointwise", op.name);
  try {
    return op.pointwise({operands, attributes, dtypes});
  } catch (
      const Bug& mismatch) {  // expressions treat mixed types as our fault; here the graph's author chose the operands
    std::string list;
    for (DType dtype : dtypes) list += (list.empty() ? "" : ", ") + std::string(to_string(dtype));
    fail("element types {} do not go together ({}). Insert a cast", list, mismatch.what());
  }
}

Program pointwise_program(const OpDef& op, std::span<const DType> dtypes, const Attributes& attributes,
                          std::span<const bool> present) {
  std::vector<Expr> operands;
  for (size_t i = 0; i < dtypes.size(); ++i)
    operands.push_back(is_present(present, i) ? Expr::arg(static_cast<int>(i), compute_scalar(dtypes[i])) : Expr());
  Expr result = pointwise_expr(op, operands, dtypes, attributes);
  if (result.is_literal()) result = typed(dtypes.empty() ? Scalar::f32 : compute_scalar(dtypes[0]), result);
  return flatten(result);
}

DType pointwise_dtype(Scalar result, std::span<const DType> dtypes, const Attributes& attributes,
                      std::span<const bool> present) {
  if (attributes.has("dtype")) return attributes.get<DType>("dtype");
  if (result == Scalar::boolean) return DType::boolean;
  std::optional<DType> shared;
  for (size_t i = 0; i < dtypes.size(); ++i) {
    if (!is_present(present, i) || compute_scalar(dtypes[i]) != result) continue;
    if (shared && *shared != dtypes[i]) return dtype_of(result);
    shared = dtypes[i];
  }
  if (shared) return *shared;
  return dtype_of(result);
}

std::vector<TensorType> infer_pointwise(const OpDef& op, const InferArgs& args) {
  Presence presence(args.operands.size());
  const std::vector<DType> dtypes =
      dtypes_of<InferArgs>(args, presence, [](const InferArgs& a, size_t i) { return a[i].dtype; });
  const Program program = pointwise_program(op, dtypes, args.attributes, presence.view());
  TensorType result;
  for (size_t i = 0; i < args.operands.size(); ++i)
    if (args.has(i)) result.shape = broadcast(result.shape, args[i].shape);
  result.dtype = pointwise_dtype(program.result_type(0), dtypes, args.attributes, presence.view());
  if (compute_scalar(result.dtype) != program.result_type(0))
    fail("attribute dtype={} does not hold the op's result of type {}", to_string(result.dtype),
         to_string(program.result_type(0)));
  return {result};
}

std::vector<Tensor> eval_pointwise(const OpDef& op, const EvalArgs& args) {
  Presence presence(args.operands.size());
  const std::vector<DType> dtypes =
      dtypes_of<EvalArgs>(args, presence, [](const EvalArgs& a, size_t i) { return a[i].dtype(); });
  const Program program = pointwise_program(op, dtypes, args.attributes, presence.view());
  const Tensor scalars = map_elements(program, args.operands, constant_shape(args.results[0].shape));
  return {store_column(args.results[0].dtype, scalars)};
}

}  // namespace hone
