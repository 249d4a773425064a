// Compares two folders of a release, byte by byte. Used by build-twice.mjs and the tests.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** @returns one line per file that differs or is missing in one folder; empty if both are equal. */
export function differences(one, other) {
  const names = new Set([...readdirSync(one), ...readdirSync(other)])
  const has = (folder, name) => readdirSync(folder).includes(name)
  return [...names].toSorted().flatMap((name) => {
    if (!has(one, name) || !has(other, name)) return [`${name}: exists in one build alone`]
    const [first, second] = [one, other].map((folder) => readFileSync(join(folder, name)))
    return first.equals(second) ? [] : [`${name}: differs, first at byte ${firstDifference(first, second)}`]
  })
}

function firstDifference(first, second) {
  const length = Math.min(first.length, second.length)
  for (let at = 0; at < length; at++) if (first[at] !== second[at]) return at
  return length
}
