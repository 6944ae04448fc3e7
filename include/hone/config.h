// What all headers of hone begin with: the names are those of `hone::api`, an inline namespace, so that they are
// written `hone::Model`. The library's own types of the same names stay apart from them.
#pragma once

#ifndef HONE_API_INLINE
#define HONE_API_INLINE inline  // the library itself, which has both, defines it as nothing
#endif

#define HONE_API __attribute__((visibility("default")))  // of what the shared library exports
