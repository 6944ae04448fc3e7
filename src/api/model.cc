#include <hone/model.h>

#include "api/graphs.h"
#include "api/guarded.h"
#include "api/models.h"
#include "api/values.h"
#include "importers/class_names.h"
#include "importers/registry.h"
#include "jobs/save_model.h"
#include "jobs/text_inputs.h"

namespace hone::api {

std::vector<ImporterInfo> list_importers() {
  std::vector<ImporterInfo> all;
  for (const ImporterDef* def : importers::all()) all.push_back({def->name, def->doc, def->endings});
  return all;
}

Model wrapped(Model model) { return Model(std::make_shared<Model::Impl>(Model::Impl{std::move(model)})); }

Model::Model(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Model::Model(Graph graph) : impl_(std::make_shared<Impl>()) { impl_->model.graph = engine(graph); }

Model Model::open(const std::string& path, const OpenOptions& options) {
  return guarded([&] { return wrapped(load_model(path, options.inputs, options.format)); });
}

const std::string& Model::name() const { return impl_->model.name; }
const std::string& Model::path() const { return impl_->model.path; }
std::string Model::sha256() const {
  return guarded([&] { return impl_->model.sha256(); });
}
int64_t Model::file_bytes() const { return impl_->model.file_bytes; }
const std::vector<std::string>& Model::unused() const { return impl_->model.unused; }
std::vector<std::string> Model::labels() const {
  return guarded([&] { return classes_of(impl_->model); });
}

std::vector<std::string> Model::file_names() const {
  std::vector<std::string> names;
  for (const auto& [name, content] : impl_->model.files) names.push_back(name);
  return names;
}
std::string Model::file(const std::string& name) const {
  return guarded([&]() -> std::string {
    const auto found = impl_->model.files.find(name);
    if (found == impl_->model.files.end()) fail("{}: no file \"{}\" rides along", impl_->model.name, name);
    return found->second;
  });
}

Graph Model::graph() const { return wrapped(impl_->model.graph); }
void Model::set_graph(Graph graph) {
  if (impl_.use_count() > 1) impl_ = std::make_shared<Impl>(*impl_);
  impl_->model.graph = engine(graph);
}

bool Model::has_tokenizer() const { return !impl_->model.files.tokenizer().empty(); }
Tokenizer Model::tokenizer() const {
  return guarded(
      [&] { return Tokenizer(std::make_shared<Tokenizer::Impl>(Tokenizer::Impl{tokenizer_of(impl_->model)})); });
}
int64_t Model::max_tokens() const {
  return guarded([&] { return hone::max_tokens(impl_->model); });
}

NamedTensors Model::text_inputs(const std::vector<std::string>& texts) const {
  return guarded([&] { return wrapped(hone::text_inputs(impl_->model, tokenizer_of(impl_->model), texts)); });
}

SavedModel Model::save(const std::string& path) const {
  return guarded([&] {
    hone::SavedModel saved = save_model(path, impl_->model.graph, impl_->model);
    return SavedModel{saved.bytes, std::move(saved.files), std::move(saved.check), std::move(saved.notes)};
  });
}

}  // namespace hone::api
