/**
 * Makes hostile frames out of valid ones: changes of the text, changes of the JSON tree, and values that have broken
 * parsers elsewhere. Every choice comes from the random passed, so that a seed repeats a run.
 */
import type { Random } from '../../src/runtime/index.ts'

const HARDWARE = { cores: 1, ram_gb: 2, hostname: 'h', kernel: 'k' }
export const REGISTER = {
  type: 'register',
  worker_id: 'fuzzed',
  automation_type: 'mailer',
  protocol_version: 1,
  hardware: HARDWARE,
}
const OUTPUT = { slot_id: 0, ts: 1_767_225_600, payload: { sent: true } }
const LOG_ENTRY = {
  seq: 1,
  ts: 1_767_225_600.5,
  level: 'warn',
  message: 'slow',
  slot_id: 0,
  task_id: 't',
  attempt: 0,
  fields: { ms: 17 },
}
const VALID: readonly object[] = [
  { ...REGISTER, instance_id: 'i' },
  { type: 'state', state: 'RUNNING', config_gen: 3, ts: 1.5, last_error: null },
  { type: 'stats', slots: 1, cpu_pct: 0.5, rss_mb: 10, ts: 1, metrics: { 'counter.x': 1 } },
  {
    type: 'stats',
    slots: 1,
    cpu_pct: 0.5,
    rss_mb: 10,
    ts: 1,
    metrics: {},
    per_slot: [{ slot_id: 0, age_seconds: 1, counters: { a: 1 } }],
  },
  { type: 'output', ...OUTPUT },
  { type: 'logs', id: 'r', started_at: 1, entries: [LOG_ENTRY], next: 1, has_more: false, missed: null },
  { type: 'output_batch', outputs: [OUTPUT, OUTPUT] },
  { type: 'ping', id: 'x' },
  { type: 'config_changed', config_gen: 4 },
  { type: 'drain' },
  { type: 'task_assign', task_id: 't', payload: {} },
]
/** Pieces of text that replace a part of a frame. */
const TEXTS = [
  '"__proto__"',
  '"constructor"',
  '{"__proto__":{"polluted":1}}',
  '1e999',
  '-1e999',
  '-0',
  '9007199254740993',
  '123456789012345678901234567890',
  '1e-400',
  'null',
  '[]',
  '{}',
  '""',
  '"\\ud800"',
  '"\\u0000"',
  '"\u2028\u0085"',
  '\ufeff',
  '\u0000',
  '[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]',
  '"type":"ping",',
  '"type":"register",',
  'NaN',
  "'x'",
  '/**/',
  ',',
  '"'.repeat(3),
  `"${'x'.repeat(3_000)}"`,
  `"${'é😀'.repeat(300)}"`,
]
/** Values that replace a node of the tree. */
const VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 53,
  -(2 ** 53),
  5e-324,
  1.797e308,
  '',
  '.',
  '..',
  'a/b',
  '\u0000',
  '\ud800',
  '__proto__',
  'DRAINING',
  'x'.repeat(300),
  [],
  [[]],
  {},
  { type: 'ping' },
  { toString: 1, valueOf: 1, toJSON: 1 },
  { length: 1e9 },
  Array.from({ length: 40 }, (_, at) => at),
]
const MAX_CHANGES = 4

type Container = Record<string, unknown>

export class Mutator {
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  /** A frame that may be valid, nearly valid, or no JSON at all. */
  frame(): string {
    const tree = structuredClone(this.pick(VALID)) as Container
    for (let left = this.below(MAX_CHANGES); left > 0; left -= 1) this.#changeTree(tree)
    let text = JSON.stringify(tree)
    for (let left = this.below(MAX_CHANGES) - 1; left > 0; left -= 1) text = this.#changeText(text)
    return text
  }

  below(limit: number): number {
    return Math.floor(this.#random.unit() * limit)
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)] as T
  }

  #value(): unknown {
    return structuredClone(this.pick(VALUES)) // It may be changed itself.
  }

  #changeTree(tree: Container): void {
    let at = tree
    for (;;) {
      const keys = Object.keys(at)
      const key = this.pick(keys)
      const child = key === undefined ? undefined : at[key]
      if (key !== undefined && typeof child === 'object' && child !== null && this.below(2) === 0) {
        at = child as Container
        continue
      }
      return this.#changeNode(at, key)
    }
  }

  #changeNode(node: Container, key: string | undefined): void {
    switch (this.below(5)) {
      case 0:
        if (key !== undefined) delete node[key]
        return
      case 1:
        return void (node[`${key ?? ''}x`] = this.#value())
      case 2:
        return void Object.defineProperty(node, this.pick(['__proto__', 'constructor', 'toJSON', '', '\u0000']), {
          value: this.#value(),
          enumerable: true,
          configurable: true,
          writable: true,
        })
      default:
        if (key !== undefined) node[key] = this.#value()
    }
  }

  #changeText(text: string): string {
    const [from, to] = [this.below(text.length + 1), this.below(text.length + 1)].toSorted((a, b) => a - b) as [
      number,
      number,
    ]
    switch (this.below(7)) {
      case 0:
        return text.slice(0, from)
      case 1:
        return text.slice(0, from) + text.slice(to)
      case 2:
        return text.slice(0, to) + text.slice(from)
      case 3:
        return text.slice(0, from) + this.pick(TEXTS) + text.slice(to)
      case 4:
        return text.slice(0, from) + String.fromCodePoint(this.below(0x1_0000)) + text.slice(from + 1)
      case 5:
        return `${text}${JSON.stringify(this.pick(VALID))}`
      default:
        return this.#nested(text)
    }
  }

  #nested(text: string): string {
    const depth = this.below(200) === 0 ? 20_000 : 1 + this.below(200)
    const [open, close] = this.below(2) === 0 ? ['[', ']'] : ['{"a":', '}']
    const value = `${open.repeat(depth)}1${close.repeat(depth)}`
    return text.replace(/:(?:1|0|\{\}|true|"x")/, () => `:${value}`)
  }
}
