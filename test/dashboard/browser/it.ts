/** @module test/dashboard/browser/it  Declares tests that need a browser. Without one, each is a named skip. */
import { it as run, jest } from '@jest/globals'
import { CHROMIUM } from './watched.ts'

jest.setTimeout(90_000)

export const it = (name: string, test: () => Promise<void>): void =>
  CHROMIUM === undefined ? run.skip(`${name}: chromium is not installed`, test) : run(name, test)
