// SPDX-License-Identifier: BSD-3-Clause
// capture.hpp - what this process prints on stderr meanwhile.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace wring::test {

class Capture {
 public:
  Capture() : file_(std::tmpfile()), saved_(dup(STDERR_FILENO)) {
    std::fflush(stderr);
    if (file_ != nullptr) dup2(fileno(file_), STDERR_FILENO);
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;
  ~Capture() { end(); }

  /// Gives stderr back; the text, once.
  std::string end() {
    if (saved_ < 0) return "";
    std::fflush(stderr);
    dup2(saved_, STDERR_FILENO);
    close(saved_);
    saved_ = -1;
    std::string text;
    if (file_ == nullptr) return "cannot make a temporary file";
    std::rewind(file_);
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) text += static_cast<char>(c);
    std::fclose(file_);
    return text;
  }

  /// Gives stderr back and passes on what failed checks have said meanwhile; the rest was expected.
  void end_with_failures() {
    for (const std::string& line : lines_with(end(), ".cpp:")) std::fprintf(stderr, "%s\n", line.c_str());
  }

  /// The lines of a text that contain `word`.
  static std::vector<std::string> lines_with(const std::string& text, const std::string& word) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string line = text.substr(at, end - at);
      if (line.find(word) != std::string::npos) lines.push_back(line);
      at = end + 1;
    }
    return lines;
  }

 private:
  std::FILE* file_;
  int saved_;
};

}  // namespace wring::test
