/**
 * @module runtime/page-size
 * How many items the next page of a list requests, so that a page stays near a number of bytes whatever the items
 * weigh. The first page is small. Each page then decides the size of the next one, which grows at most fourfold. A page
 * that turns out to be too large is requested again with a quarter of the items.
 *
 *   items of 3 kB:   10 ─▶ 40 ─▶ 160 ─▶ 200 ─▶ 200 …         items of 1.2 MB:   10 ─▶ 1 ─▶ 1 …
 */
const GROWTH = 4

export interface PageSizeOptions {
  readonly first: number
  readonly most: number
  /** What a page should weigh. */
  readonly targetBytes: number
}

export class PageSize {
  readonly #options: PageSizeOptions
  #limit: number

  constructor(options: PageSizeOptions) {
    this.#options = options
    this.#limit = options.first
  }

  /** Items that the next page requests; at least 1. */
  get limit(): number {
    return this.#limit
  }

  /** A page of `items` items came in `bytes` bytes. */
  received(items: number, bytes: number): void {
    const { most, targetBytes } = this.#options
    const fitting = items === 0 ? most : Math.floor((targetBytes * items) / Math.max(bytes, 1))
    this.#limit = Math.max(1, Math.min(fitting, this.#limit * GROWTH, most))
  }

  /** The page was larger than the reader takes. */
  tooLarge(): void {
    this.#limit = Math.max(1, Math.floor(this.#limit / GROWTH))
  }
}
