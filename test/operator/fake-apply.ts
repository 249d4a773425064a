/**
 * Implements server-side apply for the fake API server. Every leaf has managers. A leaf that its manager omits is
 * removed if it has no other manager. A leaf that another manager owns with another value is a conflict, unless forced.
 * A leaf is a scalar, an empty object, or a list that is not keyed. Lists whose path is in `keyed` are maps by that
 * field.
 */
type Fields = Record<string, unknown>

/** Paths of keyed lists, such as `status.conditions`, and the field that is the key. */
export type KeyedLists = Readonly<Record<string, string>>
/** Leaves by manager; a leaf is written as a JSON array of its path segments. */
export type Managers = ReadonlyMap<string, ReadonlySet<string>>

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns every leaf of a value: its path, and its value. */
function leavesOf(value: unknown, keyed: KeyedLists): Map<string, unknown> {
  const leaves = new Map<string, unknown>()
  /** @param steps The path as a JSON array, without its last bracket. */
  const visit = (each: unknown, steps: string, plain: string): void => {
    const key = keyed[plain]
    if (key !== undefined && Array.isArray(each))
      for (const item of each as Fields[]) {
        const inner = withStep(steps, `[${String(item[key])}]`)
        leaves.set(`${inner}]`, ITEM)
        visit(item, inner, plain)
      }
    else if (!isFields(each) || (steps !== '[' && Object.keys(each).length === 0)) leaves.set(`${steps}]`, each)
    else
      for (const [name, field] of Object.entries(each))
        visit(field, withStep(steps, name), plain === '' ? name : `${plain}.${name}`)
  }
  visit(value, '[', '')
  return leaves
}

const withStep = (steps: string, step: string): string => `${steps}${steps === '[' ? '' : ','}${JSON.stringify(step)}`

/** Represents the existence of an item of a keyed list. */
const ITEM = Symbol('item')

/** Compares the values of two leaves. */
const isSame = (one: unknown, other: unknown): boolean => one === other || JSON.stringify(one) === JSON.stringify(other)

export interface Applied {
  readonly object: Fields
  readonly managers: Managers
  readonly conflicts: readonly string[]
}

export function applied(live: Fields, managers: Managers, manager: string, wanted: Fields, keyed: KeyedLists): Applied {
  const [now, next] = [leavesOf(live, keyed), leavesOf(wanted, keyed)]
  const others = [...managers].filter(([name]) => name !== manager)
  const conflicts = [...next].flatMap(([leaf, value]) =>
    value !== ITEM && now.has(leaf) && !isSame(now.get(leaf), value)
      ? others.filter(([, leaves]) => leaves.has(leaf)).map(([name]) => `conflict with "${name}": ${leaf}`)
      : [],
  )
  let object = live
  for (const leaf of managers.get(manager) ?? []) {
    if (!next.has(leaf) && !others.some(([, leaves]) => leaves.has(leaf)))
      object = changed(object, JSON.parse(leaf) as string[], undefined, keyed)
  }
  for (const [leaf, value] of next)
    if (value !== ITEM) object = changed(object, JSON.parse(leaf) as string[], value, keyed)
  const left = new Map(
    others.map(([name, leaves]) => [
      name,
      new Set([...leaves].filter((leaf) => !next.has(leaf) || isSame(now.get(leaf), next.get(leaf)))),
    ]),
  )
  return { object, managers: new Map([...left, [manager, new Set(next.keys())]]), conflicts }
}

/** Makes a manager that writes without apply the owner of what it changed. */
export function taken(managers: Managers, manager: string, before: Fields, after: Fields, keyed: KeyedLists): Managers {
  const [was, is] = [leavesOf(before, keyed), leavesOf(after, keyed)]
  const differing = new Set([...is].filter(([leaf, value]) => !isSame(was.get(leaf), value)).map(([leaf]) => leaf))
  const others = [...managers].map(
    ([name, leaves]) =>
      [
        name,
        new Set([...leaves].filter((leaf) => is.has(leaf) && (name === manager || !differing.has(leaf)))),
      ] as const,
  )
  const own = new Set([...(managers.get(manager) ?? []), ...differing].filter((leaf) => is.has(leaf)))
  return new Map([...others, [manager, own]])
}

function changed(
  value: unknown,
  [step, ...rest]: readonly string[],
  leaf: unknown,
  keyed: KeyedLists,
  plain = '',
): Fields {
  if (step === undefined) return leaf as Fields
  const name = /^\[(?<name>.*)\]$/.exec(step)?.groups?.['name']
  const key = keyed[plain]
  if (name !== undefined && key !== undefined) {
    const items = Array.isArray(value) ? (value as Fields[]) : []
    const at = items.findIndex((item) => String(item[key]) === name)
    if (at === -1 && leaf === undefined) return value as Fields
    if (rest.length === 0) return (leaf === undefined ? leftOf(items, at) : items) as unknown as Fields
    const item = changed(items[at] ?? {}, rest, leaf, keyed, plain)
    return (at === -1
      ? [...items, item]
      : items.map((each, index) => (index === at ? item : each))) as unknown as Fields
  }
  const fields = isFields(value) ? value : {}
  const inner =
    rest.length === 0 ? leaf : changed(fields[step], rest, leaf, keyed, plain === '' ? step : `${plain}.${step}`)
  const { [step]: _, ...others } = fields
  const isEmptied = leaf === undefined && plain !== '' && isFields(inner) && Object.keys(inner).length === 0
  return inner === undefined || isEmptied ? others : { ...fields, [step]: inner }
}

/** Removes an item; a list without items is removed as well. */
function leftOf(items: readonly Fields[], at: number): readonly Fields[] | undefined {
  const left = items.filter((_, index) => index !== at)
  return left.length === 0 ? undefined : left
}

export function mergePatched(value: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return patch
  const result: Fields = isFields(value) ? { ...value } : {}
  for (const [name, each] of Object.entries(patch)) {
    if (each === null) delete result[name]
    else result[name] = mergePatched(result[name], each)
  }
  return result
}

interface Operation {
  readonly op: string
  readonly path: string
  readonly value?: unknown
}

/** Applies a JSON patch. @returns `undefined` if a `test` failed or a path does not exist. */
export function jsonPatched(value: unknown, operations: readonly Operation[]): unknown {
  const result: unknown = JSON.parse(JSON.stringify(value))
  for (const { op, path, value: each } of operations) {
    const steps = path
      .split('/')
      .slice(1)
      .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
    const last = steps.pop() ?? ''
    const parent = steps.reduce<unknown>((inner, step) => (inner as Fields | undefined)?.[step], result) as
      Fields | unknown[] | undefined
    if (parent === undefined || parent === null) return undefined
    const found = (parent as Fields)[last]
    if (op === 'test' ? JSON.stringify(found) !== JSON.stringify(each) : op !== 'add' && found === undefined)
      return undefined
    if (op === 'test') continue
    if (Array.isArray(parent))
      parent.splice(
        last === '-' ? parent.length : Number(last),
        op === 'add' ? 0 : 1,
        ...(op === 'remove' ? [] : [each]),
      )
    else if (op === 'remove') delete parent[last]
    else parent[last] = each
  }
  return result
}
