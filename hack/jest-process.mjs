// Runs one test file with Jest's test framework, jest-circus, in this process, and sends the result to the parent.
// Node loads the file and its imports. Compiled modules are cached on disk, because all test files need the same ones.
// Receives { globalConfig, config, path } and sends { result } or { error }.
// Used by jest-runner.mjs, which forks it.
import { createRequire, enableCompileCache, registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const GLOBALS = new URL('jest-globals.mjs', import.meta.url).href
const STACK_FRAMES = 100 // As in Jest: a failure shows where the test was, below the helpers that it called.

const { globalConfig, config, path } = await new Promise((resolve) => process.once('message', resolve))
process.once('disconnect', () => process.exit(1)) // Jest ended. The listener also keeps the process until then.
enableCompileCache(join(config.cacheDirectory, 'compiled'))
registerHooks({
  resolve: (name, context, next) =>
    name === '@jest/globals' ? { url: GLOBALS, format: 'module', shortCircuit: true } : next(name, context),
})

const require = createRequire(import.meta.url)
const { BufferedConsole } = require('@jest/console')
const { default: runFile } = require('jest-circus/runner')

const buffered = new BufferedConsole()
if (!globalConfig.verbose) globalThis.console = buffered // With a single file Jest is verbose and prints no buffer.
Error.stackTraceLimit = STACK_FRAMES

/** What tests use of Jest's `jest`. They mock nothing, and a failed test is never run again. */
const jest = { setTimeout: (limitMs) => void (globalThis[Symbol.for('TEST_TIMEOUT_SYMBOL')] = limitMs) }

/** What jest-circus calls of Jest's runtime. */
const runtime = {
  requireInternalModule: require,
  requireModule: require,
  setGlobalsForRuntime: (globals) => (globalThis[Symbol.for('jest-globals')] = { ...globals, jest }),
  unstable_shouldLoadAsEsm: () => true,
  unstable_importModule: (file) => import(pathToFileURL(file).href),
  enterTestCode: () => undefined,
  leaveTestCode: () => undefined,
}

/** Adds what reporters show: durations and the output of `console`. */
function completed(result) {
  const endMs = Date.now()
  const { numPassingTests, numFailingTests, numPendingTests, numTodoTests, perfStats, failureMessage } = result
  const runtimeMs = endMs - startMs
  return {
    ...result,
    console: buffered.getBuffer(),
    failureMessage: withRelativePaths(failureMessage),
    perfStats: {
      ...perfStats,
      start: startMs,
      end: endMs,
      runtime: runtimeMs,
      slow: runtimeMs > config.slowTestThreshold * 1_000,
    },
    skipped: numPassingTests + numFailingTests + numPendingTests + numTodoTests === numPendingTests,
    testResults: result.testResults.map((test) => ({
      ...test,
      failureDetails: [], // These are errors of any shape, which JSON may not represent.
      failureMessages: test.failureMessages.map(withRelativePaths),
    })),
  }
}

/** Shortens the URLs of native modules in stack traces. Jest writes them as `file:/folder` when it formats a trace. */
function withRelativePaths(text) {
  const root = pathToFileURL(`${config.rootDir}/`).href
  return text?.replaceAll(root, '').replaceAll(root.replace('///', '/'), '') ?? null
}

function errorOf(error) {
  const { message = String(error), stack = message } = error ?? {}
  return { message, stack: withRelativePaths(stack) }
}

const startMs = Date.now()
// Without `await`, which would add this file to the stack traces of failures.
runFile(globalConfig, config, { global: globalThis }, runtime, path)
  .then(
    (result) => ({ result: completed(result) }),
    (error) => ({ error: errorOf(error) }),
  )
  .then((message) => process.send(message, () => process.exit()))
