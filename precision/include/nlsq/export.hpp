// Defines NLSQ_API, which marks the symbols that the shared library exports. All other symbols are hidden.
#pragma once

#if defined(__GNUC__)
#define NLSQ_API __attribute__((visibility("default")))
#else
#define NLSQ_API
#endif
