// Creates test/client/public-api.d.ts: the declarations of the published client as the compiler emits them, without
// comments. Used by update-client-api.mjs and verify-client-api.mjs.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { format, resolveConfig } from 'prettier'

const ENTRY = 'public.d.ts'
const API_FILE = 'test/client/public-api.d.ts'
const IMPORTED = /from '(?<file>\.[\w./-]+)\.ts'/g
/** Imports of the other files, and the mark of private members. */
const LEFT_OUT = /^import type \{[^}]*\} from '[^']+';\n|^ +#private;\n/gm
const EXPORTED = /^export (?:type )?\{(?<names>[^}]*)\} from /gm
const HEAD = '// The interface of muster/client, written by hack/update-client-api.mjs. The module exports these names:'
const AUTOMATION = "import type { Automation } from '../../src/automation/public.ts'"

/** @returns the path and the text of the file. */
export async function clientApi() {
  const folder = mkdtempSync(join(tmpdir(), 'muster-client-api-'))
  try {
    emit(folder)
    const [entry, ...files] = reachedFrom(ENTRY, join(folder, 'client'))
    const text = [HEAD, ...namesOf(entry), AUTOMATION, ...files.map((each) => each.replaceAll(LEFT_OUT, ''))].join('\n')
    const options = await resolveConfig(resolve(API_FILE))
    return new Map([[API_FILE, await format(text, { ...options, parser: 'typescript' })]])
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Only what public.ts reaches is compiled. */
function emit(outDir) {
  const project = join(outDir, 'tsconfig.json')
  const compilerOptions = {
    outDir,
    rootDir: resolve('src'),
    removeComments: true,
    typeRoots: [resolve('node_modules/@types')],
  }
  const config = {
    extends: resolve('tsconfig.build.json'),
    compilerOptions,
    files: [resolve('src/client/public.ts')],
    include: [],
  }
  writeFileSync(project, JSON.stringify(config))
  const { status, stdout } = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', '-p', project], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`the compiler failed:\n${stdout}`)
}

/** @returns a comment for each name that public.ts exports. */
function namesOf(entry) {
  const names = [...entry.matchAll(EXPORTED)].flatMap(({ groups }) => groups.names.split(/[\s,]+/))
  return names
    .filter((name) => name !== '' && name !== 'type')
    .map((name) => `//   ${name}`)
    .toSorted()
}

/** @returns the texts of the file and of all files below its folder that it reaches, each under its path. */
function reachedFrom(entry, folder) {
  const texts = new Map([[entry, undefined]])
  for (const file of texts.keys()) {
    const text = readFileSync(join(folder, file), 'utf8')
    texts.set(file, `// ${file}\n${text}`)
    for (const { groups } of text.matchAll(IMPORTED)) {
      const next = `${join(dirname(file), groups.file)}.d.ts`
      if (!next.startsWith('..') && !texts.has(next)) texts.set(next, undefined)
    }
  }
  return texts.values()
}
