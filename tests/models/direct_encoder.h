// What BERT and its descendants share, straight from the papers' formulas: one layer of hidden size 8 on one sentence,
// in loops over doubles. A model adds its embeddings and its attention.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "ir/tensor.h"

namespace hone::test {

using Matrix = std::vector<std::vector<double>>;  // rows are tokens

class DirectEncoder {
 public:
  explicit DirectEncoder(const std::map<std::string, Tensor>& weights) {
    for (const auto& [name, tensor] : weights) weights_[name] = tensor.to_doubles();
  }

  // With a bias where there is one.
  Matrix dense(const Matrix& x, const std::string& name, size_t outputs) const {
    Matrix y;
    const auto bias = weights_.find(name + ".bias");
    for (const auto& row : x) {
      y.emplace_back();
      for (size_t o = 0; o < outputs; ++o) {
        double value = bias == weights_.end() ? 0 : bias->second[o];
        for (size_t i = 0; i < row.size(); ++i) value += row[i] * weight(name + ".weight")[o * row.size() + i];
        y.back().push_back(value);
      }
    }
    return y;
  }

  static double gelu(double v) { return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0))); }

 protected:
  static constexpr size_t kHidden = 8, kHeads = 2, kColumns = 4;  // a head has kColumns of the hidden ones

  const std::vector<double>& weight(const std::string& name) const { return weights_.at(name); }

  std::vector<double> row(const std::string& table, size_t index) const {
    const double* first = weight(table).data() + index * kHidden;
    return {first, first + kHidden};
  }

  static Matrix sum(Matrix a, const Matrix& b) {
    for (size_t i = 0; i < a.size(); ++i)
      for (size_t j = 0; j < a[i].size(); ++j) a[i][j] += b[i][j];
    return a;
  }

  Matrix norm(Matrix x, const std::string& name) const {
    for (auto& row : x) {
      double mean = 0, variance = 0;
      for (double v : row) mean += v / kHidden;
      for (double v : row) variance += (v - mean) * (v - mean) / kHidden;
      for (size_t c = 0; c < kHidden; ++c)
        row[c] = (row[c] - mean) / std::sqrt(variance + 1e-3) * weight(name + ".weight")[c] + weight(name + ".bias")[c];
    }
    return x;
  }

  static double product(const std::vector<double>& a, const std::vector<double>& b, size_t head) {
    double sum = 0;
    for (size_t c = head * kColumns; c < (head + 1) * kColumns; ++c) sum += a[c] * b[c];
    return sum;
  }

  // In each head token i becomes the mean of all `values`, that of token j weighted by share(head, i, j).
  template <class Share>
  static Matrix mix(const Matrix& values, Share share) {
    Matrix out(values.size(), std::vector<double>(kHidden, 0));
    for (size_t h = 0; h < kHeads; ++h)
      for (size_t i = 0; i < values.size(); ++i) {
        double total = 0;
        for (size_t j = 0; j < values.size(); ++j) total += share(h, i, j);
        for (size_t j = 0; j < values.size(); ++j)
          for (size_t c = h * kColumns; c < (h + 1) * kColumns; ++c) out[i][c] += share(h, i, j) / total * values[j][c];
      }
    return out;
  }

  // What follows the attention of the first layer, whose input is x.
  Matrix rest_of_layer(const Matrix& attended, Matrix x, size_t inner) const {
    const std::string layer = "encoder.layer.0.";
    x = norm(sum(dense(attended, layer + "attention.output.dense", kHidden), x), layer + "attention.output.LayerNorm");
    Matrix up = dense(x, layer + "intermediate.dense", inner);
    for (auto& row : up)
      for (double& v : row) v = gelu(v);
    return norm(sum(dense(up, layer + "output.dense", kHidden), x), layer + "output.LayerNorm");
  }

 private:
  std::map<std::string, std::vector<double>> weights_;
};

inline Tensor tokens(const std::vector<int64_t>& values) {
  return Tensor::of<int64_t>({1, static_cast<int64_t>(values.size())}, values);
}

inline void expect_near(const Tensor& found, const Matrix& wanted, double bound) {
  const std::vector<double> values = found.to_doubles();
  ASSERT_EQ(values.size(), wanted.size() * wanted[0].size());
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], wanted[i / wanted[0].size()][i % wanted[0].size()], bound);
}

}  // namespace hone::test
