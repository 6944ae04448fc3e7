// A record with every kind of block, shared by the renderers' tests.
#pragma once

#include <cmath>
#include <limits>

#include "report/record.h"

namespace hone {

inline Table sample_table() {
  return {.key = "results",
          .title = "Latency",
          .columns = {{.key = "model", .title = "model"},
                      {.key = "median_ms", .title = "median", .unit = "ms", .interval_key = "ci95_ms"},
                      {.key = "bytes", .title = "file", .style = {NumberFormat::bytes}},
                      {.key = "verdict", .title = "against f32"}},
          .rows = {{"f32", number(25.52, {25.4, 25.63}), number(90'900'000), Cell{}},
                   {"mxint8", number(14.1, {14.0, 14.3}), number(23'400'000), "1.81x faster (1.78-1.84)"}},
          .note = "Batch 1, one thread."};
}

inline Record sample_record() {
  Record record{.title = "Squeeze <MiniLM> & \"friends\"",
                .command = "hone squeeze model/ --to mxint8",
                .findings = {"File 3.88x smaller."},
                .machine = {{"CPU", "A & B"}},
                .manifest = {{"input", "model.safetensors", std::string(64, 'a'), 90'900'000}}};
  Section section{.title = "Results", .blocks = {Text{"First.\n\nSecond <b>."}, sample_table()}};
  section.blocks.push_back(KeyValues{"totals", "Totals", {{"bits", "bits per element", number(8.25)}}});
  section.blocks.push_back(ScatterPlot{
      .key = "size_accuracy",
      .title = "Size against accuracy",
      .x = {.title = "file", .unit = "MB", .logarithmic = true},
      .y = {.title = "accuracy", .unit = "%"},
      .points = {
          {"f32", 90.9, 81.2, Interval{80.1, 82.2}}, {"mxint8", 23.4, 81.1}, {"mxfp4", 13, 74.5}, {"int4", 13.2, 70}}});
  section.blocks.push_back(LinePlot{"loss", "Loss", {"step"}, {"loss"}, {{"train", {{0, 3}, {1, 2}, {2, 1.5}}}}});
  BarChart bars{.key = "sqnr", .title = "SQNR by tensor", .value = {.title = "SQNR", .unit = "dB"}, .bars = {}};
  for (int i = 0; i < 103; ++i)
    bars.bars.push_back(
        {"encoder.layer." + std::to_string(i), 40 + 5 * std::sin(i * 0.7), i % 3 ? "linear" : "embedding"});
  section.blocks.push_back(bars);
  section.blocks.push_back(
      Drawing{"graph", "Graph", "<svg xmlns=\"http://www.w3.org/2000/svg\"><title>g</title></svg>", "12 nodes"});
  record.sections.push_back(section);
  return record;
}

}  // namespace hone
