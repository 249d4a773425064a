/**
 * @module cmd/executable-programs
 * Stands for programs.ts in the executable for clients. Its subcommands say where the programs are.
 */
import type { Subcommand } from './subcommand.ts'

const NAMES = ['dev', 'master', 'worker', 'operator', 'bootstrap', 'store'] as const

export const PROGRAMS: Readonly<Record<string, Subcommand>> = Object.fromEntries(
  NAMES.map((name) => [
    name,
    { summary: 'in the npm package and the image only', load: async () => ({ run: elsewhere(name) }) },
  ]),
)

const elsewhere = (name: string) => async (): Promise<number> => {
  process.stderr.write(
    `error: this executable contains the commands for clients, and not muster ${name}\n` +
      'next:  use the package for npm, or the image\n',
  )
  return 2
}
