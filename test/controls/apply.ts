/**
 * Applies a control to the program that Node loads: `CONTROL=FILE.json node --import ./test/controls/apply.ts …`.
 * Fails if the text of the control does not occur exactly once.
 */
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { Control } from './control.ts'

const { file, find, replace } = JSON.parse(readFileSync(process.env['CONTROL'] ?? '', 'utf8')) as Control
const target = new URL(`../../${file}`, import.meta.url)

registerHooks({
  load(url, context, nextLoad) {
    if (url !== target.href) return nextLoad(url, context)
    const parts = readFileSync(fileURLToPath(target), 'utf8').split(find)
    if (parts.length !== 2) throw new Error(`a control matches ${file} ${parts.length - 1} times: ${find}`)
    return { format: 'module-typescript', source: parts.join(replace), shortCircuit: true }
  },
})
