// The pages that sequences of a context keep their rows in: who has which, and room for more. Graphs append rows with
// the op cache_append and read them by the page table; what they see are states like others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "runtime/context.h"

namespace hone {

// Names of states of one graph. Those of pages share the table and the lengths: keys and values of all layers, say.
struct PagedStates {
  std::vector<std::string> pages;   // each [P,R,...], with an R of its own or the same
  std::string table = "table";      // i64[sequences, T]: page numbers, -1 where a sequence has none yet
  std::string lengths = "lengths";  // i64[sequences]: rows of each
};

// For one thread at a time, between the runs of the context; both must outlive it. Sizes of states (P, T) that the
// graph leaves open grow here, so more rows need no new code.
class PageTable {
 public:
  // Sets the states of `sequences` empty ones. Error where the graph has no such states, they don't share the number of
  // rows of a page, or leave no size open.
  PageTable(const Graph& graph, Context& context, PagedStates names, int64_t sequences);

  // Room for so many rows more in each sequence, or in one. Pages are taken in pieces that grow with what is there, so
  // that few calls move what pages hold. Error where memory does not suffice: nothing has changed then.
  void reserve(int64_t rows);
  void reserve(int64_t sequence, int64_t rows);
  // The sequence is its first `length` rows again; pages that it needs no more are for others. Error for more than it
  // has.
  void truncate(int64_t sequence, int64_t length);

  std::vector<int64_t> lengths() const;
  int64_t page_rows() const { return page_rows_; }
  int64_t pages() const { return static_cast<int64_t>(used_) + static_cast<int64_t>(free_.size()); }
  int64_t free_pages() const { return static_cast<int64_t>(free_.size()); }

 private:
  void need(std::vector<int64_t> columns);
  void grow(int64_t pages);
  void write_table();

  Context& context_;
  const PagedStates names_;
  std::vector<TensorType> types_;  // of the states of pages
  int64_t page_rows_ = 0, columns_ = 1, used_ = 0;
  std::vector<std::vector<int64_t>> pages_of_;  // by sequence
  std::vector<int64_t> free_;                   // the last is taken first
};

}  // namespace hone
