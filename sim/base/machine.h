/* machine.h - what this process may have of the machine it runs on. */
#ifndef TY_BASE_MACHINE_H
#define TY_BASE_MACHINE_H

#include <stddef.h>

/* Bytes of memory, and what sets the limit, for messages. */
struct ty_machine_memory {
    double bytes;
    const char *of; /* "the memory of this machine", static */
};

/* The least of: physical memory; the memory limit of the control group that the process is in, or
 * of one around it (version 1 and 2); RLIMIT_AS and RLIMIT_DATA. Swap is no memory: a simulation
 * walks all of its own again and again. What other processes hold is not looked at, so that the
 * same question has the same answer. */
struct ty_machine_memory ty_machine_memory(void);

/* Bytes that the process holds now (resident); 0 where the system does not tell. */
double ty_machine_held(void);

/* The limit in the text of a memory.max or memory.limit_in_bytes: bytes; 0: none, or no number. */
double ty_machine_limit(const char *text);

/* Memory that is going to be filled from one end to the other is better had in huge pages: a fault
 * for 2 MiB, not 4 KiB. Asks for them where that pays; does nothing where there are none. */
void ty_machine_huge_pages(void *memory, size_t bytes);

#endif
