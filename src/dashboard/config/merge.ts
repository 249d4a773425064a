/**
 * @module dashboard/config/merge
 * Merges a draft with a config that another client saved in the meantime (three-way merge per field). Fields changed on
 * one side only keep that change. If both sides changed a field to different values, the user chooses.
 */
import type { JsonValue } from '../../protocol/index.ts'
import { sameJson } from '../components/json-text.ts'
import { differing, mineOf, topOf, valueIn, type ConfigDraft, type Form } from './draft.ts'
import type { Base } from './saving.ts'

export interface Conflict {
  readonly name: string
  readonly base: JsonValue | undefined
  readonly theirs: JsonValue | undefined
  readonly mine: JsonValue | undefined
}

export interface Merge {
  /** Fields changed only by the other client. */
  readonly theirs: readonly string[]
  /** Fields changed only in the draft, or changed to the same value on both sides. */
  readonly mine: readonly string[]
  readonly conflicts: readonly Conflict[]
}

export type Side = 'theirs' | 'mine'

export function mergeOf({ fields }: Form, draft: ConfigDraft, newest: Base): Merge {
  const config = mineOf(draft)
  const theirs = new Set(differing(fields, draft.base.config, newest.config))
  const mine = differing(fields, draft.base.config, config)
  const conflicts = mine.filter(
    (name) => theirs.has(name) && !sameJson(valueIn(config, name), valueIn(newest.config, name)),
  )
  return {
    theirs: [...theirs].filter((name) => !mine.includes(name)),
    mine: mine.filter((name) => !conflicts.includes(name)),
    conflicts: conflicts.map((name) => ({
      name,
      base: valueIn(draft.base.config, name),
      theirs: valueIn(newest.config, name),
      mine: valueIn(config, name),
    })),
  }
}

/** Rebases the draft on the newest generation. Conflicting fields take their value unless `mine` was chosen. */
export function rebase(form: Form, draft: ConfigDraft, newest: Base, choices: ReadonlyMap<string, Side>): ConfigDraft {
  const { mine, conflicts } = mergeOf(form, draft, newest)
  const kept = new Set([...mine, ...conflicts.map(({ name }) => name).filter((name) => choices.get(name) === 'mine')])
  const config = mineOf(draft)
  const result: Record<string, JsonValue> = { ...newest.config }
  for (const name of kept) {
    const value = valueIn(config, name)
    if (value === undefined) delete result[name]
    else result[name] = value
  }
  const theirs = new Set(conflicts.map(({ name }) => name).filter((name) => !kept.has(name)))
  const texts = [...draft.mine.texts].filter(([path, { fault }]) =>
    path === '' ? fault !== null : !theirs.has(topOf(path)),
  ) // The JSON tab shows the merged config, unless its text has a syntax error.
  return { ...draft, base: newest, mine: { value: result, texts: new Map(texts) } }
}
