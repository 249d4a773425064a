// The plugins of esbuild with which hack/build.mjs bundles src/. All but `withScripts` keep the start of every command
// short and its memory small: they leave out parts of packages that are never used.
import { pathToFileURL } from 'node:url'

/**
 * client-node does not say that its hundreds of models do nothing by being loaded; the operator, which uses none, would
 * hold them all.
 */
const CLIENT = /[/\\]@kubernetes[/\\]client-node[/\\]/
const withoutModels = {
  name: 'without-models',
  setup: ({ onResolve, resolve }) =>
    onResolve({ filter: /./ }, async ({ path, pluginData, ...from }) => {
      if (
        pluginData === CLIENT ||
        !(path === '@kubernetes/client-node' || (path.startsWith('.') && CLIENT.test(from.importer)))
      )
        return undefined
      const { importer, kind, resolveDir, with: attributes } = from
      return {
        ...(await resolve(path, { importer, kind, resolveDir, with: attributes, pluginData: CLIENT })),
        sideEffects: false,
      }
    }),
}

/** A line that is only a comment, except directives such as `--- @include`. */
const LUA_COMMENT = /^[ \t]*--(?!- @).*$/gm

/**
 * The Lua files that this module reads when it runs from its source become part of the bundle, without their comments.
 * Their lines keep their numbers, which errors name.
 */
const withScripts = {
  name: 'with-scripts',
  setup: ({ onLoad }) =>
    onLoad({ filter: /[/\\]storage[/\\]redis[/\\]script-files\.ts$/ }, async ({ path }) => {
      const { SCRIPT_FILES } = await import(pathToFileURL(path).href)
      const entries = Object.entries(SCRIPT_FILES).map(([name, text]) => [name, text.replaceAll(LUA_COMMENT, '')])
      const files = JSON.stringify(Object.fromEntries(entries))
      return { contents: `export const SCRIPT_FILES = ${files}`, loader: 'js' }
    }),
}

/** Makes a module of `contents` from the imports that match `filter`. @param kinds Which imports; all by default. */
const replaced = (name, filter, contents, kinds = /./) => ({
  name,
  setup: ({ onResolve, onLoad }) => {
    onResolve({ filter }, ({ kind }) => (kinds.test(kind) ? { path: name, namespace: name } : undefined))
    onLoad({ filter: /./, namespace: name }, () => ({ contents, loader: 'js', resolveDir: process.cwd() }))
  },
})

/**
 * An `import` of node:http reads every property of the module, also those that load Node's own fetch: about 0.1 s. A
 * `require` reads none.
 */
const httpWithoutFetch = replaced(
  'http-without-fetch',
  /^(?:node:)?http$/,
  "module.exports = require('node:http')",
  /^import-statement$/,
)

/**
 * undici without its fetch, WebSocket, caches and mocks, which are two thirds of it. The one part of client-node in the
 * bundle that imports `fetch` is never called.
 */
const undiciPools = replaced(
  'undici-pools',
  /^undici$/,
  `import Dispatcher from 'undici/lib/dispatcher/dispatcher.js'
import api from 'undici/lib/api/index.js'
Object.assign(Dispatcher.prototype, api) // As its index.js does.
export { default as Agent } from 'undici/lib/dispatcher/agent.js'
export { default as Pool } from 'undici/lib/dispatcher/pool.js'
export { default as ProxyAgent } from 'undici/lib/dispatcher/proxy-agent.js'
export const fetch = globalThis.fetch`,
)

export const PLUGINS = [undiciPools, withoutModels, withScripts, httpWithoutFetch]
