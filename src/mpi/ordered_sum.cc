#include "mpi/ordered_sum.h"

#include <algorithm>

namespace hone {
namespace {

constexpr int kFirstTag = 16;  // behind those of Ranks

}  // namespace

std::span<float> OrderedSum::slice(const Sum& sum, int rank) const {
  const size_t all = sum.values.size(), count = static_cast<size_t>(ranks_.size()), at = static_cast<size_t>(rank);
  const size_t each = (all + count - 1) / count, begin = std::min(all, at * each);
  return sum.values.subspan(begin, std::min(each, all - begin));
}

void OrderedSum::begin(int number, std::span<float> values) {
  Sum& sum = under_way_.emplace_back(Sum{.tag = kFirstTag + 2 * number, .values = values});
  const size_t own = slice(sum, ranks_.rank()).size();
  sum.received.resize(own * static_cast<size_t>(ranks_.size() - 1));
  size_t at = 0;
  for (int other = 0; other < ranks_.size(); ++other) {
    if (other == ranks_.rank()) continue;
    sum.messages.receive(std::as_writable_bytes(std::span(sum.received).subspan(at, own)), other, sum.tag);
    sum.messages.send(std::as_bytes(slice(sum, other)), other, sum.tag);
    at += own;
  }
  progress();
}

void OrderedSum::add_up(Sum& sum) const {
  const std::span<float> own = slice(sum, ranks_.rank());
  const auto of = [&](int rank) {
    if (rank == ranks_.rank()) return own.data();
    return sum.received.data() + static_cast<size_t>(rank > ranks_.rank() ? rank - 1 : rank) * own.size();
  };
  float* const total = of(0);
  for (int rank = 1; rank < ranks_.size(); ++rank) {
    const float* const more = of(rank);
    for (size_t i = 0; i < own.size(); ++i) total[i] += more[i];
  }
  if (total != own.data()) std::copy_n(total, own.size(), own.data());
  sum.received = {};
}

bool OrderedSum::advance(Sum& sum) {
  if (!sum.messages.done()) return false;
  if (sum.is_summed) return true;
  add_up(sum);
  sum.is_summed = true;
  for (int other = 0; other < ranks_.size(); ++other) {
    if (other == ranks_.rank()) continue;
    sum.messages.receive(std::as_writable_bytes(slice(sum, other)), other, sum.tag + 1);
    sum.messages.send(std::as_bytes(slice(sum, ranks_.rank())), other, sum.tag + 1);
  }
  return sum.messages.done();
}

void OrderedSum::progress() {
  under_way_.remove_if([&](Sum& sum) { return advance(sum); });
}

void OrderedSum::finish() {
  Pause pause;
  for (progress(); !under_way_.empty(); progress()) pause();
}

}  // namespace hone
