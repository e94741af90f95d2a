# Completes the words of @NAME@ in Bash, 3.2 or newer.
_@NAME@() {
    local line="${COMP_LINE:0:COMP_POINT}" current="${COMP_WORDS[COMP_CWORD]}" word last=-1 i
    local -a words=()
    # Bash splits at `:` and `=`. Parts without a space between them are one word.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word="${COMP_WORDS[i]}"
        if ((i > 0)) && [[ "$line" != [[:space:]]* ]]; then
            words[last]+="$word"
        else
            ((last += 1))
            words[last]="$word"
        fi
        line="${line#"${line%%[![:space:]]*}"}"
        line="${line#"$word"}"
    done
    # A separator is no part of the word that Bash replaces.
    [[ "$current" == [:=] ]] && current=""
    local IFS=$'\013' kept="${words[last]%"$current"}"
    COMPREPLY=($(
        @VARIABLE@=bash _CLAP_IFS="$IFS" _CLAP_COMPLETE_INDEX="$last" "@COMPLETER@" -- "${words[@]}" 2>/dev/null
    ))
    for i in "${!COMPREPLY[@]}"; do
        COMPREPLY[i]="${COMPREPLY[i]#"$kept"}"
    done
    if [[ "${COMPREPLY[0]-}" == *[=/] ]]; then
        compopt -o nospace 2>/dev/null || true
    fi
}
complete -o bashdefault -o default -F _@NAME@ @PROGRAM@
