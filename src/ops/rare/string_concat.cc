// string_concat: strings put behind one another, element by element.
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

std::vector<TensorType> infer_concat(const InferArgs& a) {
  expect_string(a[0], "a");
  expect_string(a[1], "b");
  return {plain_type(DType::string, broadcast(a[0].shape, a[1].shape))};
}

std::vector<Tensor> eval_concat(const EvalArgs& a) {
  const std::vector<int64_t> sizes = sizes_of(a.results[0]);
  std::vector<std::string> texts;
  TextBytes bytes;
  for (size_t i = 0; i < 2; ++i) {
    const std::vector<std::string>& parts = a[i].string_values();
    size_t at = 0;
    for_each_offset(sizes, strides_broadcast(a[i].shape(), sizes), [&](int64_t offset) {
      if (i == 0) texts.emplace_back();
      const std::string& part = parts[static_cast<size_t>(offset)];
      bytes.add(part.size());
      texts[at++] += part;
    });
  }
  return {Tensor::strings(sizes, std::move(texts))};
}

}  // namespace

extern constinit const OpDef string_concat_def{.name = "string_concat",
                                               .doc = "The strings of a followed by those of b; shapes broadcast.",
                                               .operands = {"a", "b"},
                                               .infer = infer_concat,
                                               .eval = eval_concat,
                                               .no_gradient = "texts do not change smoothly"};

}  // namespace hone
