// A reply of ours to the library; its own pages are turned into JSON (library_errors.cc).
#pragma once
#include <microhttpd.h>

namespace smartmig {

MHD_Result queue_reply(MHD_Connection* connection, unsigned status, MHD_Response* response);

}  // namespace smartmig
