/** The part of the package that content-coding.ts uses. It has no types of its own, and those published are of 0.6. */
declare module 'negotiator' {
  export default class Negotiator {
    constructor(request: { readonly headers: Readonly<Record<string, string>> })
    /** @param options `preferred`: the order of codings that the client likes equally. @returns undefined for none. */
    encoding(available: readonly string[], options: { readonly preferred: readonly string[] }): string | undefined
  }
}
