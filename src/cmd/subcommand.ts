/** @module cmd/subcommand  A subcommand of the command line, and the modules that it loads when it runs. */
import type { Options } from './admin/index.ts'

export interface Subcommand {
  readonly summary: string
  readonly load: () => Promise<{
    run: (argv: readonly string[]) => Promise<number>
    help?: () => string
    /** For the completion of their values; the help lists the options as well. */
    OPTIONS?: Options
  }>
}
