#pragma once
// Twice as many with AVX-512.
inline int vectors(const Target& target) { return 64 / target.lanes(); }
inline bool is_wide(Features has) { return has.bits() > 1; }
const DotUnit* unit();
inline int features_of(int lanes) { return lanes; }
