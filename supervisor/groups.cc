#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "supervisor.h"

namespace smartmig::supervisor {
namespace {

char path[4096], text[65536];

const char* in_group(const Job& job, std::uint32_t i, const char* file) {
  ::snprintf(path, sizeof path, "%s/%s", job.item(job.head->cgroups, i), file);
  return path;
}

// Without a cgroup: every process below us, found in one look at /proc. As we are a subreaper, no child of the job can
// leave our tree; a parent dies before its children are looked at again, so a fork bomb runs out of parents.
struct Entry {
  pid_t pid, parent;
};
Entry entries[65536];               // touched only here, as is the next
unsigned char ours[(1 << 22) / 8];  // one bit for each pid; the kernel gives none above

bool is_ours(pid_t pid) { return pid >= 0 && pid < 1 << 22 && (ours[pid / 8] >> pid % 8 & 1); }

// How many there are.
std::size_t signal_tree(int signal) {
  std::size_t count = 0, reached = 0;
  DIR* const all = ::opendir("/proc");
  if (!all) return 0;
  while (const dirent* entry = ::readdir(all)) {
    const pid_t pid = pid_t(::strtol(entry->d_name, nullptr, 10));
    if (pid <= 1 || count == sizeof entries / sizeof *entries) continue;
    ::snprintf(path, sizeof path, "/proc/%d/stat", int(pid));
    if (read_text(path, text, 1024) <= 0) continue;
    const char* const after_name = ::strrchr(text, ')');
    if (!after_name || ::strlen(after_name) < 5) continue;
    entries[count++] = {pid, pid_t(::strtol(after_name + 4, nullptr, 10))};
  }
  ::closedir(all);
  const pid_t self = ::getpid();
  ::memset(ours, 0, sizeof ours);
  ours[self / 8] |= std::uint8_t(1 << self % 8);
  for (bool found = true; found;) {
    found = false;
    for (std::size_t i = 0; i < count; ++i) {
      const Entry entry = entries[i];
      if (is_ours(entry.pid) || !is_ours(entry.parent) || entry.pid >= 1 << 22) continue;
      ::kill(entry.pid, signal);
      ours[entry.pid / 8] |= std::uint8_t(1 << entry.pid % 8);
      found = true;
      ++reached;
    }
  }
  return reached;
}

void kill_listed(const char* file) {
  if (read_text(file, text, sizeof text) <= 0) return;
  for (char* at = text; *at;) {
    char* end = at;
    const long pid = ::strtol(at, &end, 10);
    if (end == at) return;
    if (pid > 1 && pid != ::getpid()) ::kill(pid_t(pid), SIGKILL);
    at = end;
  }
}

}  // namespace

void make_groups(const Job& job, Words& troubles) {
  const LaunchHead& head = *job.head;
  for (std::uint32_t i = 0; i < head.cgroups.count; ++i)
    if (::mkdir(job.item(head.cgroups, i), 0755) != 0 && errno != EEXIST)
      troubles.add("[smartmig: no cgroup %s: %s]\n", job.item(head.cgroups, i), ::strerror(errno));
  for (std::uint32_t i = 0; i + 1 < head.settings.count; i += 2) {
    const char* const file = job.item(head.settings, i);
    if (write_text(file, job.item(head.settings, i + 1))) continue;
    if (::strstr(file, "memsw") || ::strstr(file, "swap")) continue;  // kernels without accounting of swap
    troubles.add("[smartmig: a limit is not in force: %s: %s]\n", file, ::strerror(errno));
  }
}

void enter_groups(const Job& job) {
  for (std::uint32_t i = 0; i < job.head->cgroups.count; ++i) write_text(in_group(job, i, "cgroup.procs"), "0");
}

void kill_all(const Job& job, pid_t group) {
  const LaunchHead& head = *job.head;
  if (group > 1) ::kill(-group, SIGKILL);
  if (head.kill_file && write_text(job.text(head.kill_file), "1")) return;
  const bool frozen = head.freezer_file && write_text(job.text(head.freezer_file), "FROZEN");
  if (head.cgroups.count > 0) kill_listed(in_group(job, 0, "cgroup.procs"));
  signal_tree(SIGKILL);
  if (frozen) write_text(job.text(head.freezer_file), "THAWED");
}

// What forks while we look is found by the next look.
void stop_all(bool on) {
  std::size_t before = 0;
  for (int round = 0; round < 10; ++round) {
    const std::size_t reached = signal_tree(on ? SIGSTOP : SIGCONT);
    if (!on || reached == before) return;
    before = reached;
  }
}

bool has_children() {
  for (;;) {
    const pid_t pid = ::waitpid(-1, nullptr, WNOHANG);
    if (pid == 0) return true;
    if (pid < 0 && errno != EINTR) return false;
  }
}

void remove_groups(const Job& job) {
  for (int round = 0; round < 100; ++round) {
    bool left = false;
    for (std::uint32_t i = 0; i < job.head->cgroups.count; ++i)
      left |= ::rmdir(job.item(job.head->cgroups, i)) != 0 && errno != ENOENT;
    if (!left) return;
    ::usleep(5000);
  }
}

std::int64_t peak_bytes(const Job& job) {
  if (!job.head->peak_file || read_text(job.text(job.head->peak_file), text, sizeof text) <= 0) return -1;
  return ::strtoll(text, nullptr, 10);
}

bool saw_oom_kill(const Job& job) {
  if (!job.head->oom_file || read_text(job.text(job.head->oom_file), text, sizeof text) <= 0) return false;
  const char* const at = ::strstr(text, "oom_kill ");
  return at && ::strtoll(at + 9, nullptr, 10) > 0;
}

}  // namespace smartmig::supervisor
