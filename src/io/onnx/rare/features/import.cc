// Operators of ai.onnx.ml that map, choose and scale features, and linear models: LabelEncoder, ArrayFeatureExtractor,
// Binarizer, FeatureVectorizer, Imputer, LinearClassifier, LinearRegressor, Normalizer, OneHotEncoder, Scaler.
#include <cmath>
#include <limits>

#include "base/checked.h"
#include "io/onnx/formula.h"
#include "io/onnx/rare/post_transform.h"
#include "ops/calls/argmax.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/comparison.h"
#include "ops/calls/concat.h"
#include "ops/calls/gather.h"
#include "ops/calls/linear.h"
#include "ops/calls/map_values.h"
#include "ops/calls/pad.h"
#include "ops/calls/reduce.h"
#include "ops/calls/reshape.h"
#include "ops/calls/rounding.h"
#include "ops/calls/slice.h"

namespace hone {
namespace {

using onnx::Formula;
constexpr const char* kMl = "ai.onnx.ml";

template <class T>
Tensor vector_of(const std::vector<T>& values) {
  return Tensor::of<T>({static_cast<int64_t>(values.size())}, values);
}

Tensor strings(std::vector<std::string> values) {
  const auto count = static_cast<int64_t>(values.size());
  return Tensor::strings({count}, std::move(values));
}

// --- LabelEncoder ----------------------------------------------------------------------------------------------------

// The one of PREFIX_strings, _int64s, _floats and _tensor that is given.
Tensor table_of(const OnnxNode& n, const std::string& prefix) {
  std::vector<Tensor> found;
  if (n.has_attribute(prefix + "_strings")) found.push_back(strings(n.texts(prefix + "_strings")));
  if (n.has_attribute(prefix + "_int64s")) found.push_back(vector_of(n.integers(prefix + "_int64s")));
  if (n.has_attribute(prefix + "_floats"))
    found.push_back(vector_of(n.numbers(prefix + "_floats")).converted(DType::f32));
  if (n.has_attribute(prefix + "_tensor")) found.push_back(n.tensor(prefix + "_tensor"));
  if (found.size() != 1)
    fail("{} of the attributes {}_strings, _int64s, _floats and _tensor are given; accepted: one", found.size(),
         prefix);
  return found[0];
}

// What stands for keys that are not there, of the values' type.
Tensor default_of(const OnnxNode& n, DType dtype) {
  if (n.has_attribute("default_tensor")) {
    const Tensor value = n.tensor("default_tensor");
    if (value.dtype() != dtype || value.elements() != 1)
      fail("default_tensor is {}; expected one {}, as the values are", to_string(value.type()), to_string(dtype));
    return value.reshaped({});
  }
  if (dtype == DType::string) return Tensor::strings({}, {n.text("default_string", "_Unused")});
  if (is_float(dtype)) return Tensor::scalar(n.number("default_float", -0.0)).converted(dtype);
  return Tensor::scalar(n.integer("default_int64", -1)).converted(dtype);
}

ValueId mapped(const OnnxNode& n, const Tensor& keys, const Tensor& values) {
  return ops::map_values(n, {.x = n.in(0),
                             .keys = n.constant(keys),
                             .values = n.constant(values),
                             .default_value = n.constant(default_of(n, values.dtype()))});
}

std::vector<ValueId> import_label_encoder(OnnxNode& n) {
  const Tensor keys = table_of(n, "keys"), values = table_of(n, "values");
  if (keys.shape() != values.shape() || keys.shape().size() != 1)
    fail("the keys are {} and the values {}; expected two vectors as long", to_string(keys.type()),
         to_string(values.type()));
  return {mapped(n, keys, values)};
}

// Version 1: strings to their places in a list, or back.
std::vector<ValueId> import_label_encoder_1(OnnxNode& n) {
  const Tensor classes = strings(n.texts("classes_strings"));
  std::vector<int64_t> places(static_cast<size_t>(classes.elements()));
  for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int64_t>(i);
  const bool back = n.type(n.in(0)).dtype != DType::string;
  return {back ? mapped(n, vector_of(places), classes) : mapped(n, classes, vector_of(places))};
}

// --- Mapping and scaling ---------------------------------------------------------------------------------------------

// Columns by their numbers; a vector is a matrix of one row.
std::vector<ValueId> import_array_feature_extractor(OnnxNode& n) {
  const ValueId x = n.in(0), index = n.reshape(n.in(1), {-1});
  const auto rank = static_cast<int64_t>(n.rank(x));
  if (rank == 0) fail("x is {}; accepted: a dimension or more", to_string(n.type(x)));
  const ValueId picked = ops::gather(n, {.table = x, .indices = index, .axis = rank - 1});
  return {rank == 1 ? ops::unsqueeze(n, {.x = picked, .axes = std::vector<int64_t>{0}}) : picked};
}

std::vector<ValueId> import_binarizer(OnnxNode& n) {
  const Formula x(n, n.in(0));
  const DType wide = is_integer(x.dtype()) ? DType::f64 : x.dtype();
  const Formula above = x.cast(wide).apply(greater_def, n.scalar(n.number("threshold", 0), wide));
  return {above.cast(x.dtype())};
}

// Rows of all inputs side by side, each cut or filled up to its width.
std::vector<ValueId> import_feature_vectorizer(OnnxNode& n) {
  const std::vector<int64_t> widths = n.integers("inputdimensions");
  if (widths.size() != static_cast<size_t>(n.inputs()))
    fail("inputdimensions has {} numbers; there are {} inputs", widths.size(), n.inputs());
  std::vector<ValueId> parts;
  for (int i = 0; i < n.inputs(); ++i) {
    const int64_t width =
        checked_range(widths[static_cast<size_t>(i)], 0, std::numeric_limits<int32_t>::max(), "an input's width");
    ValueId x = n.cast(n.in(i), DType::f32);
    if (n.rank(x) == 1) x = n.reshape(x, {n.type(x).shape[0], 1});
    if (n.rank(x) != 2) fail("input {} is {}; accepted: one or two dimensions", i, to_string(n.type(x)));
    const Dim own = n.type(x).shape[1];
    if (!own.is_constant()) n.unsupported("an input whose width is known only when the model runs");
    if (own.constant() > width)
      x = ops::slice(n, {.x = x, .starts = Shape{0}, .ends = Shape{width}, .axes = std::vector<int64_t>{1}});
    if (own.constant() < width)
      x = ops::pad(n, {.x = x, .value = n.scalar(0, DType::f32), .pads = Shape{0, 0, 0, width - own.constant()}});
    parts.push_back(x);
  }
  return {ops::concat(n, {.inputs = parts, .axis = 1})};
}

// A list of numbers for the columns of x, or one for all, in an element type.
ValueId per_column(const OnnxNode& n, const char* name, DType dtype, double fallback) {
  const std::vector<double> values = n.numbers(name, std::vector<double>{fallback});
  if (values.empty()) fail("{} is empty", name);
  return n.constant(vector_of(values).converted(dtype));
}

std::vector<ValueId> import_imputer(OnnxNode& n) {
  const ValueId x = n.in(0);
  const DType dtype = n.type(x).dtype;
  if (is_integer(dtype)) {
    const ValueId with = n.constant(vector_of(n.integers("imputed_value_int64s")).converted(dtype));
    const ValueId gone =
        ops::equal(n, {x, n.constant(Tensor::scalar(n.integer("replaced_value_int64", 0)).converted(dtype))});
    return {ops::where(n, {.condition = gone, .a = with, .b = x})};
  }
  const double replaced = n.number("replaced_value_float", 0);
  const ValueId gone = std::isnan(replaced) ? ops::is_nan(n, {x}) : ops::equal(n, {x, n.scalar(replaced, dtype)});
  return {ops::where(
      n, {.condition = gone, .a = n.constant(vector_of(n.numbers("imputed_value_floats")).converted(dtype)), .b = x})};
}

std::vector<ValueId> import_normalizer(OnnxNode& n) {
  const Formula x(n, n.cast(n.in(0), DType::f32));
  const std::string norm = n.text("norm", "MAX");
  const Attributes along{{"axes", std::vector<int64_t>{-1}}};
  const auto scaled = [&](const Formula& size) { return x / size.apply(clip_def, {{"min", 1e-30}}); };
  if (norm == "MAX") return {scaled(x.apply(abs_def).apply(reduce_max_def, along))};
  if (norm == "L1") return {scaled(x.apply(abs_def).apply(reduce_sum_def, along))};
  if (norm == "L2") return {scaled(sqrt(square(x).apply(reduce_sum_def, along)))};
  fail("norm is \"{}\"; accepted: MAX, L1, L2", norm);
}

std::vector<ValueId> import_one_hot_encoder(OnnxNode& n) {
  const Tensor categories = class_labels(n, "cats_int64s", "cats_strings");
  if (!n.is_not_zero("zeros", true)) n.unsupported("zeros 0, which refuses what is in no category; supported: 1");
  ValueId x = n.in(0);
  if (categories.dtype() != DType::string) x = n.cast(x, DType::i64);
  const int64_t count = categories.elements();
  std::vector<int64_t> places(static_cast<size_t>(count));
  for (size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int64_t>(i);
  const ValueId place = ops::map_values(n, {.x = x,
                                            .keys = n.constant(categories),
                                            .values = n.constant(vector_of(places)),
                                            .default_value = n.constant(Tensor::scalar(int64_t{-1}))});
  const ValueId column = ops::unsqueeze(n, {.x = place, .axes = std::vector<int64_t>{-1}});
  return {n.cast(ops::equal(n, {column, n.constant(vector_of(places))}), DType::f32)};
}

std::vector<ValueId> import_scaler(OnnxNode& n) {
  const DType own = n.type(n.in(0)).dtype, wide = own == DType::f64 || is_integer(own) ? DType::f64 : DType::f32;
  const Formula x(n, n.cast(n.in(0), wide));
  const Formula offset(n, per_column(n, "offset", wide, 0)), scale(n, per_column(n, "scale", wide, 1));
  return {((x - offset) * scale).cast(DType::f32)};
}

// --- Linear models ---------------------------------------------------------------------------------------------------

// x [N,C] times coefficients [rows,C] transposed, plus intercepts: [N,rows].
ValueId linear_scores(const OnnxNode& n, std::optional<int64_t> rows) {
  const ValueId x = n.cast(n.in(0), DType::f32);
  if (n.rank(x) != 2) fail("x is {}; expected [N,C]", to_string(n.type(x)));
  const std::vector<double> coefficients = n.numbers("coefficients");
  const std::vector<double> intercepts = n.numbers("intercepts", std::vector<double>());
  const auto count = static_cast<int64_t>(coefficients.size());
  const int64_t scores = rows ? *rows : intercepts.empty() ? 1 : static_cast<int64_t>(intercepts.size());
  if (scores < 1 || count % scores != 0) fail("{} coefficients do not fall into {} rows", count, scores);
  const ValueId weights = n.constant(vector_of(coefficients).converted(DType::f32).reshaped({scores, count / scores}));
  std::vector<ValueId> operands{x, weights};
  if (!intercepts.empty()) {
    if (static_cast<int64_t>(intercepts.size()) != scores)
      fail("there are {} intercepts and {} rows of coefficients", intercepts.size(), scores);
    operands.push_back(n.constant(vector_of(intercepts).converted(DType::f32)));
  }
  return n.emit({&linear_def, operands});
}

std::vector<ValueId> import_linear_regressor(OnnxNode& n) {
  return {transformed(n, post_transform_of(n), linear_scores(n, n.integer("targets", 1)))};
}

std::vector<ValueId> import_linear_classifier(OnnxNode& n) {
  const Tensor labels = class_labels(n, "classlabels_ints", "classlabels_strings");
  ValueId scores = linear_scores(n, {});
  const int64_t classes = labels.elements();
  if (n.type(scores).shape.at(1) == Dim(1) && classes == 2)
    scores = ops::concat(n, {.inputs = {ops::neg(n, {scores}), scores}, .axis = 1});
  if (n.type(scores).shape.at(1) != Dim(classes))
    n.unsupported(fmt::format("{} scores for {} labels", n.type(scores).shape.at(1).to_string(), classes));
  const ValueId best = ops::argmax(n, {.x = scores, .axis = 1, .keepdims = 0});
  return {labels_at(n, labels, best), transformed(n, post_transform_of(n), scores)};
}

constexpr OnnxOperator kOperators[] = {
    {"ArrayFeatureExtractor", 1, import_array_feature_extractor, kMl},
    {"Binarizer", 1, import_binarizer, kMl},
    {"FeatureVectorizer", 1, import_feature_vectorizer, kMl},
    {"Imputer", 1, import_imputer, kMl},
    {"LabelEncoder", 1, import_label_encoder_1, kMl},
    {"LabelEncoder", 2, import_label_encoder, kMl},
    {"LinearClassifier", 1, import_linear_classifier, kMl},
    {"LinearRegressor", 1, import_linear_regressor, kMl},
    {"Normalizer", 1, import_normalizer, kMl},
    {"OneHotEncoder", 1, import_one_hot_encoder, kMl},
    {"Scaler", 1, import_scaler, kMl},
};

}  // namespace

extern constinit const OnnxFamilyDef onnx_ml_def{.name = "ml", .operators = kOperators};

}  // namespace hone
