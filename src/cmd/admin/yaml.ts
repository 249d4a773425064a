/** @module cmd/admin/yaml  YAML, in a file of its own so that only those who speak it load it. */
export { parse, stringify } from 'yaml'
