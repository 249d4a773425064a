/** @module test/dashboard/browser/in-page  What several tests do in a page. */
import { readFileSync } from 'node:fs'
import type { Locator, Page } from 'playwright-core'

/** Evaluates the code in the page. It is a string because the tests have no DOM types. */
export const inPage = <T>(page: Page, script: string): Promise<T> => page.evaluate<T>(script)
export const goTo = (page: Page, hash: string): Promise<void> =>
  inPage(page, `void (location.hash = ${JSON.stringify(hash)})`)
/** Collects the durations of performance entries for `inPage(page, 'kept')`. */
export const observe = (page: Page, options: object): Promise<void> =>
  inPage(
    page,
    'globalThis.kept = []; new PerformanceObserver((list) ' +
      `=> kept.push(...list.getEntries().map(({ duration }) => duration))).observe(${JSON.stringify(options)})`,
  )
const isFocused = async (page: Page, found: Locator): Promise<boolean> =>
  (await found.and(page.locator(':focus')).count()) > 0
/** Maximum number of Tab presses before `tabTo` gives up, unless the caller knows better. */
const MAX_TABS = 60
/** Waits for the element, then presses Tab until it has the focus. @throws when Tab does not reach it. */
export async function tabTo(page: Page, found: Locator, most = MAX_TABS): Promise<void> {
  await found.waitFor()
  for (let n = 0; n < most; n++) {
    if (await isFocused(page, found)) return
    await page.keyboard.press('Tab')
  }
  if (!(await isFocused(page, found))) throw new Error(`${most} times Tab did not reach ${found.toString()}`)
}
/** Clicks the button and returns the downloaded file. */
export async function saved(page: Page, button: string | RegExp): Promise<string> {
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: button }).click(),
  ])
  return readFileSync(await download.path(), 'utf8')
}
