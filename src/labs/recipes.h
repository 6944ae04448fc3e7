// Models that several labs begin with, made once and kept with the data.
#pragma once

#include <string>
#include <vector>

#include "labs/lab.h"

namespace hone {

// A training that goes on where it was stopped. `more`: words beside the configuration.
LabStep train_step(const std::string& name, const std::string& what, const std::string& model, const std::string& data,
                   const std::string& config, const std::string& output, const std::vector<std::string>& more = {});

// What a quick lab trains on instead: what it shows is how it goes, not how well.
std::vector<std::string> fewer_rows(const LabPlaces& places, const std::string& steps = "8");

std::string training_caption_of(const LabPlaces& places, const std::string& config);  // with what quick labs change

// The encoder trained on the reviews.
std::string teacher_model(const LabPlaces& places);
LabStep teacher_step(const LabPlaces& places);

LabStep bert_tiny_untrained(const LabPlaces& places);  // with random weights and the encoder's tokenizer

// Two layers of 128, taught by it; the steps are the teacher's, too. In quick labs they learn from labels alone.
std::string bert_tiny_model(const LabPlaces& places);
std::vector<LabStep> bert_tiny_steps(const LabPlaces& places);

}  // namespace hone
