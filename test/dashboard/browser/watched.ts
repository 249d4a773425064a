/**
 * @module test/dashboard/browser/watched
 * Opens pages in a real browser and collects their problems: exceptions, console errors, violations of the content
 * security policy, third-party requests and calls that openapi.json does not describe. A test fails if there are any.
 *
 * `look` checks a page in light, dark, at 360 px, zoomed to 400 % and in forced colours: axe reports no violation,
 * nothing is wider than the screen, the top bar has one line, nothing covers a control, and no bar stays in view of a
 * zoomed page. It also saves a screenshot of each.
 */
import { afterAll, afterEach, expect } from '@jest/globals'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, join } from 'node:path'
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { ADMIN_TOKEN } from '../../e2e/fleet.ts'
import type { OpenApi } from '../../openapi/contract.ts'

/** Path of the browser in PATH. If undefined, every test is a named skip. */
export const CHROMIUM = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'chromium'))
  .find((file) => existsSync(file))

const browserArguments = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]
/** The browser logs each 4xx response as an error. Tests provoke some of them. */
const IS_NETWORK = /^Failed to load resource|Failed to fetch dynamically imported module/
const PATIENCE_MS = 20_000
const SCREENSHOTS = join(process.cwd(), 'coverage/dashboard')
const WIDE = { width: 1280, height: 800 }
const LOOKS = [
  { kind: 'light', viewport: WIDE },
  { kind: 'dark', colorScheme: 'dark', viewport: WIDE },
  { kind: '360', viewport: { width: 360, height: 740 } },
  // A screen of 1280 × 800 pixels.
  { kind: 'zoomed', viewport: { width: 320, height: 200 } },
  { kind: 'forced', viewport: WIDE, forcedColors: 'active' },
] as const
const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
/** Maximum height of the top bar in pixels. */
const ONE_LINE = 60
/** The elements that stay in view while the page scrolls. Those of a list that scrolls in itself are no problem. */
export const STAYING = `[...document.querySelectorAll('body *')]
  .filter((each) => !each.closest('.scroller, dialog') && each.checkVisibility())
  .filter((each) => ['sticky', 'fixed'].includes(getComputedStyle(each).position))
  .map((each) => each.className)`
/**
 * The controls that something else covers when they are scrolled into view, at most 5. Behind a dialog, a menu and a
 * list of suggestions nothing has to be reachable. What is clipped or less than 4 pixels large is only for screen
 * readers, or shown when it has the focus.
 */
const COVERED = `(() => {
  const root = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document.body
  const moved = new Map()
  const pathOf = (each) => (each === null ? [] : [each, ...pathOf(each.parentElement)])
  const isShown = (each) =>
    each.checkVisibility({ opacityProperty: true, visibilityProperty: true }) &&
    each.offsetWidth >= 4 &&
    each.offsetHeight >= 4 &&
    pathOf(each).every((one) => getComputedStyle(one).clipPath === 'none')
  const isCovered = (each) => {
    for (const one of pathOf(each)) if (!moved.has(one)) moved.set(one, [one.scrollLeft, one.scrollTop])
    each.scrollIntoView({ block: 'nearest', inline: 'nearest', behavior: 'instant' })
    const { left, width, top, bottom } = each.getClientRects()[0]
    const hit = document.elementFromPoint(
      Math.max(left, 0) + Math.min(width / 2, 8), // The end of a long name may be cut.
      (Math.max(top, 0) + Math.min(bottom, innerHeight)) / 2,
    )
    const isPart = (whole) => whole.contains(hit)
    return !(isPart(each) || [...(each.labels ?? [])].some(isPart) || hit?.closest('.menu-panel, [role=listbox]'))
  }
  const covered = [...root.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
    .filter((each) => !each.matches('.skip, :disabled') && isShown(each) && isCovered(each))
  for (const [each, [left, top]] of moved) each.scrollTo({ left, top, behavior: 'instant' })
  return covered.slice(0, 5).map((each) => each.tagName + ' ' + each.textContent.slice(0, 40))
})()`
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface AxeResult {
  readonly violations: readonly {
    readonly id: string
    readonly help: string
    readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[]
  }[]
}

let browser: Promise<Browser> | undefined
const complaints: string[] = []
const open: Page[] = []
/** Read by the tests only. */
const DOCUMENT = '/api/v1/openapi.json'
/** The documented operations. They are the same for every master. */
let operations: Promise<readonly RegExp[]> | undefined
const called = new Set<string>()

afterEach(async () => {
  await Promise.all(open.splice(0).map((page) => page.context().close()))
  const problems = complaints.splice(0)
  const known = (await operations) ?? []
  const unknown = [...called].filter((call) => !known.some((operation) => operation.test(call)))
  called.clear()
  expect({ problems, unknown }).toEqual({ problems: [], unknown: [] })
})
afterAll(async () => (await browser)?.close())

export interface Opened {
  readonly page: Page
  /** API paths that the page requested. */
  readonly asked: string[]
}

/** Resolves `host` to `address` and trusts the public key with this hash. Call it before the first page is opened. */
export function findHost(host: string, address: string, keyHash: string): void {
  browserArguments.push(
    `--host-resolver-rules=MAP ${host} ${address}`,
    `--ignore-certificate-errors-spki-list=${keyHash}`,
  )
}

const allowed = new Set<string>()

/** Lets pages open another origin, such as that of an identity provider. */
export const allowOrigin = (origin: string): void => void allowed.add(origin)

/** Opens the page at `address`, the URL of a master or proxy with a trailing slash. */
export async function openPage(address: string, hash = '', options: BrowserContextOptions = {}): Promise<Opened> {
  browser ??= chromium.launch({ executablePath: CHROMIUM ?? '', args: browserArguments })
  const page = await (await (await browser).newContext({ viewport: LOOKS[0].viewport, ...options })).newPage()
  const asked = watch(page, new URL(address))
  await page.goto(`${address}${hash}`)
  await (operations ??= operationsOf(page))
  return { page, asked }
}

/** Reads the document from inside the page, so it uses the same connection, proxy and certificates. */
async function operationsOf(page: Page): Promise<readonly RegExp[]> {
  const { paths } = await page.evaluate<OpenApi>(`fetch(".${DOCUMENT}").then((answer) => answer.json())`)
  const patternOf = (path: string): string => path.replaceAll('.', String.raw`\.`).replaceAll(/\{\w+\}/g, '[^/]+')
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => new RegExp(`^${method.toUpperCase()} ${patternOf(path)}$`)),
  )
}

/** Collects the problems of the page. @returns the list of requested API paths, which grows */
function watch(page: Page, { origin, pathname: prefix }: URL): string[] {
  const asked: string[] = []
  open.push(page)
  page.setDefaultTimeout(PATIENCE_MS)
  page.on('pageerror', (error) => complaints.push(`exception: ${error.message}`))
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) && !IS_NETWORK.test(message.text()))
      complaints.push(`${message.type()}: ${message.text()}`)
  })
  page.on('request', (request) => {
    const url = new URL(request.url())
    if (allowed.has(url.origin)) return
    if (url.origin !== origin && url.protocol !== 'blob:') complaints.push(`third-party request: ${request.url()}`)
    const path = url.pathname.slice(prefix.length - 1)
    if (!path.startsWith('/api/') || path === DOCUMENT) return
    asked.push(path)
    called.add(`${request.method()} ${path}`)
  })
  return asked
}

export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token', { exact: true }).fill(token)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

/** Opens the page and signs in. */
export async function signedIn(
  address: string,
  hash = '',
  token = ADMIN_TOKEN,
  options: BrowserContextOptions = {},
): Promise<Opened> {
  const opened = await openPage(address, hash, options)
  await signIn(opened.page, token)
  await opened.page.getByRole('button', { name: 'Sign out' }).waitFor()
  return opened
}

/** The values of the page's local and session storage. */
export const storedValues = (page: Page): Promise<unknown> =>
  page.evaluate('[...Object.values(localStorage), ...Object.values(sessionStorage)]')

/** Path of the screenshot with this name. */
export function screenshot(name: string): string {
  mkdirSync(SCREENSHOTS, { recursive: true })
  return join(SCREENSHOTS, `${name}.png`)
}

/** Checks the loaded page in every look (see the file head) and restores its viewport afterwards. */
export async function look(page: Page, name: string): Promise<void> {
  await page.locator('.reading').first().waitFor({ state: 'detached' })
  const before = page.viewportSize()
  for (const { kind, viewport, ...media } of LOOKS) {
    await page.emulateMedia({ colorScheme: 'light', forcedColors: 'none', ...media })
    await page.setViewportSize(viewport)
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    await page.screenshot({ path: screenshot(`${name}-${kind}`) })
    const tall = `document.querySelector('.top')?.offsetHeight > ${ONE_LINE} ? ['.top'] : []`
    const found = {
      name,
      kind,
      violations: await violations(page),
      width: await page.evaluate('document.documentElement.scrollWidth'),
      bars: await page.evaluate(kind === 'zoomed' ? STAYING : tall),
      covered: await page.evaluate(COVERED),
    }
    expect(found).toEqual({ name, kind, violations: [], width: viewport.width, bars: [], covered: [] })
  }
  await page.emulateMedia({ colorScheme: null, forcedColors: null })
  if (before !== null) await page.setViewportSize(before)
}

async function violations(page: Page): Promise<readonly string[]> {
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(AXE)
  const result = (await page.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(WCAG)}, resultTypes: ['violations'] })`,
  )) as AxeResult
  return result.violations.flatMap(({ id, nodes }) =>
    nodes
      .slice(0, 3)
      .map(
        ({ target, failureSummary }) =>
          `${id}: ${target.join(' ')}: ${failureSummary.split('\n').slice(0, 3).join(' ')}`,
      ),
  )
}
