// Compares the output of a command with the page.

const ANYTHING = '…'
// oxlint-disable-next-line no-control-regex -- Escape sequences are what it removes.
const COLOUR = /\u001B\[[\d;]*m/g

const escaped = (text: string): string => text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)

function lineSource(line: string): string {
  if (line.trim() === ANYTHING) return String.raw`(?:[^\n]*\n)*`
  return `${line
    .trimEnd()
    .split(ANYTHING)
    .map(escaped)
    .join(String.raw`[^\n]*`)}${String.raw`\n`}`
}

/** Normalises output: removes colours, trailing blanks and blank lines at the end. */
export function plain(output: string): string {
  const lines = output
    .replaceAll(COLOUR, '')
    .split('\n')
    .map((line) => line.trimEnd())
  return `${lines.join('\n').trim()}\n`
}

/** @param how `whole`: the output is equal. `start`: it begins so, and the command may print more. */
export function prints(output: string, expected: string, how: 'whole' | 'start'): boolean {
  const source = plain(expected).trimEnd().split('\n').map(lineSource).join('')
  return new RegExp(`^${source}${how === 'whole' ? '$' : ''}`).test(plain(output))
}
