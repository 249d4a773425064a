// The published client in a page of another origin than the master (D122), in a real browser.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect } from '@jest/globals'
import { chromium, type Browser, type Page } from 'playwright-core'
import { bundleProgram, EXPECTED, withWorker } from '../../client/runtime-fixture.ts'
import { TOKENS } from '../../kit/running-master.ts'
import { it } from './it.ts'
import { CHROMIUM } from './watched.ts'

let browser: Browser
let server: Server
let origin: string

beforeAll(async () => {
  if (CHROMIUM === undefined) return
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] })
  server = createServer((_, response) => void response.setHeader('content-type', 'text/html').end('<!doctype html>'))
  await new Promise((resolve) => void server.listen(0, '127.0.0.1', () => resolve(null)))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(async () => {
  await browser?.close()
  server?.close()
})

/** Opens an empty page of the other origin with the program in it. */
async function openOther(): Promise<Page> {
  const page = await browser.newPage()
  await page.goto(origin)
  await page.addScriptTag({ content: await bundleProgram('iife') })
  return page
}

describe('the published client in a page of another origin', () => {
  it('works if SVC_CORS_ORIGINS lists the origin', async () => {
    const page = await openOther()
    const seen = await withWorker(
      (url) => page.evaluate(`program.exercise(${JSON.stringify(url)}, ${JSON.stringify(TOKENS.admin)})`),
      { corsOrigins: [origin] },
    )
    expect(seen).toEqual(EXPECTED)
  })

  it('reaches nothing without the setting', async () => {
    const page = await openOther()
    const status = await withWorker(async (url) => {
      const headers = `{ authorization: ${JSON.stringify(`Bearer ${TOKENS.admin}`)} }`
      return page.evaluate(`fetch(${JSON.stringify(`${url}/api/v1/me`)}, { headers: ${headers} })
        .then((response) => response.status, (error) => error.name)`)
    })
    expect(status).toBe('TypeError')
  })
})
