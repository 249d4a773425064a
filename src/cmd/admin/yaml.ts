/** @module cmd/admin/yaml  Re-exports the YAML library, so that a verb loads it only when it reads or prints YAML. */
export { parse, parseDocument, stringify } from 'yaml'
