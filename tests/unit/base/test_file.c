/* A name stands for one file or the other, whatever was there. Check runs tests in processes of
 * their own. */
#include "sim/base/file.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/suite.h"

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static bool has(const char *path, const char *text)
{
    char line[64] = "";
    FILE *file = fopen(path, "r");
    const bool same =
        file != NULL && fgets(line, sizeof(line), file) != NULL && strcmp(line, text) == 0;
    if (file != NULL) {
        (void)fclose(file);
    }
    return same;
}

TEST(a_file_takes_a_name)
{
    char folder[] = "/tmp/test_file.XXXXXX";
    ck_assert_ptr_nonnull(mkdtemp(folder));
    ck_assert_int_eq(chdir(folder), 0);
    put("new", "one");
    ck_assert_int_eq(ty_file_rename("new", "name"), 0); /* that nobody has */
    ck_assert(has("name", "one") && access("new", F_OK) != 0);
    put("new", "two");
    ck_assert_int_eq(ty_file_rename("new", "name"), 0); /* of another */
    ck_assert(has("name", "two") && access("new", F_OK) != 0);
    ck_assert_int_eq(symlink("name", "link"), 0);
    put("new", "three");
    ck_assert_int_eq(ty_file_rename("new", "link"), 0); /* of a link: it is no more, its file is */
    ck_assert(has("link", "three") && has("name", "two") && access("new", F_OK) != 0);
    put("new", "four");
    ck_assert_int_eq(mkdir("folder", 0700), 0);
    ck_assert_int_lt(ty_file_rename("new", "folder"), 0); /* of a folder: nothing happens */
    ck_assert(has("new", "four") && rmdir("folder") == 0);
    ck_assert(unlink("new") == 0 && unlink("name") == 0 && unlink("link") == 0);
    ck_assert(chdir("/") == 0 && rmdir(folder) == 0);
}

TY_SUITE("file")
