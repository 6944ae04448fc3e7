// The sessions of a graph that is made anew for other sizes (sized_graph.h), with one set of parameters.
#pragma once

#include <functional>
#include <list>
#include <memory>

#include "runtime/session.h"

namespace hone {

class SizedSessions {
 public:
  using ForSizes = std::function<Graph(const Bindings&)>;
  // `graph` is for `sizes` alone, and `for_sizes` gives that of others, of the same symbols; both empty: it is for all.
  // `arguments` has the arguments with the symbols that they have in the model.
  SizedSessions(const Graph& graph, Bindings sizes, ForSizes for_sizes, Graph arguments, SessionOptions options);

  Session& first() { return *first_; }  // of `graph`: it has the parameters
  // That of these inputs. The last ones are kept, SessionOptions::max_specialisations of them.
  Session& of(const NamedTensors& inputs);
  // Of parameters, in the session that ran last; until then updates are copies.
  void forget_laid_out() { last_->forget_laid_out(); }

 private:
  struct Made {
    Bindings sizes;
    std::unique_ptr<Session> session;
  };
  Session& of_sizes(const Bindings& sizes);

  const Bindings sizes_;
  const ForSizes for_sizes_;
  const Graph arguments_;
  SessionOptions options_;
  std::unique_ptr<Session> first_;
  std::list<Made> made_;  // for other sizes, the one that was used last first
  Session* last_;
};

}  // namespace hone
