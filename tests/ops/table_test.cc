// What holds for every op of the table.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ops/evaluate.h"
#include "ops/registry.h"
#include "tests/support/op_cases.h"

namespace hone {
namespace {

TEST(OpTable, IsSortedAndFindsEachOpByItsName) {
  ASSERT_GE(ops::all().size(), 70u);
  for (const OpDef* op : ops::all()) EXPECT_EQ(ops::find(op->name), op);
  EXPECT_TRUE(std::ranges::is_sorted(ops::all(), {}, [](const OpDef* op) { return std::string(op->name); }));
  EXPECT_EQ(ops::find("no_such_op"), nullptr);
  EXPECT_THROW(ops::get("no_such_op"), Bug);
}

TEST(OpTable, EveryOpIsDocumentedAndIsPointwiseOrEvaluatedButNotBoth) {
  for (const OpDef* op : ops::all()) {
    SCOPED_TRACE(op->name);
    EXPECT_GT(std::string_view(op->doc).size(), 0u);
    EXPECT_NE(op->pointwise == nullptr, op->eval == nullptr);
    EXPECT_EQ(op->eval == nullptr, op->infer == nullptr);
    EXPECT_LE((op->pointwise != nullptr) + op->view + op->moves + (op->row != nullptr), 1);
    std::set<std::string> names;
    for (const AttributeSpec& spec : op->attributes) {
      EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
      EXPECT_GT(std::string_view(spec.doc).size(), 0u) << spec.name;
    }
  }
}

bool is_snake_case(std::string_view name) {
  return !name.empty() &&
         std::ranges::all_of(name, [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

TEST(OpTable, OperandsHaveNamesOfTheirOwnAndThoseThatMayBeAbsentComeLast) {
  using Count = OperandSpec::Count;
  for (const OpDef* op : ops::all()) {
    SCOPED_TRACE(op->name);
    std::set<std::string> names;
    for (const AttributeSpec& spec : op->attributes) names.insert(spec.name);
    bool optional = false, repeats = false;
    for (const OperandSpec& spec : op->operands) {
      EXPECT_TRUE(is_snake_case(spec.name)) << spec.name;
      EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
      EXPECT_FALSE(repeats) << spec.name << " follows what there are several of";
      EXPECT_FALSE(optional && spec.count == Count::one) << spec.name << " follows what may be absent";
      optional |= spec.count == Count::optional;
      repeats |= spec.repeats();
    }
    EXPECT_EQ(op->operands.most(), repeats ? -1 : static_cast<int>(op->operands.size()));
    EXPECT_LE(op->operands.least(), static_cast<int>(op->operands.size()));
    if (op->move_map) {
      EXPECT_TRUE(op->moves);
    }
  }
}

// Ops with bodies have tests of their own (control_test.cc): a sample has no bodies.
std::vector<const OpDef*> ops_with_samples() {
  std::vector<const OpDef*> found;
  for (const OpDef* op : ops::all())
    if (op->bodies == 0) found.push_back(op);
  return found;
}

TEST(OpTable, SamplesExistForEveryOpAndSetEachOfItsAttributes) {
  Philox rng(1);
  for (const OpDef* op : ops_with_samples()) {
    SCOPED_TRACE(op->name);
    std::set<std::string> set;
    const OpCases cases = cases_for(*op, rng);
    EXPECT_FALSE(cases.empty());
    for (const OpCase& one : cases)
      for (const auto& [name, value] : one.attributes.items()) set.insert(name);
    for (const AttributeSpec& spec : op->attributes) EXPECT_TRUE(set.contains(spec.name)) << spec.name;
  }
}

TEST(OpTable, EvaluationGivesTheTypesThatTheShapeRulePromises) {
  Philox rng(2);
  for (const OpDef* op : ops_with_samples())
    for (const OpCase& one : cases_for(*op, rng)) {
      SCOPED_TRACE(std::string(op->name) + " " + one.text());
      const std::vector<const Tensor*> operands = one.pointers();
      std::vector<TensorType> types;
      std::vector<const TensorType*> type_pointers;
      for (const Tensor* operand : operands) types.push_back(operand ? operand->type() : TensorType{});
      for (size_t i = 0; i < types.size(); ++i) type_pointers.push_back(operands[i] ? &types[i] : nullptr);
      const std::vector<TensorType> promised = infer_results(*op, type_pointers, operands, one.attributes);
      const std::vector<Tensor> results = evaluate_node(*op, operands, one.attributes);
      ASSERT_EQ(results.size(), promised.size());
      for (size_t i = 0; i < results.size(); ++i)
        EXPECT_TRUE(may_be_same(results[i].type(), promised[i])) << to_string(promised[i]);
    }
}

TEST(OpTable, APackedOperandReadsAsItsDecodedValues) {
  Philox rng(3);
  for (const OpDef* op : ops_with_samples())
    for (OpCase one : cases_for(*op, rng)) {
      if (one.operands.empty() || !one.operands[0] || one.operands[0]->dtype() != DType::f32 ||
          one.operands[0]->shape().empty())
        continue;
      if (op->name == std::string_view("cache_append")) continue;  // bytes go beside bytes of the same format
      if (op->name == std::string_view("block_linear")) continue;  // it is the codes that are multiplied
      SCOPED_TRACE(std::string(op->name) + " " + one.text());
      const Tensor packed =
          one.operands[0]->is_packed() ? *one.operands[0] : pack(parse_format("mxint8"), *one.operands[0]);
      one.operands[0] = packed;
      const std::vector<Tensor> from_packed = evaluate_node(*op, one.pointers(), one.attributes);
      one.operands[0] = unpack(packed);
      const std::vector<Tensor> from_plain = evaluate_node(*op, one.pointers(), one.attributes);
      for (size_t i = 0; i < from_plain.size(); ++i) EXPECT_TRUE(from_packed[i].same_bits(from_plain[i]));
    }
}

TEST(OpTable, UnknownAttributesAndWrongNumbersOfOperandsAreErrors) {
  Philox rng(4);
  for (const OpDef* op : ops_with_samples()) {
    SCOPED_TRACE(op->name);
    OpCase one = cases_for(*op, rng).front();
    one.attributes.set("no_such_attribute", int64_t{1});
    EXPECT_THROW(evaluate_node(*op, one.pointers(), one.attributes), Error);
    one.attributes.erase("no_such_attribute");
    while (static_cast<int>(one.operands.size()) <= op->operands.most())
      one.operands.push_back(Tensor::scalar<float>(1));
    if (op->operands.most() >= 0) {
      EXPECT_THROW(evaluate_node(*op, one.pointers(), one.attributes), Error);
    }
    for (const AttributeSpec& spec : op->attributes) {
      OpCase lacking = cases_for(*op, rng).front();
      lacking.attributes.erase(spec.name);
      if (!spec.required) continue;
      EXPECT_THROW(evaluate_node(*op, lacking.pointers(), lacking.attributes), Error) << spec.name;
    }
  }
}

}  // namespace
}  // namespace hone
