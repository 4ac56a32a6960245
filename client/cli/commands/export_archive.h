// Archives of torch.export, for `warm`: what the jobs that run one will ask for, as a manifest. A
// Python with PyTorch and the package stoker reads them (client/python/stoker/export_archive).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace stoker::cli {

struct ArchiveOptions {
  std::vector<std::string> sizes;    // "x.0=1,8,32"
  std::vector<std::string> modules;  // That Python imports first.
  bool no_grad_only = false;

  bool any() const { return !sizes.empty() || !modules.empty() || no_grad_only; }
};

// A manifest in memory; it is gone with this object.
class ArchiveManifest {
 public:
  ArchiveManifest();
  ArchiveManifest(ArchiveManifest&& other) noexcept;
  ArchiveManifest& operator=(ArchiveManifest&&) = delete;
  ~ArchiveManifest();

  // Of this process, and of those that it starts.
  const std::string& path() const { return path_; }

 private:
  int fd_;
  std::string path_;
};

// Is the file a zip, as such archives are? False for what cannot be read, too.
bool IsZip(const std::string& path);

// Runs $STOKER_PYTHON, else python3. Nothing if it refuses the archive: it has said why on standard
// error. Throws Error if it does not start.
std::optional<ArchiveManifest> RecordArchive(const std::string& path,
                                             const ArchiveOptions& options);

}  // namespace stoker::cli
