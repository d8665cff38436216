/* yaml_keys.c - keys of a map that come more than once: sorted, so that wide maps stay quick. */
#include <stdlib.h>
#include <string.h>

#include "sim/document/yaml_read.h"

/* By key, then by place: the first of equal keys comes first. */
static int compare_keys(const void *a, const void *b)
{
    const struct ty_node *x = *(const struct ty_node *const *)a;
    const struct ty_node *y = *(const struct ty_node *const *)b;
    const int order = strcmp(x->key, y->key);
    if (order != 0) {
        return order;
    }
    if (x->key_line != y->key_line) {
        return x->key_line < y->key_line ? -1 : 1;
    }
    return x->key_col < y->key_col ? -1 : x->key_col > y->key_col;
}

/* Takes nodes without a key out of the list. */
static void drop(struct ty_node *map)
{
    for (struct ty_node **link = &map->first; *link != NULL;) {
        if ((*link)->key == NULL) {
            *link = (*link)->next;
            map->n_children--;
        } else {
            link = &(*link)->next;
        }
    }
}

int ty_map_duplicates(struct ty_node *map, ty_duplicate_fn *tell, void *data,
                      const struct ty_node **again)
{
    const uint32_t n = map->n_children;
    struct ty_node **sorted = malloc((n > 0 ? n : 1) * sizeof(*sorted));
    uint32_t i = 0;
    if (sorted == NULL) {
        return TY_ENOMEM;
    }
    for (struct ty_node *child = map->first; child != NULL; child = child->next) {
        sorted[i++] = child;
    }
    qsort(sorted, n, sizeof(struct ty_node *), compare_keys);
    struct ty_node *first = n > 0 ? sorted[0] : NULL;
    bool dropped = false;
    for (i = 1; i < n; i++) {
        if (strcmp(first->key, sorted[i]->key) != 0) {
            first = sorted[i];
        } else if (tell != NULL) {
            tell(data, first, sorted[i]);
        } else {
            first->key = NULL;
            *again = first = sorted[i];
            dropped = true;
        }
    }
    free(sorted);
    if (dropped) {
        drop(map);
    }
    return 0;
}
