// Runs nlsq-fit as a user would, by a shell command, and returns its exit status and its output.
#pragma once

#include <nlohmann/json.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace program {

struct Outcome {
  int status = -1;
  std::string out;  // stdout and stderr together, unless the arguments redirect
};

// Runs a command of the shell.
inline Outcome run_command(const std::string& command) {
  Outcome outcome;
  std::FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> buffer;
  for (std::size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    outcome.out.append(buffer.data(), n);
  const int status = ::pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

// Runs nlsq-fit. `arguments` are shell text after the program's name; `before` stands in front of it ("cat f
// |").
inline Outcome run(const std::string& arguments, const std::string& before = "") {
  return run_command(before + " " NLSQ_BIN_DIR "/nlsq-fit " + arguments);
}

// Returns the result of --json without the members that may differ between runs of one fit.
inline std::string without_circumstances(const std::string& text) {
  nlohmann::json object = nlohmann::json::parse(text);
  for (const char* const fact : {"options", "time", "peak_bytes", "threads"}) object.erase(fact);
  return object.dump();
}

// Returns the object that --json - prints, or null if it printed none.
inline nlohmann::json fit_json(const std::string& arguments) {
  const Outcome outcome = run(arguments + " --quiet --json -");
  return nlohmann::json::parse(outcome.out, nullptr, false);
}

inline nlohmann::json parameter(const nlohmann::json& fit, const std::string& name) {
  for (const auto& p : fit["parameters"]) {
    if (p["name"] == name) return p;
  }
  return nullptr;
}

// This is a temporary directory, which is removed with the object.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "nlsq-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { std::filesystem::remove_all(path_); }

  std::string path(const std::string& name) const { return (path_ / name).string(); }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
    return path(name);
  }
  std::string read(const std::string& name) const {
    std::ifstream file(path_ / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace program
