/** @module cmd/admin/yaml  Re-exports the YAML library, so that a verb loads it only when it reads or prints YAML. */
export {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parse,
  parseAllDocuments,
  parseDocument,
  stringify,
  type Document,
  type Pair,
  type Scalar,
  type YAMLMap,
} from 'yaml'
