/**
 * @module test/dashboard/browser/hands
 * The ways in which a person operates the page: with a mouse, with the keyboard alone, or on a phone.
 */
import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import { tabTo } from './in-page.ts'

export interface Hands {
  readonly name: string
  /** How the page is opened. */
  readonly options: BrowserContextOptions
  /** Follows a link, presses a button, opens a summary. */
  readonly press: (target: Locator) => Promise<void>
  /** Replaces the text of a field. */
  readonly type: (field: Locator, text: string) => Promise<void>
}

/** The whole page may lie before the element. */
const MAX_TABS = 250

async function reach(target: Locator): Promise<Page> {
  await tabTo(target.page(), target, MAX_TABS)
  return target.page()
}

async function typeOver(page: Page, text: string): Promise<void> {
  await page.keyboard.press('ControlOrMeta+A')
  await page.keyboard.type(text)
}

const mouse: Hands = {
  name: 'a mouse',
  options: {},
  press: (target) => target.click(),
  type: async (field, text) => {
    await field.click()
    await typeOver(field.page(), text)
  },
}

const keyboard: Hands = {
  name: 'the keyboard alone',
  options: {},
  press: async (target) => (await reach(target)).keyboard.press('Enter'),
  type: async (field, text) => typeOver(await reach(field), text),
}

const phone: Hands = {
  name: 'a phone',
  options: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
  press: (target) => target.tap(),
  type: async (field, text) => {
    await field.tap()
    await typeOver(field.page(), text)
  },
}

export const HANDS: readonly Hands[] = [mouse, keyboard, phone]
