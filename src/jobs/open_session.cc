#include "jobs/open_session.h"

namespace hone {

Session open_session(LoadedModel model, SessionOptions options) {
  if (options.model_code)
    for (auto& [name, content] : model.objects) options.carried.push_back(std::move(content));
  return Session(std::move(model.graph), std::move(options));
}

}  // namespace hone
