# fish completion for trainyard: trainyard --complete says what may stand there
# (sim/cli/complete.c).

function __trainyard
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l offers ($words[1] --complete $words[2..-1] "$word" 2>/dev/null)
    set -l files (string split ' ' -- $offers[1])
    printf '%s\n' $offers[2..-1]
    if test "$files[1]" = files
        set -l kept (string sub -l $files[2] -- "$word")
        __fish_complete_path (string sub -s (math $files[2] + 1) -- "$word") |
            string replace -r '^' -- "$kept"
    end
end

complete -c trainyard -f -a '(__trainyard)'
