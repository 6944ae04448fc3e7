// einsum: sums of products over named dimensions, in the notation of Einstein and NumPy.
#include "ops/einsum.h"

#include <algorithm>
#include <map>

#include "base/memory_limit.h"
#include "base/threads.h"
#include "ops/elements.h"
#include "ops/rules.h"

namespace hone {
namespace {

constexpr AttributeSpec kAttributes[] = {
    {"equation", AttributeKind::string, true, "ij,jk->ik; ... stands for further dimensions, which broadcast"}};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// The labels of `term`, whose ellipsis stands for `hidden` dimensions.
Labels labels_of(const std::string& term, size_t hidden) {
  Labels labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term.compare(i, 3, "...") == 0) {
      if (term.find("...", i + 3) != std::string::npos) fail("term \"{}\" holds two ellipses; accepted: one", term);
      for (auto k = static_cast<Label>(hidden); k > 0; --k) labels.push_back(-k);
      i += 2;
    } else if (is_letter(term[i])) {
      labels.push_back(term[i]);
    } else {
      fail("term \"{}\" holds '{}'; accepted: letters and one ellipsis (...)", term, term[i]);
    }
  }
  return labels;
}

// Without an arrow: the dimensions of the ellipsis, then the letters that occur once, sorted.
Labels implied_result(const std::vector<Labels>& operands) {
  std::map<Label, int> uses;
  for (const Labels& labels : operands)
    for (Label label : labels) ++uses[label];
  Labels result;
  for (const auto& [label, count] : uses)
    if (label < 0 || count == 1) result.push_back(label);
  return result;
}

std::vector<std::string> terms_of(const std::string& text) {
  std::vector<std::string> terms(1);
  for (char c : text) {
    if (c == ',') terms.emplace_back();
    else terms.back() += c;
  }
  return terms;
}

}  // namespace

EinsumEquation parse_einsum(std::string text, std::span<const size_t> ranks) {
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  const std::vector<std::string> terms = terms_of(text.substr(0, arrow));
  if (terms.size() != ranks.size())
    fail("equation \"{}\" has {} terms for {} operands", text, terms.size(), ranks.size());
  EinsumEquation equation;
  size_t most_hidden = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const bool ellipsis = terms[i].find("...") != std::string::npos;
    const size_t letters = labels_of(terms[i], 0).size();
    if (ellipsis ? ranks[i] < letters : ranks[i] != letters)
      fail("term \"{}\" of equation \"{}\" stands for {} dimensions, operand {} has {}", terms[i], text, letters, i,
           ranks[i]);
    most_hidden = std::max(most_hidden, ranks[i] - letters);
    equation.operands.push_back(labels_of(terms[i], ranks[i] - letters));
  }
  if (arrow == std::string::npos) equation.result = implied_result(equation.operands);
  else equation.result = labels_of(text.substr(arrow + 2), most_hidden);
  return equation;
}

namespace {

// Each label's dimension: what broadcasting the operands along it gives.
std::map<Label, Dim> dims_of(const EinsumEquation& equation, const InferArgs& a) {
  std::map<Label, Dim> dims;
  for (size_t i = 0; i < equation.operands.size(); ++i)
    for (size_t axis = 0; axis < equation.operands[i].size(); ++axis) {
      Dim& dim = dims.try_emplace(equation.operands[i][axis], 1).first->second;
      dim = broadcast({dim}, {a[i].shape[axis]})[0];
    }
  return dims;
}

std::vector<TensorType> infer_einsum(const InferArgs& a) {
  std::vector<size_t> ranks;
  for (size_t i = 0; i < a.operands.size(); ++i) {
    if (!a.has(i)) fail("operand {} is absent", i);
    if (a[i].dtype != a[0].dtype || a[i].dtype == DType::boolean || a[i].dtype == DType::string)
      fail("operand {} is {}; accepted: floats and integers, all of one type", i, to_string(a[i]));
    ranks.push_back(a[i].rank());
  }
  const EinsumEquation equation = parse_einsum(a.attributes.get<std::string>("equation"), ranks);
  const std::map<Label, Dim> dims = dims_of(equation, a);
  Shape shape;
  for (Label label : equation.result) {
    if (!dims.contains(label)) fail("no operand has the dimension '{}' of the result", static_cast<char>(label));
    if (std::ranges::count(equation.result, label) > 1)
      fail("the result has the dimension '{}' twice", static_cast<char>(label));
    shape.push_back(dims.at(label));
  }
  return {plain_type(a[0].dtype, shape)};
}

std::map<Label, int64_t> lengths_of(const EinsumEquation& equation, const EvalArgs& a) {
  std::map<Label, int64_t> lengths;
  for (size_t i = 0; i < equation.operands.size(); ++i)
    for (size_t axis = 0; axis < equation.operands[i].size(); ++axis) {
      int64_t& length = lengths.try_emplace(equation.operands[i][axis], 1).first->second;
      if (a[i].shape()[axis] != 1) length = a[i].shape()[axis];
    }
  return lengths;
}

// Where each index of `labels` lies in x, whose axes are called `own`: a step along a label is one along every axis
// that it names, and none along axes of length 1.
std::vector<int64_t> offsets(const Tensor& x, const Labels& own, const Labels& labels,
                             const std::map<Label, int64_t>& lengths) {
  const std::vector<int64_t> own_strides = strides_of(x.shape());
  std::vector<int64_t> sizes, strides, list;
  for (Label label : labels) {
    sizes.push_back(lengths.at(label));
    strides.push_back(0);
    for (size_t axis = 0; axis < own.size(); ++axis)
      if (own[axis] == label && x.shape()[axis] != 1) strides.back() += own_strides[axis];
  }
  const int64_t count = checked_product(sizes);
  require_memory(checked_mul(count, sizeof(int64_t)), "einsum, for the terms of its sums,");
  list.reserve(static_cast<size_t>(count));
  for_each_offset(sizes, strides, [&](int64_t offset) { list.push_back(offset); });
  return list;
}

// One operand as the sums read it: the offset of each result's first factor, and from there those of its others.
template <class T>
struct Factor {
  std::vector<T> elements;
  std::vector<int64_t> first, further;
};

template <class T>
std::vector<T> sums_of_products(const std::vector<Factor<T>>& factors) {
  std::vector<T> out(factors[0].first.size());
  parallel_for(static_cast<int64_t>(out.size()), [&](int64_t result) {
    const auto at = static_cast<size_t>(result);
    for (size_t s = 0; s < factors[0].further.size(); ++s) {
      if (s % kVisitsPerStop == 0) check_stop();
      T product{1};
      for (const Factor<T>& f : factors)
        product = wrapping_product(product, f.elements[static_cast<size_t>(f.first[at] + f.further[s])]);
      out[at] = wrapping_sum(out[at], product);
    }
  });
  return out;
}

std::vector<Tensor> eval_einsum(const EvalArgs& a) {
  std::vector<size_t> ranks;
  for (const Tensor* operand : a.operands) ranks.push_back(operand->shape().size());
  const EinsumEquation equation = parse_einsum(a.attributes.get<std::string>("equation"), ranks);
  const std::map<Label, int64_t> lengths = lengths_of(equation, a);
  Labels summed;
  for (const auto& [label, length] : lengths)
    if (std::ranges::count(equation.result, label) == 0) summed.push_back(label);
  return with_elements(a[0], [&]<class T>(const std::vector<T>&) -> std::vector<Tensor> {
    std::vector<Factor<T>> factors;
    for (size_t i = 0; i < ranks.size(); ++i)
      factors.push_back({elements_as<T>(a[i]), offsets(a[i], equation.operands[i], equation.result, lengths),
                         offsets(a[i], equation.operands[i], summed, lengths)});
    return {from_elements(a.results[0].dtype, sizes_of(a.results[0]), sums_of_products(factors))};
  });
}

}  // namespace

extern constinit const OpDef einsum_def{
    .name = "einsum",
    .doc =
        "Sums over the dimensions that the result lacks of the products of the operands' elements, e.g. "
        "bij,bjk->bik. Dimensions of one letter are equal or 1; a letter that repeats in a term takes its diagonal.",
    .operands = {several("inputs")},
    .attributes = kAttributes,
    .infer = infer_einsum,
    .eval = eval_einsum};

}  // namespace hone
