// A mount namespace of one's own, in which files and folders of /proc, /sys and /dev look different: for the calling
// process and those that it starts, for nobody else. Who is not root gets a user namespace too, in which it stays who it
// is. Nothing here can be undone but by the end of the processes.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace smartmig::nvsim {

// REQUIRES: one thread. An error says what the kernel refused and what would let it.
Result<Ok> enter_mount_namespace();

// Covers a folder with one in memory that holds the same entries, those alone that `keep` names, and takes new ones.
Result<Ok> cover_folder(const std::string& folder, const std::function<bool(const std::string& name)>& keep);
// Shows `source`, a file or a folder, at `place`, which must be there.
Result<Ok> show_at(const std::string& source, const std::string& place);
Result<Ok> put_file(const std::string& path, std::string_view bytes);

}  // namespace smartmig::nvsim
