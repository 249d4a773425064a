export interface ChangelogOptions {
  /** Folder of a repository that contains the commit. */
  readonly git: string
  readonly commit: string
  readonly version: string
  /** Of the commit, as YYYY-MM-DD. */
  readonly date: string
}
/** @returns CHANGELOG.md and RELEASE_NOTES.md, by name. */
export declare function changelog(options: ChangelogOptions): Map<string, string>
