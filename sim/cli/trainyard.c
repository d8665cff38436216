/* trainyard.c - the program: one process. */
#include "sim/cli/cli.h"

int main(int argc, char **argv)
{
    return cli_main(argc, argv, NULL);
}
