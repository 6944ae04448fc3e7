// The normal forms of Unicode (UAX 15) on aligned texts.
#pragma once

#include "tokenizers/aligned_text.h"

namespace hone {

struct NormalForm {
  bool compatibility = false;  // the K of NFKC and NFKD
  bool composed = false;       // NFC and NFKC
};

void normalise(AlignedText& text, NormalForm form);

}  // namespace hone
