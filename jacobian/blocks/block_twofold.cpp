// Implements twofold_blocks().
#include "blocks/block_twofold.hpp"

#include "blocks/block_groups.hpp"
#include "blocks/block_scan.hpp"
#include "rows/owned_rows.hpp"
#include "rows/residual_sources.hpp"

#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

namespace {

// The blocks that follow one recording.
struct Alike {
  std::vector<std::size_t> blocks;
  std::vector<std::vector<double>> constants;  // of each block
};

std::vector<int> places_of(const BlockList& list, std::span<const std::size_t> blocks) {
  std::vector<int> places;
  for (const std::size_t block : blocks)
    for (const std::uint32_t p : list.of(block))
      for (int i = 0; i < list.sizes[p]; ++i) places.push_back(static_cast<int>(list.offsets[p]) + i);
  return places;
}

// Adds the rows of blocks that follow one recording. Returns false if some operation exists in double alone.
bool add_rows(const BlockList& list, const BlockRecording& recording, const Alike& alike, std::size_t inputs,
              TwofoldParts& out) {
  const std::size_t blocks = alike.blocks.size();
  std::vector<double> constants(recording.constants * blocks);
  for (std::size_t c = 0; c < recording.constants; ++c)
    for (std::size_t b = 0; b < blocks; ++b) constants[c * blocks + b] = alike.constants[b][c];
  const ConstantPlan plan = plan_constants(constants, blocks);
  std::vector<std::vector<double>> columns;
  for (const int c : plan.columns) {
    const auto from = constants.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(c) * blocks);
    columns.emplace_back(from, from + static_cast<std::ptrdiff_t>(blocks));
  }
  const auto data = std::make_shared<OwnedRows>(std::move(columns), blocks);
  const auto places = std::make_shared<const std::vector<int>>(places_of(list, alike.blocks));
  std::vector<int> all(inputs);
  std::iota(all.begin(), all.end(), 0);
  Graph whole;
  const std::vector<NodeId> nodes = replay(whole, recording, plan, 0, Op::parameter);
  for (std::size_t i = 0; i < recording.outputs.size(); ++i) {
    Graph graph;
    const NodeId root = import(graph, whole, nodes[recording.outputs[i]]);
    TwofoldExpression residual(graph, root);
    TwofoldGraphRows::Expressions expressions{std::move(residual),
                                              TwofoldExpression(graph, differentiate(graph, root, all))};
    if (!expressions.usable()) return false;
    const std::size_t part = out.add(std::make_unique<TwofoldGraphRows>(
        std::move(expressions), data, std::vector<double>(inputs),
        [places, inputs](std::size_t block) { return std::span(*places).subspan(block * inputs, inputs); }));
    for (std::size_t b = 0; b < blocks; ++b) out.place(list.row[alike.blocks[b]] + i, part, b);
  }
  return true;
}

}  // namespace

std::unique_ptr<TwofoldRows> twofold_blocks(const BlockList& list, std::span<const double> x) {
  std::vector<BlockKind> kinds;
  std::map<std::pair<std::size_t, int>, Alike> found;
  std::vector<double> inputs, constants;
  std::size_t kind = 0;
  for (std::size_t b = 0; b < list.blocks(); ++b) {
    const BlockFunction& function = list.function(b);
    if (!is_traced(function)) return nullptr;
    kind = find_kind(list, static_cast<std::uint32_t>(b), kinds, kind);
    if (kind == kinds.size()) kinds.push_back(kind_of(list, b));
    inputs.resize(inputs_of(kinds[kind]));
    gather_block(list, b, x, inputs.data());
    const int variant = kinds[kind].family.follow(function, inputs.data(), constants);
    if (variant == BlockFamily::kNone) return nullptr;
    Alike& alike = found[{kind, variant}];
    alike.blocks.push_back(b);
    alike.constants.push_back(constants);
  }
  auto out = std::make_unique<TwofoldParts>();
  for (const auto& [of, alike] : found) {
    const BlockRecording& recording =
        kinds[of.first].family.recordings()[static_cast<std::size_t>(of.second)];
    if (!recording.guards.empty() || !recording.success) return nullptr;
    if (!add_rows(list, recording, alike, inputs_of(kinds[of.first]), *out)) return nullptr;
  }
  return out;
}

}  // namespace nlsq::inline v0
