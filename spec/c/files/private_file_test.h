/* private_file_test.h: what the tests of private files include. */
#ifndef PRIVATE_FILE_TEST_H
#define PRIVATE_FILE_TEST_H

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files/private_file.h"
#include "support/descriptors.h"
#include "support/failing.h"
#include "support/file.h"
#include "support/folder.h"
#include "support/test.h"

#endif
