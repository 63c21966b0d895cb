// The one macro that marks what the shared library shows. Everything else is hidden.
#pragma once

#if defined(__GNUC__)
#define NLSQ_API __attribute__((visibility("default")))
#else
#define NLSQ_API
#endif
