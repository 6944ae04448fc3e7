// What operators of ai.onnx.ml do to their scores [N,E], and the labels that classifiers choose by them.
#pragma once

#include "io/onnx/onnx_family.h"

namespace hone {

enum class PostTransform { none, softmax, logistic, softmax_zero, probit };
PostTransform post_transform_of(const OnnxNode& n);  // of the attribute, a text
ValueId transformed(const OnnxNode& n, PostTransform post, ValueId scores);

// The labels of a classifier: the attribute of strings or that of integers, whichever is given.
Tensor class_labels(const OnnxNode& n, const char* integers, const char* strings);
ValueId labels_at(const OnnxNode& n, const Tensor& labels, ValueId indices);

}  // namespace hone
