// The default places where the daemon and its clients meet: the system's places for root, else the user's own. The
// environment (SMARTMIG_SOCKET, SMARTMIG_STATE) is read by the options of the verbs.
#pragma once
#include <string>

namespace smartmig {

inline constexpr const char* kStoreFile = "queue.db";  // in the state directory
inline constexpr const char* kPowerFitFile = "power-fit.json";

// Where a user without a runtime directory or a home is at home: /tmp/smartmig-UID. Others may have made it.
std::string temporary_home();
// /run/smartmig/smartmig.sock for root, else $XDG_RUNTIME_DIR/smartmig/smartmig.sock, else
// /tmp/smartmig-UID/smartmig.sock
std::string default_socket();
// Of a daemon on emulated GPUs, below the default one: a directory for each fleet and clock, so that one never finds the
// machine of another. "emulated/8xa100-40gb", "emulated/8xa100-40gb-virtual".
std::string emulated_state_dir(const std::string& fleet, const std::string& clock);
// /var/lib/smartmig for root, else $XDG_STATE_HOME/smartmig, else ~/.local/state/smartmig
std::string default_state_dir();

}  // namespace smartmig
