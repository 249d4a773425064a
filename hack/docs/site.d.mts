export interface SitePage {
  readonly source: string
  readonly route: string
  readonly label: string
}
export interface Release {
  readonly repository: string
  readonly tag: string
}
export const SECTIONS: readonly { readonly label: string; readonly pages: readonly SitePage[] }[]
export function linkOf(source: string, target: string, at: Release): string
export function pageOf(page: SitePage, text: string, at: Release): string
