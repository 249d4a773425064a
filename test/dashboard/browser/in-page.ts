/** @module test/dashboard/browser/in-page  What several tests do in a page. */
import type { Locator, Page } from 'playwright-core'

/** Runs in the page; as text, since the types of a browser are not those of the tests. */
export const inPage = <T>(page: Page, script: string): Promise<T> => page.evaluate<T>(script)
export const goTo = (page: Page, hash: string): Promise<void> =>
  inPage(page, `void (location.hash = ${JSON.stringify(hash)})`)
/** Keeps the durations of entries, for `inPage(page, 'kept')`. */
export const observe = (page: Page, options: object): Promise<void> =>
  inPage(
    page,
    `globalThis.kept = []; new PerformanceObserver((list) => kept.push(...list.getEntries().map(({ duration }) => duration))).observe(${JSON.stringify(options)})`,
  )
const isFocused = async (page: Page, found: Locator): Promise<boolean> =>
  (await found.and(page.locator(':focus')).count()) > 0
/** The most elements that a page lets the keyboard focus before the one that a test looks for. */
const MAX_TABS = 60
/** Waits for the element, then presses Tab until it has the focus. @throws when Tab does not reach it. */
export async function tabTo(page: Page, found: Locator): Promise<void> {
  await found.waitFor()
  for (let n = 0; n < MAX_TABS; n++) {
    if (await isFocused(page, found)) return
    await page.keyboard.press('Tab')
  }
  if (!(await isFocused(page, found))) throw new Error(`${MAX_TABS} times Tab did not reach ${found.toString()}`)
}
