// Reads the exported declarations of TypeScript files with their docstrings, for verify-docstrings.mjs.
//
// A declaration is {kind, name, line, doc, params, returns, numbers}. Methods of classes and interfaces, and functions
// in object types (`kv: { get: () => … }`), are declarations of their own: `Context.kv.get`. A doc is {text, tags}: its
// text before the first tag, and the texts of its tags by name. The compiler only parses: no file is resolved.
import { join, resolve } from 'node:path'
import { ModifierFlags, SyntaxKind } from 'typescript/unstable/ast'
import { API } from 'typescript/unstable/sync'

const TAG = /(?<=^|\s)@(?<tag>param|returns|throws|see)\b/g
const NUMERIC_ALIASES = new Set(['EpochMs'])
const OPERATORS = new Set([SyntaxKind.NumericLiteral, SyntaxKind.BinaryExpression, SyntaxKind.PrefixUnaryExpression])
const NESTED = new Set([SyntaxKind.IntersectionType, SyntaxKind.UnionType, SyntaxKind.ParenthesizedType])
const METHODS = new Set([
  SyntaxKind.MethodSignature,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.Constructor,
  SyntaxKind.GetAccessor,
])

/**
 * Reads the declarations of files.
 *
 * @param files Paths, relative to the working directory.
 * @returns one entry per file: the path and its declarations, in their order.
 */
export function declarationsOf(files) {
  const project = resolve('tsconfig.docstrings.json')
  const config = JSON.stringify({ files, compilerOptions: { noLib: true, noResolve: true, types: [] } })
  const api = new API({
    cwd: process.cwd(),
    fs: {
      readFile: (path) => (path === project ? config : undefined),
      fileExists: (path) => (path === project ? true : undefined),
    },
  })
  try {
    const { program } = api.updateSnapshot({ openProjects: [project] }).getProject(project)
    return files.map((file) => [file, declarationsIn(program.getSourceFile(resolve(join('.', file))))])
  } finally {
    api.close()
  }
}

function declarationsIn(source) {
  const found = []
  source.forEachChild((node) => {
    if (!isExported(node)) return
    for (const each of node.declarationList?.declarations ?? [node]) found.push(...readTop(source, each, docOf(node)))
  })
  return found
}

const isExported = ({ modifiers }) => (modifiers ?? []).some(({ kind }) => kind === SyntaxKind.ExportKeyword)

function readTop(source, node, doc) {
  const name = node.name?.text
  switch (node.kind) {
    case SyntaxKind.FunctionDeclaration:
      return [functionOf(source, node, node, name, doc)]
    case SyntaxKind.InterfaceDeclaration:
    case SyntaxKind.ClassDeclaration:
      return [declaration(source, node, name, doc), ...membersOf(source, node.members, name)]
    case SyntaxKind.TypeAliasDeclaration:
      return [declaration(source, node, name, doc), ...typeMembersOf(source, node.type, name)]
    case SyntaxKind.VariableDeclaration:
      return [variableOf(source, node, name, doc)]
    default:
      return []
  }
}

function variableOf(source, node, name, doc) {
  const { initializer } = node
  if (initializer?.kind === SyntaxKind.ArrowFunction) return functionOf(source, node, initializer, name, doc)
  const numbers = OPERATORS.has(initializer?.kind) ? [{ name, doc, line: lineOf(source, node) }] : []
  return { ...declaration(source, node, name, doc), kind: 'value', numbers }
}

/** The functions of a class, an interface or an object type. */
function membersOf(source, members, owner) {
  return [...members].filter(isPublic).flatMap((member) => {
    const name = `${owner}.${member.name?.text ?? 'constructor'}`
    if (METHODS.has(member.kind)) return [functionOf(source, member, member, name, docOf(member))]
    if (member.type?.kind === SyntaxKind.FunctionType)
      return [functionOf(source, member, member.type, name, docOf(member))]
    const own = isNumber(member.type) ? [{ ...declaration(source, member, name, docOf(member)), kind: 'field' }] : []
    return [...own, ...typeMembersOf(source, member.type, name)]
  })
}

const PRIVATE = ModifierFlags.Private | ModifierFlags.Protected
const isPublic = ({ name, modifierFlags = 0 }) =>
  name?.kind !== SyntaxKind.PrivateIdentifier && (modifierFlags & PRIVATE) === 0

function typeMembersOf(source, type, owner) {
  if (type === undefined) return []
  if (type.kind === SyntaxKind.TypeLiteral) return membersOf(source, type.members, owner)
  if (type.type !== undefined && type.kind === SyntaxKind.ParenthesizedType)
    return typeMembersOf(source, type.type, owner)
  return NESTED.has(type.kind) ? [...type.types].flatMap((each) => typeMembersOf(source, each, owner)) : []
}

function declaration(source, node, name, doc) {
  return { kind: 'type', name, line: lineOf(source, node), doc, params: [], returns: '', numbers: [] }
}

function functionOf(source, node, signature, name, doc) {
  const params = [...signature.parameters].map((parameter) => paramOf(source, parameter))
  const isSilent = node.kind === SyntaxKind.Constructor
  const returns = isSilent ? 'void' : (signature.type?.getText(source) ?? '')
  return { ...declaration(source, node, name, doc), kind: 'function', params, returns, numbers: [] }
}

/** A destructured parameter is called `options`; `fields` are the names that it binds, without the rest. */
function paramOf(source, { name, type, dotDotDotToken }) {
  const isPattern = name.kind === SyntaxKind.ObjectBindingPattern || name.kind === SyntaxKind.ArrayBindingPattern
  const fields = isPattern
    ? [...name.elements]
        .filter((element) => element.dotDotDotToken === undefined)
        .map((element) => (element.propertyName ?? element.name).text)
    : []
  return {
    name: isPattern ? 'options' : name.text,
    fields,
    isRest: dotDotDotToken !== undefined,
    isNumber: isNumber(type),
    numbers: type === undefined ? [] : numericFieldsOf(source, type),
  }
}

/** The numbers of an object type that a parameter has in place. */
function numericFieldsOf(source, type) {
  const found = []
  const visit = (node) => {
    if (node.kind === SyntaxKind.PropertySignature && isNumber(node.type)) found.push(node.name.text)
    if (node.kind !== SyntaxKind.FunctionType) node.forEachChild(visit)
  }
  visit(type)
  return found
}

function isNumber(type) {
  if (type === undefined) return false
  if (type.kind === SyntaxKind.NumberKeyword) return true
  if (type.kind === SyntaxKind.TypeReference) return NUMERIC_ALIASES.has(type.typeName.text)
  return type.kind === SyntaxKind.UnionType && [...type.types].some(isNumber)
}

/** The docstring right before a declaration; `undefined` if it has none. The head of a file is not one. */
function docOf(node) {
  const source = node.getSourceFile()
  const block = (node.jsDoc ?? []).at(-1)
  if (block === undefined) return undefined
  const text = source.text
    .slice(block.pos, block.end)
    .replaceAll(/^\s*\/\*\*|\*\/\s*$|^[ \t]*\* ?/gm, '')
    .trim()
  if (text.includes('@module')) return undefined
  const starts = [...text.matchAll(TAG)]
  const tags = starts.map(({ index, groups }, at) => ({
    name: groups.tag,
    text: text.slice(index + groups.tag.length + 1, starts[at + 1]?.index).trim(),
  }))
  return { text: text.slice(0, starts[0]?.index).trim(), tags }
}

function lineOf(source, node) {
  return source.text.slice(0, node.getStart(source)).split('\n').length
}
