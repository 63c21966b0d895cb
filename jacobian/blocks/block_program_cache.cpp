// Caches the programs of residual blocks, and forms the words of their keys.
#include "blocks/block_program_cache.hpp"

#include <algorithm>
#include <bit>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kMostKeyWords = std::size_t{1}
                                      << 19;  // about 4 MB of keys: thousands of typical programs

}  // namespace

BlockProgramKey::BlockProgramKey(const void* kind, const BlockRecording& recording, const ConstantPlan& plan,
                                 std::size_t inputs, std::span<const int> wanted) {
  const auto add = [this](std::uint64_t word) { words.push_back(word); };
  words.reserve(2 * recording.steps.size() + 2 * recording.guards.size() + recording.outputs.size() +
                2 * plan.column.size() + wanted.size() + 7);
  add(std::bit_cast<std::uintptr_t>(kind));
  // Lengths come first, so that different lists never give the same words.
  for (const std::size_t length : {inputs, recording.steps.size(), recording.guards.size(),
                                   recording.outputs.size(), plan.column.size(), wanted.size()})
    add(length);
  for (const TapeStep& step : recording.steps) {
    add(static_cast<std::uint64_t>(step.op) << 32 | step.a);
    add(static_cast<std::uint64_t>(step.b) << 32 | step.c);
  }
  for (const TapeGuard& guard : recording.guards)
    add(static_cast<std::uint64_t>(guard.condition) << 1 | (guard.outcome ? 1U : 0U));
  for (const std::uint32_t output : recording.outputs) add(output);
  for (std::size_t c = 0; c < plan.column.size(); ++c) {
    add(static_cast<std::uint64_t>(plan.column[c] + 1));
    add(plan.column[c] < 0 ? std::bit_cast<std::uint64_t>(plan.value[c]) : 0);
  }
  for (const int input : wanted) add(static_cast<std::uint64_t>(input));
}

BlockProgramCache& BlockProgramCache::shared() {
  static BlockProgramCache cache(kMostKeyWords);
  return cache;
}

std::shared_ptr<const BlockProgram> BlockProgramCache::find(const BlockProgramKey& key) {
  const std::scoped_lock lock(mutex_);
  const auto place = std::ranges::find(entries_, key, &Entry::key);
  if (place == entries_.end()) return nullptr;
  std::rotate(place, place + 1, entries_.end());
  return entries_.back().program;
}

void BlockProgramCache::keep(BlockProgramKey key, std::shared_ptr<const BlockProgram> program) {
  const std::scoped_lock lock(mutex_);
  if (key.words.size() > most_words_ || std::ranges::find(entries_, key, &Entry::key) != entries_.end())
    return;
  words_ += key.words.size();
  while (words_ > most_words_) {
    words_ -= entries_.front().key.words.size();
    entries_.erase(entries_.begin());
  }
  entries_.push_back({std::move(key), std::move(program)});
}

std::size_t BlockProgramCache::programs() const {
  const std::scoped_lock lock(mutex_);
  return entries_.size();
}

}  // namespace nlsq::inline v0
