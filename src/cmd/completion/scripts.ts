/**
 * @module cmd/completion/scripts
 * The scripts that a shell loads. Each calls `muster completion --words` with the words up to the cursor, and shows
 * the lines of its output: a candidate, a tab, and what it is.
 */

const BASH = `_muster() {
  local IFS=$'\\n'
  COMPREPLY=($(muster completion --words "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
  if [[ \${COMPREPLY[0]-} == *[/=] ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -F _muster muster
`

const ZSH = `#compdef muster
_muster() {
  local -a found
  local word help
  while IFS=$'\\t' read -r word help; do
    found+=("\${word//:/\\\\:}:$help")
  done < <(muster completion --words "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if [[ \${found[1]-} == *[/=]:* ]]; then _describe muster found -S ''; else _describe muster found; fi
}
compdef _muster muster
`

const FISH = `function __muster_complete
  set -l before (commandline -opc)
  set -l last (commandline -ct)
  muster completion --words $before[2..-1] "$last" 2>/dev/null
end
complete -c muster -f -a '(__muster_complete)'
`

export const SCRIPTS: Readonly<Record<string, string>> = { bash: BASH, zsh: ZSH, fish: FISH }
