// Where the daemon and its clients meet when nobody says otherwise: the system's places for root, else the user's own.
// The environment (SMARTMIG_SOCKET, SMARTMIG_STATE) is read by the options of the verbs.
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
// /var/lib/smartmig for root, else $XDG_STATE_HOME/smartmig, else ~/.local/state/smartmig
std::string default_state_dir();

}  // namespace smartmig
