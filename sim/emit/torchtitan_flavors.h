/* torchtitan_flavors.h - models that torchtitan has by name: to be written, and to be read. */
#ifndef TY_EMIT_TORCHTITAN_FLAVORS_H
#define TY_EMIT_TORCHTITAN_FLAVORS_H

/* A name ("llama3") and flavor ("8B"); how sure its sizes are, "" or ", from memory"; what it is,
 * as lines of the section `model`. */
struct ty_titan_flavor {
    const char *name, *flavor, *sure, *lines;
};

extern const struct ty_titan_flavor ty_titan_flavors[]; /* ends with a NULL name */

#endif
