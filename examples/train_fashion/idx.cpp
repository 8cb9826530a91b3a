// SPDX-License-Identifier: BSD-3-Clause
// idx.cpp - reads gzipped IDX files.
//
// An IDX file is two zero bytes, a byte for the element type (8 is unsigned byte), a byte with the
// number of dimensions, each dimension as a 32-bit big-endian number, and then the elements.
#include "idx.hpp"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace fashion {
namespace {

constexpr std::uint8_t kUnsignedByte = 8;
constexpr std::size_t kLargestFile = std::size_t{1} << 30;  // a size above is a damaged header

class GzFile {
 public:
  explicit GzFile(const std::string& path) : path_(path), file_(gzopen(path.c_str(), "rb")) {
    if (!file_) {
      throw std::runtime_error("cannot open " + path + ": " + std::strerror(errno) +
                               "\n(Debian's package dataset-fashion-mnist has the data; "
                               "--data DIR says where they are)");
    }
  }

  void read(std::uint8_t* to, std::size_t bytes) {
    while (bytes > 0) {
      const auto part = static_cast<unsigned>(std::min(bytes, std::size_t{1} << 20));
      const int got = gzread(file_.get(), to, part);
      if (got < 0) {
        int error = 0;
        throw std::runtime_error(path_ + ": " + gzerror(file_.get(), &error));
      }
      if (got == 0) throw std::runtime_error(path_ + ": the file ends too early");
      to += got;
      bytes -= static_cast<std::size_t>(got);
    }
  }

 private:
  struct Close {
    void operator()(gzFile file) const { gzclose(file); }
  };
  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
};

/// Reads a file of unsigned bytes and sets `sizes`, one entry a dimension.
std::vector<std::uint8_t> read_idx(const std::string& path, std::vector<std::size_t>& sizes) {
  GzFile file(path);
  std::uint8_t magic[4];
  file.read(magic, sizeof magic);
  if (magic[0] != 0 || magic[1] != 0 || magic[2] != kUnsignedByte || magic[3] != sizes.size()) {
    throw std::runtime_error(path + ": not an IDX file of bytes with " +
                             std::to_string(sizes.size()) + " dimension(s)");
  }
  std::size_t total = 1;
  for (std::size_t& size : sizes) {
    std::uint8_t big[4];
    file.read(big, sizeof big);
    size =
        std::size_t{big[0]} << 24 | std::size_t{big[1]} << 16 | std::size_t{big[2]} << 8 | big[3];
    if (size == 0 || size > kLargestFile / total) {
      throw std::runtime_error(path + ": impossible size in the header");
    }
    total *= size;
  }
  std::vector<std::uint8_t> elements(total);
  file.read(elements.data(), total);
  return elements;
}

}  // namespace

Dataset read_dataset(const std::string& dir, const std::string& name) {
  std::vector<std::size_t> image_sizes(3);
  std::vector<std::size_t> label_sizes(1);
  Dataset data;
  data.images = read_idx(dir + "/" + name + "-images-idx3-ubyte.gz", image_sizes);
  data.labels = read_idx(dir + "/" + name + "-labels-idx1-ubyte.gz", label_sizes);
  if (image_sizes[0] != label_sizes[0]) {
    throw std::runtime_error(dir + ": " + name + " has " + std::to_string(image_sizes[0]) +
                             " images but " + std::to_string(label_sizes[0]) + " labels");
  }
  data.count = image_sizes[0];
  data.pixels = image_sizes[1] * image_sizes[2];
  return data;
}

}  // namespace fashion
