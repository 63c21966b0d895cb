// Divides a program into runs of instructions that have machine code, and generates it.
#include "machine_code/program_steps.hpp"

#include "kernels/functions/own_log_pow.hpp"
#include "kernels/functions/own_sincos.hpp"
#include "kernels/operations.hpp"
#include "machine_code/avx2_code.hpp"
#include "machine_code/vector_ops.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

namespace nlsq::inline v0 {

namespace {

bool has_code(Op op) {
  return is_basic(op) || op == Op::exp || op == Op::sin || op == Op::cos || op == Op::log || op == Op::pow;
}

template <class S, Op op>
WrittenValue basic(const WrittenValue* x) {
  if constexpr (arity(op) == 1) return operate<S, op>(x[0]);
  else if constexpr (arity(op) == 2) return operate<S, op>(x[0], x[1]);
  else return operate<S, op>(x[0], x[1], x[2]);
}

// The range of the inline logarithm; other lanes need the interpreter.
template <class S>
auto log_parts_in_range(WrittenValue x) {
  using Limits = std::numeric_limits<typename S::Element>;
  S::require(S::mask_and(S::less_equal(S::set(S::f64 ? Limits::min() : Limits::denorm_min()), x),
                         S::less_equal(x, S::set(Limits::max()))));
  return own::log_parts<S>(x);
}

template <class S>
WrittenValue write(Op op, const WrittenValue* x) {
  using Limits = std::numeric_limits<typename S::Element>;
  switch (op) {
    case Op::add: return basic<S, Op::add>(x);
    case Op::sub: return basic<S, Op::sub>(x);
    case Op::mul: return basic<S, Op::mul>(x);
    case Op::div: return basic<S, Op::div>(x);
    case Op::neg: return basic<S, Op::neg>(x);
    case Op::fma: return basic<S, Op::fma>(x);
    case Op::fms: return basic<S, Op::fms>(x);
    case Op::fnma: return basic<S, Op::fnma>(x);
    case Op::copy: return basic<S, Op::copy>(x);
    case Op::abs: return basic<S, Op::abs>(x);
    case Op::sign: return basic<S, Op::sign>(x);
    case Op::floor: return basic<S, Op::floor>(x);
    case Op::ceil: return basic<S, Op::ceil>(x);
    case Op::sqrt: return basic<S, Op::sqrt>(x);
    case Op::min: return basic<S, Op::min>(x);
    case Op::max: return basic<S, Op::max>(x);
    case Op::less: return basic<S, Op::less>(x);
    case Op::less_equal: return basic<S, Op::less_equal>(x);
    case Op::equal: return basic<S, Op::equal>(x);
    case Op::not_equal: return basic<S, Op::not_equal>(x);
    case Op::logical_and: return basic<S, Op::logical_and>(x);
    case Op::logical_or: return basic<S, Op::logical_or>(x);
    case Op::logical_not: return basic<S, Op::logical_not>(x);
    case Op::select: return basic<S, Op::select>(x);
    case Op::exp: return own::exp<S>(x[0]);
    case Op::log: return own::log<S>(log_parts_in_range<S>(x[0]));
    case Op::pow:
      S::require(S::less_equal(S::abs(x[1]), S::set(Limits::max())));
      return own::pow<S>(log_parts_in_range<S>(x[0]), x[1]);
    default: {  // sin or cos
      S::require(S::less_equal(S::abs(x[0]), S::set(own::SinCosConstants<typename S::Element>::limit)));
      const own::SinCos<S> both = own::sincos<S>(x[0]);
      return op == Op::sin ? both.sine : both.cosine;
    }
  }
}

// True if the value that vector v holds after the first `end` instructions is read later.
bool read_later(const TileProgram& program, std::size_t end, std::int32_t v) {
  for (std::size_t i = end; i < program.code.size(); ++i) {
    const Instruction& in = program.code[i];
    const std::int32_t operands[] = {in.a, in.b, in.c};
    if (std::find(operands, operands + arity(in.op), v) != operands + arity(in.op)) return true;
    if (in.dst == v) return false;
  }
  return std::ranges::find(program.outputs, v) != program.outputs.end();
}

// Writes down instructions [first, first + count) of a program. Returns nothing if a vector would have to be
// copied to another one, which no program needs.
template <class S>
std::optional<VectorCode> written(const TileProgram& program, std::size_t first, std::size_t count,
                                  std::uint64_t f64_columns) {
  VectorCode code;
  std::map<std::int32_t, WrittenValue> held;  // by vector: the value that it holds now
  for (const Instruction& in : std::span(program.code).subspan(first, count)) {
    const std::int32_t operands[] = {in.a, in.b, in.c};
    WrittenValue x[3];
    for (int k = 0; k < arity(in.op); ++k) {
      const std::int32_t o = operands[k];
      if (const auto found = held.find(o); found != held.end()) {
        x[k] = found->second;
        continue;
      }
      VectorOp from = o >= 0 ? VectorOp::load : VectorOp::uniform;
      if (o >= 0 && o < 64 && f64_columns >> o & 1) from = VectorOp::load_f64;
      const auto number = static_cast<std::uint64_t>(o >= 0 ? o : ~o);
      x[k] = {&code, code.add({.op = from, .f64 = S::f64, .number = number}), 0};
    }
    held[in.dst] = write<S>(in.op, x);
  }
  for (const auto& [vector, value] : held) {
    if (!read_later(program, first + count, vector)) continue;
    if (is_load(code.nodes()[value.node].op)) return std::nullopt;
    S::write(VectorOp::store, value, {}, {}, static_cast<std::uint64_t>(vector));
  }
  return code;
}

}  // namespace

ProgramSteps::ProgramSteps(const TileProgram& program, const StepsRequest& request) : request_(request) {
  const auto& code = program.code;
  request_.generate =
      request.generate && (request.f64 ? kernels().generated_f64 : kernels().generated_f32) != nullptr;
  if (request_.generate && !request.f64) choose_f64_columns(program);
  const auto is_run = [&](std::size_t i) { return request_.generate && has_code(code[i].op); };
  for (std::size_t i = 0; i < code.size();) {
    std::size_t end = i;
    while (end < code.size() && is_run(end) == is_run(i)) ++end;
    if (!is_run(i)) {
      decode(code.data() + i, end - i, steps_);
    } else if (!generate(program, i, end - i)) {  // then the interpreter runs the whole program
      steps_.clear();
      runs_.clear();
      f64_columns_ = 0;
      decode(code.data(), code.size(), steps_);
      return;
    }
    i = end;
  }
}

// Columns of doubles must be read by machine code alone.
void ProgramSteps::choose_f64_columns(const TileProgram& program) {
  f64_columns_ = request_.f64_columns;
  const auto as_floats = [this](std::int32_t v) {
    if (v >= 0 && v < 64) f64_columns_ &= ~(std::uint64_t(1) << v);
  };
  for (const Instruction& in : program.code) {
    const std::int32_t operands[] = {in.a, in.b, in.c};
    for (int k = 0; k < arity(in.op) && !has_code(in.op); ++k) as_floats(operands[k]);
  }
  for (const std::int32_t output : program.outputs) as_floats(output);
  for (int c = 0; c < 64; ++c) {
    if (reads_f64(c)) f64_list_.push_back(c);
  }
  if (f64_list_.size() > most_f64_columns ||
      static_cast<std::size_t>(program.columns + program.registers) > most_vectors_beside) {
    f64_columns_ = 0;
    f64_list_.clear();
  }
}

void ProgramSteps::decode(const Instruction* code, std::size_t count, std::vector<KernelStep>& out) const {
  const std::size_t before = out.size();
  out.resize(before + count);
  const auto decoder = request_.f64 ? kernels().decode_f64 : kernels().decode_f32;
  out.resize(before + decoder(code, count, out.data() + before));
}

bool ProgramSteps::generate(const TileProgram& program, std::size_t first, std::size_t count) {
  const auto code = request_.f64 ? written<Writer<double>>(program, first, count, 0)
                                 : written<Writer<float>>(program, first, count, f64_columns_);
  if (!code) return false;
  auto run = std::make_unique<Run>();
  run->memory = ExecutableMemory(avx2_code(*code, request_.f64, request_.lanes));
  if (run->memory.code() == nullptr) return false;
  decode(program.code.data() + first, count, run->steps);
  run->run = {
      .function = reinterpret_cast<decltype(GeneratedRun::function)>(const_cast<void*>(run->memory.code())),
      .steps = run->steps.data(),
      .count = run->steps.size(),
      .f64_columns = f64_list_.data(),
      .f64_count = f64_list_.size(),
      .vectors = static_cast<std::size_t>(program.columns + program.registers)};
  steps_.push_back(
      {.function = request_.f64 ? kernels().generated_f64 : kernels().generated_f32, .generated = &run->run});
  runs_.push_back(std::move(run));
  return true;
}

std::shared_ptr<const ProgramSteps> StepsCache::get(int number, const TileProgram& program,
                                                    StepsRequest request, std::size_t rows) {
  const std::lock_guard lock(mutex_);
  std::size_t& sum = rows_[number][request.f64];
  sum = std::max(sum, sum + rows);  // without overflow
  request.generate = repays_code(sum);
  if (!request.generate) request.f64_columns = 0;
  for (const Entry& entry : entries_) {
    if (entry.number == number && entry.request == request && entry.table == &kernels()) return entry.steps;
  }
  entries_.push_back({number, request, &kernels(), std::make_shared<const ProgramSteps>(program, request)});
  return entries_.back().steps;
}

}  // namespace nlsq::inline v0
