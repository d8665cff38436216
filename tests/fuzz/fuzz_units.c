/* fuzz_units.c - any text as a quantity of each dimension: finite, and equal to six digits when
 * what is shown of it is read again. */
#include <math.h>
#include <stdlib.h>

#include "sim/base/units.h"
#include "tests/fuzz/fuzz.h"

static void check_value(double value, enum ty_dimension dim)
{
    char shown[128], why[256];
    double again = 0;
    FUZZ_DEMAND(isfinite(value));
    ty_quantity_format(value, dim, shown, sizeof(shown));
    FUZZ_DEMAND(ty_quantity_parse(shown, dim, &again, why, sizeof(why)) == 0);
    FUZZ_DEMAND(fabs(again - value) <= 1e-5 * fabs(value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    for (int dim = 0; dim < TY_N_DIMENSIONS; dim++) {
        char why[256] = "";
        double value = (double)NAN;
        if (ty_quantity_parse(text, (enum ty_dimension)dim, &value, why, sizeof(why)) == 0) {
            check_value(value, (enum ty_dimension)dim);
        } else {
            FUZZ_DEMAND(why[0] != '\0');
        }
    }
    free(text);
    return 0;
}
