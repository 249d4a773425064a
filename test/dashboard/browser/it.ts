/** @module test/dashboard/browser/it  Tests that need a browser: without one each is a skip that is counted and named. */
import { it as run, jest } from '@jest/globals'
import { CHROMIUM } from './watched.ts'

jest.setTimeout(90_000)

export const it = (name: string, test: () => Promise<void>): void =>
  CHROMIUM === undefined ? run.skip(`${name}: chromium is not installed`, test) : run(name, test)
