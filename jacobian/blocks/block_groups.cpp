// Sorts residual blocks into groups that share a program, and decides which programs are built.
#include "blocks/block_groups.hpp"

#include "blocks/block_scan.hpp"
#include "blocks/block_work.hpp"
#include "machine_code/program_steps.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace nlsq::inline v0 {

namespace {

constexpr int kMostFailures = 32;  // after this many failures in a row, other blocks of the kind are not
                                   // recorded
constexpr std::uint32_t kSlowTile = 64;
constexpr std::size_t kLeastRows = 64;  // least number of rows in a tile, and the step in which tiles grow
constexpr std::uint32_t kLead = 512,
                        kGrowth = 8;  // first blocks called one by one, and the factor by which each later
                                      // batch grows

constexpr const char* kSpared = "a program would cost more than it saves";

// Holds the blocks that perform the operations of one recording, and their constants, block by block.
struct Followers {
  std::vector<std::uint32_t> blocks;
  std::vector<double> constants;
  std::vector<int> wanted = {};  // inputs whose derivatives some of the blocks need
  std::size_t reused = 0;        // how many of the blocks were taken over
};

class Grouping {
 public:
  Grouping(const BlockList& list, std::span<const double> x, std::vector<BlockKind> kinds,
           std::span<const BlockGroup> earlier, const TaskRunner& run)
      : list_(list), x_(x), earlier_(earlier), run_(run) {
    result_.kinds = std::move(kinds);
    followers_.resize(result_.kinds.size());
  }

  BlockGroups run() {
    if (!earlier_.empty()) forget_unused();
    const auto blocks = static_cast<std::uint32_t>(list_.blocks());
    for (std::uint32_t first = 0, last; first < blocks; first = last) {
      // The first blocks are recorded one by one. Later batches grow, and follow the recordings made so far.
      last = run_ && first >= kLead ? std::min(blocks, kGrowth * first) : std::min(blocks, kLead);
      if (!run_ || !earlier_.empty()) last = blocks;
      place_all(first, last);
    }
    weigh_programs();
    for (std::size_t kind = 0; kind < followers_.size(); ++kind) {
      for (auto& [of, followers] : followers_[kind]) {
        if (!followers.blocks.empty()) make_group(kind, of.first, of.second, std::move(followers));
      }
    }
    if (result_.kinds.size() == 1) result_.kind_of = std::vector<std::uint32_t>();
    std::ranges::sort(result_.slow);
    result_.cut();
    return std::move(result_);
  }

 private:
  void place_all(std::uint32_t first, std::uint32_t last) {
    std::optional<BlockScan> scan;
    if (run_ && earlier_.empty() && first >= kLead) scan.emplace(list_, x_, result_.kinds, first, last, run_);
    for (std::uint32_t block = first; block < last; ++block) {
      load_ahead(list_, block + kBlocksAhead);
      if (const BlockGroup* group = earlier_group(block)) carry(block, *group);
      else if (scan && (*scan)[block].kind != FollowedBlock::kUnknown) follow(block, (*scan)[block]);
      else place(block);
    }
  }

  void follow(std::uint32_t block, const FollowedBlock& found) {
    BlockKind& kind = result_.kinds[found.kind];
    result_.kind_of.push_back(found.kind);
    if (kind.failures >= kMostFailures) return reject(block, kind.family.reason());
    add(block, found.kind, found.variant, found.constants);
  }

  // Adds a block that performs the operations of a recording.
  void add(std::uint32_t block, std::size_t number, std::size_t variant, std::span<const double> constants) {
    BlockKind& kind = result_.kinds[number];
    kind.failures = 0;
    if (!kind.family.recordings()[variant].success) return reject(block, "");
    Followers& followers = followers_of(block, number, variant);
    followers.blocks.push_back(block);
    followers.constants.insert(followers.constants.end(), constants.begin(), constants.end());
  }

  const BlockGroup* earlier_group(std::uint32_t block) const {
    if (list_.known.empty() || list_.known[block].group >= earlier_.size()) return nullptr;
    const BlockGroup& group = earlier_[list_.known[block].group];
    return is_of_kind(list_, block, result_.kinds[group.kind]) ? &group
                                                               : nullptr;  // the size of its parameters may
                                                                           // have changed
  }

  // Removes recordings of blocks that no longer exist, because they would count against the limit for each
  // kind.
  void forget_unused() {
    std::vector<std::vector<std::uint8_t>> used(result_.kinds.size());
    for (std::size_t kind = 0; kind < used.size(); ++kind)
      used[kind].resize(result_.kinds[kind].family.recordings().size(), 0);
    for (std::uint32_t block = 0; block < list_.blocks(); ++block) {
      load_ahead(list_, block + kBlocksAhead);
      if (const BlockGroup* group = earlier_group(block)) used[group->kind][group->variant] = 1;
    }
    for (std::size_t kind = 0; kind < used.size(); ++kind) result_.kinds[kind].family.keep_only(used[kind]);
    for (const BlockGroup& group : earlier_) {
      const auto& marks = used[group.kind];
      variants_.push_back(static_cast<std::size_t>(
          std::count(marks.begin(), marks.begin() + static_cast<std::ptrdiff_t>(group.variant), 1)));
    }
  }

  void carry(std::uint32_t block, const BlockGroup& group) {
    const std::uint32_t lane = list_.known[block].lane;
    result_.kind_of.push_back(static_cast<std::uint32_t>(group.kind));
    Followers& followers = followers_of(block, group.kind, variants_[list_.known[block].group]);
    followers.blocks.push_back(block);
    for (std::size_t c = 0; c < group.program->plan.column.size(); ++c)
      followers.constants.push_back(constant_of(group, c, lane));
    ++followers.reused;
    ++result_.reused;
  }

  Followers& followers_of(std::uint32_t block, std::size_t kind, std::size_t variant) {
    const std::pair of(variant, list_.component.empty() ? 0 : list_.component[block]);
    if (latest_followers_ && latest_kind_ == kind && latest_of_ == of) return *latest_followers_;
    latest_kind_ = kind;
    latest_of_ = of;
    return *(latest_followers_ = &followers_[kind][of]);
  }

  void place(std::uint32_t block) {
    const BlockFunction& function = list_.function(block);
    const std::size_t number = kind_number(block);
    BlockKind& kind = result_.kinds[number];
    result_.kind_of.push_back(static_cast<std::uint32_t>(number));
    if (!is_traced(function)) return reject(block, "");
    if (kind.failures >= kMostFailures) return reject(block, kind.family.reason());
    if (not_worth_recording(number)) {
      ++result_.left_to_dual_numbers;
      return reject(block, kSpared);
    }
    gathered_.resize(inputs_of(kind));
    gather_block(list_, block, x_, gathered_.data());
    const int variant = kind.family.follow(function, gathered_.data(), met_);
    if (variant == BlockFamily::kNone) {
      ++kind.failures;
      return reject(block, kind.family.reason());
    }
    add(block, number, static_cast<std::size_t>(variant), met_);
  }

  void reject(std::uint32_t block, const std::string& why) {
    result_.slow.push_back(block);
    if (why != kSpared && is_traced(list_.function(block))) ++result_.refused;
    if (result_.note.empty()) result_.note = why;
  }

  std::size_t kind_number(std::uint32_t block) {
    latest_ = find_kind(list_, block, result_.kinds, latest_);
    if (latest_ == result_.kinds.size()) {
      std::vector<int> sizes;
      for (const std::uint32_t p : list_.of(block)) sizes.push_back(list_.sizes[p]);
      result_.kinds.push_back(
          {list_.function(block).kind(), list_.function(block).residuals(), sizes, BlockFamily(sizes), 0});
      followers_.emplace_back();
      latest_followers_ = nullptr;
    }
    return latest_;
  }

  // Returns true for few blocks with many residuals. This is decided once for each kind, before any block is
  // called.
  bool not_worth_recording(std::size_t number) {
    BlockKind& kind = result_.kinds[number];
    if (not_recorded_.size() <= number) not_recorded_.resize(result_.kinds.size(), -1);
    if (not_recorded_[number] < 0) {
      const auto residuals = static_cast<std::size_t>(kind.residuals);
      not_recorded_[number] =
          too_long_to_record(1, residuals, inputs_of(kind), list_.evaluations) &&
          too_long_to_record(count_of(kind), residuals, inputs_of(kind), list_.evaluations);
    }
    return not_recorded_[number] == 1;
  }

  std::size_t count_of(const BlockKind& kind) const {
    std::size_t count = 0;
    for (std::uint32_t block = 0; block < list_.blocks(); ++block)
      count += is_of_kind(list_, block, kind) ? 1 : 0;
    return count;
  }

  // Decides which programs are built: all that save more than they cost. The others are built too if their
  // total loss is small.
  void weigh_programs() {
    struct Loser {
      Followers* followers;
      double own;
    };
    std::vector<Loser> losers;
    double lost = 0;
    for (std::size_t kind = 0; kind < followers_.size(); ++kind) {
      const BlockKind& of_kind = result_.kinds[kind];
      for (auto& [of, followers] : followers_[kind]) {
        followers.wanted = wanted(of_kind, followers.blocks);
        if (list_.evaluations <= 0) continue;
        const BlockWork work =
            count_work(of_kind.family.recordings()[of.first], inputs_of(of_kind), followers.wanted);
        const double loss = work.loss(followers.blocks.size(), list_.evaluations);
        if (loss <= 0) continue;
        lost += loss;
        losers.push_back({&followers, work.own});
      }
    }
    if (lost <= kLittleWork) return;
    for (auto& [followers, own] : losers) {
      for (const std::uint32_t block : followers->blocks) reject(block, kSpared);
      result_.left_to_dual_numbers += followers->blocks.size();
      result_.cost_of_dual_numbers += kAddsPerUnit * own * static_cast<double>(followers->blocks.size());
      result_.reused -= followers->reused;
      *followers = {};
    }
  }

  void make_group(std::size_t number, std::size_t variant, std::uint32_t component, Followers followers) {
    const std::size_t lanes = followers.blocks.size();
    BlockKind& kind = result_.kinds[number];
    const std::size_t count = followers.constants.size() / lanes;
    std::vector<double> columns(followers.constants.size());
    for (std::size_t l = 0; l < lanes; ++l) {
      for (std::size_t c = 0; c < count; ++c) columns[c * lanes + l] = followers.constants[l * count + c];
    }
    std::shared_ptr<const BlockProgram> program = program_that_agrees(kind, variant, followers, columns);
    if (!program) {
      for (const std::uint32_t block : followers.blocks)
        reject(block, "its program does not give what dual numbers give");
      return;
    }
    BlockGroup group;
    group.program = std::move(program);
    group.kind = number;
    group.variant = variant;
    group.component = component;
    group.blocks = followers.blocks;
    // Fewer lanes need fewer registers, which saves memory.
    group.tile_rows = std::min(static_cast<std::size_t>(group.program->jacobian.tile_rows),
                               (lanes + kLeastRows - 1) / kLeastRows * kLeastRows);
    group.padded = (lanes + group.tile_rows - 1) / group.tile_rows * group.tile_rows;
    fill(group, kind, columns);
    choose_steps(group);
    result_.groups.push_back(std::move(group));
  }

  std::shared_ptr<const BlockProgram> program_that_agrees(BlockKind& kind, std::size_t variant,
                                                          const Followers& followers,
                                                          const std::vector<double>& columns) {
    std::vector<std::size_t> samples{0};
    if (followers.blocks.size() > 1) samples.push_back(followers.blocks.size() - 1);
    const std::size_t inputs = inputs_of(kind);
    std::vector<double> at(samples.size() * inputs);
    std::vector<const BlockFunction*> functions;
    for (std::size_t s = 0; s < samples.size(); ++s) {
      const std::uint32_t block = followers.blocks[samples[s]];
      gather_block(list_, block, x_, at.data() + s * inputs);
      functions.push_back(&list_.function(block));
    }
    BlockCaller caller(kind.sizes);
    return make_block_program(kind.tag, kind.family.recordings()[variant], columns, followers.blocks.size(),
                              followers.wanted, caller, {functions, at, samples});
  }

  // Returns the inputs that are not fixed in at least one block of the group.
  std::vector<int> wanted(const BlockKind& kind, const std::vector<std::uint32_t>& blocks) const {
    std::vector<int> inputs;
    int start = 0;
    for (std::size_t k = 0; k < kind.sizes.size(); start += kind.sizes[k++]) {
      const bool any =
          std::ranges::any_of(blocks, [&](std::uint32_t b) { return list_.column[list_.first[b] + k] >= 0; });
      for (int i = 0; any && i < kind.sizes[k]; ++i) inputs.push_back(start + i);
    }
    return inputs;
  }

  // Copies the constants to the columns of the lanes. Lanes beyond the last block repeat it, so that their
  // values are harmless.
  void fill(BlockGroup& group, const BlockKind& kind, const std::vector<double>& columns) {
    const std::size_t lanes = group.blocks.size(), kept = group.program->plan.columns.size();
    group.offsets.resize(kind.sizes.size() * group.padded);
    group.constants = AlignedVector<double>(kept * group.padded);
    for (std::size_t l = 0; l < group.padded; ++l) {
      const std::size_t lane = std::min(l, lanes - 1);
      const auto parameters = list_.of(group.blocks[lane]);
      for (std::size_t k = 0; k < parameters.size(); ++k)
        group.offsets[k * group.padded + l] = list_.offsets[parameters[k]];
      for (std::size_t c = 0; c < kept; ++c) {
        group.constants.data()[c * group.padded + l] =
            columns[static_cast<std::size_t>(group.program->plan.columns[c]) * lanes + lane];
      }
    }
  }

  static void choose_steps(BlockGroup& group) {
    // A block has many more instructions than a row of a curve, and a solve takes more iterations.
    constexpr std::size_t kRowsOfBlock = 64;
    const std::size_t rows = kRowsOfBlock * group.blocks.size();
    const auto steps = [&](int number, const TileProgram& program, bool f64) {
      StepsCache& cache = *group.program->steps;
      const auto chosen = cache.get(number, program, {.f64 = f64}, rows);
      cache.add_evaluated(number, f64, rows);  // later solves of the same blocks may repay code as well
      return chosen;
    };
    group.value_f64 = steps(0, group.program->value, true);
    group.jacobian_f64 = steps(1, group.program->jacobian, true);
    group.jacobian_f32 = steps(1, group.program->jacobian, false);
    group.value_uniforms.resize(static_cast<std::size_t>(group.program->value.uniforms));
    group.jacobian_uniforms.resize(static_cast<std::size_t>(group.program->jacobian.uniforms));
    group.program->value.evaluate_uniforms({}, group.value_uniforms);
    group.program->jacobian.evaluate_uniforms({}, group.jacobian_uniforms);
    for (const double u : group.jacobian_uniforms)
      group.jacobian_uniforms_f32.push_back(static_cast<float>(u));
  }

  const BlockList& list_;
  std::span<const double> x_;
  std::span<const BlockGroup> earlier_;
  const TaskRunner& run_;
  std::vector<std::size_t> variants_;  // for each earlier group: the new number of its recording
  BlockGroups result_;
  std::vector<std::map<std::pair<std::size_t, std::uint32_t>, Followers>>
      followers_;  // for each kind; the key is a recording and a component
  // The group of the last block, because the next block usually joins it.
  Followers* latest_followers_ = nullptr;
  std::size_t latest_kind_ = 0;
  std::pair<std::size_t, std::uint32_t> latest_of_;
  std::size_t latest_ = 0;
  std::vector<double> gathered_, met_;
  std::vector<std::int8_t> not_recorded_;  // for each kind; -1: not yet decided
};

}  // namespace

void BlockGroups::cut() {
  tiles.clear();
  for (std::uint32_t g = 0; g < groups.size(); ++g) {
    const auto lanes = static_cast<std::uint32_t>(groups[g].blocks.size());
    const auto rows = static_cast<std::uint32_t>(groups[g].tile_rows);
    groups[g].first_tile = tiles.size();
    groups[g].tiles = (lanes + rows - 1) / rows;
    for (std::uint32_t first = 0; first < lanes; first += rows)
      tiles.push_back({g, first, std::min(rows, lanes - first)});
  }
  const auto blocks = static_cast<std::uint32_t>(slow.size());
  for (std::uint32_t first = 0; first < blocks; first += kSlowTile) {
    tiles.push_back({BlockTile::kSlow, first, std::min(kSlowTile, blocks - first)});
  }
}

BlockGroups group_blocks(const BlockList& list, std::span<const double> x, BlockGroups earlier,
                         const TaskRunner& run, std::span<const double> place) {
  for (BlockKind& kind : earlier.kinds) kind.failures = 0;
  const std::span<const double> at = place.empty() ? x : place;
  BlockGroups groups = Grouping(list, at, std::move(earlier.kinds), earlier.groups, run).run();
  groups.step_shares = block_step_shares(list, groups, x);
  return groups;
}

}  // namespace nlsq::inline v0
