#include "mpi/ranks.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/clock.h"
#include "base/rank_sum.h"
#include "base/stop.h"
#include "base/text.h"

namespace hone {
namespace {

enum Tag : int { kSize, kBytes, kSum };  // sums of tensors (mpi/ordered_sum.h) have those behind them

constexpr size_t kMostBytes = size_t{1} << 30;  // of a message, whose length is an int

int number_in(const char* variable) {
  const char* text = std::getenv(variable);
  int number = 0;
  if (!text) return 0;
  std::from_chars(text, text + std::strlen(text), number);
  return number;
}

std::string first_difference(const std::string& own, const std::string& other) {
  const std::vector<std::string> a = split(own, '\n'), b = split(other, '\n');
  for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const std::string mine = i < a.size() ? a[i] : "", theirs = i < b.size() ? b[i] : "";
    if (mine != theirs) return fmt::format("it has \"{}\", rank 0 \"{}\"", theirs, mine);
  }
  return "";
}

}  // namespace

void Messages::send(std::span<const std::byte> bytes, int to, int tag) {
  const OpenMpi& mpi = open_mpi();
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), kMostBytes)))
    mpi.MPI_Isend(bytes.data(), static_cast<int>(std::min(bytes.size(), kMostBytes)), mpi.byte, to, tag, mpi.world,
                  &requests_.emplace_back());
}

void Messages::receive(std::span<std::byte> bytes, int from, int tag) {
  const OpenMpi& mpi = open_mpi();
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), kMostBytes)))
    mpi.MPI_Irecv(bytes.data(), static_cast<int>(std::min(bytes.size(), kMostBytes)), mpi.byte, from, tag, mpi.world,
                  &requests_.emplace_back());
}

bool Messages::done() {
  int done = 1;
  if (!requests_.empty())
    open_mpi().MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done, OpenMpi::kNoStatuses);
  if (done) requests_.clear();
  return done != 0;
}

void Messages::wait() {
  Pause pause;
  while (!done()) pause();
}

void Pause::operator()() {
  constexpr int64_t kShort = 50'000, kLongest = 1'000'000;  // ns
  check_stop();
  const int64_t now = steady_ns();
  if (begin_ns_ == 0) begin_ns_ = now;
  if (now - begin_ns_ < kShort) {
    ::sched_yield();
    return;
  }
  const timespec sleep{0, std::min((now - begin_ns_) / 8, kLongest)};
  ::nanosleep(&sleep, nullptr);
}

std::unique_ptr<Ranks> Ranks::join() {
  if (const int others = number_in("PMI_SIZE"); others > 1 && number_in("OMPI_COMM_WORLD_SIZE") == 0)
    fail("this is one of {} processes that another MPI than Open MPI started; install openmpi-bin and take its mpirun",
         others);
  if (number_in("OMPI_COMM_WORLD_SIZE") < 2) return nullptr;
  const OpenMpi& mpi = open_mpi();
  int provided = 0, rank = 0, size = 0;
  mpi.MPI_Init_thread(nullptr, nullptr, OpenMpi::kThreadFunneled, &provided);
  mpi.MPI_Comm_rank(mpi.world, &rank);
  mpi.MPI_Comm_size(mpi.world, &size);
  std::unique_ptr<Ranks> ranks(new Ranks(rank, size));
  set_rank_sum([all = ranks.get()](std::span<double> values) { all->sum(values); });
  return ranks;
}

Ranks::~Ranks() { set_rank_sum({}); }

void Ranks::leave() { open_mpi().MPI_Finalize(); }

std::vector<std::string> Ranks::gather(const std::string& bytes) {
  std::vector<std::string> all;
  Messages messages;
  uint64_t own = bytes.size();
  if (!is_first()) {
    messages.send(std::as_bytes(std::span(&own, 1)), 0, kSize);
    messages.send(std::as_bytes(std::span(bytes)), 0, kBytes);
    messages.wait();
    return all;
  }
  std::vector<uint64_t> sizes(static_cast<size_t>(size_), own);
  for (int from = 1; from < size_; ++from)
    messages.receive(std::as_writable_bytes(std::span(sizes).subspan(static_cast<size_t>(from), 1)), from, kSize);
  messages.wait();
  for (uint64_t size : sizes) all.emplace_back(size, '\0');
  all[0] = bytes;
  for (int from = 1; from < size_; ++from)
    messages.receive(std::as_writable_bytes(std::span(all[static_cast<size_t>(from)])), from, kBytes);
  messages.wait();
  return all;
}

std::string Ranks::broadcast(const std::string& bytes) {
  uint64_t size = bytes.size();
  broadcast(std::as_writable_bytes(std::span(&size, 1)));
  std::string all = is_first() ? bytes : std::string(size, '\0');
  broadcast(std::as_writable_bytes(std::span(all)));
  return all;
}

void Ranks::broadcast(std::span<std::byte> bytes) {
  Messages messages;
  for (int to = 1; to < size_ && is_first(); ++to) messages.send(bytes, to, kBytes);
  if (!is_first()) messages.receive(bytes, 0, kBytes);
  messages.wait();
}

void Ranks::sum(std::span<double> values) {
  std::vector<double> all(values.size() * static_cast<size_t>(size_));
  const auto of = [&](int rank) {
    return std::span(all).subspan(static_cast<size_t>(rank) * values.size(), values.size());
  };
  std::ranges::copy(values, of(rank_).begin());
  Messages messages;
  for (int other = 0; other < size_; ++other) {
    if (other == rank_) continue;
    messages.receive(std::as_writable_bytes(of(other)), other, kSum);
    messages.send(std::as_bytes(values), other, kSum);
  }
  messages.wait();
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = all[i];
    for (int rank = 1; rank < size_; ++rank) values[i] += of(rank)[i];
  }
}

void Ranks::meet(const std::string& problem, const std::string& identity) {
  const std::vector<std::string> problems = gather(problem), identities = gather(identity);
  std::string verdict;
  for (size_t rank = 0; rank < problems.size() && verdict.empty(); ++rank)
    if (!problems[rank].empty())
      verdict = rank == 0 ? problems[rank] : fmt::format("rank {}: {}", rank, problems[rank]);
  for (size_t rank = 1; rank < identities.size() && verdict.empty(); ++rank)
    if (const std::string difference = first_difference(identities[0], identities[rank]); !difference.empty())
      verdict =
          fmt::format("rank {} differs from rank 0: {}. All need the same model, data, options and version of hone",
                      rank, difference);
  verdict = broadcast(verdict);
  if (verdict.empty()) return;
  leave();
  if (is_first()) throw Error(verdict);
  throw SaidByRankZero(verdict);
}

}  // namespace hone
