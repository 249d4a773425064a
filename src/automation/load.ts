/**
 * @module automation/load
 * Finds and loads the installed automations: the configured modules (npm packages, or paths relative to the directory),
 * or every dependency of the nearest package.json that has this entry:
 *
 *   "muster": { "automations": "./dist/index.js" }
 *
 * A file named `….automation.yaml` (or .yml, .json) is a manifest, which declares automations without code.
 * Modules are trusted code and run in this process. All faults are reported together; each names its module.
 * @see D35, D108
 */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire, findPackageJSON } from 'node:module'
import { dirname, isAbsolute, join, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { automationFaults } from './build-catalog.ts'
import { isAutomation, type Automation, type InstalledAutomation } from './define.ts'
import { AutomationError } from './errors.ts'
import { MANIFEST_FILE, readManifest } from './manifest.ts'

export interface LoadOptions {
  /** `SVC_AUTOMATIONS`, split at its commas. Undefined or empty: search the dependencies. */
  readonly specifiers?: readonly string[] | undefined
  /** Directory from which paths and packages are resolved. */
  readonly directory: string
  /** Modules that are part of this program, by specifier. */
  readonly builtIn?: Readonly<Record<string, () => Promise<object>>>
  /** Loads a module; tests replace it. */
  readonly importModule?: (url: string) => Promise<object>
}

/** A module, with the name by which the user knows it. */
interface FoundModule {
  readonly kind: 'module'
  readonly module: string
  readonly load: () => Promise<object>
}
interface FoundManifest {
  readonly kind: 'manifest'
  readonly module: string
  readonly path: string
}
type ModuleSearch = FoundModule | FoundManifest | { readonly kind: 'fault'; readonly fault: string }
interface Installed {
  /** Its kind and its name: `module ./a.js`. */
  readonly source: string
  readonly automation: InstalledAutomation
}

const HOW_TO_INSTALL =
  'no automation is installed: npm install a package that has some, ' +
  'name a module in SVC_AUTOMATIONS, or take the first-party ones with SVC_AUTOMATIONS=muster/automations'

/**
 * Loads the installed automations, for {@link buildCatalog}.
 * @param options Where to search; see {@link LoadOptions}.
 * @returns At least one automation; no two have the same type.
 * @throws {AutomationError} with every fault, one per line; each names its module.
 * @see D35
 */
export async function loadAutomations(options: LoadOptions): Promise<readonly InstalledAutomation[]> {
  const named = (options.specifiers ?? []).filter((specifier) => specifier !== '')
  const searches =
    named.length > 0 ? named.map((specifier) => findNamed(specifier, options)) : findAmongDependencies(options)
  const faults: string[] = []
  const installed: Installed[] = []
  for (const search of searches) {
    // Sequentially, so that faults are in the order of the modules.
    if (search.kind === 'fault') faults.push(search.fault)
    else installed.push(...(await installedBy(search, faults)))
  }
  faults.push(
    ...installed.flatMap(({ source, automation }) =>
      automationFaults(automation).map((fault) => `${source}: ${fault}`),
    ),
    ...duplicates(installed),
  )
  if (faults.length === 0 && installed.length === 0) faults.push(HOW_TO_INSTALL)
  if (faults.length > 0) throw new AutomationError(faults)
  return installed.map(({ automation }) => automation)
}

function findNamed(specifier: string, options: LoadOptions): ModuleSearch {
  const { directory, builtIn = {} } = options
  const own = Object.hasOwn(builtIn, specifier) ? builtIn[specifier] : undefined
  if (own !== undefined) return { kind: 'module', module: specifier, load: own }
  const path = resolve(directory, specifier)
  if (MANIFEST_FILE.test(specifier))
    return existsSync(path)
      ? { kind: 'manifest', module: specifier, path }
      : { kind: 'fault', fault: `manifest ${specifier}: there is no file ${path}` }
  const isFile = /\.m?js$/.test(specifier) && existsSync(path)
  if (isFile) return found(specifier, path, options)
  if (/^\.\.?(?:\/|$)/.test(specifier) || isAbsolute(specifier))
    return { kind: 'fault', fault: `module ${specifier}: there is no .js, .mjs or .automation.yaml file ${path}` }
  return findPackage(specifier, options)
}

/** Finds the file that the package.json names; without the entry, the file that `import` of the package resolves to. */
function findPackage(specifier: string, options: LoadOptions): ModuleSearch {
  const base = join(options.directory, 'package.json') // The file need not exist: resolution starts in its directory.
  try {
    const manifestFile = installedManifest(specifier, base)
    const manifest = manifestFile === undefined ? undefined : readPackage(manifestFile)
    const isWhole = manifest?.name === specifier // False for a single file of the package.
    if (isWhole && manifest.entry !== undefined) return found(specifier, join(manifest.folder, manifest.entry), options)
    // Not in the types yet. Node 22 and 24 support conditions, and many packages do not resolve without `import`.
    const conditions = { conditions: new Set(['node', 'import']) } as { paths?: string[] }
    return found(specifier, createRequire(pathToFileURL(base)).resolve(specifier, conditions), options)
  } catch (error) {
    return {
      kind: 'fault',
      fault:
        `module ${specifier}: cannot be found from ${options.directory} ` +
        `(npm install it, or begin a path with ./): ${messageOf(error)}`,
    }
  }
}

function findAmongDependencies(options: LoadOptions): readonly ModuleSearch[] {
  const file = nearestManifest(options.directory)
  if (file === undefined) return []
  try {
    const manifest = readPackage(file)
    const required = Object.keys(manifest.dependencies).map((name) => findDependency(name, file, options, true))
    const optional = Object.keys(manifest.optionalDependencies).map((name) =>
      findDependency(name, file, options, false),
    )
    return [...required, ...optional].filter((search) => search !== undefined)
  } catch (error) {
    return [{ kind: 'fault', fault: `${file}: cannot be read: ${messageOf(error)}` }]
  }
}

/** @returns undefined for a package without automations, or an optional one that is not installed. */
function findDependency(name: string, file: string, options: LoadOptions, required: boolean): ModuleSearch | undefined {
  const manifestFile = installedManifest(name, file)
  if (manifestFile === undefined)
    return required
      ? { kind: 'fault', fault: `module ${name}: is a dependency in ${file} and is not installed; run npm install` }
      : undefined
  try {
    const { entry, folder } = readPackage(manifestFile)
    return entry === undefined ? undefined : found(name, join(folder, entry), options)
  } catch (error) {
    return { kind: 'fault', fault: `module ${name}: ${manifestFile}: ${messageOf(error)}` }
  }
}

function installedManifest(name: string, base: string): string | undefined {
  try {
    return findPackageJSON(name, pathToFileURL(base))
  } catch {
    return undefined // Node throws only when the package does not exist.
  }
}

function found(
  module: string,
  path: string,
  { importModule = (url: string): Promise<object> => import(url) as Promise<object> }: LoadOptions,
): FoundModule {
  return { kind: 'module', module, load: () => importModule(pathToFileURL(path).href) }
}

interface PackageManifest {
  readonly folder: string
  readonly name: string | undefined
  /** `muster.automations`, relative to the folder. */
  readonly entry: string | undefined
  readonly dependencies: object
  readonly optionalDependencies: object
}

/** @throws {Error} when the file is not a JSON object, or its `muster` entry is not a relative path. */
function readPackage(file: string): PackageManifest {
  const body = JSON.parse(readFileSync(file, 'utf8')) as unknown
  const { name, muster, dependencies, optionalDependencies } = asObject(body)
  const { automations } = asObject(muster)
  if (automations !== undefined && !(typeof automations === 'string' && automations.startsWith('./')))
    throw new Error('"muster": {"automations": …} must be a path that begins with ./')
  return {
    folder: dirname(file),
    name: typeof name === 'string' ? name : undefined,
    entry: automations,
    dependencies: asObject(dependencies),
    optionalDependencies: asObject(optionalDependencies),
  }
}

const asObject = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

function nearestManifest(directory: string): string | undefined {
  const steps = resolve(directory).split(sep)
  const candidates = steps.map((_, up) => join(steps.slice(0, steps.length - up).join(sep) || sep, 'package.json'))
  return candidates.find((candidate) => existsSync(candidate))
}

/** Loads the automations of one module or manifest. Adds its faults to `faults`. */
async function installedBy(search: FoundModule | FoundManifest, faults: string[]): Promise<readonly Installed[]> {
  const source = `${search.kind} ${search.module}`
  const addFaults = (problems: readonly string[]): void =>
    void faults.push(...problems.map((problem) => `${source}: ${problem}`))
  try {
    const automations =
      search.kind === 'manifest' ? readManifest(search.path) : automationsOf(await search.load(), addFaults)
    return automations.map((automation) => ({ source, automation }))
  } catch (error) {
    addFaults(error instanceof AutomationError ? error.faults : [`cannot be loaded: ${messageOf(error)}`])
    return []
  }
}

function automationsOf(namespace: object, addFaults: (problems: readonly string[]) => void): readonly Automation[] {
  const exports = exportsOf(namespace)
  const values = new Set<Automation>() // One automation may be both a named and the default export.
  for (const [name, value] of exports) {
    for (const each of Array.isArray(value) ? (value as readonly unknown[]) : [value]) {
      if (isAutomation(each)) values.add(each)
      else
        addFaults([
          `export "${name}" is not an automation; ` +
            'make one with defineBatch or defineContinuous, and export nothing else',
        ])
    }
  }
  if (exports.length === 0) addFaults(['exports nothing; export what defineBatch or defineContinuous made'])
  return [...values]
}

/** @returns the exports that the author wrote. For a CommonJS module, Node adds the exports object as `default`. */
function exportsOf(namespace: object): readonly (readonly [string, unknown])[] {
  const whole = 'default' in namespace ? namespace.default : undefined
  const isCommonJs =
    typeof whole === 'object' &&
    whole !== null &&
    !isAutomation(whole) &&
    !Array.isArray(whole) &&
    ('module.exports' in namespace || '__esModule' in whole)
  return Object.entries(isCommonJs ? whole : namespace).filter(
    ([name]) => name !== '__esModule' && name !== 'module.exports',
  )
}

function duplicates(installed: readonly Installed[]): readonly string[] {
  const types = [...new Set(installed.map(({ automation }) => automation.type))]
  return types.flatMap((type) => {
    const those = installed.filter(({ automation }) => automation.type === type)
    return those.length === 1
      ? []
      : [
          `automation "${type}": is defined ${those.length} times, ` +
            `in ${[...new Set(those.map(({ source }) => source))].join(' and ')}`,
        ]
  })
}

/** The first line of the message: each fault is one line. */
const messageOf = (error: unknown): string => String(asObject(error)['message'] ?? error).split('\n', 1)[0] ?? ''
