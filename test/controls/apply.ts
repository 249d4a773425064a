/**
 * Applies a control to the program that Node loads: `CONTROL=FILE.json node --import ./test/controls/apply.ts …`.
 * `CONTROL` may also be the JSON itself. Fails if the text of the control does not occur exactly once.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { Edit } from './control.ts'

const { CONTROL = '' } = process.env
const { file, find, replace } = JSON.parse(CONTROL.startsWith('{') ? CONTROL : readFileSync(CONTROL, 'utf8')) as Edit
const target = new URL(`../../${file}`, import.meta.url)

registerHooks({
  load(url, context, nextLoad) {
    if (url !== target.href) return nextLoad(url, context)
    const parts = readFileSync(fileURLToPath(target), 'utf8').split(find)
    if (parts.length !== 2) throw new Error(`a control matches ${file} ${parts.length - 1} times: ${find}`)
    return { format: 'module-typescript', source: parts.join(replace), shortCircuit: true }
  },
})
