#!/usr/bin/env node
// Fails when a public interface lacks a docstring, or its docstring lacks what a caller has to know.
// Usage: node hack/verify-docstrings.mjs [ROOT]    Exit: 0 clean, 1 violations, one per line.
//
// Checked are the exported functions, classes, interfaces, types and constants of the storage contract, of the API for
// plugins, of the client and of the protocol, and the public methods and functions of those classes, interfaces and
// types. `export type X = Static<typeof X>` has the docstring of the constant X.
//
//   everywhere   a docstring that begins with a sentence; no @param for a parameter that does not exist; a number has
//                its unit in its name (`holdMs`, `maxBytes`, `ATTEMPTS`), or in its docstring
//   contract,    @param for each parameter, @returns for each value; a promise of the storage contract also has
//   plugin API   @throws with a code, and with the word "retry" for STORAGE_UNAVAILABLE
//   client,      @param for each number, and for each parameter of a function that has two or more of them, except for
//   protocol     the names in FAMILIAR; @returns, unless the first sentence begins with "Returns", "Yields" or the like
import { existsSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Strict areas document every parameter. */
const AREAS = [
  { path: /^src\/storage\/(?:backend|contract\/\w+)\.ts$/, isStrict: true, hasCodes: true },
  { path: /^src\/automation\/(?:context|define|errors|public)\.ts$/, isStrict: true, hasCodes: false },
  { path: /^src\/(?:client|protocol)\/.*\.ts$/, isStrict: false, hasCodes: false },
]

/** Names that mean the same in every function of the client and the protocol. */
const FAMILIAR = new Set(['type', 'id', 'options', 'signal', 'schema', 'value', 'text', 'message', 'path'])
const NO_VALUE = /^(?:void|Promise<void>|this)?$/
const PROMISE = /^(?:Promise|PerItem)</
const RETURNING = /^(?:Returns|Yields|Creates|Converts|Builds|Opens)\b/

/** Units and plain counts: the last word of a name, or the one before "per" or "in" (`MIN_BODY_BYTES_PER_SECOND`). */
const UNITS = new Set(
  (
    'ms seconds bytes chars factor percent ' +
    'n limit count counts length size skip attempt ' +
    'attempts gen version seq index status code depth rows entries frames ' +
    'keys values errors items tasks calls names headers requests runs streams sockets slots topics outputs samples ' +
    'leases connections id token'
  ).split(' '),
)
const UNIT_WORDS =
  'ms|milliseconds?|seconds?|bytes?|[KM]iB|characters?|generations?|numbers? of|number from|share of|factor|counts?|' +
  'how many|times|index|HTTP status'
const UNIT_IN_TEXT = new RegExp(`\\b(?:${UNIT_WORDS})\\b`, 'i')

const wordsOf = (name) =>
  name
    .split('.')
    .at(-1)
    .split(/(?<=[a-z0-9])(?=[A-Z])|_/)
    .map((word) => word.toLowerCase())

function hasUnit(name, text) {
  const isUnit = (word, index, words) => UNITS.has(word) && [undefined, 'per', 'in'].includes(words[index + 1])
  return wordsOf(name).some(isUnit) || UNIT_IN_TEXT.test(text)
}

const tagsOf = ({ doc }, name) => (doc?.tags ?? []).filter((tag) => tag.name === name).map(({ text }) => text)
const wholeText = (doc) => (doc === undefined ? '' : [doc.text, ...doc.tags.map(({ text }) => text)].join('\n'))

function faultsOfDeclaration(each, area) {
  if (each.kind === 'field') return unitFaults([each.name], wholeText(each.doc))
  if (each.doc === undefined) return ['has no docstring']
  const faults = each.doc.text === '' ? ['its docstring has to begin with a sentence, not with a tag'] : []
  if (each.kind === 'function') return [...faults, ...faultsOfFunction(each, area)]
  return [
    ...faults,
    ...(each.kind === 'value'
      ? unitFaults(
          each.numbers.map(({ name }) => name),
          wholeText(each.doc),
        )
      : []),
  ]
}

const unitFaults = (names, text) =>
  names.filter((name) => !hasUnit(name, text)).map((name) => `the number ${name.split('.').at(-1)} has no unit`)

function faultsOfFunction(each, area) {
  return [
    ...each.params.flatMap((param) => faultsOfParam(each, param, area)),
    ...unknownParams(each),
    ...faultsOfResult(each, area),
  ]
}

function faultsOfParam(each, { name, fields, isNumber, numbers }, { isStrict }) {
  const text = tagsOf(each, 'param').find((tag) => tag.split(/\s/)[0] === name)
  const isNeeded = isStrict || isNumber || fields.length > 0 || (each.params.length > 1 && !FAMILIAR.has(name))
  if (text === undefined) return isNeeded ? [`has no @param ${name}`] : []
  const unnamed = fields.filter((field) => !text.includes(`\`${field}\``))
  return [
    ...unnamed.map((field) => `@param ${name} does not name \`${field}\``),
    ...unitFaults([...(isNumber ? [name] : []), ...numbers], text),
  ]
}

function unknownParams(each) {
  const known = new Set(each.params.map(({ name }) => name))
  return tagsOf(each, 'param')
    .map((tag) => tag.split(/\s/)[0])
    .filter((name) => !known.has(name))
    .map((name) => `@param ${name}: there is no such parameter`)
}

function faultsOfResult(each, { isStrict, hasCodes }) {
  const [returns] = tagsOf(each, 'returns')
  const isDescribed = returns !== undefined || (!isStrict && RETURNING.test(each.doc.text))
  const faults = NO_VALUE.test(each.returns) || isDescribed ? [] : ['has no @returns']
  if (!hasCodes || !PROMISE.test(each.returns)) return faults
  const throws = tagsOf(each, 'throws').join('\n')
  if (!/\bSTORAGE_[A-Z]+\b/.test(throws)) return [...faults, 'has no @throws with a code']
  const isSilent = throws.includes('STORAGE_UNAVAILABLE') && !/\b(?:retry|repeat)/i.test(throws)
  return isSilent ? [...faults, '@throws does not say whether a retry is safe'] : faults
}

/** A type with the name of a constant before it is the type of that constant. */
function withoutTypesOfConstants(declarations) {
  const constants = new Set(declarations.filter(({ kind }) => kind === 'value').map(({ name }) => name))
  return declarations.filter(({ kind, name }) => kind !== 'type' || !constants.has(name))
}

async function main() {
  process.chdir(process.argv[2] ?? fileURLToPath(new URL('..', import.meta.url)))
  const files = (existsSync('src') ? readdirSync('src', { recursive: true, encoding: 'utf8' }) : [])
    .map((file) => `src/${file}`)
    .filter((file) => AREAS.some(({ path }) => path.test(file)))
    .toSorted()
  if (files.length === 0) return []
  const { declarationsOf } = await import('./docstrings.mjs')
  return declarationsOf(files).flatMap(([file, declarations]) => {
    const area = AREAS.find(({ path }) => path.test(file))
    return withoutTypesOfConstants(declarations).flatMap((each) =>
      faultsOfDeclaration(each, area).map((fault) => `${file}:${each.line}: ${each.name}: ${fault}`),
    )
  })
}

const faults = await main()
// Not to standard error: the compiler's own process writes there, for example "context canceled" when it is closed.
for (const fault of faults) console.log(fault)
process.exitCode = faults.length === 0 ? 0 : 1
