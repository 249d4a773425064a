// Creates a small tree of files in a temporary folder, on which a script of hack/ runs.
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const HACK = fileURLToPath(new URL('../../hack/', import.meta.url))

/** Paths and contents. A path that ends with `*` is executable. */
export type Files = Readonly<Record<string, string>>
export interface Ran {
  readonly status: number | null
  readonly stdout: string
  readonly stderr: string
}

export class Tree {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'muster-tree-')))

  constructor(files: Files) {
    for (const [name, content] of Object.entries(files)) {
      const path = join(this.root, name.replace('*', ''))
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, content)
      if (name.endsWith('*')) chmodSync(path, 0o755)
    }
  }

  /** Runs `hack/<script>` on this tree. */
  run(script: string, options: readonly string[] = []): Ran {
    return started(process.execPath, [join(HACK, script), ...options, this.root])
  }

  remove(): void {
    rmSync(this.root, { recursive: true, force: true })
  }
}

export function started(
  command: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
  cwd = tmpdir(),
): Ran {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', env, cwd })
  return { status, stdout, stderr }
}

export const hackPath = (script: string): string => join(HACK, script)
