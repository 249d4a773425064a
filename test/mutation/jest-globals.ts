/**
 * Replaces `@jest/globals` where a test runs many times in one process, each time against another mutant: it collects
 * tests, and in-process.ts runs single ones of them.
 */
import { createRequire } from 'node:module'

type Body = () => unknown
type Each = (rows: readonly unknown[]) => (title: string, body: (...row: never[]) => unknown) => void

/** One describe, or one test file. */
export interface Block {
  readonly title: string
  readonly parent: Block | null
  readonly beforeAll: Body[]
  readonly beforeEach: Body[]
  readonly afterEach: Body[]
  readonly afterAll: Body[]
}
export interface Test {
  /** With the titles of its blocks, the file first. */
  readonly title: string
  readonly block: Block
  readonly body: Body
}

const tests: Test[] = []
let current: Block | null = null

const blockOf = (title: string, parent: Block | null): Block => ({
  title: parent === null ? title : `${parent.title} › ${title}`,
  parent,
  beforeAll: [],
  beforeEach: [],
  afterEach: [],
  afterAll: [],
})

/** Returns the tests that `load` defines. */
export async function collect(file: string, load: () => Promise<unknown>): Promise<readonly Test[]> {
  tests.length = 0 // An earlier load may have failed in the middle.
  current = blockOf(file, null)
  await load()
  current = null
  return tests.splice(0)
}

function here(): Block {
  if (current === null) throw new Error('a test was defined outside of a file')
  return current
}

const addBlock = (title: string, body: Body): void => {
  const outer = here()
  current = blockOf(title, outer)
  body()
  current = outer
}
const addTest = (title: string, body: Body): void => {
  const block = here()
  tests.push({ title: `${block.title} › ${title}`, block, body })
}

function eachOf(add: (title: string, body: Body) => void): Each {
  return (rows) => (title, body) => {
    for (const [i, row] of rows.entries()) {
      const values = (Array.isArray(row) ? row : [row]) as never[]
      add(`${title} [${i}]`, () => body(...values))
    }
  }
}

const skip = (): void => undefined
export const it = Object.assign(addTest, { each: eachOf(addTest), skip: Object.assign(skip, { each: () => skip }) })
export const describe = Object.assign(addBlock, { each: eachOf(addBlock), skip })
export const beforeAll = (body: Body): void => void here().beforeAll.push(body)
export const beforeEach = (body: Body): void => void here().beforeEach.push(body)
export const afterEach = (body: Body): void => void here().afterEach.push(body)
export const afterAll = (body: Body): void => void here().afterAll.push(body)
/** The limits of in-process.ts apply instead. */
export const jest = { setTimeout: (): void => undefined }

const ofJest = createRequire(import.meta.resolve('@jest/globals'))
export const { jestExpect: expect } = ofJest('@jest/expect') as { jestExpect: unknown }
