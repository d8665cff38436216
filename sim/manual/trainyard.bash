# bash completion for trainyard, for bash 4 and later; needs no other package.
#
# trainyard --complete says what may stand there (sim/cli/complete.c). bash splits words at = and :
# before it asks: they are joined again, and what bash keeps of the last one is taken off the reply.

# Files whose names end in one of "a|b", and folders; any file where there is none of them.
_trainyard_files()
{
    local IFS='|' end found=''
    compopt -o filenames 2>/dev/null
    for end in $1; do
        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -X "!*$end" -- "$2")
    done
    found=${#COMPREPLY[@]}
    if ((found > 0)); then
        mapfile -t -O "$found" COMPREPLY < <(compgen -d -- "$2")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$2")
    fi
}

_trainyard()
{
    local line=${COMP_LINE:0:COMP_POINT} word rest reply kept=''
    local breaks=${COMP_WORDBREAKS//[^=:]}
    local -a typed=() offers=() files=()
    for word in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        rest=${line#"${line%%[![:space:]]*}"}
        [[ $word == "$rest"* ]] && word=$rest
        if [[ $rest == "$line" ]] && ((${#typed[@]} > 0)); then
            typed[-1]+=$word
        else
            typed+=("$word")
        fi
        line=${rest#"$word"}
    done
    word=${typed[-1]}
    [[ -n $breaks ]] && kept=${word%"${word##*["$breaks"]}"}
    mapfile -t offers < <("${typed[0]}" --complete "${typed[@]:1}" 2>/dev/null)
    COMPREPLY=()
    for reply in "${offers[@]:1}"; do
        reply=${reply%%$'\t'*}
        [[ $reply == "$word"* ]] && COMPREPLY+=("${reply#"$kept"}")
    done
    [[ ${COMPREPLY[0]} == *[=:] ]] && compopt -o nospace 2>/dev/null
    read -r -a files <<<"${offers[0]}"
    if ((${#files[@]} > 0 && ${#COMPREPLY[@]} == 0)); then
        _trainyard_files "${files[2]}" "${word:files[1]}"
    fi
}
complete -F _trainyard trainyard
