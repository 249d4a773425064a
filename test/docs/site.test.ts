/**
 * Opens every page of the documentation site in Chromium, as `make docs` has built it: axe finds nothing, nothing is
 * wider than a phone, and no page loads anything from elsewhere. A search finds a page. The build has checked links.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, extname, join } from 'node:path'
import { chromium, type Browser, type Page } from 'playwright-core'
import { SECTIONS } from '../../hack/docs/site.mjs'

const SITE = 'docs/site/dist'
const ORIGIN = 'http://docs.test'
const PHONE = { width: 360, height: 740 }
const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const CHROMIUM = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'chromium'))
  .find((file) => existsSync(file))
if (CHROMIUM === undefined) throw new Error('Chromium is not installed; run make docs')
const EXECUTABLE = CHROMIUM
const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.wasm': 'application/wasm',
}
/** The script of the page gives them one a moment after it was loaded. */
const SCROLLING_CODE_HAS_TAB_STOPS = `[...document.querySelectorAll('pre')].every(
  (pre) => pre.scrollWidth <= pre.clientWidth || pre.tabIndex === 0)`
/** All own pages, and a few of the generated ones: those have one template. */
const ROUTES = [
  ...SECTIONS.flatMap(({ pages }) => pages.map(({ route }) => `/${route}${route === '' ? '' : '/'}`)),
  '/api/',
  ...globSync(`${SITE}/api/operations/*/index.html`)
    .toSorted()
    .filter((_, index) => index % 20 === 0)
    .map((path) => path.slice(SITE.length, -'index.html'.length)),
]

describe('the documentation site', () => {
  let browser: Browser
  let page: Page
  const foreign: string[] = []
  const errors: string[] = []

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath: EXECUTABLE, args: ['--no-sandbox', '--disable-gpu'] })
    page = await browser.newPage({ viewport: PHONE })
    page.on('pageerror', (error) => errors.push(`${page.url()}: ${error.message}`))
    await page.route('**/*', async (route) => {
      const { origin, pathname } = new URL(route.request().url())
      const file = join(SITE, decodeURIComponent(pathname), pathname.endsWith('/') ? 'index.html' : '')
      if (origin !== ORIGIN) foreign.push(route.request().url())
      if (origin !== ORIGIN || !existsSync(file)) return route.fulfill({ status: 404, body: 'not found' })
      const contentType = CONTENT_TYPES[extname(file)] ?? 'application/octet-stream'
      return route.fulfill({ body: readFileSync(file), contentType })
    })
  }, 60_000)
  afterAll(() => browser.close())

  it.each(ROUTES)(
    'shows %s without a fault, also on a phone',
    async (route) => {
      expect((await page.goto(ORIGIN + route))?.status()).toBe(200)
      expect(await page.locator('h1').count()).toBe(1)
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width)
      await page.waitForFunction(SCROLLING_CODE_HAS_TAB_STOPS)
      await page.evaluate(AXE)
      const found = await page.evaluate<{ violations: readonly { id: string; nodes: readonly { html: string }[] }[] }>(
        `axe.run(document, { runOnly: ${JSON.stringify(WCAG)}, resultTypes: ['violations'] })`,
      )
      expect(found.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)).toEqual([])
      expect({ foreign, errors }).toEqual({ foreign: [], errors: [] })
    },
    60_000,
  )

  it('finds a page by a word in it', async () => {
    await page.goto(`${ORIGIN}/`, { waitUntil: 'networkidle' })
    await page.getByRole('button', { name: /search/i }).click()
    await page.locator('dialog input').fill('fencing token')
    await page
      .getByRole('link', { name: /glossary/i })
      .first()
      .waitFor()
  }, 60_000)
})
