/** The shells with a completion script. */
export const shells = ['bash', 'zsh', 'fish'] as const
/** A shell with a completion script. */
export type Shell = (typeof shells)[number]

// Each asks the typed program for the possible completions of the word, one `word<TAB>meaning` a line. A first line that
// says `:files` leaves the word to the shell.

// Bash splits words at `@` and `=`: the word is taken from the line, and the reply omits what bash believes to precede it.
const bash = String.raw`# Completion of rollcall for bash. Try it: source <(rollcall completion bash)
_rollcall() {
  local line=${'$'}{COMP_LINE:0:COMP_POINT} word found entry prefix
  local -a words=()
  read -r -a words <<< "$line"
  case $line in *[[:space:]]) words+=('') ;; esac
  word=${'$'}{words[${'$'}{#words[@]}-1]}
  prefix=${'$'}{word%"${'$'}{COMP_WORDS[COMP_CWORD]}"}
  COMPREPLY=()
  found=$("${'$'}{words[0]/#\~/$HOME}" complete -- "${'$'}{words[@]:1}" 2>/dev/null) || return 0
  if [ "${'$'}{found%%$'\n'*}" = ':files' ]; then
    compopt -o default 2>/dev/null
    return 0
  fi
  while IFS= read -r entry; do
    entry=${'$'}{entry%%$'\t'*}
    [ -n "$entry" ] && COMPREPLY+=("${'$'}{entry#"$prefix"}")
  done <<< "$found"
}
complete -F _rollcall rollcall
`

const zsh = String.raw`#compdef rollcall
# Completion of rollcall for zsh. Try it: source <(rollcall completion zsh)
_rollcall() {
  local -a lines described
  local line word
  lines=("${'$'}{(@f)$("${'$'}{(Q)words[1]/#\~/$HOME}" complete -- "${'$'}{(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ "${'$'}{lines[1]}" == ':files' ]]; then
    _files
    return
  fi
  for line in "${'$'}{lines[@]}"; do
    word=${'$'}{line%%$'\t'*}
    [[ -n "$word" ]] && described+=("${'$'}{word//:/\\:}:${'$'}{line#*$'\t'}")
  done
  _describe -V rollcall described
}
if [[ "$funcstack[1]" == _rollcall ]]; then
  _rollcall "$@"
else
  compdef _rollcall rollcall
fi
`

const fish = String.raw`# Completion of rollcall for fish. Try it: rollcall completion fish | source
function __rollcall_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l found ($words[1] complete -- $words[2..] "$current" 2>/dev/null)
    if test "$found[1]" = ':files'
        __fish_complete_path "$current"
    else
        printf '%s\n' $found
    end
end
complete -c rollcall -f -k -a '(__rollcall_complete)'
`

/** The completion script of each shell. */
export const scripts: Readonly<Record<Shell, string>> = { bash, zsh, fish }
