// The last models that were given as a text. A program that calls nlsq_curve_fit in a loop then parses and
// compiles its formula once.
#include "c/caller_model.hpp"

#include <list>
#include <mutex>

namespace nlsq::inline v0::c {

namespace {

constexpr std::size_t kKept = 8, kLongest = 1000;  // models, and characters of a text that is kept

struct Kept {
  std::string text;
  std::size_t predictors;
  std::shared_ptr<const CallerModel> model;
};

struct Cache {
  std::mutex mutex;
  std::list<Kept> latest;  // the latest first
};

// Never destroyed, so that functions which run at the end of the program may still fit.
Cache& cache() {
  static Cache* const one = new Cache;
  return *one;
}

std::shared_ptr<const CallerModel> kept_model(const std::string& text, std::size_t predictors) {
  const std::lock_guard lock(cache().mutex);
  std::list<Kept>& all = cache().latest;
  for (auto it = all.begin(); it != all.end(); ++it) {
    if (it->predictors != predictors || it->text != text) continue;
    all.splice(all.begin(), all, it);
    return it->model;
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<const CallerModel> cached_model(const std::string& text, std::size_t predictors) {
  if (auto model = kept_model(text, predictors)) return model;
  std::shared_ptr<const CallerModel> made = model_of_text(text, {}, predictors);
  if (text.size() > kLongest) return made;
  const std::lock_guard lock(cache().mutex);
  cache().latest.push_front({text, predictors, made});
  if (cache().latest.size() > kKept) cache().latest.pop_back();
  return made;
}

}  // namespace nlsq::inline v0::c
