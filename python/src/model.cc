// hone.Model: a graph with what rides along, and its tokenizer.
#include <hone/inspect.h>
#include <hone/model.h>

#include "arrays.h"
#include "bind.h"
#include "calls.h"

namespace hone::python {
namespace {

Model opened(const std::string& path, const std::string& format, const std::vector<std::string>& inputs) {
  const Call call;
  return Model::open(path, {.format = format, .inputs = inputs});
}

SavedModel saved(const Model& model, const std::string& path) {
  const Call call;
  return model.save(path);
}

using Self = nb::handle_t<Model>;

// A run of the session that the model's first call made.
nb::object call(Self self, const nb::args& arrays, const nb::kwargs& named) {
  nb::object session = nb::getattr(self, "_session", nb::none());
  if (session.is_none()) {
    session = nb::module_::import_("hone._tasks").attr("compile")(self);
    nb::setattr(self, "_session", session);
  }
  return session(*arrays, **named);
}

void set_graph(Self self, Graph graph) {
  nb::cast<Model&>(self).set_graph(std::move(graph));
  nb::setattr(self, "_session", nb::none());
}

// What notebooks show: what is in the model.
nb::str html(const Model& model) {
  ModelInfo found;
  {
    const Call call;
    found = info(model);
  }
  return nb::str(nb::module_::import_("hone._result").attr("html")(found));
}

std::string repr(const Model& model) {
  const Graph graph = model.graph();
  return "<hone.Model " + (model.name().empty() ? graph.name() : model.name()) + ": " +
         std::to_string(graph.nodes().size()) + " nodes>";
}

}  // namespace

void bind_model(nb::module_& m) {
  nb::class_<Model>(m, "Model", nb::dynamic_attr(),
                    "A graph, and what rides along: tokenizer, configuration, names of classes.")
      .def(nb::init<Graph>(), nb::arg("graph"), "Of a graph, with nothing that rides along.")
      .def_prop_ro("name", &Model::name, "The last part of the path; empty: it was made in memory.")
      .def_prop_ro("path", &Model::path, "Where it was opened.")
      .def_prop_ro("sha256", &Model::sha256, nb::call_guard<nb::gil_scoped_release>(),
                   "Of the files of its weights; reads them.")
      .def_prop_ro("file_bytes", &Model::file_bytes, "Of these files.")
      .def_prop_ro("unused", &Model::unused, "Tensors of the files that no part of the graph reads.")
      .def_prop_ro("labels", &Model::labels, "Of its classes, in the order of their numbers.")
      .def_prop_ro("file_names", &Model::file_names, "Of what rides along: \"tokenizer.json\".")
      .def(
          "file",
          [](const Model& model, const std::string& name) {
            const std::string content = model.file(name);
            return nb::bytes(content.data(), content.size());
          },
          nb::arg("name"), "The content of what rides along.")
      .def_prop_rw("graph", &Model::graph, set_graph,
                   "A copy of its graph. Changes of it are brought in by setting it.")
      .def_prop_ro("has_tokenizer", &Model::has_tokenizer, "Whether a vocabulary rides along.")
      .def_prop_ro("tokenizer", &Model::tokenizer, "Error where no vocabulary rides along.")
      .def_prop_ro("max_tokens", &Model::max_tokens, "That the model takes of a text; 0: not known.")
      .def("text_inputs", &Model::text_inputs, nb::arg("texts"), nb::call_guard<nb::gil_scoped_release>(),
           "Texts as the model's inputs, cut to max_tokens.")
      .def("save", saved, nb::arg("path"),
           "Writes one file, by the path's ending: \".safetensors\" with all that rides along, or \".onnx\". It is "
           "opened again and compared before it is put in its place.")
      .def("__call__", call,
           nb::sig("def __call__(self, *inputs: hone.typing.ArrayLike, **named: hone.typing.ArrayLike) -> "
                   "hone._outputs.Outputs"),
           "One run of the model as compile() makes it ready, once: inputs in order, or by name.")
      .def("__copy__", [](const Model& model) { return model; })
      .def(
          "__deepcopy__", [](const Model& model, nb::handle) { return model; }, nb::arg("memo"))
      .def("__str__", [](const Model& model) { return model.graph().text(); })
      .def("_repr_html_", html, "What notebooks show: the table of info().")
      .def("__repr__", repr);
  m.def(
      "info",
      [](const Model& model, const std::map<std::string, int64_t>& sizes) {
        const Call call;
        return info(model, sizes);
      },
      nb::arg("model"), nb::arg("sizes") = std::map<std::string, int64_t>{},
      "What a model holds, and what a run costs. Sizes by symbol; what is not named is 1 for batches and what is usual "
      "for others.");
  m.def("list_importers", &list_importers, "What opens files, in the order of their names.");
  m.def("_load", opened, nb::arg("path"), nb::arg("format"), nb::arg("inputs"));
  nb::class_<Tokenizer>(m, "Tokenizer", "Texts to the ids of tokens, and back.")
      .def(
          "encode",
          [](const Tokenizer& t, const std::string& text, std::optional<std::string> pair, int64_t max_length,
             bool own_tokens) {
            const EncodeOptions options{max_length, own_tokens};
            return pair ? t.encode_pair(text, *pair, options) : t.encode(text, options);
          },
          nb::arg("text"), nb::arg("pair") = nb::none(), nb::arg("max_length") = 0, nb::arg("own_tokens") = true,
          nb::call_guard<nb::gil_scoped_release>(),
          "A text, or a pair. At most max_length tokens are kept; 0: all. own_tokens puts the model's own around.")
      .def(
          "decode",
          [](const Tokenizer& t, const std::vector<int64_t>& ids, bool skip_special) {
            return t.decode(ids, skip_special);
          },
          nb::arg("ids"), nb::arg("skip_special") = true, nb::call_guard<nb::gil_scoped_release>(), "The text of ids.");
}

}  // namespace hone::python
