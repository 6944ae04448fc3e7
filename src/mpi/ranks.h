// The processes of one mpirun, which train a model together, numbered from 0. What they send each other has a fixed
// place and order, so that sums have the same bits in each run and on each rank.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "mpi/open_mpi.h"

namespace hone {

// What ended all ranks, and is said by rank 0.
class SaidByRankZero : public Error {
  using Error::Error;
};

// Between looks at whether something has happened. A message between processes of one machine takes microseconds, a
// wait for a rank that has more to do takes long; where there are fewer CPUs than ranks, whoever waits stands in the
// way of the one that is waited for. Ends by check_stop(): mpirun ends all ranks when one dies.
class Pause {
 public:
  void operator()();

 private:
  int64_t begin_ns_ = 0;
};

// Bytes that are sent and received while others are computed. They stay where they are until done().
class Messages {
 public:
  void send(std::span<const std::byte> bytes, int to, int tag);
  void receive(std::span<std::byte> bytes, int from, int tag);
  bool done();  // MPI goes on with its work in here
  void wait();  // until they are

 private:
  std::vector<OpenMpi::Handle> requests_;
};

class Ranks {
 public:
  // By what mpirun says in the environment; null where this process is alone. Throws Error where there is no Open MPI,
  // or another MPI's mpirun started this.
  static std::unique_ptr<Ranks> join();

  // Without leave(), mpirun takes the end of the process for a fault and ends the others.
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_first() const { return rank_ == 0; }

  // Each is called by all ranks, in the same order.
  std::vector<std::string> gather(const std::string& bytes);  // on rank 0 those of all, else none
  std::string broadcast(const std::string& bytes);            // those of rank 0
  void broadcast(std::span<std::byte> bytes);                 // of the same size everywhere
  void sum(std::span<double> values);                         // in the order of ranks
  // Before they begin: `problem` is what this one can't begin by, if not empty. Throws Error on all ranks where one has
  // a problem, or an `identity`, lines of "key = value", that is not rank 0's.
  void meet(const std::string& problem, const std::string& identity);
  void leave();

 private:
  Ranks(int rank, int size) : rank_(rank), size_(size) {}

  const int rank_, size_;
};

}  // namespace hone
