/** Runs the built command as a child process, as a user would. `make build` creates it. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Returns the path of the command that was built in a checkout, by default in this one. */
const builtCommand = (checkout = process.cwd()): string => join(checkout, 'dist/cmd/muster.js')
export const BUILT_COMMAND = builtCommand()

export interface Proc {
  readonly child: ChildProcess
  /** Resolves with the exit code, or null if a signal ended the process. */
  readonly exited: Promise<number | null>
  readonly output: () => string
}

/** Starts the built command of a checkout with these settings only, apart from PATH. */
export function startMuster(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
  checkout = process.cwd(),
): Proc {
  const command = builtCommand(checkout)
  if (!existsSync(command)) throw new Error(`${command} is missing: run \`npm run build\` first (\`make test\` does)`)
  return startProgram(process.execPath, [command, ...args], environment)
}

/** Starts a program with these settings only, apart from PATH. */
export function startProgram(
  program: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Proc {
  const child = spawn(program, args, {
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  return { child, exited: once(child, 'exit').then(([code]) => code as number | null), output: () => output }
}

const isRunning = ({ child }: Proc): boolean => child.exitCode === null && child.signalCode === null

/** Kills the processes that still run. Resolves when all have exited. */
export async function killAll(processes: readonly Proc[]): Promise<void> {
  for (const each of processes) if (isRunning(each)) each.child.kill('SIGKILL')
  await Promise.all(processes.map(({ exited }) => exited))
}
